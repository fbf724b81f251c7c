package stats_test

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"switchback/stats"
	"switchback/stats/statstest"
)

// drawProblem draws a small experiment: rows of a few models with gaps, and options.
func drawProblem(t *rapid.T) ([]statstest.Row, []stats.Pair, stats.Options) {
	pairs := testPairs(rapid.IntRange(1, 4).Draw(t, "days"), rapid.IntRange(1, 3).Draw(t, "positions"))
	models := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "models")]
	rows := testRows(rapid.Uint64().Draw(t, "rows"), models, len(pairs), rapid.IntRange(2, 60).Draw(t, "per cell"))
	if gap := rapid.IntRange(0, 3).Draw(t, "gap"); gap > 0 {
		rows = slices.DeleteFunc(rows, func(r statstest.Row) bool { return r.Model == "a" && r.Arm == 1 && r.Pair < gap-1 })
	}
	opts := stats.DefaultOptions()
	opts.Replicates = 150
	opts.Seed = rapid.Uint64().Draw(t, "seed")
	opts.Order = rapid.SampledFrom([]string{"", "slot-balanced", "coin"}).Draw(t, "order")
	opts.Interval = rapid.SampledFrom([]string{stats.IntervalExpanded, stats.IntervalPercentile, stats.IntervalBasic, stats.IntervalBCa,
		stats.IntervalBootstrapT, stats.IntervalT, stats.IntervalHalfSample}).Draw(t, "interval")
	opts.Weights = rapid.SampledFrom([]string{stats.WeightsEqual, stats.WeightsTraffic}).Draw(t, "weights")
	return rows, pairs, opts
}

// TestIntervalsContainTheirPoint: an interval that excludes its own estimate was published elsewhere (GeoLift #123).
// It also checks that results are finite JSON, that p-values lie in (0, 1], and that the adjusted ones are not smaller.
func TestIntervalsContainTheirPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, pairs, opts := drawProblem(t)
		got, err := stats.Analyze(context.Background(), statstest.FromRows(rows), testMetrics, pairs, opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(got); err != nil { // fails on NaN and infinities
			t.Fatal(err)
		}
		for _, e := range got.Estimates {
			for _, f := range []stats.Effect{e.Relative, e.Absolute} {
				if f.Estimate == nil && (f.Lo != nil || f.Hi != nil) || f.Lo != nil && *f.Lo > *f.Estimate || f.Hi != nil && *f.Hi < *f.Estimate {
					t.Errorf("%s %s: estimate %v outside (%v, %v)", e.ID, e.Scope, deref(f.Estimate), deref(f.Lo), deref(f.Hi))
				}
			}
			for _, p := range []*float64{e.PAdjusted, e.PMaxT} {
				if p != nil && (*p > 1 || *p < *e.PValue-1e-12) {
					t.Errorf("%s %s: adjusted p %v below p %v", e.ID, e.Scope, *p, *e.PValue)
				}
			}
			if e.PValue != nil && (*e.PValue <= 0 || *e.PValue > 1) {
				t.Errorf("%s %s: p = %v", e.ID, e.Scope, *e.PValue)
			}
			if e.Relative.Lo == nil && e.Verdict != stats.VerdictNotMeasurable {
				t.Errorf("%s %s: verdict %s without an interval", e.ID, e.Scope, e.Verdict)
			}
			if e.Verdict == stats.VerdictNotMeasurable && len(e.Warnings) == 0 {
				t.Errorf("%s %s: not measurable without a reason", e.ID, e.Scope)
			}
		}
	})
}

// TestThreads: the same bytes at any number of threads, and from rows in any order.
func TestThreads(t *testing.T) {
	pairs := testPairs(4, 2)
	rows := testRows(3, []string{"a", "b"}, len(pairs), 100)
	opts := stats.DefaultOptions()
	opts.Replicates, opts.Order, opts.Interval = 2500, "slot-balanced", stats.IntervalBootstrapT
	opts.Threads = 1
	want := analyze(t, statstest.FromRows(rows), testMetrics, pairs, opts)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for _, threads := range []int{2, 3, 16} {
		opts.Threads = threads
		if diff := gocmp.Diff(want, analyze(t, statstest.FromRows(rows), testMetrics, pairs, opts)); diff != "" {
			t.Fatalf("%d threads: (-1 thread +%d threads)\n%s", threads, threads, diff)
		}
	}
}

