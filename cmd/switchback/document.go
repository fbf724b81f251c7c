package main

import (
	"fmt"
	"slices"
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
	arms       [2]ingest.ArmCounts // control, treatment
	notes      []string            // plain sentences that a reader must know
	logHash    string              // of driven rows, "" when they come from logs
	short      []string            // files that are cut short, of which nothing was loaded
	unread     string              // that more lines of a replayed log cannot be read than is allowed; "" when not
	series     series
	validated  reports.Validation // what the intervals of such experiments hold
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
		Method:        c.method(e),
		Decision:      reports.Decision{Metrics: c.Report.Decision, Guardrails: c.Report.Guardrails},
		Metrics:       append(e.found.Estimates[:len(e.found.Estimates):len(e.found.Estimates)], f.series.born...),
		Diagnostics:   reports.Diagnostics{Health: healthOf(f.health, f.arms, e), Excluded: e.found.Exclusions, Checks: f.series.checks},
		Notes:         f.notes,
		Provenance:    f.provenance,
		Blocks:        f.series.blocks,
		SinceSwitch:   f.series.since,
		Providers:     f.series.providers,
		Spend:         f.series.spend,
		Dearer:        f.series.dearer,
	}
	lacks := c.lacks(doc.Diagnostics.Health, f)
	doc.Incomplete = len(lacks) > 0
	doc.Warnings = append(dataWarnings(doc, e, f.health, lacks), e.found.Warnings...)
	doc.Warnings = append(doc.Warnings, f.validated.CoverageWarnings(doc)...)
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

func (c *config) method(e estimates) reports.Method {
	a := c.analysis()
	return reports.Method{
		Interval: a.Interval, Replicates: a.Replicates, Confidence: a.Confidence, Weights: a.Weights, Seed: a.Seed,
		SlotAdjustment: a.SlotAdjustment, MinPairs: a.MinPairs, MinRows: a.MinRows,
		Looks: e.looks,
	}
}

func remarksOf(remarks []ingest.Remark) []reports.Remark {
	var out []reports.Remark
	for _, r := range remarks {
		out = append(out, reports.Remark(r))
	}
	return out
}

// healthOf tells the store's counts in the document's words.
func healthOf(h ingest.Health, arms [2]ingest.ArmCounts, e estimates) reports.Health {
	control, treatment := arms[0], arms[1]
	out := reports.Health{
		Read:            h.Rows,
		Kept:            control.Kept + treatment.Kept,
		KeptControl:     control.Kept,
		KeptTreatment:   treatment.Kept,
		OutsideWindow:   h.Outside + h.NoBlock,
		BurnInDropped:   h.BurnIn,
		LoneBlockRows:   control.Lone + treatment.Lone,
		LabelMismatches: e.applied.Mismatches,
		ByStatus:        countsOf(h.Statuses),
		Quality:         countsOf(h.Quality),
		Rejects:         countsOf(h.Rejects),
		Nulls:           nullsOf(control, treatment),
		NotMeasurable:   notMeasurable(e.found.Estimates),
		Remarks:         remarksOf(h.Remarks),
		MissingBlocks:   e.blocks.Missing,
		LoneBlocks:      e.blocks.Lone,
		Straddling:      reports.ArmCount{Control: &control.Straddling, Treatment: &treatment.Straddling},
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
			out.BurnInControl = arm.BurnIn
			out.GatewayCache.Control, out.BornElsewhere.Control = &arm.GatewayCache, &arm.PinnedOtherArm
		case e.plan.Arms.Treatment:
			out.BurnInTreatment = arm.BurnIn
			out.GatewayCache.Treatment, out.BornElsewhere.Treatment = &arm.GatewayCache, &arm.PinnedOtherArm
		}
	}
	if fromCache > 0 {
		out.ByStatus = append(out.ByStatus, reports.Count{Name: experiment.StatusGatewayCache, N: fromCache})
	}
	return out
}

