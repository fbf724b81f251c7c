package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"

	"switchback/experiment"
	"switchback/ingest"
)

// runCheck is what a run would meet: what is well, in the order in which it was looked at, and every fault.
type runCheck struct {
	config config
	well   []table.Row
	faults manyErrors
	busy   error // another run is at work
	lacks  error // more of the inputs cannot be read than is allowed: the report will be incomplete
}

func (k *runCheck) ok(subject, format string, args ...any) {
	k.well = append(k.well, table.Row{"ok", subject, fmt.Sprintf(format, args...)})
}

// unread tells the values that become NULL, a row for each column of a file.
func (k *runCheck) unread(path string, fields []ingest.UnreadField) {
	for _, u := range fields {
		k.well = append(k.well, table.Row{"note", fmt.Sprintf("%s:%d", path, u.Line), fmt.Sprintf("%s; %s %s NULL", u, thousands(u.N), plural(int(u.N), "value becomes", "values become"))})
	}
}

// fault adds an error, if it is one, as its parts.
func (k *runCheck) fault(err error) {
	var many manyErrors
	switch {
	case err == nil:
	case errors.As(err, &many):
		k.faults = append(k.faults, many...)
	default:
		k.faults = append(k.faults, err)
	}
}

// checkRun looks at everything that a run needs, runs nothing, and tells what is well and every fault. It writes nothing but
// a file in the output folder, or where that is to be made, which it takes away again.
func (p *process) checkRun(ctx context.Context, s *runSettings, fs *pflag.FlagSet) error {
	c, overridden, err := s.lay(fs)
	if err != nil {
		return err
	}
	k := &runCheck{config: c}
	if err := c.check(knownNames(), overridden); err != nil {
		k.fault(err)
	} else {
		k.ok("configuration", "%s", c.Name)
		k.warehouse(ctx, p, s)
		k.models()
	}
	k.schedule(s, p.now())
	need, err := k.inputs(ctx, p.now())
	if err != nil {
		return err
	}
	k.output(ctx, need)
	t := table.NewWriter()
	t.SetStyle(plainTable())
	for _, row := range k.well {
		t.AppendRow(row)
	}
	if _, err := fmt.Fprintln(p.stdout, rendered(t)); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return k.verdict()
}

// verdict is how the check ends: by faults, else as the run would.
func (k *runCheck) verdict() error {
	told, code := k.faults, exitUsage
	for _, err := range []error{k.busy, k.lacks} {
		if err == nil {
			continue
		}
		if len(told) == 0 {
			code = codeOf(err)
		}
		told = append(told, err)
	}
	if len(told) == 0 {
		return nil
	}
	return &ExitError{Code: code, Err: told}
}

// models checks the models that a simulated experiment names. What is wrong with its plan is told by schedule.
func (k *runCheck) models() {
	if plan, err := k.config.plannedIfAny(); err == nil && k.config.simulated() {
		k.fault(k.config.checkModels(plan))
	}
}

// schedule checks the plan, and that it covers the nights to be reported.
func (k *runCheck) schedule(s *runSettings, now time.Time) {
	c := &k.config
	if len(c.design().Problems()) > 0 || c.arms().Validate() != nil || c.file.unreadIn("design") || c.file.unreadIn("arms") {
		return // told with the configuration
	}
	plan, err := c.plannedIfAny()
	if err != nil {
		k.fault(err)
		return
	}
	starts, ends := c.span(plan)
	if len(plan.Blocks) == 0 {
		k.ok("schedule", "made from the labels of the rows when they are loaded")
	} else {
		k.ok("schedule", "%d blocks, %s … %s", len(plan.Blocks), starts.UTC().Format(time.RFC3339), ends.UTC().Format(time.RFC3339))
	}
	var dates []string
	if s.backfill {
		if dates, err = s.nights(c, now); err != nil {
			k.fault(err)
			return
		}
	} else {
		w, err := s.window(c, starts, ends, now)
		if err != nil {
			k.fault(err)
			return
		}
		dates = []string{w.date}
	}
	k.ok("report date", "%s", some(dates))
	for _, date := range dates {
		if len(plan.Blocks) > 0 && !coversDay(plan, date) {
			k.fault(usageError("check the schedule and --date", "the schedule has no block on %s", date))
		}
	}
}

