package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"switchback/experiment"
	"switchback/experiment/prices"
	"switchback/ingest"
)

// ingestSettings are the flags of ingest.
type ingestSettings struct {
	settings
	format   string
	costUnit string
	prices   string
	dryRun   bool
}

// ingestCommand loads request logs into the DuckDB file.
func (p *process) ingestCommand() command {
	var s ingestSettings
	fs := pflag.NewFlagSet("ingest", pflag.ContinueOnError)
	s.configFlag(fs)
	s.outputFlags(fs)
	fs.StringVar(&s.format, "log-format", ingest.FormatAuto, "`name` of the log format")
	fs.StringVar(&s.costUnit, "cost-unit", "", "unit of costs in formats whose exports differ: usd or cents, a `word` (default cents, with a warning)")
	fs.StringVar(&s.prices, "prices", "", "price list for costs that a log does not state, a CSV or JSON `file` (default the embedded one)")
	s.rejectFlag(fs)
	fs.BoolVar(&s.dryRun, "dry-run", false, "read and report, load and write nothing")
	s.logFlags(fs)
	return command{
		use:   "ingest FILE…",
		short: "Load request logs into the DuckDB file",
		long: "FILE is a name, a glob pattern, or - for the standard input; .gz and .zst are looked through. Every file is loaded in\n" +
			"one transaction and once: of a file that has grown only the new part, a changed one is replaced. Lines that cannot be\n" +
			"read are kept in the table rejects.\n\nLog formats: " + formatNames() + ".",
		example: "  switchback ingest 'logs/*.jsonl.gz'\n  zcat requests.csv.gz | switchback ingest -",
		args:    cobra.MinimumNArgs(1),
		flags:   fs,
		run: func(ctx context.Context, args []string) error {
			if err := checkWords("log-format", s.format, knownNames().formats); err != nil {
				return err
			}
			if s.costUnit != "" {
				if err := checkWords("cost-unit", s.costUnit, costUnits()); err != nil {
					return err
				}
			}
			if _, err := ingest.ParseRejectLimit(s.maxRejects); err != nil {
				return usageError(`write a share such as "0.1%" or a count such as "20"`, "--max-rejects: %w", err)
			}
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			s.fillFrom(fs, &c)
			book, err := s.priceBook(&c)
			if err != nil {
				return err
			}
			if s.dryRun {
				return p.tryLogs(ctx, &s, c, book, args)
			}
			return p.inOutput(ctx, "ingest", &s.settings, c, func(ctx context.Context, j *job) error {
				return j.ingest(ctx, &s, book, args)
			})
		},
	}
}

// fillFrom takes what the flags leave open from the configuration, so that ingest and run load a log alike.
func (s *ingestSettings) fillFrom(fs *pflag.FlagSet, c *config) {
	if c.Logs == nil {
		return
	}
	if !fs.Changed("max-rejects") {
		s.maxRejects = c.Logs.MaxRejects
	}
	if !fs.Changed("log-format") {
		s.format = c.Logs.Format
	}
	if !fs.Changed("cost-unit") {
		s.costUnit = c.Logs.CostUnit
	}
}

// priceBook reads the price list of --prices, else the configuration's, else the embedded one.
func (s *ingestSettings) priceBook(c *config) (*prices.Book, error) {
	if s.prices == "" {
		return c.priceBook()
	}
	book, err := readPrices(s.prices)
	if err != nil {
		return nil, usageError(priceHint, "--prices: %w", err)
	}
	return book, nil
}

// loadOptions are the options of a load at a moment.
func (s *ingestSettings) loadOptions(p *process, book *prices.Book, now time.Time) ingest.LoadOptions {
	return ingest.LoadOptions{
		Format: s.format, MaxRejects: s.maxRejects, CostUnit: s.costUnit, Prices: book, Now: now, Stdin: p.stdin, DryRun: s.dryRun,
	}
}

func (j *job) ingest(ctx context.Context, s *ingestSettings, book *prices.Book, patterns []string) error {
	store, err := openStore(ctx, j.out.database(), j.config.storeOptions())
	if err != nil {
		return err
	}
	report, err := j.loadFiles(ctx, store, patterns, s.loadOptions(j.p, book, j.record.Started), "")
	err = errors.Join(err, store.Close())
	if err := errors.Join(err, j.p.showLoad(report, "")); err != nil {
		return err
	}
	j.outcome = "done: " + j.out.database()
	return incompleteLoad(report, s)
}

// tryLogs is ingest without an output folder: it reads the files, says what is in them and writes nothing.
func (p *process) tryLogs(ctx context.Context, s *ingestSettings, c config, book *prices.Book, patterns []string) error {
	j := &job{p: p, config: c}
	j.progress, j.log = p.newProgress(&s.settings)
	report, err := j.loadFiles(ctx, nil, patterns, s.loadOptions(p, book, p.now().UTC()), "")
	if err := errors.Join(err, p.showLoad(report, "\n"+loadDetails(report)+"\n\nNothing is loaded or written in a dry run.")); err != nil {
		return err
	}
	return incompleteLoad(report, s)
}