// TestSwappingArmsFlipsSigns: exchanging the arms turns the log effect and its interval around.
func TestSwappingArmsFlipsSigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, pairs, opts := drawProblem(t)
		opts.Interval = rapid.SampledFrom([]string{stats.IntervalT, stats.IntervalExpanded}).Draw(t, "kind")
		opts.Replicates = 201
		forward, err := stats.Analyze(context.Background(), statstest.FromRows(rows), testMetrics, pairs, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			rows[i].Arm = 1 - rows[i].Arm
		}
		for i := range pairs {
			pairs[i].TreatmentFirst = !pairs[i].TreatmentFirst
		}
		back, err := stats.Analyze(context.Background(), statstest.FromRows(rows), testMetrics, pairs, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range forward.Estimates {
			b := back.Estimates[i]
			mirror(t, f, "estimate", f.Relative.Estimate, b.Relative.Estimate)
			// With 201 replicates ⌈pB⌉ from below and from above are mirror ranks unless p·B is whole.
			mirror(t, f, "lo", f.Relative.Lo, b.Relative.Hi)
			mirror(t, f, "hi", f.Relative.Hi, b.Relative.Lo)
			if (f.PValue == nil) != (b.PValue == nil) || f.PValue != nil && !near(*f.PValue, *b.PValue, 1e-12) {
				t.Errorf("%s %s: p %v turned into %v", f.ID, f.Scope, deref(f.PValue), deref(b.PValue))
			}
			if f.Absolute.Estimate != nil && !near(*f.Absolute.Estimate, -*b.Absolute.Estimate, 1e-9*math.Abs(*f.Absolute.Estimate)) {
				t.Errorf("%s %s: absolute %v turned into %v", f.ID, f.Scope, *f.Absolute.Estimate, *b.Absolute.Estimate)
			}
		}
	})
}

// mirror checks that b is a seen in the other direction. An effect that is as good as infinite is told as none in the one and
// as −100 % in the other.
func mirror(t *rapid.T, e stats.Estimate, name string, a, b *float64) {
	switch {
	case a == nil && b == nil:
		return
	case a == nil || b == nil:
		if *cmp.Or(a, b) < -1+2e-15 {
			return
		}
	case math.Abs(math.Log1p(*a)) >= 10: // near −100 % the other direction has lost its digits
		return
	case near((1+*a)*(1+*b), 1, 1e-6):
		return
	}
	t.Errorf("%s %s: %s %v turned into %v", e.ID, e.Scope, name, deref(a), deref(b))
}

// TestOrderOfPairs: which pair comes first decides nothing but which random numbers meet it.
func TestOrderOfPairs(t *testing.T) {
	pairs := testPairs(4, 2)
	rows := testRows(5, []string{"a", "b"}, len(pairs), 100)
	opts := stats.DefaultOptions()
	opts.Interval, opts.Order, opts.Replicates = stats.IntervalT, "slot-balanced", 100
	want := analyze(t, statstest.FromRows(rows), testMetrics, pairs, opts)
	for i := range rows {
		rows[i].Pair = len(pairs) - 1 - rows[i].Pair
	}
	slices.Reverse(pairs)
	got := analyze(t, statstest.FromRows(rows), testMetrics, pairs, opts)
	for i, w := range want.Estimates {
		g := got.Estimates[i]
		// 36 assignments are enumerated, so even p-values agree.
		for name, v := range map[string][2]*float64{"estimate": {w.Relative.Estimate, g.Relative.Estimate}, "lo": {w.Relative.Lo, g.Relative.Lo},
			"hi": {w.Absolute.Hi, g.Absolute.Hi}, "p": {w.PValue, g.PValue}, "slot": {w.SlotAdjusted.Lo, g.SlotAdjusted.Lo}} {
			if v[0] == nil || v[1] == nil || !near(*v[0], *v[1], 1e-9*math.Max(1, math.Abs(*v[0]))) {
				t.Errorf("%s %s: %s %v turned into %v", w.ID, w.Scope, name, deref(v[0]), deref(v[1]))
			}
		}
	}
}

