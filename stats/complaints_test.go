package stats_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"switchback/stats"
	"switchback/stats/statstest"
)

// Mistakes that users of other tools reported, each with a test that ours does not make it. Those about data that cannot
// answer are in TestDegenerateData, those with a golden value beside the value.

// effectRows returns rows whose log effect in pair i is d[i] exactly, each repeated in bulk.
func effectRows(d []float64, bulk int64) []statstest.Row {
	var rows []statstest.Row
	for p, v := range d {
		for arm, y := range []float64{1, math.Exp(v)} {
			rows = append(rows, statstest.Row{Model: "m", Pair: p, Arm: arm, Sums: map[string][2]int64{"y": {bulk, int64(math.Round(1e6 * y * float64(bulk)))}}})
		}
	}
	return rows
}

var ratioMetric = []stats.Metric{{ID: "y", Kind: stats.Ratio, Scale: 1, Better: -1, Published: true}}

// TestResampledPairsAreCountedTwice: DuckDB's IN (ids) drops the repeats of a resample, which leaves √0.63 = 79 % of the
// standard error (duckreg #19, #20).
func TestResampledPairsAreCountedTwice(t *testing.T) {
	const pairs = 28
	rng := rand.New(rand.NewPCG(1, 1))
	d := make([]float64, pairs)
	for i := range d {
		d[i] = rng.NormFloat64()
	}
	var means []float64
	for _, w := range stats.Draws(false, 1, pairs, 20_000) {
		sum := 0.0
		for i, n := range w {
			sum += float64(n) * d[i]
		}
		means = append(means, sum/pairs)
	}
	got, want := stat.StdDev(means, nil), math.Sqrt(stat.PopVariance(d, nil)/pairs)
	if !near(got/want, 1, 0.02) { // the Monte-Carlo error of a standard deviation is 0.5 %
		t.Errorf("standard error %.4f of the bootstrap, %.4f of the formula", got, want)
	}
}

// TestMemoryIndependentOfReplicates: a resample matrix of rows × replicates kills a process (scipy #14645, bootstrapped
// #16), and so does a jackknife of rows × rows (scipy #13371). Here 10,000 replicates of 100,000 rows, a matrix of 8 GB, must
// stay under 100 MB of allocations in all, BCa included.
func TestMemoryIndependentOfReplicates(t *testing.T) {
	pairs := testPairs(7, 4)
	src := statstest.New("m")
	rng := rand.New(rand.NewPCG(1, 1))
	for p := range pairs {
		for arm := range 2 {
			for range 100_000 / 56 {
				src.AddValues("v", 0, p, arm, int64(1e6*math.Exp(0.1*rng.NormFloat64())))
			}
		}
	}
	metric := []stats.Metric{{ID: "v_p50", Kind: stats.Quantile, PerMille: 500, Quantity: "v", Scale: 1}}
	var before, after runtime.MemStats
	opts := stats.DefaultOptions()
	opts.Interval = stats.IntervalBCa
	runtime.ReadMemStats(&before)
	analyze(t, src, metric, pairs, opts)
	runtime.ReadMemStats(&after)
	if mb := float64(after.TotalAlloc-before.TotalAlloc) / 1e6; mb > 100 {
		t.Errorf("%.0f MB allocated", mb)
	}
}

// TestRowsAreNotTheUnit: forgetting the cluster argument silently gave p = .038 for .347 (fwildclusterboot #157, pyfixest
// #158). More rows with the same pair effects must not narrow anything, and there is no option that resamples rows.
func TestRowsAreNotTheUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	d := make([]float64, 28)
	for i := range d {
		d[i] = 0.1 * rng.NormFloat64()
	}
	opts := stats.DefaultOptions()
	opts.Order, opts.Replicates = "coin", 2000
	// BCa and studentized intervals once used the jackknife of rows under a block bootstrap (arch #801).
	for _, opts.Interval = range []string{stats.IntervalExpanded, stats.IntervalBCa, stats.IntervalBootstrapT, stats.IntervalT, stats.IntervalHalfSample} {
		few := analyze(t, statstest.FromRows(effectRows(d, 10)), ratioMetric, testPairs(7, 4), opts).Estimates[0]
		many := analyze(t, statstest.FromRows(effectRows(d, 100_000)), ratioMetric, testPairs(7, 4), opts).Estimates[0]
		if !near(*few.Relative.Lo, *many.Relative.Lo, 1e-6) || !near(*few.Relative.Hi, *many.Relative.Hi, 1e-6) || !near(*few.PValue, *many.PValue, 0.002) {
			t.Errorf("%s: 10 rows a block: (%v, %v), p %v; 100,000 rows: (%v, %v), p %v", opts.Interval, *few.Relative.Lo, *few.Relative.Hi, *few.PValue, *many.Relative.Lo, *many.Relative.Hi, *many.PValue)
		}
	}
}

