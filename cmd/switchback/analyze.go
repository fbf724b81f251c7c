package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/pflag"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/reports"
)

// analyzeCommand estimates from the rows that are loaded.
func (p *process) analyzeCommand() command {
	var s settings
	fs := pflag.NewFlagSet("analyze", pflag.ContinueOnError)
	s.configFlag(fs)
	s.outputFlags(fs)
	s.windowFlags(fs)
	s.simulationFlags(fs)
	s.rejectFlag(fs)
	s.guardrailFlag(fs)
	s.logFlags(fs)
	return command{
		use:   "analyze",
		short: "Estimate effects and intervals from the loaded rows",
		long: "Applies the schedule to the rows in the DuckDB file, summarises them by block, and writes estimates and intervals\n" +
			"to its table results. switchback report renders them.",
		example: "  switchback analyze\n  switchback analyze --config router-week.toml --date 2026-11-08",
		args:    noArguments,
		flags:   fs,
		run: func(ctx context.Context, _ []string) error {
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			return p.inOutput(ctx, "analyze", &s, c, func(ctx context.Context, j *job) error {
				if c.inWarehouse() {
					return j.analyzeWarehouse(ctx, &s, commandLine("run", fs))
				}
				store, err := openFilled(ctx, j.out.database(), c.storeOptions())
				if err != nil {
					return err
				}
				doc, err := j.analyze(ctx, store, &s, commandLine("run", fs))
				if err := errors.Join(err, store.Close()); err != nil {
					return err
				}
				j.outcome = "done: results of " + doc.ReportDate + " in " + j.out.database()
				if err := j.show(doc); err != nil {
					return err
				}
				return verdictError(doc, &s)
			})
		},
	}
}

func (j *job) analyze(ctx context.Context, store *ingest.Store, s *settings, command string) (reports.Document, error) {
	if err := j.refuseOthers(ctx, store); err != nil {
		return reports.Document{}, err
	}
	plan, err := j.schedule(ctx, store)
	if err != nil {
		return reports.Document{}, err
	}
	w, err := j.window(s, plan)
	if err != nil {
		return reports.Document{}, err
	}
	analysed := store
	if j.config.simulated() {
		analysed = nil // as run does
	}
	if err := j.identify(ctx, w, plan, analysed); err != nil {
		return reports.Document{}, err
	}
	before, err := factsBefore(ctx, store, w.date)
	if err != nil {
		return reports.Document{}, err
	}
	doc, err := j.conclude(ctx, store, plan, w, command, before)
	if err != nil {
		return doc, err
	}
	return doc, j.out.writePlan(plan)
}

// refuseOthers refuses rows that are not of the configured experiment, before its plan is written over theirs. Logs whose
// rows carry their arm, such as those of drive, are checked against the plan later.
func (j *job) refuseOthers(ctx context.Context, store *ingest.Store) error {
	if !j.config.simulated() {
		return refuseRowsOf(ctx, store, "file = '"+ingest.DriveFile+"'", "a simulated experiment")
	}
	n, err := scalar(ctx, store, "SELECT count(*) FROM requests WHERE arm_logged IS NULL AND source <> '"+ingest.SourceDrive+"'")
	if err != nil || n == "0" {
		return err
	}
	return usageError("name the experiment of these logs with --config",
		"%s: %s rows of request logs without an arm; the plan of a simulated experiment is not theirs", store.Path(), n)
}

// factsBefore returns what the saved run of a date says of its rows, which are the same.
func factsBefore(ctx context.Context, store *ingest.Store, date string) (facts, error) {
	text, err := store.Document(ctx, date)
	if errors.Is(err, ingest.ErrNoRun) {
		return facts{}, nil
	}
	if err != nil {
		return facts{}, err
	}
	doc, err := reports.Decode(bytes.NewReader(text))
	f := facts{notes: doc.Notes, logHash: doc.Provenance.LogHash}
	if doc.Simulated { // of logs the tables tell the rest, of a replay they do not
		f.provenance.Inputs = doc.Provenance.Inputs
		for _, w := range doc.Warnings {
			if w.Code == codeUnread {
				f.unread = w.Text
			}
		}
	}
	return f, err
}

// schedule returns the plan that ran: drawn, read from its file, or made from the labels of the loaded rows.
func (j *job) schedule(ctx context.Context, store *ingest.Store) (experiment.Plan, error) {
	if j.config.scheduleKind() != reports.ScheduleLabels {
		return j.config.plan()
	}
	return j.labelled(store.PlanFromLabels(ctx, j.config.design(), j.config.arms()))
}

// labelled checks a schedule that was made from labels.
func (j *job) labelled(plan experiment.Plan, labels ingest.LabelReport, err error) (experiment.Plan, error) {
	if err != nil {
		return experiment.Plan{}, usageError(`name the schedule that ran in design.schedule, or say "drawn" when this program's own plan ran`,
			"%s: %w", j.config.file.place("design"), err)
	}
	days := j.config.days(plan)
	if err := plan.Member(experiment.Order(j.config.Design.Order), days); err != nil {
		return experiment.Plan{}, usageError(memberHint(plan, days), "schedule from labels: %w", err)
	}
	j.log.Info("schedule from labels", "rows", labels.Rows, "other label", labels.Mixed)
	return plan, nil
}

// window returns the window of the job on a plan; on labels the design says how long the experiment runs.
func (j *job) window(s *settings, plan experiment.Plan) (window, error) {
	starts, ends := j.config.span(plan)
	return s.window(&j.config, starts, ends, j.p.now())
}
