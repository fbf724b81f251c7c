package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"switchback/experiment"
	"switchback/experiment/prices"
	"switchback/ingest"
	"switchback/reports"
)

// runLogs loads a gateway's request logs and reports the window that ends with the report date. Files that are loaded
// already are not read into the database again, so the same night can be run any number of times.
func (j *job) runLogs(ctx context.Context, s *settings, command string) error {
	if j.config.scheduleKind() != reports.ScheduleLabels {
		if _, err := j.config.plan(); err != nil { // a schedule that cannot be read must not cost a load
			return err
		}
	}
	if j.config.inWarehouse() {
		return j.runWarehouse(ctx, s, command)
	}
	book, err := j.config.priceBook()
	if err != nil {
		return err
	}
	store, err := openStore(ctx, j.out.database(), j.config.storeOptions())
	if err != nil {
		return err
	}
	result, err := j.reportLogs(ctx, store, book, s, command)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	if result.done != nil {
		return j.showAgain(s, *result.done)
	}
	return j.publish(ctx, s, result.doc, reports.Options{}, func() error { return j.out.writePlan(result.plan) })
}

// logsResult is a new document, or the record of the run that made the same one before.
type logsResult struct {
	plan experiment.Plan
	doc  reports.Document
	done *record
}

func (j *job) reportLogs(ctx context.Context, store *ingest.Store, book *prices.Book, s *settings, command string) (logsResult, error) {
	var r logsResult
	if err := refuseRowsOf(ctx, store, "file = '"+ingest.DriveFile+"'", "a simulated experiment"); err != nil {
		return r, err
	}
	load, err := j.loadLogs(ctx, store, book)
	if err != nil {
		return r, err
	}
	if rows, err := scalar(ctx, store, "SELECT count(*) FROM requests"); err != nil || rows == "0" {
		return r, errors.Join(err, unreadError(load, ""))
	}
	var short []string // files
	for _, f := range load.Files {
		if f.CutShort {
			short = append(short, f.Path)
		}
	}
	if r.plan, err = j.schedule(ctx, store); err != nil {
		return r, err
	}
	w, err := j.window(s, r.plan)
	if err != nil {
		return r, err
	}
	j.log.Info("window "+w.String(), "report_date", w.date)
	if err := j.identify(ctx, w, r.plan, store); err != nil {
		return r, err
	}
	if former, ok := j.alreadyDone(s); ok && len(short) == 0 {
		r.done = &former
		_, err := store.ApplyPlan(ctx, r.plan) // analyze may have labelled the rows by another schedule since
		return r, err
	}
	r.doc, err = j.conclude(ctx, store, r.plan, w, command, facts{short: short})
	return r, err
}

// loadLogs loads the files of the configuration.
func (j *job) loadLogs(ctx context.Context, store *ingest.Store, book *prices.Book) (ingest.LoadReport, error) {
	var patterns []string
	for _, f := range j.config.Logs.Files {
		patterns = append(patterns, j.config.file.resolve(f))
	}
	o := ingest.DefaultLoadOptions()
	o.Format, o.MaxRejects, o.CostUnit = j.config.Logs.Format, j.config.Logs.MaxRejects, j.config.Logs.CostUnit
	o.Prices, o.Now = book, j.record.Started
	return j.loadFiles(ctx, store, patterns, o, j.config.file.placeOf("logs.files"))
}

// loadFiles is LoadFiles as a stage, with its remarks in the log. place is as for inputErrors.
func (j *job) loadFiles(ctx context.Context, store *ingest.Store, patterns []string, o ingest.LoadOptions, place string) (ingest.LoadReport, error) {
	var report ingest.LoadReport
	name := "load"
	if o.DryRun {
		name = "read"
	}
	err := j.stage(name, "rows", func(s *stage) (int64, error) {
		o.ReadParquet = j.p.readParquet
		o.Progress = func(p ingest.Progress) { s.setPart(p.Rows, p.Bytes, p.TotalBytes) }
		var err error
		report, err = ingest.LoadFiles(ctx, store, patterns, o)
		return report.Rows, err
	})
	for _, w := range report.Warnings {
		j.log.Warn(w)
	}
	for _, f := range report.Files {
		for _, w := range f.Warnings {
			j.log.Warn(w, "file", f.Path)
		}
		for i, r := range f.Reasons {
			j.log.Warn("rejected lines", "file", f.Path, "reason", r.Name, "lines", r.N, "first", f.Examples[i].Line)
		}
		for _, u := range f.Unread {
			j.log.Warn("unreadable values became NULL", "file", f.Path, "column", u.Column, "values", u.N, "first", u.Line, "text", u.Text)
		}
		if f.Status == ingest.FileUnchanged && f.Reason != "" {
			j.log.Info(f.Reason+" before", "file", f.Path)
		}
		if f.CutShort {
			j.log.Warn("file is cut short, nothing of it was loaded", "file", f.Path)
		}
	}
	if errors.Is(err, ingest.ErrInput) {
		return report, inputErrors(err, place)
	}
	return report, err
}

// inputErrors makes a usage error of each file that is missing or refused. place is the key that names the files, "" when the
// command line does.
func inputErrors(err error, place string) error {
	parts := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts = joined.Unwrap()
	}
	var errs manyErrors
	for _, part := range parts {
		hint := ingest.Hint(part)
		if text := part.Error(); place != "" && (strings.Contains(text, "no such file") || strings.Contains(text, "no file matches")) {
			hint = "names and patterns in a configuration are relative to its folder; " + hint
		}
		if place != "" {
			part = fmt.Errorf("%s: %w", place, part)
		}
		errs = append(errs, usageError(hint, "%w", part))
	}
	return &ExitError{Code: exitUsage, Err: errs}
}

// refuseRowsOf refuses an output folder whose database holds rows of another kind, which would be mixed or lost.
func refuseRowsOf(ctx context.Context, store *ingest.Store, condition, what string) error {
	n, err := scalar(ctx, store, "SELECT count(*) FROM loads WHERE "+condition)
	if err != nil {
		return err
	}
	if n != "0" {
		return usageError("choose another --out", "%s holds the rows of %s", store.Path(), what)
	}
	return nil
}

// loaded lists what the store was filled from, for the fingerprint.
func loaded(ctx context.Context, store *ingest.Store) ([]string, error) {
	rows, err := store.Query(ctx, "SELECT file, hash, rows, rejects FROM loads ORDER BY file, CAST(load_id AS BIGINT)")
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // only read
	var files []string
	for rows.Next() {
		files = append(files, fmt.Sprint(rows.Values()...))
	}
	return files, rows.Err()
}
