package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// TestSpendingBoundaries: two-sided 5 % boundaries of the O'Brien–Fleming-type function at 2 to 5 equally spaced looks,
// published in tables of Lan and DeMets and by R's ldbounds.
func TestSpendingBoundaries(t *testing.T) {
	for looks, want := range map[int][]float64{
		1: {1.95996},
		2: {2.96259, 1.96857},
		3: {3.71030, 2.51142, 1.99302},
		4: {4.33263, 2.96311, 2.35902, 2.01406},
		5: {4.87688, 3.35695, 2.68026, 2.28979, 2.03100},
	} {
		var fractions []float64
		for i := range looks {
			fractions = append(fractions, float64(i+1)/float64(looks))
		}
		got, err := SpendingBoundaries(fractions, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			within(t, "boundary", got[i], want[i], 2e-4)
		}
	}
	for _, bad := range [][]float64{{0.5, 0.5}, {0}, {0.5, 1.1}, {math.NaN()}, {0.6, 0.4}} {
		if _, err := SpendingBoundaries(bad, 0.05); err == nil {
			t.Errorf("looks %v: no error", bad)
		}
	}
}

// TestRepeatedLooks: without an effect, seven nightly looks at 4, 8, … 28 pairs raise a false alarm in 5 % of experiments at
// any look; the fixed-horizon interval at each look does so far more often.
func TestRepeatedLooks(t *testing.T) {
	const experiments = 20_000
	var fractions []float64
	for day := range 7 {
		fractions = append(fractions, float64(day+1)/7)
	}
	bounds, err := SpendingBoundaries(fractions, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	var sequential, fixed [7]float64
	for day := range 7 {
		sequential[day] = lookCritical(bounds[day], 4*(day+1))
		fixed[day] = lookCritical(1.959964, 4*(day+1))
	}
	rng := rand.New(rand.NewPCG(5, 5))
	alarms, naive := 0, 0
	for range experiments {
		d := make([]float64, 28)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		alarm, early := false, false
		for day := range 7 {
			n := 4 * (day + 1)
			mean, sd := stat.MeanStdDev(d[:n], nil)
			z := math.Abs(mean) / sd * math.Sqrt(float64(n))
			alarm = alarm || z > sequential[day]
			early = early || z > fixed[day]
		}
		if alarm {
			alarms++
		}
		if early {
			naive++
		}
	}
	// Four standard errors of 5 % are 0.6 points; the t approximation may add a little.
	within(t, "false alarms", float64(alarms)/experiments, 0.05, 0.007)
	if rate := float64(naive) / experiments; rate < 0.12 {
		t.Errorf("fixed-horizon looks raise false alarms in %.3f of experiments; the comparison expects more than 0.12", rate)
	}
}

// TestSequentialInterval: beside the headline, wider early, close to it at the end; none without looks.
func TestSequentialInterval(t *testing.T) {
	width := func(n int, looks []float64) float64 {
		d := golden()[:n]
		e := ratioOfLogs(t, d, looks)
		if e.Sequential.Lo == nil {
			return math.NaN()
		}
		if *e.Sequential.Lo > *e.Relative.Estimate || *e.Sequential.Hi < *e.Relative.Estimate {
			t.Errorf("sequential interval misses its point")
		}
		return (math.Log1p(*e.Sequential.Hi) - math.Log1p(*e.Sequential.Lo)) / (math.Log1p(*e.Relative.Hi) - math.Log1p(*e.Relative.Lo))
	}
	if w := width(28, nil); !math.IsNaN(w) {
		t.Errorf("an interval without looks")
	}
	if w := width(12, []float64{1. / 7, 2. / 7, 3. / 7}); !(w > 1.8) {
		t.Errorf("third night of seven: %.2f times the headline's width", w)
	}
	if w := width(28, []float64{.25, .5, .75, 1}); !(w > 0.98 && w < 1.12) {
		t.Errorf("last night: %.2f times the headline's width", w)
	}
}

// ratioOfLogs analyzes pairs whose log effects are d.
func ratioOfLogs(t *testing.T, d, looks []float64) Estimate {
	t.Helper()
	var src table
	for _, v := range d {
		for arm, y := range []float64{1, math.Exp(v)} {
			src.n[arm], src.y[arm] = append(src.n[arm], 1), append(src.y[arm], int64(math.Round(1e9*y)))
		}
	}
	opts := DefaultOptions()
	opts.Looks = looks
	got, err := Analyze(context.Background(), src, []Metric{{ID: "y", Kind: Ratio, Scale: 1}}, make([]Pair, len(d)), opts)
	if err != nil {
		t.Fatal(err)
	}
	return got.Estimates[0]
}
