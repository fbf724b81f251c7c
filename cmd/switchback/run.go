package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/pflag"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/reports"
)

// runSettings are the flags of run.
type runSettings struct {
	settings
	backfill bool
	check    bool
	dryRun   bool
}

// runCommand is the whole pipeline.
func (p *process) runCommand() command {
	var s runSettings
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	s.configFlag(fs)
	s.outputFlags(fs)
	s.windowFlags(fs)
	fs.BoolVar(&s.backfill, "backfill", false, "on logs, report every night from --since to --until, dates that both count (default all so far), in order")
	fs.BoolVar(&s.check, "check", false, "check configuration, schedule, inputs and output folder, tell every fault, and run nothing")
	fs.BoolVar(&s.dryRun, "dry-run", false, "on rows in a warehouse, print the SQL that would be asked, ask only for types, and run nothing")
	s.simulationFlags(fs)
	s.rejectFlag(fs)
	s.guardrailFlag(fs)
	s.forceFlag(fs)
	s.logFlags(fs)
	return command{
		use:   "run",
		short: "Run the whole pipeline, from the plan to the report",
		long: "Without --config it runs the built-in experiment, offline: one week, 3-hour blocks in matched pairs, price against\n" +
			"routing-cost. With [logs] in the configuration it loads a gateway's request logs and reports the window that ends\n" +
			"with --date, or has a warehouse summarise them where they are. A run whose inputs, configuration and program are those of the report on hand does nothing.\n\n" +
			"--backfill makes the reports of many nights, each with a run record of its own. It stops at the first night that\n" +
			"fails, with its exit code; else it ends with the worst one. Nights that are up to date are skipped.",
		example: "  switchback run\n  switchback run --requests 500000 --seed 11 --out try\n  switchback run --config router-week.toml --date 2026-11-08\n" +
			"  switchback run --config router-week.toml --check\n  switchback run --config router-week.toml --backfill --since 2026-11-02 --until 2026-11-08",
		args:  noArguments,
		flags: fs,
		run: func(ctx context.Context, _ []string) error {
			if s.check {
				return p.checkRun(ctx, &s, fs)
			}
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			if s.dryRun {
				return p.printQuestions(ctx, &s.settings, c)
			}
			if s.backfill {
				return p.backfill(ctx, &s, c, commandLine("run", fs))
			}
			return p.inOutput(ctx, "run", &s.settings, c, func(ctx context.Context, j *job) error {
				if c.simulated() {
					return j.runSimulated(ctx, &s.settings, commandLine("run", fs))
				}
				return j.runLogs(ctx, &s.settings, commandLine("run", fs))
			})
		},
	}
}

// commandLine returns the command that gives the same result again: without what cannot change it, and without the date,
// which conclude adds.
func commandLine(name string, fs *pflag.FlagSet) string {
	words := []string{"switchback", name}
	backfill := fs.Changed("backfill")
	fs.VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "since", "until":
			if backfill { // they name the nights
				return
			}
		case "date", "backfill", "out", "threads", "memory", "force", "quiet", "verbose", "log-json", "fail-on-guardrail", "write", "format":
			return
		}
		if f.Changed {
			words = append(words, "--"+f.Name, quoted(f.Value.String()))
		}
	})
	return strings.Join(words, " ")
}

// runSimulated drives the built-in router through the plan. The database is built aside, so that a run that does not
// arrive leaves the former one.
func (j *job) runSimulated(ctx context.Context, s *settings, command string) (err error) {
	plan, err := j.config.plan()
	if err != nil {
		return err
	}
	starts, ends := plan.Window()
	w, err := s.window(&j.config, starts, ends, j.p.now())
	if err != nil {
		return err
	}
	again, err := j.openReplay(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, again.close()) }()
	if err := j.identify(ctx, w, plan, again.store); err != nil {
		return err
	}
	if former, ok := j.alreadyDone(s); ok {
		return j.showAgain(s, former)
	}
	if err := j.keepLogs(ctx); err != nil {
		return err
	}
	aside := j.out.aside(j.record.RunID)
	defer func() { err = errors.Join(err, removeDatabase(aside)) }() // nothing is there any more when it arrived
	store, err := openStore(ctx, aside, j.config.storeOptions())
	if err != nil {
		return err
	}
	doc, err := j.simulate(ctx, store, plan, again, w, command)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	return j.publish(ctx, s, doc, reports.Options{}, func() error {
		return errors.Join(j.out.replaceDatabase(aside), j.out.writePlan(plan))
	})
}

