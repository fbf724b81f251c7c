package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/pflag"

	"switchback/ingest"
	"switchback/reports"
)

// reportCommand renders the report from the DuckDB file.
func (p *process) reportCommand() command {
	var s settings
	var o reports.Options
	var other string
	fs := pflag.NewFlagSet("report", pflag.ContinueOnError)
	s.configFlag(fs)
	s.outputFlags(fs)
	fs.StringVar(&s.date, "date", "", "report `YYYY-MM-DD` (default the latest that was analysed)")
	fs.BoolVar(&o.HTML, "html", false, "also write report.html, one page with everything in it")
	fs.BoolVar(&o.PNG, "png", false, "also write every figure as PNG")
	fs.StringVar(&other, "against", "", "set the report beside another one: a report `folder`, or an output folder for its latest")
	s.guardrailFlag(fs)
	s.logFlags(fs)
	return command{
		use:     "report",
		short:   "Render the report from the DuckDB file",
		long:    "Writes report.md, results.json and the figures of an analysed date and points latest at them.",
		example: "  switchback report\n  switchback report --date 2026-11-08 --html\n  switchback report --against other-out",
		args:    noArguments,
		flags:   fs,
		run: func(ctx context.Context, _ []string) error {
			if s.date != "" {
				if _, err := parseDate("date", s.date); err != nil {
					return err
				}
			}
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			return p.inOutput(ctx, "report", &s, c, func(ctx context.Context, j *job) error {
				run, doc, err := j.savedRun(ctx, s.date)
				if err != nil {
					return err
				}
				j.record.Experiment, j.record.ReportDate, j.record.Fingerprint = run.Experiment, run.ReportDate, run.InputHash
				j.record.Inputs, j.record.Warnings = doc.Provenance.Inputs, doc.Warnings
				if other != "" {
					if doc, err = against(doc, other); err != nil {
						return err
					}
				}
				return j.publish(ctx, &s, doc, o, nil)
			})
		},
	}
}

// savedRun reads the run of a date, "" for the latest, from the DuckDB file.
func (j *job) savedRun(ctx context.Context, date string) (ingest.RunRecord, reports.Document, error) {
	options := j.config.storeOptions()
	options.ReadOnly = true
	store, err := openFilled(ctx, j.out.database(), options)
	if err != nil {
		return ingest.RunRecord{}, reports.Document{}, err
	}
	run, err := store.Run(ctx, date)
	err = errors.Join(err, store.Close())
	if errors.Is(err, ingest.ErrNoRun) {
		return run, reports.Document{}, usageError("switchback analyze makes them", "%w", err)
	}
	if err != nil {
		return run, reports.Document{}, err
	}
	doc, err := reports.Decode(bytes.NewReader(run.Document))
	return run, doc, err
}
