package main

import (
	"fmt"
	"time"

	"switchback/experiment"
	"switchback/reports"
)

// window is the half-open span whose rows are analysed, and the date that names the report.
type window struct {
	since, until time.Time
	date         string // YYYY-MM-DD, UTC
	provisional  bool   // the last day of the experiment is not over
}

const day = 24 * time.Hour

// window decides which rows are analysed. A simulated experiment covers its whole plan; one on logs goes from the
// experiment's start to the end of the report date: --date, else yesterday, or the last day when that is earlier.
func (s *settings) window(c *config, starts, ends, now time.Time) (window, error) {
	first, last := starts.UTC().Truncate(day), ends.UTC().Add(-time.Nanosecond).Truncate(day)
	date := last
	switch {
	case c.simulated() && s.date != "":
		given, err := parseDate("date", s.date)
		if err != nil {
			return window{}, err
		}
		if !given.Equal(last) {
			return window{}, usageError("leave --date out", "--date: a simulated run covers its whole plan and is named by its last day, %s", last.Format(time.DateOnly))
		}
	case c.simulated():
	case s.date != "":
		var err error
		if date, err = parseDate("date", s.date); err != nil {
			return window{}, err
		}
	default:
		if yesterday := now.UTC().Truncate(day).Add(-day); yesterday.Before(last) {
			date = yesterday
		}
	}
	if date.Before(first) || date.After(last) {
		return window{}, usageError("choose a day of the experiment with --date", "report date %s: the experiment runs from %s to %s",
			date.Format(time.DateOnly), first.Format(time.DateOnly), last.Format(time.DateOnly))
	}
	w := window{since: starts.UTC(), until: ends.UTC(), date: date.Format(time.DateOnly), provisional: date.Before(last)}
	if end := date.Add(day); end.Before(w.until) {
		w.until = end
	}
	return w, s.narrow(&w)
}

// span is when an experiment runs: from the first block of its plan to the last, or as the design says where the plan
// follows from the labels of the rows.
func (c *config) span(plan experiment.Plan) (starts, ends time.Time) {
	if c.scheduleKind() == reports.ScheduleLabels {
		return c.design().Start, c.design().End()
	}
	return plan.Window()
}

// days is the length of the experiment: that of its plan, or as the design says where the plan follows from the labels of
// the rows so far.
func (c *config) days(plan experiment.Plan) int {
	if c.scheduleKind() == reports.ScheduleLabels {
		return c.design().Days
	}
	days := 0
	for _, b := range plan.Blocks {
		days = max(days, b.Day)
	}
	return days
}

// plannedPairs is the number of pairs of the whole experiment, all schedules together.
func (c *config) plannedPairs(plan experiment.Plan) int {
	models := plan.Models()
	if c.scheduleKind() == reports.ScheduleLabels {
		return len(models) * c.days(plan) * c.design().Slots() / 2
	}
	pairs := 0
	for _, model := range models {
		of, _ := plan.Pairs(model)
		pairs += len(of)
	}
	return pairs
}

// narrow applies --since and --until.
func (s *settings) narrow(w *window) error {
	if s.since != "" {
		t, err := parseInstant("since", s.since)
		if err != nil {
			return err
		}
		if t.After(w.since) {
			w.since = t
		}
	}
	if s.until != "" {
		t, err := parseInstant("until", s.until)
		if err != nil {
			return err
		}
		if t.Before(w.until) {
			w.until = t
		}
	}
	if !w.since.Before(w.until) {
		return usageError("check --since, --until and --date", "no time lies between %s and %s", w.since.Format(time.RFC3339), w.until.Format(time.RFC3339))
	}
	return nil
}

func (w window) String() string {
	return fmt.Sprintf("%s … %s", w.since.Format(time.RFC3339), w.until.Format(time.RFC3339))
}
