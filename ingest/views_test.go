package ingest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/stats"
)

// What the views say must be what the analysis counts, for whole windows, narrowed ones, lone blocks and per-model schedules.
func TestViewsAgreeWithTheAnalysis(t *testing.T) {
	ctx := context.Background()
	week := weekPlan(t)
	lone := experiment.Plan{Arms: week.Arms, Blocks: week.Blocks[:len(week.Blocks)-1]}
	perModel := experiment.Plan{Arms: week.Arms, Blocks: append([]experiment.Block(nil), week.Blocks...)}
	for _, b := range week.Blocks {
		b.Model, b.PairID = "model-1", "own-"+b.PairID
		b.Arm = map[string]string{testArms.Control: testArms.Treatment, testArms.Treatment: testArms.Control}[b.Arm]
		perModel.Blocks = append(perModel.Blocks, b)
	}
	starts, _ := week.Window()
	for name, tc := range map[string]struct {
		plan   experiment.Plan
		window Window
	}{
		"a week":             {week, Window{}},
		"a lone block":       {lone, Window{}},
		"narrowed":           {week, Window{Since: starts.Add(25 * time.Hour), Until: starts.Add(52 * time.Hour)}},
		"narrowed to a pair": {week, Window{Since: starts.Add(4 * time.Hour)}},
		"per model":          {perModel, Window{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTemp(t)
			loadLog(t, s, messyRequests(3000, 3))
			if _, err := s.ApplyPlan(ctx, tc.plan); err != nil {
				t.Fatal(err)
			}
			w := tc.window
			w.Arms = testArms
			run := RunRecord{RunID: "r", ReportDate: "2026-11-08", Since: w.Since, Until: w.Until, Document: []byte("{}"), FinishedAt: someStart}
			if err := s.SaveRun(ctx, run, nil, nil); err != nil {
				t.Fatal(err)
			}
			counts, err := s.ArmCounts(ctx, w)
			if err != nil {
				t.Fatal(err)
			}
			for _, arm := range counts {
				if arm.Kept == 0 {
					t.Fatalf("no row of arm %s is kept", arm.Arm)
				}
				for _, view := range []string{"SELECT count(*) FROM requests_in_analysis WHERE arm = ?", "SELECT sum(requests) FROM by_block WHERE arm = ?"} {
					if got := scalar(t, s, view, arm.Arm); got != fmt.Sprint(arm.Kept) {
						t.Errorf("%s, arm %s: %s rows, want %d", view, arm.Arm, got, arm.Kept)
					}
				}
			}
			if got, want := scalar(t, s, "SELECT count(*) FROM by_block"), fmt.Sprint(len(tc.plan.Blocks)); got != want {
				t.Errorf("by_block has %s rows, want %s", got, want)
			}
			if counts[0].Lone+counts[1].Lone > 0 {
				return // Providers counts rows of lone blocks too
			}
			want, err := s.Providers(ctx, w)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, providersOfView(t, s), gocmp.FilterPath(func(p gocmp.Path) bool {
				return strings.HasSuffix(p.String(), "Attempts") || strings.HasSuffix(p.String(), "Limited") || strings.HasSuffix(p.String(), "Failed")
			}, gocmp.Ignore()), gocmp.Comparer(near)); diff != "" {
				t.Errorf("by_provider (-want +got):\n%s", diff)
			}
		})
	}
}

func near(a, b float64) bool { return a-b < 1e-9*a+1e-12 && b-a < 1e-9*a+1e-12 }

func providersOfView(t *testing.T, s *Store) []ProviderSeries {
	t.Helper()
	rows, err := s.db.QueryContext(context.Background(), `SELECT provider, arm, requests, cost_per_1m_tokens_usd, CAST(ttft_p50_ms AS DOUBLE), throughput_p50_tokens_per_s FROM by_provider`)
	if err != nil {
		t.Fatal(err)
	}
	found, err := collect(rows, func(scan func(...any) error) (p ProviderSeries, err error) {
		return p, scan(&p.Provider, &p.Arm, &p.Requests, &p.USDPerMTokens, &p.TTFTp50, &p.ThroughputP50)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Effects and models of the latest report date stand in report order; check rows and other estimands do not.
func TestViewsOfEffects(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	v := func(x float64) *float64 { return &x }
	row := func(id, scope string, effect float64) stats.Estimate {
		return stats.Estimate{
			ID: id, Unit: "ms", Scope: scope, Control: v(1000), Treatment: v(1000 * (1 + effect)), Relative: stats.Effect{Estimate: v(effect), Lo: v(effect - 0.0625), Hi: v(effect + 0.0625)},
			Absolute: stats.Effect{Estimate: v(1000 * effect)}, HalfSample: stats.Bounds{Lo: v(-0.2), Hi: v(0.2)}, Verdict: stats.VerdictBetter,
		}
	}
	for date, rows := range map[string][]stats.Estimate{
		"2026-11-07": {row("ttft_p50", "overall", -0.5)},
		"2026-11-08": {
			row("ttft_p95", "overall", -0.25), row("ttft_p50", "overall", -0.125), row("ttft_p50_pooled_models", "overall", 0.5),
			row("ttft_p50", "model:b/two", 0.25), row("ttft_p50", "model:a/one", 0.5),
		},
	} {
		run := RunRecord{RunID: date, ReportDate: date, Document: []byte("{}"), FinishedAt: someStart}
		if err := s.SaveRun(ctx, run, rows, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := scalar(t, s, "SELECT string_agg(concat_ws(' ', report_date, metric, measure, control, treatment, relative_effect, relative_lo, relative_hi, absolute_effect, verdict), ', ') FROM effects")
	want := "2026-11-08 ttft_p50 TTFT p50 1000.0 875.0 -0.125 -0.1875 -0.0625 -125.0 better, 2026-11-08 ttft_p95 TTFT p95 1000.0 750.0 -0.25 -0.3125 -0.1875 -250.0 better"
	if got != want {
		t.Errorf("effects:\n%s, want\n%s", got, want)
	}
	if got, want := scalar(t, s, "SELECT string_agg(concat_ws(' ', model, metric, relative_effect), ', ') FROM per_model"), "a/one ttft_p50 0.5, b/two ttft_p50 0.25"; got != want {
		t.Errorf("per_model: %s, want %s", got, want)
	}
}

// A file whose views are missing or of an earlier version gets them when it is opened for writing, and not again after that.
func TestViewsAreRenewed(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "old.duckdb")
	s, err := Open(ctx, path, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"DROP VIEW by_block", "CREATE OR REPLACE VIEW effects AS SELECT 1 AS old", "UPDATE meta SET value = 'old' WHERE key = 'views'"} {
		if _, err := s.db.ExecContext(ctx, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, path, DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, v := range views() {
		if got := scalar(t, s, "SELECT count(*) FROM "+v.name); got != "0" {
			t.Errorf("%s of an empty file has %s rows", v.name, got)
		}
		if got := scalar(t, s, "SELECT comment FROM duckdb_views() WHERE view_name = ?", v.name); got != v.about {
			t.Errorf("comment of %s: %q", v.name, got)
		}
	}
	if got := scalar(t, s, "SELECT count(*) FROM meta WHERE key = 'views'"); got != "1" {
		t.Errorf("%s versions of the views", got)
	}
}