// keepLogs refuses to replace a database that holds the rows of request logs: they may be nowhere else.
func (j *job) keepLogs(ctx context.Context) error {
	if _, err := os.Stat(j.out.database()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	options := j.config.storeOptions()
	options.ReadOnly = true
	former, err := openStore(ctx, j.out.database(), options)
	if err != nil {
		return err
	}
	err = refuseRowsOf(ctx, former, "file <> '"+ingest.DriveFile+"'", "request logs")
	return errors.Join(err, former.Close())
}

// simulate fills the store and returns the document.
func (j *job) simulate(ctx context.Context, store *ingest.Store, plan experiment.Plan, again replay, w window, command string) (reports.Document, error) {
	asked, err := j.replayed(ctx, again, plan)
	if err != nil {
		return reports.Document{}, err
	}
	d, err := j.drive(ctx, store, driveOrder{plan: plan, replay: asked.requests}, j.record.Fingerprint)
	if err != nil {
		return reports.Document{}, err
	}
	notes := append(append(asked.notes, d.Notes...), driveNote(d.DriveSummary))
	f := facts{notes: notes, logHash: d.logHash, unread: asked.unread, provenance: reports.Provenance{Inputs: again.inputs}}
	return j.conclude(ctx, store, plan, w, command, f)
}

// driveNote says what was driven and how much of it is in the log.
func driveNote(d experiment.DriveSummary) string {
	where := "scenario " + d.Scenario
	if d.World != experiment.WorldSwitchback {
		where += ", world " + d.World
	}
	logged, picked := "are all", ""
	if d.Logged < d.Requests {
		logged, picked = plural(int(d.Logged), "is ", "are ")+thousands(d.Logged), ", whole conversations picked by a hash"
	}
	served := int64(0)
	for _, m := range d.Models {
		served += m.Served
	}
	return fmt.Sprintf("In %s, %s %s for %d %s came to the built-in router, which served %s, with %s input tokens. In the log %s of those that came%s.",
		where, thousands(d.Requests), plural(int(d.Requests), "request", "requests"), len(d.Models), plural(len(d.Models), "model", "models"), thousands(served), thousands(d.InputTokens), logged, picked)
}

// conclude estimates from the rows in the store, makes the document, and keeps the run in the store. f holds what is
// known before.
func (j *job) conclude(ctx context.Context, store *ingest.Store, plan experiment.Plan, w window, command string, f facts) (reports.Document, error) {
	doc, err := j.report(ctx, store, newStoreRows(store, plan, w), plan, w, command, f)
	if err != nil {
		return doc, err
	}
	return doc, j.save(ctx, store, doc, w, nil)
}

// report makes the document of rows. store only names DuckDB's version.
func (j *job) report(ctx context.Context, store *ingest.Store, rows rowSource, plan experiment.Plan, w window, command string, f facts) (reports.Document, error) {
	if !j.config.simulated() {
		command += " --date " + w.date
	}
	e, err := j.estimate(ctx, rows, plan, w)
	if err != nil {
		return reports.Document{}, err
	}
	if err := j.askFacts(ctx, store, rows, e, command, &f); err != nil {
		return reports.Document{}, err
	}
	if f.validated, err = reports.Validated(); err != nil {
		return reports.Document{}, err
	}
	err = j.stage("series", "blocks", func(*stage) (int64, error) {
		f.series, err = j.askSeries(ctx, rows, e)
		return int64(len(f.series.blocks)), err
	})
	if err != nil {
		return reports.Document{}, err
	}
	doc := j.config.document(e, f)
	j.record.Warnings = doc.Warnings
	j.record.Inputs = doc.Provenance.Inputs
	return doc, nil
}

// save keeps the run in the store. elsewhere is nil when the store has the rows.
func (j *job) save(ctx context.Context, store *ingest.Store, doc reports.Document, w window, elsewhere *ingest.Elsewhere) error {
	text, err := reports.Encode(doc)
	if err != nil {
		return err
	}
	run := ingest.RunRecord{
		RunID: j.record.RunID, ReportDate: w.date, Since: w.since, Until: w.until, Experiment: j.config.Name, InputHash: j.record.Fingerprint,
		Document: text, FinishedAt: j.p.now().UTC(), Elsewhere: elsewhere,
	}
	return store.SaveRun(ctx, run, doc.Metrics, diagnosticsOf(doc))
}

// askFacts asks the store for everything else that the document says.
func (j *job) askFacts(ctx context.Context, store *ingest.Store, rows rowSource, e estimates, command string, f *facts) error {
	err := j.stage("data health", "rows", func(*stage) (int64, error) {
		var err error
		f.health, f.arms, err = rows.health(ctx)
		return f.health.Rows, err
	})
	if err != nil {
		return err
	}
	duckdb, err := scalar(ctx, store, "SELECT version()")
	if err != nil {
		return err
	}
	j.record.Program.DuckDB = duckdb
	schedule, err := scheduleHash(e.plan)
	if err != nil {
		return err
	}
	p := j.record.Program
	f.provenance = reports.Provenance{
		Command: command, Version: p.label(), Commit: p.Commit, GoVersion: p.Go, Platform: p.Platform, DuckDB: duckdb,
		ConfigHash: j.config.hash(), ScheduleHash: schedule, LogHash: f.logHash, Inputs: f.provenance.Inputs,
	}
	for _, file := range f.health.Files {
		if file.File != ingest.DriveFile {
			f.provenance.Inputs = append(f.provenance.Inputs, reports.Input{
				Path: file.File, Format: file.Format, SHA256: file.Hash, Bytes: file.Bytes, Rows: file.Rows, Rejects: file.Rejects,
			})
		}
	}
	return nil
}

// diagnosticsOf lists what stands in the table diagnostics.
func diagnosticsOf(doc reports.Document) []ingest.Diagnostic {
	count := func(name string, n int64) ingest.Diagnostic {
		value := float64(n)
		return ingest.Diagnostic{Name: name, Value: &value}
	}
	h := doc.Diagnostics.Health
	all := []ingest.Diagnostic{
		count("rows_read", h.Read), count("rows_kept", h.Kept), count("burn_in_dropped", h.BurnInDropped),
		count("outside_window", h.OutsideWindow), count("duplicates", h.Duplicates), count("label_mismatches", h.LabelMismatches),
		count("missing_blocks", int64(len(h.MissingBlocks))), count("lone_blocks", int64(len(h.LoneBlocks))),
	}
	for _, w := range doc.Warnings {
		all = append(all, ingest.Diagnostic{Name: "warning:" + w.Code, Text: w.Text})
	}
	for _, x := range doc.Diagnostics.Excluded {
		all = append(all, ingest.Diagnostic{Name: "excluded:" + x.Metric, Scope: "model:" + x.Model, Text: x.Reason})
	}
	return all
}

func scheduleHash(plan experiment.Plan) (string, error) {
	var csv bytes.Buffer
	if err := plan.WriteCSV(&csv); err != nil {
		return "", err
	}
	return hashBytes(csv.Bytes()), nil
}

// identify sets the report date and the fingerprint: the hash of everything that the result follows from. store is nil
// when the rows follow from the configuration alone.
func (j *job) identify(ctx context.Context, w window, plan experiment.Plan, store *ingest.Store) error {
	var inputs []string
	if store != nil {
		var err error
		if inputs, err = loaded(ctx, store); err != nil {
			return err
		}
	}
	return j.identifyInputs(w, plan, inputs)
}

// identifyInputs is identify with the names of the inputs.
func (j *job) identifyInputs(w window, plan experiment.Plan, inputs []string) error {
	identity, err := j.record.Program.identity()
	if err != nil {
		return err
	}
	schedule, err := scheduleHash(plan)
	if err != nil {
		return err
	}
	earlier, err := j.earlierNights(w, plan)
	if err != nil {
		return err
	}
	text, err := json.Marshal(struct {
		Program, Config, Schedule, Date, Window string
		Inputs, Earlier                         []string
	}{identity, j.config.hash(), schedule, w.date, w.String(), inputs, earlier})
	if err != nil {
		return fmt.Errorf("hash inputs: %w", err)
	}
	j.record.ReportDate, j.record.Fingerprint = w.date, hashBytes(text)
	return nil
}

// alreadyDone returns the record of the run whose report is on hand, when it was made from the same inputs.
func (j *job) alreadyDone(s *settings) (record, bool) {
	if s.force {
		return record{}, false
	}
	return j.out.upToDate(j.record.ReportDate, j.record.Fingerprint)
}

// showAgain ends a run whose report is on hand.
func (j *job) showAgain(s *settings, former record) error {
	text, err := os.ReadFile(filepath.Join(j.out.report(j.record.ReportDate), "results.json"))
	if err != nil {
		return err
	}
	doc, err := reports.Decode(bytes.NewReader(text))
	if err != nil {
		return err
	}
	j.record.Status, j.record.Outputs = statusUpToDate, former.Outputs
	j.outcome = "up to date: " + j.out.report(j.record.ReportDate)
	if err := j.show(doc); err != nil {
		return err
	}
	return verdictError(doc, s)
}

// publish renders the report and swaps it in. arrive, when there is one, puts what belongs to it in place first.
func (j *job) publish(ctx context.Context, s *settings, doc reports.Document, o reports.Options, arrive func() error) error {
	doc, err := j.withHistory(doc)
	if err != nil {
		return err
	}
	files, err := j.render(doc, o)
	if err != nil {
		return err
	}
	outcome := verdictError(doc, s)
	j.record.end(j.p.now(), outcome)
	manifest, err := j.record.encode()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if arrive != nil {
		if err := arrive(); err != nil {
			return err
		}
	}
	if err := j.out.publish(j.record.RunID, doc.ReportDate, files, manifest); err != nil {
		return err
	}
	j.outcome = "done: " + j.out.report(doc.ReportDate)
	if err := j.show(doc); err != nil {
		return err
	}
	return outcome
}

// writePlan writes the schedule beside the database.
func (o outDir) writePlan(plan experiment.Plan) error {
	var csv bytes.Buffer
	if err := plan.WriteCSV(&csv); err != nil {
		return err
	}
	if err := renameio.WriteFile(o.plan(), csv.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// verdictError returns how a run with this document ends: nil, exit code 3 when inputs are incomplete, exit code 4
// when a guardrail was breached and --fail-on-guardrail asks for it.
func verdictError(doc reports.Document, s *settings) error {
	if s.failOnGuardrail {
		var breached []string
		for _, g := range doc.GuardrailStates() {
			if g.State == reports.GuardrailBreached {
				breached = append(breached, g.Metric)
			}
		}
		if len(breached) > 0 {
			return &ExitError{Code: exitGuardrail, Err: fmt.Errorf("guardrail breached: %s", strings.Join(breached, ", "))}
		}
	}
	if doc.Incomplete {
		var reasons []string
		hint := "it was written all the same; run again when the rest has arrived"
		for _, w := range doc.Warnings {
			switch w.Code {
			case codeMissing, codeLone, codeUnread:
				reasons = append(reasons, w.Text)
			}
			if w.Code == codeUnread && doc.Simulated {
				hint = "it was written all the same; mend the log that is replayed, or allow more with --max-rejects"
			}
		}
		return &ExitError{Code: exitIncomplete, Err: fmt.Errorf("report %s is incomplete: %s", doc.ReportDate, strings.Join(reasons, "; ")), Hint: hint}
	}
	return nil
}
