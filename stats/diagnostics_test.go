package stats_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/stats"
	"switchback/stats/statstest"
)

// pairEffects analyzes pairs whose log effects are d.
func pairEffects(t *testing.T, d []float64, pairs []stats.Pair) stats.PairEffects {
	t.Helper()
	opts := stats.DefaultOptions()
	opts.Replicates = 50
	return analyze(t, statstest.FromRows(effectRows(d, 1)), ratioMetric, pairs, opts).PairEffects[0]
}

// withLogs returns effects of pairs without an analysis.
func withLogs(d []float64) stats.PairEffects {
	p := stats.PairEffects{Confidence: 0.95}
	for i, v := range d {
		p.Pairs = append(p.Pairs, stats.PairEffect{Index: i, Log: v, TreatmentFirst: i%2 == 0})
	}
	return p
}

func checkNumber(t *testing.T, name string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil || !near(*got, want, tolerance) {
		t.Errorf("%s = %v, want %v", name, deref(got), want)
	}
}

// TestLeaveOneOut: the outlier is named, and leaving it out gives what the others say.
func TestLeaveOneOut(t *testing.T) {
	pairs := testPairs(4, 2)
	d := []float64{-0.1, -0.1, -0.1, -0.1, -0.1, 1.0, -0.1, -0.1}
	got := pairEffects(t, d, pairs).LeaveOneOut()
	if got.Pair != pairs[5].ID {
		t.Errorf("pair %q, want %q", got.Pair, pairs[5].ID)
	}
	checkNumber(t, "without", got.Without, math.Expm1(-0.1), 1e-6)
	checkNumber(t, "lo", got.Lo, math.Expm1(-0.1), 1e-6)
	checkNumber(t, "hi", got.Hi, (6*math.Exp(-0.1)+math.E)/7-1, 1e-6)
}

// TestPairEffects: the pairs' own effects average to the overall one, in order of time whatever the order of columns.
func TestPairEffects(t *testing.T) {
	pairs := testPairs(4, 2)
	d := []float64{-0.31, -0.22, -0.13, -0.04, 0.05, -0.11, -0.12, -0.2}
	got := pairEffects(t, d, pairs)
	sum := 0.0
	for i, p := range got.Pairs {
		sum += p.Log / float64(len(d))
		if p.Pair != pairs[i].ID || !near(p.Log, d[i], 0.03) { // close to the pair's own log ratio
			t.Errorf("pair %s: log effect %v, own ratio %v", p.Pair, p.Log, d[i])
		}
	}
	checkNumber(t, "mean", &sum, math.Log1p(*got.Estimate), 1e-12)
	slices.Reverse(pairs)
	slices.Reverse(d)
	back := pairEffects(t, d, pairs)
	for i := range back.Pairs {
		if back.Pairs[i].Pair != got.Pairs[i].Pair || !near(back.Pairs[i].Log, got.Pairs[i].Log, 1e-12) {
			t.Errorf("pair %d is %+v with reversed columns, %+v", i, back.Pairs[i], got.Pairs[i])
		}
	}
}

// TestEffectivePairs: equal weights count all pairs; one pair with nearly all rows counts one.
func TestEffectivePairs(t *testing.T) {
	checkNumber(t, "equal", pairEffects(t, make([]float64, 28), testPairs(7, 4)).EffectivePairs(), 28, 1e-9)
	p := withLogs(make([]float64, 4))
	for i, w := range []float64{.97, .01, .01, .01} {
		p.Pairs[i].Weight = w
	}
	checkNumber(t, "one heavy pair", p.EffectivePairs(), 1/(.97*.97+3*.0001), 1e-9)
}