// TestRatioOfSums: a ratio is one of sums over pairs, never a mean of ratios, which gave biased relative effects
// (cluster-experiments #269, #270).
func TestRatioOfSums(t *testing.T) {
	rows := sumRows("m", [][2]int64{{1, 10}, {9, 10}}, [][2]int64{{1, 10}, {9, 40}})
	e := analyze(t, statstest.FromRows(rows), ratioMetric, testPairs(2, 1), stats.DefaultOptions()).Estimates[1]
	if *e.Control != 2 || *e.Treatment != 5 || !near(*e.Relative.Estimate, 1.5, 1e-12) {
		t.Errorf("levels %v, %v, relative %v; want 2, 5, 1.5", *e.Control, *e.Treatment, *e.Relative.Estimate)
	}
}

// TestStrongEffect: a sign flip cut off at 18 pairs printed p = 0 and depended on the order of pairs (AutoR #247); others
// returned p = 0 (scipy #16460) or no p at all for a big effect on a small rate (growthbook #1320).
func TestStrongEffect(t *testing.T) {
	d := slices.Repeat([]float64{-3, -3.1}, 14)
	opts := stats.DefaultOptions()
	opts.Order = "coin"
	e := analyze(t, statstest.FromRows(effectRows(d, 1)), ratioMetric, testPairs(7, 4), opts).Estimates[0]
	if want := 1. / 10_001; e.PValue == nil || *e.PValue != want || e.Verdict != stats.VerdictBetter {
		t.Errorf("p = %v, %s, want %v", deref(e.PValue), e.Verdict, want)
	}
	// An interval went missing where p = 0 (fwildclusterboot #135, WildBootTests.jl #5).
	if e.Relative.Lo == nil || e.Relative.Hi == nil || *e.Relative.Hi > math.Expm1(-2.9) {
		t.Errorf("interval (%v, %v)", deref(e.Relative.Lo), deref(e.Relative.Hi))
	}
	if p := stats.SignFlip(d); p != math.Exp2(-27) {
		t.Errorf("sign flip p = %v, want 2^-27", p)
	}
	src := statstest.New("m")
	for p := range 28 {
		src.AddSum("y", 0, p, 0, 1_000_000, 100)
		src.AddSum("y", 0, p, 1, 1_000_000, 1)
	}
	event := []stats.Metric{{ID: "y", Kind: stats.Event, Scale: 1, Better: -1}}
	e = analyze(t, src, event, testPairs(7, 4), opts).Estimates[0]
	if e.PValue == nil || *e.PValue != 1./10_001 {
		t.Errorf("p of a rare event = %v", deref(e.PValue))
	}
}

// TestOrderOfDifferences: the sign flip is a function of the set of differences.
func TestOrderOfDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	d := make([]float64, 28)
	for i := range d {
		d[i] = math.Round(1e4*(0.03+0.1*rng.NormFloat64())) / 1e4
	}
	want := stats.SignFlip(d)
	for range 5 {
		rng.Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
		if got := stats.SignFlip(d); !near(got, want, 1e-12) {
			t.Errorf("p = %v after a shuffle, %v before", got, want)
		}
	}
}

// TestIdenticalArms: identical samples were called significant (permute #157) and ties were lost to rounding (scipy
// #15869). No difference is p = 1; effects of one size have p = 2 · 2⁻ⁿ on both sides, exactly.
func TestIdenticalArms(t *testing.T) {
	opts := stats.DefaultOptions()
	opts.Order = "coin"
	e := analyze(t, statstest.FromRows(effectRows(make([]float64, 8), 3)), ratioMetric, testPairs(8, 1), opts).Estimates[0]
	if *e.PValue != 1 || e.Verdict != stats.VerdictNone {
		t.Errorf("identical arms: p = %v, %s", *e.PValue, e.Verdict)
	}
	e = analyze(t, statstest.FromRows(effectRows(slices.Repeat([]float64{0.1}, 8), 3)), ratioMetric, testPairs(8, 1), opts).Estimates[0]
	if *e.PValue != 2./256 {
		t.Errorf("eight equal effects: p = %v, want 2/256", *e.PValue)
	}
	if p := stats.SignFlip([]float64{0.1, 0.1, 0.1, 0.1, 0.2, 0.3}); !near(p, 2./64, 1e-15) {
		t.Errorf("sign flip p = %v, want 2/64", p)
	}
	if p := stats.SignFlip(make([]float64, 9)); p != 1 {
		t.Errorf("sign flip p of zeros = %v", p)
	}
}

