package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/experiment/prices"
)

// LoadOptions of LoadFiles. See DefaultLoadOptions.
type LoadOptions struct {
	Format     string         // one of Formats, or FormatAuto
	MaxRejects string         // a count, or a share such as "0.1%"
	Now        time.Time      // rows more than a day later are refused; written to `loads`
	Stdin      io.Reader      // of the path "-"
	Progress   func(Progress) // called now and then, may be nil
	Prices     *prices.Book   // fills costs that a log does not state, and checks the others; nil: neither
	CostUnit   string         // of formats whose exports differ in it: CostUnitUSD, CostUnitCents; "" is cents
	DryRun     bool           // read and report, load nothing

	// ReadParquet reads a Parquet file to its end before it is loaded, as the function ReadParquet does, which nil stands for.
	// Some damage ends the process that meets it: a program can have another one do it.
	ReadParquet func(ctx context.Context, path string) (damage string, err error)
}

// Units of LoadOptions.CostUnit.
const (
	CostUnitUSD   = "usd"
	CostUnitCents = "cents"
)

// DefaultLoadOptions recognises formats and allows one reject in a thousand lines.
func DefaultLoadOptions() LoadOptions { return LoadOptions{Format: FormatAuto, MaxRejects: "0.1%"} }

// Validate reports a format that does not exist and a limit that is no number.
func (o LoadOptions) Validate() error {
	if o.Format != FormatAuto && !slices.Contains(Formats(), o.Format) {
		return fmt.Errorf("log format %q is not one of %s, %s", o.Format, FormatAuto, strings.Join(Formats(), ", "))
	}
	if o.CostUnit != "" && o.CostUnit != CostUnitUSD && o.CostUnit != CostUnitCents {
		return fmt.Errorf("cost unit %q is neither %s nor %s", o.CostUnit, CostUnitUSD, CostUnitCents)
	}
	if _, err := ParseRejectLimit(o.MaxRejects); err != nil {
		return fmt.Errorf("most rejects: %w", err)
	}
	return nil
}

// Progress says how far a load is.
type Progress struct {
	File       string
	Bytes      int64 // of all files, as they lie on disk
	TotalBytes int64 // 0 when an input has no known size
	Rows       int64
}

// What LoadFiles did with a file.
const (
	FileLoaded    = "loaded"
	FileGrown     = "grown"     // only what is new was loaded
	FileReplaced  = "replaced"  // its earlier rows were dropped in the same transaction
	FileUnchanged = "unchanged" // loaded before, under this or another name
	FileEmpty     = "empty"
	FileReadable  = "readable" // in a dry run: it would have been loaded
	FileRefused   = "refused"
	FileFailed    = "failed" // an error ended its load, of which nothing stayed
)

// FileReport says what one file held and what became of it.
type FileReport struct {
	Path       string
	Format     string
	Status     string // a File… constant
	Reason     string // of FileRefused and FileFailed, or the earlier load of FileUnchanged
	Hash       string // sha256 of the decompressed bytes
	Bytes      int64  // decompressed
	Rows       int64  // requests read from it by this load
	Rejects    int64
	Skipped    int64         // records that are no requests
	Duplicates int64         // rows that were dropped because another row has the same key
	Conflicts  int64         // of Duplicates: rows that differed from the one that stayed
	Late       int64         // rows of days before the newest one that was loaded already
	Reasons    []Count       // of the rejects, most first
	Examples   []Reject      // the first of each reason, in the order of Reasons
	Unread     []UnreadField // most values first
	Models     []Count
	Unknown    []string // columns that the reader does not know
	Missing    []string // canonical columns without any value
	// NotMeasurable lists the metrics, in report order, that no row of the file tells enough for.
	NotMeasurable []string
	From, To      time.Time
	Warnings      []string
	CutShort      bool // compressed data ended too early; nothing of the file was loaded
}

// LoadReport says what LoadFiles did.
type LoadReport struct {
	Files    []FileReport
	Warnings []string
	Rows     int64
	Rejects  int64
	// TooManyRejects tells that rejects exceed the limit, CutShort that a compressed file was cut short.
	TooManyRejects bool
	CutShort       bool
}

