package warehouse_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse"
	"switchback/ingest/warehouse/clustertest"
	"switchback/stats"
)

var arms = experiment.Arms{Control: "price", Treatment: "routing-cost"}

func weekPlan(tb testing.TB) experiment.Plan {
	tb.Helper()
	plan, err := experiment.Draw(experiment.DefaultDesign(), arms)
	if err != nil {
		tb.Fatal(err)
	}
	return plan
}

// inDuckDB loads rows as a canonical log and labels them.
func inDuckDB(tb testing.TB, plan experiment.Plan, rows []experiment.Request) *ingest.Store {
	tb.Helper()
	ctx := context.Background()
	path := filepath.Join(tb.TempDir(), "log.jsonl")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := ingest.NewJSONLWriter(file)
	if err := w.Write(&experiment.Batch{Requests: rows}); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	file.Close()
	store, err := ingest.Open(ctx, filepath.Join(tb.TempDir(), "rows.duckdb"), ingest.DefaultOptions())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	o := ingest.DefaultLoadOptions()
	_, ends := plan.Window()
	o.Format, o.Now = ingest.FormatCanonical, ends
	if _, err := ingest.LoadFiles(ctx, store, []string{path}, o); err != nil {
		tb.Fatal(err)
	}
	if _, err := store.ApplyPlan(ctx, plan); err != nil {
		tb.Fatal(err)
	}
	return store
}

func options(tb testing.TB, s *clustertest.Shards, table string) warehouse.Options {
	tb.Helper()
	o := warehouse.DefaultOptions()
	address, err := warehouse.ParseAddress(s.Address(0))
	if err != nil {
		tb.Fatal(err)
	}
	mapping, err := warehouse.NewMapping("", clustertest.Mapping())
	if err != nil {
		tb.Fatal(err)
	}
	o.Address, o.User, o.Password, o.Table, o.Mapping, o.TSUnit = address, clustertest.User, clustertest.Password, table, mapping, "us"
	o.Wait = func(context.Context, time.Duration) error { return nil }
	return o
}

func open(tb testing.TB, o warehouse.Options) *warehouse.Warehouse {
	tb.Helper()
	w, err := warehouse.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	return w
}

func fullWindow(plan experiment.Plan) ingest.Window {
	w := ingest.Window{Arms: plan.Arms}
	w.Since, w.Until = plan.Window()
	return w
}

// seriesMetrics are one of each kind.
func seriesMetrics() []string {
	return []string{"ttft_p50", "caller_ttft_p95", "throughput_p50", "cost_per_1k_requests", "hit_429"}
}

// The same rows in DuckDB and in the cluster give the same counts, sums, quantiles and effects.
func TestBothEnginesAgree(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	for _, c := range []struct {
		name   string
		rows   []experiment.Request
		narrow bool
	}{
		{"messy", clustertest.Messy(plan, 20_000, 1), false},
		{"repeated", clustertest.WithRepeats(clustertest.Messy(plan, 8_000, 2)), false},
		{"few_models_and_part_of_the_week", clustertest.Messy(plan, 5_000, 3), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			shards.Create(t, c.name, c.rows)
			w := fullWindow(plan)
			rows := c.rows
			if c.narrow {
				w.Since, w.Until = w.Since.Add(26*time.Hour), w.Until.Add(-50*time.Hour)
				rows = slices.DeleteFunc(slices.Clone(rows), func(r experiment.Request) bool {
					return r.TS.Time().Before(w.Since) || !r.TS.Time().Before(w.Until)
				})
			}
			compareEngines(t, inDuckDB(t, plan, rows), open(t, options(t, shards, c.name+"_all")), plan, w)
		})
	}
}

