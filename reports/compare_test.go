package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/stats"
)

func TestCompareWithItselfMovesNothing(t *testing.T) {
	doc := normalDocument()
	c := Compare(doc, doc)
	if len(c.Different) != 0 {
		t.Errorf("differences with itself: %q", c.Different)
	}
	for _, r := range c.Rows {
		if diff := cmp.Diff(r.Here, r.There); diff != "" || r.Verdict != r.VerdictThere {
			t.Errorf("%s: %s", r.Metric, diff)
		}
	}
	if len(c.Rows) != 15 {
		t.Errorf("%d rows, want the 12 published and the 3 further measures", len(c.Rows))
	}
}

func TestCompareNamesWhatDiffers(t *testing.T) {
	here, there := normalDocument(), normalDocument()
	there.Method.Seed, there.Method.Interval, there.Arms.Treatment = 8, "percentile", "sort:price"
	there.Design.BurnInSeconds = 5400
	there.Metrics = remove(there.Metrics, "ttft_p50")
	c := Compare(here, there)
	want := []string{
		"treatment arm: routing-cost here, sort:price there",
		"burn-in: 1 h here, 1 h 30 min there",
		"interval: expanded here, percentile there",
		"seed: 7 here, 8 there",
	}
	if diff := cmp.Diff(want, c.Different); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if r := c.Rows[0]; r.Metric != "ttft_p50" || r.There.Estimate != nil || r.VerdictThere != stats.VerdictNotMeasurable {
		t.Errorf("a measure that is missing there: %+v", r)
	}
	here.Comparison = &c
	md := string(writeMarkdown(compose(here)))
	for _, line := range append([]string{"## Against another report"}, want...) {
		if !strings.Contains(md, line) {
			t.Errorf("the report misses %q", line)
		}
	}
}

func TestHistoryKeepsTheLastReportOfEachDate(t *testing.T) {
	doc := normalDocument()
	doc.Metrics = doc.Metrics[:1]
	night := func(date string, estimate float64, provisional bool) Document {
		d := doc
		d.ReportDate, d.Provisional = date, provisional
		d.Metrics = []stats.Estimate{publishedRow("ttft_p50", "ms", 1000, 900, effect(estimate, -.5, .5), effect(-1, -2, 0), stats.VerdictBetter)}
		return d
	}
	got := HistoryOf(doc, []Document{night("2026-11-03", -.2, true), night("2026-11-02", -.3, true), night("2026-11-03", -.25, true), night("2026-11-08", -.9, false)})
	want := []HistoryPoint{
		{ReportDate: "2026-11-02", Metric: "ttft_p50", Relative: effect(-.3, -.5, .5), Pairs: 28, Provisional: true},
		{ReportDate: "2026-11-03", Metric: "ttft_p50", Relative: effect(-.25, -.5, .5), Pairs: 28, Provisional: true},
		{ReportDate: "2026-11-08", Metric: "ttft_p50", Relative: effect(-.169, -.198, -.139), Pairs: 28},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestGuardrailStates(t *testing.T) {
	doc := normalDocument()
	doc.Decision.Guardrails = []string{"cost_per_1k_requests", "error_rate", "cache_hit_tokens", "ttft_p50", "no_such_metric"}
	want := []Guardrail{
		{"cost_per_1k_requests", GuardrailBreached},
		{"error_rate", GuardrailHeld},
		{"cache_hit_tokens", GuardrailNotMeasurable}, // no row: never taken for good
		{"ttft_p50", GuardrailHeld},
		{"no_such_metric", GuardrailNotMeasurable},
	}
	if diff := cmp.Diff(want, doc.GuardrailStates()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestFeaturedMetrics(t *testing.T) {
	for _, c := range []struct {
		decision Decision
		want     []string
	}{
		{Decision{}, []string{"ttft_p50", "throughput_p50", "cost_per_1k_requests", "hit_429"}},
		{Decision{Metrics: []string{"total_p95"}, Guardrails: []string{"error_rate", "total_p95", "unknown"}}, []string{"ttft_p50", "throughput_p50", "total_p95", "error_rate"}},
	} {
		if diff := cmp.Diff(c.want, FeaturedMetrics(c.decision)); diff != "" {
			t.Errorf("featured (-want +got):\n%s", diff)
		}
	}
}
