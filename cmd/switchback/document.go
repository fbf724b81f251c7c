package main

import (
	"fmt"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/reports"
	"switchback/stats"
)

// facts is what a document says besides the estimates.
type facts struct {
	health     ingest.Health
	rejects    maxRejects
	notes      []string // plain sentences that a reader must know
	provenance reports.Provenance
}

// document puts estimates and facts together: everything that the report says.
func (c *config) document(e estimates, f facts) reports.Document {
	doc := reports.Document{
		SchemaVersion: reports.SchemaVersion,
		Experiment:    c.Name,
		ReportDate:    e.window.date,
		Simulated:     c.simulated(),
		Provisional:   e.window.provisional,
		Window:        reports.Window{Start: e.window.since, End: e.window.until},
		Arms:          reports.Arms{Control: e.plan.Arms.Control, Treatment: e.plan.Arms.Treatment},
		Design:        c.designOf(e.plan),
		Method:        c.method(),
		Decision:      reports.Decision{Metrics: c.Report.Decision, Guardrails: c.Report.Guardrails},
		Metrics:       e.found.Estimates,
		Diagnostics:   reports.Diagnostics{Health: healthOf(f.health, e), Excluded: e.found.Exclusions},
		Notes:         f.notes,
		Provenance:    f.provenance,
	}
	lacks := c.lacks(doc.Diagnostics.Health, f)
	doc.Incomplete = len(lacks) > 0
	doc.Warnings = append(dataWarnings(doc, e, lacks), e.found.Warnings...)
	return doc
}

func (c *config) designOf(plan experiment.Plan) reports.Design {
	starts, ends := plan.Window()
	d := reports.Design{
		Start:         starts.UTC(),
		Days:          int(ends.UTC().Add(day-time.Nanosecond).Truncate(day).Sub(starts.UTC().Truncate(day)) / day),
		BlockSeconds:  int64(plan.Blocks[0].Ends.Sub(plan.Blocks[0].Starts) / time.Second),
		BurnInSeconds: int64(plan.Blocks[0].BurnInEnds.Sub(plan.Blocks[0].Starts) / time.Second),
		BurnInScope:   c.Design.BurnInScope,
		Order:         c.Design.Order,
		Schedule:      c.scheduleKind(),
		PerModel:      len(plan.Models()) > 1 || plan.Models()[0] != "",
		Blocks:        len(plan.Blocks),
	}
	for _, b := range plan.Blocks {
		if b.Arm == plan.Arms.Control {
			d.BlocksControl++
		}
	}
	for _, model := range plan.Models() {
		pairs, _ := plan.Pairs(model)
		d.Pairs += len(pairs)
		for _, p := range pairs {
			if p.TreatmentFirst {
				d.TreatmentFirst++
			}
		}
	}
	return d
}

// scheduleKind says where the schedule comes from.
func (c *config) scheduleKind() string {
	switch {
	case c.scheduleIsFile():
		return reports.ScheduleFile
	case c.simulated() || c.Design.Schedule == scheduleDrawn:
		return reports.ScheduleDrawn
	}
	return reports.ScheduleLabels
}

func (c *config) method() reports.Method {
	a := c.analysis()
	return reports.Method{
		Interval: a.Interval, Replicates: a.Replicates, Confidence: a.Confidence, Weights: a.Weights, Seed: a.Seed,
		SlotAdjustment: a.SlotAdjustment, MinPairs: a.MinPairs, MinRows: a.MinRows,
	}
}