func compareEngines(t *testing.T, store *ingest.Store, house *warehouse.Warehouse, plan experiment.Plan, w ingest.Window) {
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	same := func(what string, want, have any) {
		t.Helper()
		if diff := gocmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-DuckDB +ClickHouse):\n%s", what, diff)
		}
	}
	rows, err := house.Rows(ctx, plan, w)
	must(err)
	report, err := store.ApplyPlan(ctx, plan)
	must(err)
	report.Updated = 0
	same("what the plan does", report, rows.Report())
	pairs, blocks, err := store.Pairs(ctx, w)
	must(err)
	same("blocks", blocks, rows.Blocks())
	health, err := store.Health(ctx, w)
	must(err)
	other := rows.Health()
	same("duplicates", health.Files[0].Duplicate, other.Files[0].Duplicate)
	same("columns", knownOf(other.Columns, health.Columns), other.Columns)
	health.Files, other.Files, health.Columns, other.Columns = nil, nil, nil, nil
	same("health", health, other)
	counts, err := store.ArmCounts(ctx, w)
	must(err)
	have := rows.ArmCounts()
	for i := range counts {
		counts[i].Columns = knownOf(have[i].Columns, counts[i].Columns)
	}
	same("rows by arm", counts, have)
	providers, err := store.Providers(ctx, w)
	must(err)
	found, err := rows.Providers(ctx)
	must(err)
	same("providers", providers, found)
	compareViews(t, store, rows, w)
	spend, err := store.Spend(ctx, w)
	must(err)
	hours, err := rows.Spend(ctx)
	must(err)
	same("spend", spend, hours)
	dearer, err := store.Dearer(ctx, w)
	must(err)
	theirDearer, err := rows.Dearer(ctx)
	must(err)
	same("requests served dearer", dearer, theirDearer)

	local, err := store.Summaries(ctx, w)
	must(err)
	defer local.Close()
	remote, err := rows.Summaries(ctx)
	must(err)
	models, err := local.Models(ctx)
	must(err)
	theirs, err := remote.Models(ctx)
	must(err)
	same("models", models, theirs)
	for _, m := range append(ingest.StatsMetrics(), ingest.CheckMetrics(seriesMetrics())...) {
		if m.Kind == stats.Quantile {
			continue
		}
		want, err := local.Sums(ctx, m.ID)
		must(err)
		have, err := remote.Sums(ctx, m.ID)
		must(err)
		same("sums of "+m.ID, sortedSums(want), sortedSums(have))
	}
	o := stats.DefaultOptions()
	o.Replicates, o.Seed = 200, 7
	metrics := append(ingest.StatsMetrics(), ingest.CheckMetrics(seriesMetrics())...)
	want, err := stats.Analyze(ctx, local, metrics, pairs, o)
	must(err)
	analysis, err := stats.Analyze(ctx, remote, metrics, pairs, o)
	must(err)
	same("analysis", want.Estimates, analysis.Estimates)

	mine, err := store.Series(ctx, w, models, seriesMetrics(), 10*time.Minute, 4)
	must(err)
	defer mine.Close()
	series, err := remote.Series(ctx, seriesMetrics(), 10*time.Minute, 4)
	must(err)
	same("clients", mine.Clients(), series.Clients())
	wantMinutes, wantBlock := mine.Gaps()
	minutes, block := series.Gaps()
	same("gaps", []any{wantMinutes, wantBlock}, []any{minutes, block})
	wantBlocks, err := mine.Blocks(ctx, seriesMetrics())
	must(err)
	haveBlocks, err := series.Blocks(ctx, seriesMetrics())
	must(err)
	same("blocks of the series", wantBlocks, haveBlocks)
	o.Interval, o.Replicates, o.Order = stats.IntervalT, 1, ""
	for _, m := range ingest.StatsMetrics() {
		if !slices.Contains(seriesMetrics()[1:], m.ID) {
			continue
		}
		largest := mine.Clients()[0]
		for what, sources := range map[string][2]stats.Source{
			"minutes 20 to 40": {mine.Source(m.ID, mine.Minutes(20, 40)), series.Minutes(m.ID, 20, 40)},
			"minute 170 on":    {mine.Source(m.ID, mine.Minutes(170, 180)), series.Minutes(m.ID, 170, 180)},
			"no burn-in":       {mine.Source(m.ID, mine.BurnIn(0)), series.BurnIn(m.ID, 0)},
			"burn-in of 90":    {mine.Source(m.ID, mine.BurnIn(90)), series.BurnIn(m.ID, 90)},
			"born in block":    {mine.Source(m.ID, mine.BornInBlock()), series.BornInBlock(m.ID)},
			"without a client": {mine.Source(m.ID, mine.WithoutClient(largest)), series.WithoutClient(m.ID, largest)},
			"without nobody":   {mine.Source(m.ID, mine.WithoutClient("nobody")), series.WithoutClient(m.ID, "nobody")},
		} {
			want, err := stats.Analyze(ctx, sources[0], []stats.Metric{m}, pairs, o)
			must(err)
			have, err := stats.Analyze(ctx, sources[1], []stats.Metric{m}, pairs, o)
			must(err)
			same(m.ID+" of "+what, want.Estimates, have.Estimates)
		}
	}
}

// knownOf keeps the columns that the other list has.
func knownOf(of, columns []ingest.Known) []ingest.Known {
	var out []ingest.Known
	for _, c := range of {
		for _, k := range columns {
			if k.Column == c.Column {
				if k.Column == "source_row_id" {
					k.Known = c.Known // a load fills it with the request's id
				}
				out = append(out, k)
			}
		}
	}
	return out
}

func sortedSums(sums []stats.Sum) []stats.Sum {
	sums = slices.Clone(sums)
	slices.SortFunc(sums, func(a, b stats.Sum) int {
		return cmp.Or(a.Model-b.Model, a.Column-b.Column, a.Stratum-b.Stratum)
	})
	return sums
}