// TestAutocorrelation: R's acf(1:10) at lag 1 is 0.7; independent effects have a uniform p-value.
func TestAutocorrelation(t *testing.T) {
	got := withLogs([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).Autocorrelation()
	checkNumber(t, "lag 1", got.Value, 0.7, 1e-9)
	rng := rand.New(rand.NewPCG(6, 6))
	low := 0
	for range 2000 {
		d := make([]float64, 28)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		if *withLogs(d).Autocorrelation().PValue < 0.05 {
			low++
		}
	}
	if rate := float64(low) / 2000; rate < 0.025 || rate > 0.065 {
		t.Errorf("p < .05 in %.3f of independent series", rate)
	}
	if got := withLogs([]float64{1, 1, 1, 1}).Autocorrelation(); got.Value != nil || got.PValue != nil {
		t.Errorf("constant effects: %v", got)
	}
}

// Extra hours of sleep under two drugs (Student 1908; R sleep).
var (
	sleepFirst  = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	sleepSecond = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
)

// TestCompare: t.test(extra ~ group, data = sleep) of R: p = .07939, interval (−3.3654832, 0.2054832).
func TestCompare(t *testing.T) {
	p := withLogs(append(slices.Clone(sleepFirst), sleepSecond...))
	labels := append(slices.Repeat([]string{"1"}, 10), slices.Repeat([]string{"2"}, 10)...)
	c := p.Compare(labels, "1", "2")
	checkNumber(t, "p", c.PValue, .07939, 5e-6)
	checkNumber(t, "lo", c.Relative.Lo, math.Expm1(-3.3654832), 1e-7)
	checkNumber(t, "hi", c.Relative.Hi, math.Expm1(0.2054832), 1e-7)
	groups := p.ByGroup(labels)
	if len(groups) != 2 || groups[0].Pairs != 10 || groups[1].Label != "2" {
		t.Errorf("groups %+v", groups)
	}
	checkNumber(t, "first group", groups[0].Relative.Estimate, math.Expm1(0.75), 1e-9)
	if c := p.Compare(labels, "1", "none"); c.Relative.Estimate != nil || c.PValue != nil {
		t.Errorf("an empty group: %+v", c)
	}
}

// TestAgainst: the paired test on the same data: p = .002833, interval (0.7001142, 2.4598858).
func TestAgainst(t *testing.T) {
	c := withLogs(sleepSecond).Against(withLogs(sleepFirst))
	checkNumber(t, "p", c.PValue, .0028328902, 1e-9)
	checkNumber(t, "lo", c.Relative.Lo, math.Expm1(.7001142), 1e-6)
	checkNumber(t, "hi", c.Relative.Hi, math.Expm1(2.4598858), 1e-5)
	// Darwin's maize (Fisher 1935), against no difference: t.test of R has p = .0497.
	maize := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	checkNumber(t, "p of maize", withLogs(maize).Against(withLogs(make([]float64, len(maize)))).PValue, .04970294, 1e-8)
	same := withLogs(sleepFirst).Against(withLogs(sleepFirst))
	if *same.Relative.Lo != 0 || *same.Relative.Hi != 0 || *same.PValue != 1 {
		t.Errorf("a setting against itself: %+v", same)
	}
}

// TestPredecessors: T C | C T | T C, a gap, then C T: the second block of a pair is followed by the next pair's first.
func TestPredecessors(t *testing.T) {
	p := stats.PairEffects{Pairs: []stats.PairEffect{
		{Day: 1, Position: 0, TreatmentFirst: true},
		{Day: 1, Position: 1, TreatmentFirst: false}, // C after C
		{Day: 2, Position: 0, TreatmentFirst: true},  // T after T
		{Day: 2, Position: 1, TreatmentFirst: true},  // T after C
		{Day: 4, Position: 0, TreatmentFirst: false}, // day 3 is missing
	}}
	want := []string{stats.NoPredecessor, stats.SamePredecessor, stats.SamePredecessor, stats.OtherPredecessor, stats.NoPredecessor}
	if diff := cmp.Diff(want, p.Predecessors()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{stats.TreatmentFirst, stats.ControlFirst, stats.TreatmentFirst, stats.TreatmentFirst, stats.ControlFirst}, p.Orders()); diff != "" {
		t.Error(diff)
	}
}

// TestPlacebo: under the orders of the pairs before, an effect of −30 % is not found; over many schedules the interval of
// the placebo holds 0 about as often as it should.
func TestPlacebo(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	pairs := testPairs(7, 4)
	held, sum := 0, 0.0
	const runs = 200
	for range runs {
		d := make([]float64, len(pairs))
		for i := range d {
			d[i] = -0.35 + 0.1*rng.NormFloat64()
			pairs[i].TreatmentFirst = rng.IntN(2) == 0
		}
		p := pairEffects(t, d, pairs)
		sum += math.Log1p(*p.Placebo.Estimate) / runs
		if *p.Placebo.Lo <= 0 && *p.Placebo.Hi >= 0 {
			held++
		}
	}
	if !near(sum, 0, 0.02) || held < 175 {
		t.Errorf("placebo effect %.3f on average, interval holds 0 in %d of %d runs", sum, held, runs)
	}
}

// TestCompareVolume: equal traffic passes, an arm that gets 5 % more in every block is noticed.
func TestCompareVolume(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	pairs := testPairs(7, 4)
	for _, more := range []float64{1, 1.05} {
		src := statstest.New("a", "b")
		for p := range pairs {
			for arm, factor := range []float64{1, more} {
				for m := range 2 {
					n := int64(1e5 * factor * math.Exp(0.02*rng.NormFloat64()))
					src.AddSum("requests", m, p, arm, n, n)
				}
			}
		}
		got, err := stats.CompareVolume(context.Background(), src, pairs)
		if err != nil || got.Pairs != 28 || !near(*got.Relative, more-1, 0.015) {
			t.Errorf("factor %v: %+v, %v", more, got, err)
		}
		if found := *got.PValue < 0.001; found != (more > 1) {
			t.Errorf("factor %v: p = %v", more, *got.PValue)
		}
	}
	got, err := stats.CompareVolume(context.Background(), statstest.New(), pairs)
	if err != nil || got.Pairs != 0 || got.Relative != nil || got.PValue != nil {
		t.Errorf("no requests: %+v, %v", got, err)
	}
}