// healthOf tells the store's counts in the document's words.
func healthOf(h ingest.Health, e estimates) reports.Health {
	out := reports.Health{
		Read:            h.Rows,
		Kept:            h.Kept,
		OutsideWindow:   h.Outside + h.NoBlock,
		BurnInDropped:   h.BurnIn,
		LabelMismatches: e.applied.Mismatches,
		ByStatus:        countsOf(h.Statuses),
		Quality:         countsOf(h.Quality),
		Rejects:         countsOf(h.Rejects),
		MissingBlocks:   e.blocks.Missing,
		LoneBlocks:      e.blocks.Lone,
	}
	for _, f := range h.Files {
		out.Duplicates += f.Duplicate
	}
	out.Read += out.Duplicates
	var fromCache int64
	for _, arm := range h.Arms {
		fromCache += arm.GatewayCache
		switch arm.Arm {
		case e.plan.Arms.Control:
			out.KeptControl, out.BurnInControl = arm.Kept, arm.BurnIn
			out.GatewayCache.Control, out.BornElsewhere.Control = &arm.GatewayCache, &arm.PinnedOtherArm
		case e.plan.Arms.Treatment:
			out.KeptTreatment, out.BurnInTreatment = arm.Kept, arm.BurnIn
			out.GatewayCache.Treatment, out.BornElsewhere.Treatment = &arm.GatewayCache, &arm.PinnedOtherArm
		}
	}
	if fromCache > 0 {
		out.ByStatus = append(out.ByStatus, reports.Count{Name: experiment.StatusGatewayCache, N: fromCache})
	}
	for _, row := range e.found.Estimates {
		if row.Scope == "overall" && row.Verdict == stats.VerdictNotMeasurable && row.Control == nil && row.Treatment == nil {
			out.NotMeasurable = append(out.NotMeasurable, row.ID)
		}
	}
	return out
}

func countsOf(counts []ingest.Count) []reports.Count {
	var out []reports.Count
	for _, c := range counts {
		out = append(out, reports.Count{Name: c.Name, N: c.N})
	}
	return out
}

// lacks says what of the input is missing: each reason makes the result incomplete.
func (c *config) lacks(h reports.Health, f facts) []stats.Warning {
	var lacks []stats.Warning
	add := func(code, format string, args ...any) {
		lacks = append(lacks, stats.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if n := len(h.MissingBlocks); n > 0 {
		add("missing_blocks", "%d planned %s without any row: %s", n, plural(n, "block", "blocks"), some(h.MissingBlocks))
	}
	if n := len(h.LoneBlocks); n > 0 {
		add("lone_block", "%d %s left out for want of a partner in the other arm: %s", n, plural(n, "block", "blocks"), some(h.LoneBlocks))
	}
	var rejects, lines int64
	for _, file := range f.health.Files {
		rejects += file.Rejects
		lines += file.Rows + file.Rejects + file.Skipped + file.Duplicate
	}
	if !c.simulated() && f.rejects.exceeded(rejects, lines) {
		add("bad_values", "%s of %s lines cannot be read, more than --max-rejects %s allows", thousands(rejects), thousands(lines), c.Logs.MaxRejects)
	}
	return lacks
}

// dataWarnings are the caveats of the data, those of lacks first.
func dataWarnings(doc reports.Document, e estimates, lacks []stats.Warning) []stats.Warning {
	warnings := lacks
	if n := len(e.blocks.BurnInOnly); n > 0 {
		warnings = append(warnings, stats.Warning{Code: "no_data", Text: fmt.Sprintf("%d %s with rows in the burn-in only: %s", n, plural(n, "block", "blocks"), some(e.blocks.BurnInOnly))})
	}
	if n := e.applied.Mismatches; n > 0 {
		warnings = append(warnings, stats.Warning{Code: "arm_mismatch", Text: fmt.Sprintf("%s of %s labelled rows carry another arm than the schedule, which wins", thousands(n), thousands(e.applied.Labelled))})
	}
	if doc.Provisional {
		warnings = append(warnings, stats.Warning{Code: "provisional", Text: "the last day of the experiment is not over"})
	}
	return warnings
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// some lists the first ids.
func some(ids []string) string {
	const shown = 10
	if len(ids) > shown {
		return strings.Join(ids[:shown], ", ") + fmt.Sprintf(" and %d more", len(ids)-shown)
	}
	return strings.Join(ids, ", ")
}