// coversDay tells whether a block of the plan has a part on a UTC day.
func coversDay(plan experiment.Plan, date string) bool {
	starts, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return false
	}
	for _, b := range plan.Blocks {
		if b.Starts.Before(starts.Add(day)) && b.Ends.After(starts) {
			return true
		}
	}
	return false
}

// warehouse connects to where the rows lie, if it is a warehouse, and looks at its table.
func (k *runCheck) warehouse(ctx context.Context, p *process, s *runSettings) {
	if !k.config.inWarehouse() {
		return
	}
	j := &job{p: p, config: k.config}
	j.progress, j.log = p.newProgress(&s.settings)
	house, err := j.openWarehouse(ctx)
	if err != nil {
		k.fault(err)
		return
	}
	k.ok("warehouse", "%s, version %s", house, house.Version())
	k.fault(house.Close())
}

// inputs checks the files that are read, and returns about how many bytes of disk the run needs.
func (k *runCheck) inputs(ctx context.Context, now time.Time) (need int64, err error) {
	c := &k.config
	o := ingest.DefaultLoadOptions()
	o.Now = now
	var patterns []string
	var key string
	switch {
	case c.Logs != nil:
		if _, err := c.priceBook(); err != nil {
			k.fault(err)
		}
		patterns, key = slices.Clone(c.Logs.Files), "logs.files"
		o.Format, o.CostUnit, o.MaxRejects = c.Logs.Format, c.Logs.CostUnit, c.Logs.MaxRejects
		if o.Validate() != nil {
			return spareDisk, nil // told with the configuration
		}
	case c.Workload.Trace != "":
		patterns, key = []string{c.Workload.Trace}, "workload.trace"
	}
	for i, pattern := range patterns {
		patterns[i] = c.file.resolve(pattern)
	}
	heads, faults, err := ingest.Inspect(ctx, patterns, o)
	if err != nil {
		return 0, err
	}
	need = spareDisk
	for _, h := range heads {
		k.ok(h.Path, "%s", headText(h))
		k.unread(h.Path, h.Unread)
		need += diskFor(h)
	}
	for _, fault := range faults {
		k.fault(inputErrors(fault, c.file.placeOf(key)))
	}
	if len(faults) == 0 && len(heads) > 0 {
		k.readable(heads, key)
	}
	if c.simulated() {
		need += int64(c.Workload.Requests) * bytesPerRow
	}
	return need, nil
}

// readable holds what cannot be read of the files against what is allowed, as a run does.
func (k *runCheck) readable(heads []ingest.FileHead, key string) {
	var report ingest.LoadReport // what a load would tell of as much
	var requests int64
	part := ""
	for _, h := range heads {
		report.Files = append(report.Files, ingest.FileReport{
			Path: h.Path, Rows: h.Rows, Rejects: h.Rejects, Skipped: h.Skipped, Reasons: h.Reasons, Examples: h.Examples, Unread: h.Unread,
		})
		report.Rows += h.Rows
		report.Rejects += h.Rejects
		requests += h.Unreadable
		if !h.Whole {
			part = " as far as the beginnings of the files tell"
		}
	}
	c := &k.config
	place, text := "", ""
	if c.simulated() {
		requests = lackingTokens(report, requests)
		place, text = c.file.placeOf(key), unreadReplay(report, requests, c.Workload.MaxRejects)
	} else {
		text = unread(report.Rejects, report.Lines(), "lines", "--max-rejects", c.Logs.MaxRejects)
	}
	switch {
	case report.Rows == 0:
		k.fault(unreadError(report, place))
	case c.simulated() && requests == report.Rows && part == "":
		k.fault(usageError(tokensHint, "%s: no usable row in %s: %s", place, c.Workload.Trace, unreadTokens(report)))
	case text != "":
		k.lacks = &ExitError{Code: exitIncomplete, Err: fmt.Errorf("the report will be incomplete%s: %s", part, text), Hint: "mend the log, or allow more with --max-rejects"}
	}
}

// What a run takes of the disk: the built-in experiment's two million rows take 110 MB; a log of text shrinks to about half,
// a compressed one may grow to twice its size. The spare is for reports and for DuckDB's own work.
const (
	bytesPerRow = 64
	spareDisk   = 64 << 20
)

func diskFor(h ingest.FileHead) int64 {
	if h.Compressed {
		return 2 * h.Size
	}
	return h.Size / 2
}