// TestDuplicatedRows: doubling every row changes no quantile, ratio of sums or mean, nor their intervals (type 1
// quantiles; StatsBase.jl #435 and xarray #9302 were not invariant).
func TestDuplicatedRows(t *testing.T) {
	pairs := testPairs(3, 2)
	rows := testRows(6, []string{"a", "b"}, len(pairs), 80)
	opts := stats.DefaultOptions()
	opts.Replicates = 500
	var metrics []stats.Metric
	for _, m := range testMetrics {
		if m.Kind != stats.Event { // its half-count does not scale
			metrics = append(metrics, m)
		}
	}
	want := analyze(t, statstest.FromRows(rows), metrics, pairs, opts)
	got := analyze(t, statstest.FromRows(append(slices.Clone(rows), rows...)), metrics, pairs, opts)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-once +twice)\n%s", diff)
	}
}

// TestScaledMetric: scaling a metric scales levels and leaves relative effects.
func TestScaledMetric(t *testing.T) {
	pairs := testPairs(3, 2)
	rows := testRows(8, []string{"a", "b"}, len(pairs), 80)
	opts := stats.DefaultOptions()
	opts.Replicates = 500
	want := analyze(t, statstest.FromRows(rows), testMetrics[:3], pairs, opts)
	for i := range rows {
		if v := rows[i].Values["ttft"]; v != stats.Inf {
			rows[i].Values["ttft"] = 8 * v
		}
		s := rows[i].Sums["cost_per_1k_requests"]
		rows[i].Sums["cost_per_1k_requests"] = [2]int64{s[0], 8 * s[1]}
	}
	got := analyze(t, statstest.FromRows(rows), testMetrics[:3], pairs, opts)
	for i, w := range want.Estimates {
		g := got.Estimates[i]
		for _, v := range [][2]*float64{{w.Relative.Estimate, g.Relative.Estimate}, {w.Relative.Lo, g.Relative.Lo}, {w.Relative.Hi, g.Relative.Hi}, {w.HalfSample.Lo, g.HalfSample.Lo}} {
			if !near(*v[0], *v[1], 1e-12) {
				t.Errorf("%s %s: relative %v turned into %v", w.ID, w.Scope, *v[0], *v[1])
			}
		}
		for _, v := range [][2]*float64{{w.Control, g.Control}, {w.Absolute.Estimate, g.Absolute.Estimate}, {w.Absolute.Lo, g.Absolute.Lo}} {
			if !near(8**v[0], *v[1], 1e-9*math.Abs(*v[1])) {
				t.Errorf("%s %s: level %v turned into %v", w.ID, w.Scope, *v[0], *v[1])
			}
		}
	}
}

// TestQuantilesOfAnyData: the level is the ⌈qN⌉-th of the sorted rows, with ties, zeros, failures and pairs without one arm.
func TestQuantilesOfAnyData(t *testing.T) {
	value := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 5_000_000), rapid.Just(stats.Inf), rapid.Int64Range(1<<40, 1<<41))
	rapid.Check(t, func(t *rapid.T) {
		perMille := rapid.IntRange(1, 800).Draw(t, "per mille") // 800 needs 16 rows
		pairs := rapid.IntRange(2, 4).Draw(t, "pairs")
		var rows []statstest.Row
		var pooled [2][]int64
		for p := range pairs {
			least := 0
			if p == 0 {
				least = 16
			}
			var cells [2][]int64
			for arm := range cells {
				cells[arm] = rapid.SliceOfN(value, least, 30).Draw(t, "values")
				for _, v := range cells[arm] {
					rows = append(rows, statstest.Row{Model: "m", Pair: p, Arm: arm, Values: map[string]int64{"v": v}})
				}
			}
			if len(cells[0]) > 0 && len(cells[1]) > 0 {
				pooled[0], pooled[1] = append(pooled[0], cells[0]...), append(pooled[1], cells[1]...)
			}
		}
		opts := stats.DefaultOptions()
		opts.Replicates, opts.Order = 20, "coin"
		metric := stats.Metric{ID: "v", Kind: stats.Quantile, PerMille: perMille, Quantity: "v", Scale: 1}
		got, err := stats.Analyze(context.Background(), statstest.FromRows(rows), []stats.Metric{metric}, testPairs(pairs, 1), opts)
		if err != nil {
			t.Fatal(err)
		}
		for arm, level := range []*float64{got.Estimates[1].Control, got.Estimates[1].Treatment} {
			slices.Sort(pooled[arm])
			want := pooled[arm][(perMille*len(pooled[arm])+999)/1000-1]
			if want == stats.Inf && level != nil || want != stats.Inf && (level == nil || *level != float64(want)) {
				t.Errorf("arm %d: %v, want %d", arm, deref(level), want)
			}
		}
	})
}
