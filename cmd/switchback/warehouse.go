package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse"
	"switchback/reports"
	"switchback/stats"
)

// Environment variables that say who asks a warehouse. They are read nowhere else and shown nowhere.
const (
	warehouseUser     = envPrefix + "WAREHOUSE_USER"
	warehousePassword = envPrefix + "WAREHOUSE_PASSWORD"
)

// warehouseKeys are the keys of [logs] that only a warehouse has.
func warehouseKeys() []string {
	return []string{"table", "map", "columns", "day", "ts_unit", "dedupe", "max_time", "max_memory"}
}

// warehouse checks the keys of a warehouse.
func (p *problems) warehouse(l *logsConfig) {
	if len(l.Files) > 0 {
		p.add("logs.files", "an experiment reads files or a warehouse", "stands beside logs.warehouse")
	}
	if _, err := warehouse.ParseAddress(l.Warehouse); err != nil {
		p.add("logs.warehouse", "such as clickhouse://clickhouse.example:9440/default; user and password are "+warehouseUser+" and "+warehousePassword, "%v", err)
	}
	if l.Table == "" {
		p.add("logs.table", `such as table = "requests"`, "is missing")
	}
	if l.Map != "" && !slices.Contains(warehouse.MapNames(), l.Map) {
		p.oneOf("logs.map", l.Map, warehouse.MapNames())
	} else if _, err := warehouse.NewMapping(l.Map, l.Columns); err != nil {
		p.add("logs.columns", "the names are those of the columns in docs/log-format.md", "%v", err)
	}
	if l.TSUnit != "" {
		p.oneOf("logs.ts_unit", l.TSUnit, warehouse.TSUnits())
	}
	if l.Dedupe != "" {
		p.oneOf("logs.dedupe", l.Dedupe, []string{"on", "off"})
	}
	if l.MaxTime < 0 || l.MaxTime > 0 && l.MaxTime < time.Second {
		p.add("logs.max_time", `such as "10m"`, "%s is shorter than a second", experiment.Length(l.MaxTime))
	}
	if l.MaxMemory != "" {
		if _, err := bytesOf(l.MaxMemory); err != nil {
			p.add("logs.max_memory", "write a size such as 8GiB", "%v", err)
		}
	}
}

// bytesOf reads a size such as 2GB or 512MiB.
func bytesOf(text string) (int64, error) {
	if !memoryLimit.MatchString(text) {
		return 0, fmt.Errorf("cannot read %q", text)
	}
	digits := strings.TrimRight(text, "KMGTiB ")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read %q", text)
	}
	unit := strings.TrimSpace(text[len(digits):])
	base := 1000.0
	if strings.Contains(unit, "i") {
		base = 1024
	}
	n *= math.Pow(base, float64(strings.Index("KMGT", unit[:1])+1))
	if n < 1 || n > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	return int64(n), nil
}

// inWarehouse reports whether the rows lie in a warehouse.
func (c *config) inWarehouse() bool { return c.Logs != nil && c.Logs.Warehouse != "" }

// warehouseOptions are those of the configuration and the environment.
func (j *job) warehouseOptions() (warehouse.Options, error) {
	l := j.config.Logs
	o := warehouse.DefaultOptions()
	var err error
	if o.Address, err = warehouse.ParseAddress(l.Warehouse); err != nil {
		return o, err
	}
	if o.Mapping, err = warehouse.NewMapping(l.Map, l.Columns); err != nil {
		return o, err
	}
	if l.MaxMemory != "" {
		if o.MaxMemory, err = bytesOf(l.MaxMemory); err != nil {
			return o, err
		}
	}
	if l.MaxTime > 0 {
		o.MaxTime = l.MaxTime
	}
	o.User, o.Password = j.p.getenv(warehouseUser), j.p.getenv(warehousePassword)
	o.Table, o.Day, o.TSUnit, o.Dedupe = l.Table, l.Day, l.TSUnit, l.Dedupe != "off"
	var question string // one is asked at a time
	o.Asked = func(q warehouse.Question) {
		question = q.Name
		j.log.Debug("ask warehouse", "question", question)
	}
	o.Progress = func(r warehouse.Reading) {
		if j.working.Load().reading(r); r.Question == "" {
			j.log.Debug("warehouse answered", "question", question)
		}
	}
	o.Retried = func(question string, err error) {
		j.log.Warn("the warehouse is asked again", "question", question, "after", err)
	}
	return o, nil
}