// headText tells what the beginning of a file holds.
func headText(h ingest.FileHead) string {
	if h.Format == "" {
		return "empty"
	}
	part := "in its beginning"
	if h.Whole {
		part = "in all"
	}
	text := fmt.Sprintf("%s, %s %s %s", h.Format, thousands(h.Rows), plural(int(h.Rows), "request", "requests"), part)
	if h.Rejects > 0 {
		text += fmt.Sprintf(", %s %s cannot be read (%s)", thousands(h.Rejects), plural(int(h.Rejects), "line", "lines"), countsText(h.Reasons))
	}
	if h.Unknown != "" {
		text += ", unknown columns: " + h.Unknown
	}
	if !h.From.IsZero() {
		text += ", " + h.From.UTC().Format(time.RFC3339) + " … " + h.To.UTC().Format(time.RFC3339)
	}
	return text
}

// output checks the output folder: that it can be written, that no other run is at work in it, that its database can be read
// and holds rows of this kind, and that the disk has room.
func (k *runCheck) output(ctx context.Context, need int64) {
	out := outDir{k.config.Out}
	if out.path == "" {
		return // told with the configuration
	}
	for _, folder := range []string{out.path, out.reports(), out.runs()} {
		there, err := nearestFolder(folder)
		if err == nil {
			err = tryWrite(there)
		}
		if err != nil {
			k.fault(usageError("--out names another folder", "output folder %s: %w", folder, err))
			return
		}
	}
	there, err := nearestFolder(out.path)
	if err != nil {
		k.fault(err)
		return
	}
	if there == filepath.Clean(out.path) {
		k.ok("output folder", "%s can be written", out.path)
	} else {
		k.ok("output folder", "%s will be made in %s", out.path, there)
	}
	if k.busy = out.tryLock(); k.busy != nil {
		return // nor could the database be opened
	}
	k.ok("lock", "free")
	k.database(ctx, out)
	free, err := freeDisk(there)
	switch {
	case err != nil:
		k.fault(fmt.Errorf("disk of %s: %w", there, err))
	case free < need:
		k.fault(usageError("make room, or choose another --out", "disk of %s: %s free, about %s are needed", there, megabytes(free), megabytes(need)))
	default:
		k.ok("disk", "%s free, about %s are needed", megabytes(free), megabytes(need))
	}
}

func (k *runCheck) database(ctx context.Context, out outDir) {
	if _, err := os.Stat(out.database()); errors.Is(err, fs.ErrNotExist) {
		k.ok("database", "will be made")
		return
	}
	options := k.config.storeOptions()
	options.ReadOnly = true
	store, err := openStore(ctx, out.database(), options)
	if err != nil {
		k.fault(err)
		return
	}
	if k.config.simulated() {
		err = refuseRowsOf(ctx, store, "file <> '"+ingest.DriveFile+"'", "request logs")
	} else {
		err = refuseRowsOf(ctx, store, "file = '"+ingest.DriveFile+"'", "a simulated experiment")
	}
	rows, countErr := scalar(ctx, store, "SELECT count(*) FROM requests")
	if err = errors.Join(err, countErr, store.Close()); err != nil {
		k.fault(err)
		return
	}
	k.ok("database", "%s holds %s requests", out.database(), rows)
}

// tryLock returns the error of a folder that another run has taken, or nil. It makes no lock file.
func (o outDir) tryLock() error {
	lock := flock.New(o.lockFile(), flock.SetFlag(os.O_RDWR))
	got, err := lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("lock %s: %w", o.lockFile(), err)
	case !got:
		return o.busy()
	}
	return lock.Unlock()
}

// nearestFolder returns a folder, or the nearest one above it that exists.
func nearestFolder(path string) (string, error) {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			return path, nil
		case err == nil:
			return "", fmt.Errorf("%s is not a folder", path)
		case !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path):
			return "", err
		}
	}
}

// tryWrite makes a file in a folder and takes it away again.
func tryWrite(folder string) error {
	f, err := os.CreateTemp(folder, tmpMark+"check-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// freeDisk returns how many bytes the disk of a folder has left for this user.
func freeDisk(folder string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert,gosec // other systems have other types
}

func megabytes(n int64) string {
	return thousands((n+999_999)/1_000_000) + " MB"
}