// showLoad prints what became of the files, also when one of them is refused.
func (p *process) showLoad(report ingest.LoadReport, details string) error {
	if len(report.Files) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(p.stdout, loadTable(report)+details); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// incompleteLoad is the error of a load that is not whole, or nil.
func incompleteLoad(report ingest.LoadReport, s *ingestSettings) error {
	code := exitIncomplete
	if nothingLoaded(report) {
		code = exitUsage
	}
	switch {
	case code == exitUsage:
		return unreadError(report, "")
	case report.CutShort:
		return &ExitError{Code: code, Err: fmt.Errorf("load: cut short, so that nothing of it was loaded: %s", some(cutShort(report))), Hint: "load it again when it is whole"}
	case report.TooManyRejects:
		hint := "switchback query 'FROM rejects' shows them; the other lines are loaded"
		if s.dryRun {
			hint = "without --dry-run they are kept in the table rejects"
		}
		return &ExitError{
			Code: code,
			Err:  fmt.Errorf("load: %s of %s lines cannot be read, more than --max-rejects %s allows: %s", thousands(report.Rejects), thousands(report.Lines()), s.maxRejects, mostRejected(report).reason),
			Hint: hint,
		}
	}
	return nil
}

// nothingLoaded tells that files with content gave no request.
func nothingLoaded(report ingest.LoadReport) bool {
	content := false
	for _, f := range report.Files {
		switch {
		case f.Status == ingest.FileUnchanged || f.Rows > 0:
			return false
		case f.Status != ingest.FileEmpty && f.Rejects+f.Skipped > 0 || f.CutShort:
			content = true
		}
	}
	return content
}

// costUnits lists the units that a log's costs may be in.
func costUnits() []string { return []string{ingest.CostUnitUSD, ingest.CostUnitCents} }

// mostModels is how many models of a file are named.
const mostModels = 10

// loadDetails says what every file holds, and what can be measured from it.
func loadDetails(report ingest.LoadReport) string {
	var b strings.Builder
	for _, f := range report.Files {
		if f.Rows+f.Rejects == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", f.Path)
		detail := func(name, text string) { fmt.Fprintf(&b, "  %-15s %s\n", name, text) }
		if f.Rows > 0 {
			detail("from … to", f.From.Format(time.RFC3339Nano)+" … "+f.To.Format(time.RFC3339Nano))
			detail("models", countsText(f.Models))
			detail("measurable", idsText(f.NotMeasurable, false))
			detail("not measurable", idsText(f.NotMeasurable, true))
			detail("without a value", wordsText(f.Missing))
		}
		if len(f.Unknown) > 0 {
			detail("unknown columns", wordsText(f.Unknown))
		}
		if f.Rejects > 0 {
			detail("rejects", countsText(f.Reasons))
		}
		if len(f.Unread) > 0 {
			detail("unreadable", unreadText(f.Unread))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// unreadText counts values that cannot be read, by column.
func unreadText(fields []ingest.UnreadField) string {
	var counts []ingest.Count
	for _, u := range fields {
		counts = append(counts, ingest.Count{Name: u.Column, N: u.N})
	}
	return countsText(counts)
}

func countsText(counts []ingest.Count) string {
	var words []string
	for _, c := range counts[:min(len(counts), mostModels)] {
		name := c.Name
		if name == "" {
			name = "(unknown)"
		}
		words = append(words, name+" "+thousands(c.N))
	}
	if n := len(counts) - mostModels; n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	return wordsText(words)
}

// idsText lists the metrics that are, or are not, among some.
func idsText(some []string, among bool) string {
	var ids []string
	for _, m := range experiment.Metrics() {
		if slices.Contains(some, m.ID) == among {
			ids = append(ids, m.ID)
		}
	}
	return wordsText(ids)
}

func wordsText(words []string) string {
	if len(words) == 0 {
		return "–"
	}
	return strings.Join(words, ", ")
}

// loadTable says what became of every file.
func loadTable(report ingest.LoadReport) string {
	t := table.NewWriter()
	t.SetStyle(plainTable())
	t.AppendHeader(table.Row{"file", "format", "status", "rows", "rejects", "skipped", "duplicates"})
	t.SetColumnConfigs(aligned([]bool{false, false, false, true, true, true, true}))
	for _, f := range report.Files {
		t.AppendRow(table.Row{f.Path, f.Format, f.Status, thousands(f.Rows), thousands(f.Rejects), thousands(f.Skipped), thousands(f.Duplicates)})
	}
	return rendered(t)
}