// TestModelsInOneArmOnly: geometric means over different benchmark sets showed −90 % from nothing (go #19565, #57648).
// A model that ran in one arm only is left out and listed.
func TestModelsInOneArmOnly(t *testing.T) {
	rows := effectRows(make([]float64, 8), 3)
	for p := range 8 {
		rows = append(rows, statstest.Row{Model: "z", Pair: p, Arm: 1, Sums: map[string][2]int64{"y": {1, 1}}})
	}
	got := analyze(t, statstest.FromRows(rows), ratioMetric, testPairs(8, 1), stats.DefaultOptions())
	if e := got.Estimates[0]; !near(*e.Relative.Estimate, 0, 1e-12) || e.Models != 1 {
		t.Errorf("estimate %v over %d models", *e.Relative.Estimate, e.Models)
	}
	if len(got.Exclusions) != 1 || got.Exclusions[0].Model != "z" {
		t.Errorf("exclusions %v", got.Exclusions)
	}
}

// TestNegativeBaseline: a relative lift flips its sign over a negative baseline (growthbook #6658); here it has none.
func TestNegativeBaseline(t *testing.T) {
	e := analyze(t, statstest.FromRows(sumRows("m", repeat(8, [2]int64{9, -9}), repeat(8, [2]int64{9, -6}))), ratioMetric, testPairs(8, 1), stats.DefaultOptions()).Estimates[1]
	if e.Relative.Estimate != nil || e.Verdict != stats.VerdictNotMeasurable || *e.Absolute.Estimate <= 0 {
		t.Errorf("relative %v, %s, absolute %v", deref(e.Relative.Estimate), e.Verdict, deref(e.Absolute.Estimate))
	}
}

// TestHolm: p.adjust(c(.01, .04, .03, .005), "holm") in R is .03 .06 .06 .02.
func TestHolm(t *testing.T) {
	got := stats.Holm([]float64{.01, math.NaN(), .04, .03, .005})
	for i, want := range []float64{.03, math.NaN(), .06, .06, .02} {
		if !near(got[i], want, 1e-12) && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
			t.Errorf("adjusted p %d = %v, want %v", i, got[i], want)
		}
	}
}

// TestSchedulePerModel: a model with a schedule of its own is tested against its own set, whatever the others do.
func TestSchedulePerModel(t *testing.T) {
	pairs := testPairs(6, 2)
	for i := range pairs {
		pairs[i].FirstByModel = map[string]bool{"a": pairs[i].TreatmentFirst, "b": !pairs[i].TreatmentFirst}
		pairs[i].TreatmentFirst = true // no common schedule: must not be looked at
	}
	opts := stats.DefaultOptions()
	opts.Order, opts.Replicates = "slot-balanced", 2000
	both := testRows(9, []string{"a", "b"}, len(pairs), 40)
	alone := slices.DeleteFunc(slices.Clone(both), func(r statstest.Row) bool { return r.Model == "b" })
	want := analyze(t, statstest.FromRows(alone), testMetrics, pairs, opts)
	got := analyze(t, statstest.FromRows(both), testMetrics, pairs, opts)
	for i := range testMetrics {
		w, g := want.Estimates[2*i+1], got.Estimates[3*i+1]
		if w.Scope != g.Scope || *w.PValue != *g.PValue || *w.SlotAdjusted.Lo != *g.SlotAdjusted.Lo {
			t.Errorf("%s %s: p %v beside another model, %v alone", g.ID, g.Scope, *g.PValue, *w.PValue)
		}
	}
	pairs[3].FirstByModel["b"] = !pairs[3].FirstByModel["b"]
	pairs[7].FirstByModel["b"] = !pairs[7].FirstByModel["b"]
	if _, err := stats.Analyze(context.Background(), statstest.FromRows(both), testMetrics, pairs, opts); err == nil {
		t.Error("no error for a model's schedule outside its set")
	}
}
