package reports

import (
	"switchback/stats"
)

// provisionalDocument is a night in the middle of the week: few pairs, not everything detected.
func provisionalDocument() Document {
	doc := normalDocument()
	doc.ReportDate, doc.Provisional, doc.Simulated = "2026-11-04", true, false
	doc.Window.End = doc.Window.Start.AddDate(0, 0, 3)
	doc.Decision = Decision{Metrics: []string{"caller_ttft_p95"}, Guardrails: []string{"cost_per_1k_requests", "error_rate", "tool_call_ok"}}
	doc.Warnings = []stats.Warning{{Code: "provisional", Text: "3 of 7 days are over."}}
	for i := range doc.Metrics {
		e := &doc.Metrics[i]
		e.Pairs = 12
		e.Warnings = append(e.Warnings, "incomplete_pairs")
		if e.ID == "cost_per_1m_tokens" {
			e.Relative, e.Verdict = effect(.031, -.012, .077), stats.VerdictNone
			e.Unadjusted = &stats.Effect{Estimate: ptr(.029), Lo: ptr(-.004), Hi: ptr(.061)}
		}
		if e.Scope == scopeOverall {
			w := *e.Relative.Hi - *e.Relative.Lo
			e.Sequential = stats.Bounds{Lo: ptr(*e.Relative.Lo - w), Hi: ptr(*e.Relative.Hi + w)}
			e.Others = map[string]stats.Bounds{"bca": {Lo: ptr(*e.Relative.Lo + .1*w), Hi: e.Relative.Hi}, "t": {Lo: e.Relative.Lo, Hi: ptr(*e.Relative.Hi + .05*w)}, "basic": {}}
		}
	}
	doc.Metrics = remove(doc.Metrics, "tool_call_ok")
	doc.Design.Schedule = ScheduleFile
	doc.Method.SlotAdjustment = true
	doc.Method.Looks = []float64{1. / 7, 2. / 7, 3. / 7}
	return doc
}

// incompleteDocument lacks blocks, has lines that could not be read, and names that try to break out of their cells.
func incompleteDocument() Document {
	doc := normalDocument()
	doc.Incomplete, doc.Simulated = true, false
	doc.Experiment = "nightly *router* | <script>alert(1)</script>"
	doc.Arms = Arms{"legacy|v1", "new`<b>`\n2"}
	h := &doc.Diagnostics.Health
	h.MissingBlocks, h.LoneBlocks = []string{"17", "b|18"}, []string{"16"}
	h.LoneBlockRows = 23_117
	h.Nulls = []NullShare{{Column: "cost_usd", All: ptr(1.0)}}
	h.Rejects = []Count{{"ttft_ms: negative", 12}, {"line is not JSON", 3}}
	h.GatewayCache = ArmCount{ptr(int64(301)), ptr(int64(288))}
	h.LabelMismatches, h.ConflictingDuplicate, h.Duplicates = 1, 2, 17
	h.NotMeasurable = []string{"cost_per_1k_requests", "cost_per_1m_tokens"}
	doc.Metrics = remove(doc.Metrics, "cost_per_1k_requests", "cost_per_1m_tokens")
	for i := range doc.Metrics {
		if e := &doc.Metrics[i]; e.ID == "hit_429" && e.Scope == scopeOverall {
			e.Relative, e.Verdict, e.Warnings = stats.Effect{}, stats.VerdictNotMeasurable, []string{"no_events"}
			e.Control, e.Treatment, e.Absolute = ptr(0.0), ptr(0.0), effect(0, 0, 0)
			e.RatioOfLevels, e.HalfSample, e.TwoWay, e.Simultaneous = nil, stats.Bounds{}, stats.Bounds{}, stats.Bounds{}
			e.SlotAdjusted, e.PValue, e.PAdjusted, e.PMaxT = stats.Effect{}, nil, nil, nil
		}
	}
	doc.Warnings = []stats.Warning{
		{Code: "missing_blocks", Text: "2 planned blocks have no row: 17, b|18."},
		{Code: "arm_mismatch", Text: "1 row carries another arm than the schedule:\nlegacy|v0."},
	}
	doc.Dearer = &Dearer{Treatment: DearerArm{659_340, 1_021, ptr(.001549), ptr(.4212), ptr(.000639), ptr(.0003)}} // the control's log does not tell
	doc.Provenance.Inputs = []Input{{Path: "logs/a|b`c.jsonl.gz", Format: "canonical", SHA256: doc.Provenance.LogHash, Bytes: 1_048_576, Rows: 2_000_112, Rejects: 15}}
	doc.Provenance.Command = "switchback run --config 'router week.toml' --date 2026-11-08"
	return doc
}

// degenerateDocument is a report in which nothing could be measured.
func degenerateDocument() Document {
	doc := normalDocument()
	doc.Incomplete, doc.Simulated = true, false
	doc.Metrics = nil
	for _, id := range []string{"ttft_p50", "hit_429"} {
		doc.Metrics = append(doc.Metrics, stats.Estimate{ID: id, Scope: scopeOverall, Verdict: stats.VerdictNotMeasurable, Warnings: []string{"no_data"}})
	}
	doc.Diagnostics = Diagnostics{}
	doc.Notes = nil
	doc.Provenance = Provenance{}
	doc.Design.Order = ""
	return doc
}

func remove(metrics []stats.Estimate, ids ...string) []stats.Estimate {
	var kept []stats.Estimate
	for _, e := range metrics {
		keep := true
		for _, id := range ids {
			keep = keep && e.ID != id
		}
		if keep {
			kept = append(kept, e)
		}
	}
	return kept
}
