package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"switchback/experiment"
	"switchback/reports"
)

// backfill makes the reports of a range of nights, in order, each as the nightly run of its date would: with a run record
// and the lock of its own, and skipped when it is up to date. A night that fails ends it.
func (p *process) backfill(ctx context.Context, s *runSettings, c config, command string) error {
	dates, err := s.nights(&c, p.now())
	if err != nil {
		return err
	}
	_, log := p.newProgress(&s.settings)
	start := p.now()
	var lacking []string // nights whose report is written but says 3 or 4
	worst, skipped := exitDone, 0
	for i, date := range dates {
		night := s.settings
		night.date, night.since, night.until = date, "", ""
		var done *job
		err := p.inOutput(ctx, "run", &night, c, func(ctx context.Context, j *job) error {
			done, j.quietly = j, true
			return j.runLogs(ctx, &night, command)
		})
		if !reported(err) {
			if i > 0 && codeOf(err) != exitUsage {
				log.Info("the nights before "+date+" are done; the same command goes on from there", "nights", i)
			}
			return err
		}
		if code := codeOf(err); code != exitDone {
			log.Warn(err.Error(), "exit_code", code)
			lacking = append(lacking, date)
			worst = max(worst, code)
		}
		state := nightState(err, done.record.Status)
		if done.record.Status == statusUpToDate {
			skipped++
		}
		if _, err := fmt.Fprintf(p.stdout, "%s  %-10s  %s\n", date, state, outDir{c.Out}.report(date)); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
	if worst != exitDone {
		return &ExitError{
			Code: worst, Err: fmt.Errorf("backfill: %d of %d nights are incomplete or breach a guardrail: %s", len(lacking), len(dates), some(lacking)),
			Hint: "their reports are written all the same; run again when the rest has arrived",
		}
	}
	outcome := fmt.Sprintf("done: %d %s", len(dates), plural(len(dates), "night", "nights"))
	if skipped > 0 {
		outcome += fmt.Sprintf(", %d of them up to date before", skipped)
	}
	log.Info(outcome, "seconds", hundredths(p.now().Sub(start).Seconds()))
	return nil
}

// nightState tells in a word how a night ended whose report is there.
func nightState(err error, status string) string {
	switch {
	case codeOf(err) == exitIncomplete:
		return "incomplete"
	case codeOf(err) == exitGuardrail:
		return "breached"
	case status == statusUpToDate:
		return "up to date"
	}
	return "done"
}

// nights lists the report dates from --since to --until: by default from the experiment's first day to the date that a run
// without --date reports.
func (s *runSettings) nights(c *config, now time.Time) ([]string, error) {
	switch {
	case c.simulated():
		return nil, usageError("leave it out", "--backfill: a simulated run covers its whole plan, and this experiment reads no logs")
	case s.date != "":
		return nil, usageError("name the nights by --since and --until", "--date beside --backfill")
	}
	plan, err := c.plannedIfAny()
	if err != nil {
		return nil, err
	}
	starts, ends := c.span(plan)
	first, last := starts.UTC().Truncate(day), ends.UTC().Add(-time.Nanosecond).Truncate(day)
	from, to := first, last
	if yesterday := now.UTC().Truncate(day).Add(-day); yesterday.Before(last) {
		to = yesterday
	}
	for _, given := range []struct {
		flag, text string
		date       *time.Time
	}{{"since", s.since, &from}, {"until", s.until, &to}} {
		if given.text == "" {
			continue
		}
		if *given.date, err = parseDate(given.flag, given.text); err != nil {
			return nil, err
		}
		if given.date.Before(first) || given.date.After(last) {
			return nil, usageError("choose days of the experiment", "--%s %s: the experiment runs from %s to %s", given.flag, given.text, first.Format(time.DateOnly), last.Format(time.DateOnly))
		}
	}
	if to.Before(from) {
		return nil, usageError("check --since and --until", "--backfill: no night lies between %s and %s", from.Format(time.DateOnly), to.Format(time.DateOnly))
	}
	var dates []string
	for date := from; !date.After(to); date = date.Add(day) {
		dates = append(dates, date.Format(time.DateOnly))
	}
	return dates, nil
}

// plannedIfAny returns the schedule that is known before the rows are, or an empty one where the rows carry it.
func (c *config) plannedIfAny() (experiment.Plan, error) {
	if c.scheduleKind() == reports.ScheduleLabels {
		return experiment.Plan{}, nil
	}
	plan, err := c.plan()
	if err == nil && len(plan.Blocks) == 0 {
		err = errors.New("the schedule has no block")
	}
	return plan, err
}
