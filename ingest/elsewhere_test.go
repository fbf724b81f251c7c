package ingest

import (
	"context"
	"testing"
	"time"

	"switchback/ingest/rules"
)

// elsewhere says of every block of a plan that n requests cost n nano-dollars each.
func elsewhere(t *testing.T, n int64) *Elsewhere {
	e := &Elsewhere{Place: "clickhouse://logs.example", Plan: weekPlan(t)}
	s := Summary{Requests: n}
	for _, c := range rules.ShownColumns() {
		f := map[string]Fraction{"ttft_p50": {1_234_567, 1}, "throughput_p50": {61_001, 1}, "cost_per_1k_requests": {n * n, n}, "hit_429": {1, n}}[c.Metric]
		s.Values = append(s.Values, f)
	}
	for _, b := range e.Plan.Blocks[:10] {
		e.Blocks = append(e.Blocks, BlockSummary{BlockID: b.ID, Summary: s})
	}
	e.Providers = []ProviderSummary{{e.Plan.Arms.Control, "near", s}, {e.Plan.Arms.Control, "far", s}, {e.Plan.Arms.Treatment, "far", s}}
	return e
}

// What is kept of rows that lie elsewhere is what the views show of the latest report, and is replaced and rolled back with it.
func TestRowsThatLieElsewhere(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	save := func(ctx context.Context, date string, e *Elsewhere) error {
		return s.SaveRun(ctx, RunRecord{RunID: date, ReportDate: date, Document: []byte("{}"), FinishedAt: someStart, Elsewhere: e}, nil, nil)
	}
	shows := func(when, want string) {
		t.Helper()
		got := scalar(t, s, `SELECT concat_ws(' ', count(*), sum(requests), count(*) FILTER (requests = 0), max(ttft_p50_ms), max(ttft_p95_ms), max(throughput_p50_tokens_per_s),
			sum(cost_usd), max(cost_per_1k_requests_usd), max(hit_429_share), max(error_share)) FROM by_block`)
		if got != want {
			t.Errorf("by_block %s: %s, want %s", when, got, want)
		}
	}
	for date, n := range map[string]int64{"2026-11-07": 8, "2026-11-08": 4} {
		if err := save(ctx, date, elsewhere(t, n)); err != nil {
			t.Fatal(err)
		}
	}
	const four = "56 40 46 1234.567 61.001 0.000000160 4e-06 0.25"
	shows("of the later date", four)
	if got, want := scalar(t, s, "SELECT string_agg(concat_ws(' ', provider, arm, requests, share_of_arm), ', ' ORDER BY provider, arm) FROM by_provider"),
		"far price 4 0.5, far routing-cost 4 1.0, near price 4 0.5"; got != want {
		t.Errorf("by_provider: %s, want %s", got, want)
	}
	if err := save(ctx, "2026-11-08", elsewhere(t, 2)); err != nil {
		t.Fatal(err)
	}
	const two = "56 20 46 1234.567 61.001 0.000000040 2e-06 0.5"
	shows("saved again", two)
	ended, cancel := context.WithTimeout(ctx, -time.Second)
	defer cancel()
	if err := save(ended, "2026-11-08", elsewhere(t, 4)); err == nil {
		t.Error("saved in no time")
	}
	broken := elsewhere(t, 4)
	broken.Plan.Blocks = append(broken.Plan.Blocks[:3:3], broken.Plan.Blocks[4:]...)
	broken.Providers[2].Provider = "not UTF-8: \xff"
	if err := save(ctx, "2026-11-08", broken); err == nil {
		t.Error("what DuckDB refuses is saved")
	}
	shows("when nothing could be saved", two)

	// A report of rows of the file has no summaries, and the views are made of its rows again.
	loadLog(t, s, messyRequests(3000, 3))
	if _, err := s.ApplyPlan(ctx, weekPlan(t)); err != nil {
		t.Fatal(err)
	}
	shows("beside rows", two)
	if err := save(ctx, "2026-11-09", nil); err != nil {
		t.Fatal(err)
	}
	for view, query := range map[string]string{"by_block": "SELECT sum(requests) FROM by_block", "by_provider": "SELECT sum(requests) FROM by_provider"} {
		where := map[string]string{"by_block": "true", "by_provider": "provider IS NOT NULL"}[view]
		if got, want := scalar(t, s, query), scalar(t, s, "SELECT count(*) FROM requests_in_analysis WHERE "+where); got != want || got == "0" {
			t.Errorf("%s of rows: %s requests, want %s", view, got, want)
		}
	}
	if place, err := s.RowsElsewhere(ctx); err != nil || place != "" {
		t.Errorf("rows lie in %q, %v", place, err)
	}
}