// reading shows how far a warehouse is with a question. Outside of stages nothing is shown.
func (s *stage) reading(r warehouse.Reading) {
	if s == nil {
		return
	}
	if r.Rows == 0 { // it begins, or is done when it has no name
		s.next(r.Question, "rows read")
		return
	}
	of := r.Of
	if of < r.Rows {
		of = 0 // a shard has not said yet what it is about to read
	}
	s.set(r.Rows, of)
}

// openWarehouse connects to the warehouse of the configuration.
func (j *job) openWarehouse(ctx context.Context) (*warehouse.Warehouse, error) {
	o, err := j.warehouseOptions()
	if err != nil {
		return nil, err
	}
	house, err := warehouse.Open(ctx, o)
	if err != nil {
		return nil, warehouseError(err)
	}
	j.log.Info("warehouse", "table", house.String(), "version", house.Version())
	return house, nil
}

// warehouseError gives an error of a warehouse its exit code: 2 where the configuration is wrong, else 1.
func warehouseError(err error) error {
	var e *warehouse.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	code := exitFailed
	if errors.Is(err, warehouse.ErrConfig) {
		code = exitUsage
	}
	return &ExitError{Code: code, Err: err, Hint: e.Hint}
}

// warehouseRows are rows in a warehouse.
type warehouseRows struct {
	house *warehouse.Warehouse
	rows  *warehouse.Rows
	found *warehouse.Summaries
}

func (r *warehouseRows) inside(context.Context) (inside, all int64, err error) {
	n := r.rows.Report().Rows
	return n, n, nil
}

// rejects are none: what of a warehouse cannot be read is no line.
func (r *warehouseRows) rejects(context.Context) ([]ingest.Count, error) { return nil, nil }

func (r *warehouseRows) apply(_ context.Context, accept func(ingest.PlanReport) error) (ingest.PlanReport, error) {
	report := r.rows.Report()
	return report, accept(report)
}

func (r *warehouseRows) pairs(context.Context) ([]stats.Pair, ingest.BlockHealth, error) {
	return r.rows.Pairs(), r.rows.Blocks(), nil
}

func (r *warehouseRows) summaries(ctx context.Context) (_ rowSummaries, err error) {
	r.found, err = r.rows.Summaries(ctx)
	return nothingHeld{r.found}, err
}

// nothingHeld is a source that needs no closing.
type nothingHeld struct{ stats.Source }

func (nothingHeld) Close() error { return nil }

func (r *warehouseRows) health(context.Context) (ingest.Health, [2]ingest.ArmCounts, error) {
	return r.rows.Health(), r.rows.ArmCounts(), nil
}

func (r *warehouseRows) series(ctx context.Context, _, metrics []string, step time.Duration, clients int) (rowSeries, error) {
	return r.found.Series(ctx, metrics, step, clients)
}

func (r *warehouseRows) providers(ctx context.Context) ([]ingest.ProviderSeries, error) {
	return r.rows.Providers(ctx)
}

func (r *warehouseRows) spend(ctx context.Context) ([]ingest.HourSpend, error) {
	return r.rows.Spend(ctx)
}

func (r *warehouseRows) dearer(ctx context.Context) ([]ingest.DearerCount, error) {
	return r.rows.Dearer(ctx)
}

// runWarehouse reports rows that lie in a warehouse. Nothing is written before everything has been answered.
func (j *job) runWarehouse(ctx context.Context, s *settings, command string) error {
	r, err := j.fromWarehouse(ctx, s, command)
	if err != nil {
		return warehouseError(err)
	}
	if r.done != nil {
		return j.showAgain(s, *r.done)
	}
	return j.publish(ctx, s, r.doc, reports.Options{}, func() error {
		return errors.Join(r.arrive(), j.out.writePlan(r.plan))
	})
}

// analyzeWarehouse estimates from rows that lie in a warehouse and keeps the results in the DuckDB file.
func (j *job) analyzeWarehouse(ctx context.Context, s *settings, command string) error {
	always := *s
	always.force = true
	r, err := j.fromWarehouse(ctx, &always, command)
	if err != nil {
		return warehouseError(err)
	}
	if err := errors.Join(r.arrive(), j.out.writePlan(r.plan)); err != nil {
		return err
	}
	j.outcome = "done: results of " + r.doc.ReportDate + " in " + j.out.database()
	if err := j.show(r.doc); err != nil {
		return err
	}
	return verdictError(r.doc, s)
}