// nullsOf gives the share of unknown values in every column that has some but is not absent from the log.
func nullsOf(control, treatment ingest.ArmCounts) []reports.NullShare {
	var nulls []reports.NullShare
	for i, c := range control.Columns {
		known := c.Known + treatment.Columns[i].Known
		if known == 0 || known == control.Kept+treatment.Kept || !slices.Contains(measuredColumns(), c.Column) {
			continue
		}
		nulls = append(nulls, reports.NullShare{Column: c.Column, Control: nullShare(c), Treatment: nullShare(treatment.Columns[i])})
	}
	return nulls
}

// measuredColumns are the columns that metrics are made from; the others may be empty for good reason.
func measuredColumns() []string {
	return []string{
		"session_id", "attempts", "n_429", "n_retries", "ttft_ms", "caller_ttft_ms", "total_ms", "failed_ms",
		"input_tokens", "cached_tokens", "output_tokens", "cost_usd", "status", "streamed", "tool_call_ok",
	}
}

func nullShare(k ingest.Known) *float64 {
	if k.Rows == 0 {
		return nil
	}
	share := k.NullShare()
	return &share
}

// notMeasurable lists the metrics that the rows cannot give in either arm.
func notMeasurable(rows []stats.Estimate) []string {
	var ids []string
	for _, row := range rows {
		if row.Scope == overallScope && row.Verdict == stats.VerdictNotMeasurable && row.Control == nil && row.Treatment == nil {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

const overallScope = "overall"

func countsOf(counts []ingest.Count) []reports.Count {
	var out []reports.Count
	for _, c := range counts {
		out = append(out, reports.Count{Name: c.Name, N: c.N})
	}
	return out
}

// Codes of warnings that make a result incomplete.
const (
	codeMissing = "missing_blocks"
	codeLone    = "lone_block"
	codeUnread  = reports.WarningUnread
)

// lacks says what of the input is missing: each reason makes the result incomplete.
func (c *config) lacks(h reports.Health, f facts) []stats.Warning {
	var lacks []stats.Warning
	add := func(code, format string, args ...any) {
		lacks = append(lacks, stats.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if n := len(h.MissingBlocks); n > 0 {
		add(codeMissing, "%d planned %s without any row: %s", n, plural(n, "block", "blocks"), some(h.MissingBlocks))
	}
	if n := len(h.LoneBlocks); n > 0 {
		add(codeLone, "%d %s left out for want of a partner in the other arm: %s", n, plural(n, "block", "blocks"), some(h.LoneBlocks))
	}
	if n := len(f.short); n > 0 {
		add(codeUnread, "%d %s cut short, nothing of it was loaded: %s", n, plural(n, "file is", "files are"), some(f.short))
	}
	if f.unread != "" {
		add(codeUnread, "%s", f.unread)
	}
	if c.simulated() {
		return lacks
	}
	var rejects, lines int64
	for _, file := range f.health.Files {
		rejects += file.Rejects
		lines += file.Rows + file.Rejects + file.Skipped
	}
	if text := unread(rejects, lines, "lines", "--max-rejects", c.Logs.MaxRejects); text != "" {
		add(codeUnread, "%s", text)
	}
	return lacks
}

// dataWarnings are the caveats of the data, those of lacks first.
func dataWarnings(doc reports.Document, e estimates, h ingest.Health, lacks []stats.Warning) []stats.Warning {
	warnings := lacks
	if h.Driven > 0 && !doc.Simulated { // read back from a log, they look like those of a gateway
		rows := "all rows"
		if h.Driven < h.Kept {
			rows = fmt.Sprintf("%s of %s rows past the burn-in", thousands(h.Driven), thousands(h.Kept))
		}
		warnings = append(warnings, stats.Warning{Code: reports.WarningDriven, Text: rows + " were made by switchback drive, in the simulated market"})
	}
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