// LoadFiles loads logs into a store, each file in one transaction and exactly once: a file that was loaded is
// skipped, of a grown one only the new part is loaded, and the rows of a changed one are replaced. Patterns are
// paths, globs or "-". The error wraps ErrInput when a file is missing or refused; the others are loaded all the same, and the report
// tells of all. store may be nil with DryRun.
func LoadFiles(ctx context.Context, store *Store, patterns []string, o LoadOptions) (LoadReport, error) {
	if err := o.Validate(); err != nil {
		return LoadReport{}, fmt.Errorf("load: %w: %w", ErrInput, err)
	}
	inputs, warnings := expand(patterns)
	report := LoadReport{Warnings: warnings}
	run := fileLoads{store: store, options: o, total: totalSize(inputs)}
	refused, err := run.all(ctx, inputs, &report)
	if err != nil {
		return report, err
	}
	limit, err := ParseRejectLimit(o.MaxRejects)
	if err != nil {
		return report, err
	}
	report.TooManyRejects = limit.Exceeded(report.Rejects, report.Lines())
	return report, errors.Join(refused...)
}

// all loads every file. When one was replaced, a file before it may turn out to hold rows that are missing now,
// so those that were skipped are looked at once more.
func (run *fileLoads) all(ctx context.Context, inputs []input, report *LoadReport) (refused []error, err error) {
	replaced := false
	for _, in := range inputs {
		file, err := run.loadInput(ctx, in)
		report.add(file)
		replaced = replaced || file.Status == FileReplaced
		if errors.Is(err, ErrInput) {
			refused = append(refused, err)
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range report.Files {
		if !replaced || report.Files[i].Status != FileUnchanged {
			continue
		}
		file, err := run.load(ctx, report.Files[i].Path)
		if err != nil {
			report.Files[i] = file
			return nil, err
		}
		if file.Status != FileUnchanged {
			report.Files[i] = file
			report.Rows += file.Rows
			report.Rejects += file.Rejects
		}
	}
	return refused, nil
}

// loadInput loads a file, or reports what is wrong with its name.
func (run *fileLoads) loadInput(ctx context.Context, in input) (FileReport, error) {
	if in.fault != nil {
		return run.refuse(FileReport{Path: in.path}, in.fault)
	}
	return run.load(ctx, in.path)
}

// Lines counts what was read: requests, rejects, and records that are no requests.
func (r *LoadReport) Lines() int64 {
	lines := r.Rows + r.Rejects
	for _, f := range r.Files {
		lines += f.Skipped
	}
	return lines
}

func (r *LoadReport) add(f FileReport) {
	r.Files = append(r.Files, f)
	r.Rows += f.Rows
	r.Rejects += f.Rejects
	r.CutShort = r.CutShort || f.CutShort
}

func totalSize(inputs []input) int64 {
	var total int64
	for _, in := range inputs {
		if in.fault != nil {
			continue
		}
		info, err := os.Stat(in.path)
		if in.path == "-" || err != nil {
			return 0
		}
		total += info.Size()
	}
	return total
}

// fileLoads loads one file after the other.
type fileLoads struct {
	store   *Store
	options LoadOptions
	done    int64 // bytes on disk of the files before this one
	total   int64
	rows    int64
}

// earlier is what the store knows of a file: its newest load.
type earlier struct {
	known   bool
	bytes   int64
	hash    string
	format  string
	rows    int64
	rejects int64
}

func (s *Store) earlierLoad(ctx context.Context, path string) (earlier, error) {
	e := earlier{known: true}
	err := s.db.QueryRowContext(ctx, "SELECT bytes, hash, format, rows, rejects FROM loads WHERE file = ? ORDER BY CAST(load_id AS BIGINT) DESC LIMIT 1", path).
		Scan(&e.bytes, &e.hash, &e.format, &e.rows, &e.rejects)
	if errors.Is(err, sql.ErrNoRows) {
		return earlier{}, nil
	}
	return e, err
}

// loadedAs returns the file that content with this hash was loaded from, or "".
func (s *Store) loadedAs(ctx context.Context, hash string) (string, error) {
	var file string
	err := s.db.QueryRowContext(ctx, "SELECT file FROM loads WHERE hash = ? AND (rows > 0 OR rejects = 0) LIMIT 1", hash).Scan(&file)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return file, err
}

// load loads one file. An error that wraps ErrInput is about this file only.
func (run *fileLoads) load(ctx context.Context, path string) (FileReport, error) {
	report := FileReport{Path: path, Status: FileLoaded}
	plan, err := run.plan(ctx, path)
	if err != nil {
		return run.refuse(report, err)
	}
	if plan.status == FileUnchanged {
		report.Status, report.Hash, report.Bytes, report.Format = FileUnchanged, plan.hash, plan.bytes, plan.format
		run.done += plan.size
		return report, nil
	}
	err = run.read(ctx, plan, &report)
	if !plan.byTime && errors.Is(err, errUnsorted) {
		plan.byTime = true
		report = FileReport{Path: path, Status: FileLoaded}
		err = run.read(ctx, plan, &report)
	}
	if err != nil {
		return run.refuse(report, err)
	}
	return report, nil
}

// refuse turns an error of a file into its report. Errors of the store and of ctx stay what they are: they end the load of
// the others too.
func (run *fileLoads) refuse(report FileReport, err error) (FileReport, error) {
	var input inputError
	switch {
	case errors.Is(err, errCutShort):
		report.CutShort = true
		input = inputError{report.Path, err.Error(), ""}
	case errors.As(err, &input):
	default:
		return FileReport{Path: report.Path, Format: report.Format, Status: FileFailed, Reason: err.Error()}, err
	}
	report.Status, report.Reason = FileRefused, input.reason
	report.Rows, report.Rejects, report.Reasons, report.Examples, report.Unread = 0, 0, nil, nil, nil
	if report.CutShort {
		return report, nil
	}
	return report, input
}

// filePlan says what of a file is to be loaded.
type filePlan struct {
	path   string
	status string
	from   int64 // offset of what is new
	byTime bool  // sort by time before attempts are joined
	hash   string
	bytes  int64
	size   int64
	format string
}

// plan compares a file with its earlier load by hashes of its decompressed bytes.
func (run *fileLoads) plan(ctx context.Context, path string) (filePlan, error) {
	plan := filePlan{path: path, status: FileLoaded, byTime: path == "-"} // a stream is read once
	if run.store == nil || path == "-" {
		return plan, nil
	}
	before, err := run.store.earlierLoad(ctx, path)
	if err != nil || !before.known {
		return plan, err
	}
	src, err := openSource(path, nil)
	if err != nil {
		return plan, openFailure(path, err)
	}
	defer src.Close() //nolint:errcheck // only read
	src.marks = []mark{{at: before.bytes}}
	if _, err := io.Copy(io.Discard, contextReader{ctx, src}); err != nil {
		return plan, fmt.Errorf("read %s: %w", path, err)
	}
	plan.hash, plan.bytes, plan.size, plan.format = src.sum(), src.bytes, src.size, before.format
	old := src.marks[0]
	switch {
	case run.options.Format != FormatAuto && run.options.Format != before.format:
		plan.status = FileReplaced // it was taken for another format, or is refused when it is read
	case plan.hash == before.hash && before.rows == 0 && before.rejects > 0:
		plan.status = FileReplaced // nothing of it is there, and why not is told again
	case plan.hash == before.hash:
		plan.status = FileUnchanged
	case old.sum == before.hash && old.lineEnd && before.rejects == 0 && formatNamed(before.format).appends:
		plan.status, plan.from = FileGrown, before.bytes
	default:
		plan.status = FileReplaced
	}
	return plan, nil
}

// formatNamed is the first format of a name. Files of columns have the canonical format's name too, but they never grow:
// their footer moves.
func formatNamed(name string) format {
	for _, f := range formats() {
		if f.name == name {
			return f
		}
	}
	return format{}
}

func openFailure(path string, err error) error {
	if errors.Is(err, errCutShort) {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return inputError{path, err.Error(), ""}
}

// contextReader ends a read when the context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// read reads a file into the store, or nowhere in a dry run.
func (run *fileLoads) read(ctx context.Context, plan filePlan, report *FileReport) error {
	src, err := openSource(plan.path, run.options.Stdin)
	if err != nil {
		return openFailure(plan.path, err)
	}
	defer src.Close() //nolint:errcheck // only read
	f, whole, empty, err := recogniseStream(run.options.Format, contextReader{ctx, src})
	var unknown formatError
	switch {
	case errors.As(err, &unknown):
		return inputError{plan.path, unknown.reason, unknown.hint}
	case err != nil:
		return fmt.Errorf("read %s: %w", plan.path, err)
	}
	report.Status = plan.status
	if run.options.DryRun {
		report.Status = FileReadable
	}
	if empty {
		if plan.status == FileReplaced && !run.options.DryRun {
			return run.empty(ctx, plan, report)
		}
		report.Status = FileEmpty
		report.Warnings = append(report.Warnings, "the file is empty")
		return nil
	}
	report.Format = f.name
	if run.options.DryRun && !f.parquet {
		discard := func(*experiment.Batch) error { return nil }
		return run.parse(f, whole, src, plan, report, discard, func(rejected) error { return nil }, nil)
	}
	store := run.store
	if run.options.DryRun {
		if store, err = Open(ctx, InMemory, DefaultOptions()); err != nil {
			return err
		}
		defer store.Close() //nolint:errcheck // it holds nothing that is kept
	}
	loader, err := store.NewLoader(ctx, LoadInfo{
		File: plan.path, Format: f.name, Now: run.options.Now, Replace: plan.status == FileReplaced,
	})
	if err != nil {
		return err
	}
	defer loader.Abort() //nolint:errcheck // after Commit it does nothing
	if f.parquet {
		err = run.readParquet(whole, src, plan, loader, report)
	} else {
		err = run.parse(f, whole, src, plan, report, loader.Write, loader.reject, loader.join)
	}
	if err != nil || run.options.DryRun {
		return err
	}
	return run.commit(ctx, plan, loader, report)
}

// empty drops what was loaded from a file that is empty now.
func (run *fileLoads) empty(ctx context.Context, plan filePlan, report *FileReport) error {
	loader, err := run.store.NewLoader(ctx, LoadInfo{
		File: plan.path, Format: plan.format, Hash: plan.hash, Bytes: plan.bytes, Now: run.options.Now, Replace: true,
	})
	if err != nil {
		return err
	}
	report.Format, report.Hash, report.Bytes = plan.format, plan.hash, plan.bytes
	report.Warnings = append(report.Warnings, fmt.Sprintf("the file is empty now: the %d rows that were loaded from it are dropped", loader.replaced))
	loader.notes = slices.Clone(report.Warnings)
	run.done += plan.size
	_, err = loader.Commit()
	return err
}

// commit ends a load, unless its content turns out to be in the store under another name.
func (run *fileLoads) commit(ctx context.Context, plan filePlan, loader *Loader, report *FileReport) error {
	if plan.status == FileLoaded {
		if known, err := run.store.loadedAs(ctx, report.Hash); err != nil || known != "" {
			*report = FileReport{Path: plan.path, Status: FileUnchanged, Reason: "loaded as " + known, Format: report.Format, Hash: report.Hash, Bytes: report.Bytes}
			return err
		}
	}
	loader.info.Hash, loader.info.Bytes = report.Hash, report.Bytes
	loader.row.Skipped = report.Skipped
	loader.notes = slices.Clone(report.Warnings)
	loader.span(report.From, report.To)
	f := formatNamed(report.Format)
	loader.sessionIsTrace, loader.folds = f.sessionIsTrace, f.folds
	_, err := loader.Commit()
	report.Duplicates, report.Conflicts, report.Late = loader.found.removed, loader.found.conflicting, loader.late
	if n := report.Conflicts; n > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf("%d duplicates differ from the row that was kept, which is the more complete or else the later one", n))
	}
	report.Warnings = append(report.Warnings, loader.lateness()...)
	return err
}

// readParquet lets DuckDB read a file into the load.
func (run *fileLoads) readParquet(in io.Reader, src *source, plan filePlan, loader *Loader, report *FileReport) error {
	if src.file == nil || src.compressed {
		return inputError{src.name, "Parquet must be a plain file, not a pipe or a compressed one", ""}
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // for the hash
		return fmt.Errorf("read %s: %w", src.name, err)
	}
	if err := run.options.tryParquet(loader.ctx, plan.path); err != nil {
		return err
	}
	tally, unknown, missing, err := loadParquet(loader, plan.path, newClock(run.options.Now), run.options.Prices)
	if err != nil {
		return err
	}
	var unmet string
	if err := loader.conn.QueryRowContext(loader.ctx, unmetQuery(loader.row.LoadID)).Scan(&unmet); err != nil {
		return storeFault(plan.path, err)
	}
	report.NotMeasurable = strings.Fields(unmet)
	run.fill(report, &tally, src, unknown, missing)
	report.Warnings = append(report.Warnings, priceWarnings(&tally)...)
	return nil
}

// parse reads a file with its format's reader and fills the report.
func (run *fileLoads) parse(f format, in io.Reader, src *source, plan filePlan, report *FileReport,
	write func(*experiment.Batch) error, reject func(rejected) error, join func([]joinedRecord) error,
) error {
	sink := newRowSink(plan.path, newClock(run.options.Now), run.withProgress(src, write), reject)
	sink.costUnit, sink.prices.book = run.options.CostUnit, run.options.Prices
	sink.byTime, sink.keepJoined = plan.byTime, join
	if run.store != nil && run.store.path != InMemory {
		sink.folder = filepath.Dir(run.store.path) // where there is room for the rows
	}
	unknown, err := f.read(in, plan.from, sink)
	if err != nil {
		return fmt.Errorf("load %s: %w", plan.path, err)
	}
	run.fill(report, &sink.tally, src, unknown, sink.missingColumns())
	report.NotMeasurable = unmetBy(sink.unmet)
	report.Warnings = append(report.Warnings, priceWarnings(&sink.tally)...)
	if f.mostExported > 0 && sink.tally.records == f.mostExported {
		report.Warnings = append(report.Warnings, fmt.Sprintf("the file ends at %d records, the most that this gateway exports at once: later ones may be missing", f.mostExported))
	}
	if f.caveat != "" {
		report.Warnings = append(report.Warnings, f.caveat)
	}
	if f.costInCents && run.options.CostUnit == "" {
		report.Warnings = append(report.Warnings, "costs are read as cents; say so, or that they are USD, with --cost-unit")
	}
	return nil
}

// maxCostRatio is how far logged costs may be from those of the price book, in sum, before a report says so.
const maxCostRatio = 2

func priceWarnings(t *fileTally) []string {
	var out []string
	if t.priced > 0 {
		out = append(out, fmt.Sprintf("the log states no cost for %d rows: they are priced from the price book", t.priced))
	}
	if t.booked > 0 && (t.logged > maxCostRatio*t.booked || t.booked > maxCostRatio*t.logged) {
		out = append(out, fmt.Sprintf("logged costs are %.3g times those of the price book for the same tokens: check the unit", float64(t.logged)/float64(t.booked)))
	}
	return out
}

// fill writes what was read into a file's report.
func (run *fileLoads) fill(report *FileReport, t *fileTally, src *source, unknown, missing []string) {
	report.Rows, report.Rejects, report.Skipped = t.rows, t.rejects, t.skipped
	report.Reasons, report.Examples, report.Unread, report.Models = counts(t.reasons), t.examples(), t.unreadFields(), counts(t.models)
	report.From, report.To = t.span()
	report.Unknown, report.Missing = unknown, missing
	report.Hash, report.Bytes = src.sum(), src.bytes
	if len(unknown) > 0 {
		report.Warnings = append(report.Warnings, "unknown columns: "+unknownColumns(report.Format, unknown, missing))
	}
	run.done += src.size
	run.rows += t.rows
}

// withProgress reports each time that rows are handed on.
func (run *fileLoads) withProgress(src *source, write func(*experiment.Batch) error) func(*experiment.Batch) error {
	if run.options.Progress == nil {
		return write
	}
	rows := run.rows
	var reported int64
	return func(b *experiment.Batch) error {
		rows += int64(len(b.Requests))
		if rows-reported >= 8192 {
			reported = rows
			run.options.Progress(Progress{File: src.name, Bytes: run.done + src.raw.n.Load(), TotalBytes: run.total, Rows: rows})
		}
		return write(b)
	}
}