// printQuestions prints what a run would ask a warehouse.
func (p *process) printQuestions(ctx context.Context, s *settings, c config) (err error) {
	if !c.inWarehouse() {
		return usageError("--check tells what a run on files or a simulation needs", "--dry-run: the rows of this experiment lie in no warehouse")
	}
	j := &job{p: p, config: c}
	j.progress, j.log = p.newProgress(s)
	house, err := j.openWarehouse(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, house.Close()) }()
	plan := experiment.Plan{}
	if c.scheduleKind() == reports.ScheduleLabels {
		plan, err = experiment.Draw(c.design(), c.arms()) // of the same blocks
	} else {
		plan, err = c.plan()
	}
	if err != nil {
		return err
	}
	w, err := j.window(s, plan)
	if err != nil {
		return err
	}
	for _, q := range house.Questions(plan, w.rows(plan.Arms), c.featured()) {
		if _, err := fmt.Fprintf(p.stdout, "-- %s\n%s;\n\n", q.Name, q.SQL); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
	return nil
}

// warehouseResult is a result of rows in a warehouse, with the database that it is kept in.
type warehouseResult struct {
	logsResult
	arrive func() error // puts a database that was built aside in place
}

func (j *job) fromWarehouse(ctx context.Context, s *settings, command string) (r warehouseResult, err error) {
	house, err := j.openWarehouse(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, house.Close()) }()
	if r.plan, err = j.warehousePlan(ctx, house); err != nil {
		return r, err
	}
	w, err := j.window(s, r.plan)
	if err != nil {
		return r, err
	}
	j.log.Info("window "+w.String(), "report_date", w.date)
	rows := &warehouseRows{house: house}
	err = j.stage("count in the warehouse", "rows", func(*stage) (int64, error) {
		rows.rows, err = house.Rows(ctx, r.plan, w.rows(r.plan.Arms))
		if err != nil {
			return 0, err
		}
		return rows.rows.Report().Rows, nil
	})
	if err != nil {
		return r, err
	}
	if err := j.identifyInputs(w, r.plan, []string{house.String(), rows.rows.Fingerprint()}); err != nil {
		return r, err
	}
	if former, ok := j.alreadyDone(s); ok {
		r.done = &former
		return r, nil
	}
	path, arrive := j.resultsFile()
	r.arrive = arrive
	store, err := openStore(ctx, path, j.config.storeOptions())
	if err != nil {
		return r, err
	}
	r.doc, err = j.reportWarehouse(ctx, store, rows, r.plan, w, command)
	if err := errors.Join(err, store.Close()); err != nil {
		if path != j.out.database() {
			err = errors.Join(err, removeDatabase(path))
		}
		return r, err
	}
	return r, nil
}

// reportWarehouse makes the document, and keeps it in the store with the schedule and the summaries.
func (j *job) reportWarehouse(ctx context.Context, store *ingest.Store, rows *warehouseRows, plan experiment.Plan, w window, command string) (reports.Document, error) {
	if err := refuseRowsOf(ctx, store, "true", "files, and the report is to be of a warehouse"); err != nil {
		return reports.Document{}, err
	}
	doc, err := j.report(ctx, store, rows, plan, w, command, facts{})
	if err != nil {
		return doc, err
	}
	elsewhere, err := rows.rows.Elsewhere(ctx)
	if err != nil {
		return doc, err
	}
	return doc, j.save(ctx, store, doc, w, elsewhere)
}

// resultsFile is the database that results are kept in. A new one is built aside, so that a run that does not arrive
// leaves none.
func (j *job) resultsFile() (path string, arrive func() error) {
	if _, err := os.Stat(j.out.database()); !errors.Is(err, fs.ErrNotExist) {
		return j.out.database(), func() error { return nil }
	}
	aside := j.out.aside(j.record.RunID)
	return aside, func() error { return j.out.replaceDatabase(aside) }
}

// warehousePlan returns the plan that ran: drawn, read from its file, or made from the labels of the rows.
func (j *job) warehousePlan(ctx context.Context, house *warehouse.Warehouse) (experiment.Plan, error) {
	if j.config.scheduleKind() != reports.ScheduleLabels {
		return j.config.plan()
	}
	design, arms := j.config.design(), j.config.arms()
	grid, err := experiment.Draw(design, arms)
	if err != nil {
		return experiment.Plan{}, fmt.Errorf("schedule from labels: %w", err)
	}
	w := ingest.Window{Arms: arms}
	w.Since, w.Until = grid.Window()
	var counts []ingest.LabelCount
	err = j.stage("read arm labels", "blocks", func(*stage) (int64, error) {
		counts, err = house.Labels(ctx, grid, w)
		return int64(len(grid.Blocks)), err
	})
	if err != nil {
		return experiment.Plan{}, err
	}
	plan, labels, err := ingest.PlanFromCounts(design, grid, counts)
	return j.labelled(plan, labels, err)
}
