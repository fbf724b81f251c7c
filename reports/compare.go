package reports

import (
	"fmt"
	"sort"

	"switchback/experiment"
	"switchback/stats"
)

// Compare sets doc beside another report: the overall rows of both, in report order, and what else differs between them.
func Compare(doc, other Document) Comparison {
	c := Comparison{
		Experiment: other.Experiment,
		ReportDate: other.ReportDate,
		Arms:       other.Arms,
		Seed:       other.Method.Seed,
		Version:    other.Provenance.Version,
		Confidence: other.Method.Confidence,
		Rows:       []ComparisonRow{},
		Different:  differences(doc, other),
	}
	for _, m := range experiment.Metrics() {
		here, ok := doc.overall(m.ID)
		there, okThere := other.overall(m.ID)
		if !ok && !okThere {
			continue
		}
		row := ComparisonRow{Metric: m.ID, Verdict: stats.VerdictNotMeasurable, VerdictThere: stats.VerdictNotMeasurable}
		if ok {
			row.Here, row.Verdict = here.Relative, here.Verdict
		}
		if okThere {
			row.There, row.VerdictThere = there.Relative, there.Verdict
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// differences names the settings in which two reports differ, with both values.
func differences(a, b Document) []string {
	out := []string{}
	add := func(what string, x, y any) {
		if x != y {
			out = append(out, fmt.Sprintf("%s: %v here, %v there", what, x, y))
		}
	}
	add("experiment", a.Experiment, b.Experiment)
	add("control arm", a.Arms.Control, b.Arms.Control)
	add("treatment arm", a.Arms.Treatment, b.Arms.Treatment)
	add("first day", day(a.Window.Start), day(b.Window.Start))
	add("end of the window", instant(a.Window.End), instant(b.Window.End))
	add("block", seconds(a.Design.BlockSeconds), seconds(b.Design.BlockSeconds))
	add("burn-in", seconds(a.Design.BurnInSeconds), seconds(b.Design.BurnInSeconds))
	add("burn-in scope", a.Design.BurnInScope, b.Design.BurnInScope)
	add("order", a.Design.Order, b.Design.Order)
	add("interval", a.Method.Interval, b.Method.Interval)
	add("replicates", a.Method.Replicates, b.Method.Replicates)
	add("confidence", a.Method.Confidence, b.Method.Confidence)
	add("weights", a.Method.Weights, b.Method.Weights)
	add("slot adjustment", a.Method.SlotAdjustment, b.Method.SlotAdjustment)
	add("seed", a.Method.Seed, b.Method.Seed)
	add("program version", a.Provenance.Version, b.Provenance.Version)
	add("simulated", a.Simulated, b.Simulated)
	return out
}

// HistoryOf returns how the overall relative effects of doc's metrics moved over reports, sorted by report date and metric order.
// Of several reports with one date the last one counts. doc itself is the last point of its date.
func HistoryOf(doc Document, earlier []Document) []HistoryPoint {
	byDate := map[string]Document{}
	for _, d := range append(append([]Document{}, earlier...), doc) {
		byDate[d.ReportDate] = d
	}
	dates := make([]string, 0, len(byDate))
	for date := range byDate {
		dates = append(dates, date)
	}
	sort.Strings(dates)
	points := []HistoryPoint{}
	for _, date := range dates {
		d := byDate[date]
		for _, m := range experiment.Metrics() {
			e, ok := d.overall(m.ID)
			if !ok {
				continue
			}
			points = append(points, HistoryPoint{
				ReportDate: date, Metric: m.ID, Relative: e.Relative, Pairs: e.Pairs,
				Provisional: d.Provisional, Incomplete: d.Incomplete,
			})
		}
	}
	return points
}
