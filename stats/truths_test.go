package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// Values that come from R 4.2.2 with boot 1.3-28.1, scipy 1.10.1 or a textbook; each test names its own. Tolerances of random
// ones come from the Monte-Carlo error of both sides: published values were once nudged to pass (seaborn #140).

// table is a source of one model whose sums are given by pair, for control and treatment.
type table struct {
	n, y [2][]int64
}

func (t table) Models(context.Context) ([]string, error) { return []string{"m"}, nil }
func (t table) Sums(context.Context, string) ([]Sum, error) {
	var out []Sum
	for arm := range 2 {
		for i := range t.n[arm] {
			out = append(out, Sum{Column: 2*i + arm, N: t.n[arm][i], Y: t.y[arm][i]})
		}
	}
	return out, nil
}
func (t table) Histogram(context.Context, string) ([]Bin, error)            { return nil, nil }
func (t table) Values(context.Context, string, []ModelBin) ([]Value, error) { return nil, nil }

// ratioOf returns the estimate of Σx/Σu by pair, as the absolute effect over a control that is zero everywhere. Without u
// it is the mean of x.
func ratioOf(t *testing.T, u, x []float64, scale float64, change func(*Options)) Estimate {
	t.Helper()
	var src table
	pairs := make([]Pair, len(x))
	for i := range x {
		n := 1.0
		if u != nil {
			n = u[i]
		}
		src.n[0], src.y[0] = append(src.n[0], 1), append(src.y[0], 0)
		src.n[1], src.y[1] = append(src.n[1], int64(n)), append(src.y[1], int64(math.Round(x[i]/scale)))
	}
	opts := DefaultOptions()
	opts.Replicates = 100_000
	change(&opts)
	got, err := Analyze(context.Background(), src, []Metric{{ID: "y", Kind: Mean, Scale: scale}}, pairs, opts)
	if err != nil {
		t.Fatal(err)
	}
	return got.Estimates[1]
}

// skipResampling leaves the many resamples of golden values out of short runs, which race detection slows down.
func skipResampling(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("100,000 resamples")
	}
}

func interval(kind string, confidence float64) func(*Options) {
	return func(o *Options) { o.Interval, o.Confidence = kind, confidence }
}

func within(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.10g, want %.10g ± %g", name, got, want, tolerance)
	}
}

func withinEffect(t *testing.T, name string, got Effect, lo, hi, tolerance float64) {
	t.Helper()
	if got.Lo == nil || got.Hi == nil {
		t.Errorf("%s: no interval", name)
		return
	}
	within(t, name+" lo", *got.Lo, lo, tolerance)
	within(t, name+" hi", *got.Hi, hi, tolerance)
}

var (
	// Populations of ten cities in 1920 and 1930 (Cochran 1977; R boot, city).
	cityU = []float64{138, 93, 61, 179, 48, 37, 29, 23, 30, 2}
	cityX = []float64{143, 104, 69, 260, 75, 63, 50, 48, 111, 50}
	// Hours between failures of air-conditioning equipment (Proschan 1963; R boot, aircondit).
	aircondit = []float64{3, 5, 7, 18, 43, 85, 91, 98, 100, 130, 230, 487}
	// Spatial test, sample A (Efron and Tibshirani 1993, Table 14.1).
	spatialA = []float64{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41}
	// Sample of scipy's own test of bootstrap intervals.
	scipySample = []float64{10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213}
	// Law school data (Efron 1979).
	lsat = []float64{576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594}
	gpa  = []float64{3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96}
	// Survival of mice (Efron and Tibshirani 1993, Table 2.1).
	mouseTreated = []float64{94, 197, 16, 38, 99, 141, 23}
	mouseControl = []float64{52, 104, 146, 10, 51, 30, 40, 27, 46}
	// Darwin's cross- and self-fertilized maize (Fisher 1935).
	maize = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	// Extra hours of sleep under two drugs (Student 1908; R sleep).
	sleep = []float64{1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, .8, 4.6, 1.4}
)

// golden is a made-up set of 28 log effects.
func golden() []float64 {
	d := make([]float64, 28)
	for i := range d {
		f := float64(i)
		d[i] = math.Round((-.185+.09*math.Sin(1.7*f)+.05*math.Cos(.9*f*f))*1e4) / 1e4
	}
	return d
}

// TestCity: ratio of sums. Percentile and basic intervals, which were once confused (mozanalysis #5), differ by a third of
// their width here. R boot: point and infinitesimal jackknife exact; intervals from 200,000 resamples.
func TestCity(t *testing.T) {
	skipResampling(t)
	e := ratioOf(t, cityU, cityX, 1, interval(IntervalPercentile, 0.95))
	within(t, "ratio", *e.Absolute.Estimate, 1.5203125, 1e-9)
	for _, c := range []struct {
		kind   string
		lo, hi float64
	}{
		{IntervalPercentile, 1.252, 2.103},
		{IntervalBasic, .938, 1.789},
		{IntervalBCa, 1.254, 2.111},
		// A studentized interval was once fed a standard deviation for a variance (confintr #2).
		{IntervalBootstrapT, 1.246, 2.094},
	} {
		e := ratioOf(t, cityU, cityX, 1, interval(c.kind, 0.95))
		withinEffect(t, c.kind, e.Absolute, c.lo, c.hi, 0.015)
	}
	// Influence values (R boot, empinf). R differentiates numerically with a step of 0.001/n: first with its step, to all
	// digits, then the closed form of the engine, to the accuracy of that step.
	cells, err := newSumCells(mustSums(t, cityU, cityX), Mean, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	closed := make([]float64, 10)
	cells[0].influence(pointSet(10), 1, 0, false, 10, closed)
	want := []float64{-1.043678, -.584178, -.370925, -.189590, .031641, .105449, .092363, .203651, 1.021783, .733811}
	const step = 0.001 / 10
	numeric, se := make([]float64, 10), 0.0
	for i := range numeric {
		var u, x float64
		for j := range cityU {
			w := (1 - step) / 10
			if i == j {
				w += step
			}
			u += w * cityU[j]
			x += w * cityX[j]
		}
		numeric[i] = (x/u - 1.5203125) / step
		se += numeric[i] * numeric[i] / 100
		within(t, "influence", numeric[i], want[i], 1e-6)
		within(t, "influence in closed form", closed[i], want[i], 2e-4)
	}
	within(t, "infinitesimal jackknife se", math.Sqrt(se), .1802415433, 1e-9)
	within(t, "acceleration", skewness(numeric), .00222908, 1e-8)
	within(t, "acceleration in closed form", skewness(closed), .00222908, 3e-5)
}

func mustSums(t *testing.T, u, x []float64) []Sum {
	t.Helper()
	src := table{}
	for i := range u {
		src.n[0], src.y[0] = append(src.n[0], 1), append(src.y[0], 0)
		src.n[1], src.y[1] = append(src.n[1], int64(u[i])), append(src.y[1], int64(x[i]))
	}
	sums, err := src.Sums(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestScipySample: the intervals of scipy's test file (1e6 resamples) and of R on the same data, which differ by
// Monte-Carlo error only.
func TestScipySample(t *testing.T) {
	skipResampling(t)
	for _, c := range []struct {
		kind                     string
		lo, hi, otherLo, otherHi float64
	}{
		{IntervalBasic, 23.77, 79.12, 23.71, 79.09},
		{IntervalPercentile, 28.86, 84.21, 28.89, 84.28},
		{IntervalBCa, 32.31, 91.43, 32.25, 91.31},
	} {
		e := ratioOf(t, nil, scipySample, 0.1, interval(c.kind, 0.95))
		withinEffect(t, c.kind+" (scipy)", e.Absolute, c.lo, c.hi, 0.6)
		withinEffect(t, c.kind+" (R)", e.Absolute, c.otherLo, c.otherHi, 0.6)
	}
	within(t, "acceleration", skewness(jackknifeDeviations(leaveOneOut(scipySample, func(x []float64) float64 { return stat.Mean(x, nil) }))), .06152887, 1e-7)
}

// TestZeroTo99: the BCa interval of the mean of 0 … 99 is scipy's (43.96, 55.31), not the (39.5, 43.1) of a toolkit that
// took .025 for 2.5 % (fairness_pipeline_dev_toolkit #23).
func TestZeroTo99(t *testing.T) {
	skipResampling(t)
	x := make([]float64, 100)
	for i := range x {
		x[i] = float64(i)
	}
	e := ratioOf(t, nil, x, 1, interval(IntervalBCa, 0.95))
	withinEffect(t, "bca", e.Absolute, 43.96, 55.31, 0.25)
}

// leaveOneOut returns a statistic of x without each of its values in turn.
func leaveOneOut(x []float64, statistic func([]float64) float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = statistic(slices.Delete(slices.Clone(x), i, i+1))
	}
	return out
}

// resample returns the evidence on a statistic of n exchangeable units from draws with replacement.
func resample(n, draws int, statistic func(index []int) float64) evidence {
	rng := rand.New(rand.NewPCG(3, 4))
	values, index := make([]float64, draws), make([]int, n)
	for d := range values {
		for i := range index {
			index[i] = rng.IntN(n)
		}
		values[d] = statistic(index)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	e := evidence{n: n, point: statistic(all), bootstrap: newReplicates(values, 0)}
	for i := range n {
		e.jackknife = append(e.jackknife, statistic(slices.Delete(slices.Clone(all), i, i+1)))
	}
	return e
}

func pick(x []float64, index []int) []float64 {
	out := make([]float64, len(index))
	for i, j := range index {
		out[i] = x[j]
	}
	return out
}

// TestSpatial: the variance of sample A, 90 % intervals from 200,000 resamples in R. (The book's printed percentile
// interval, (100.8, 233.9), is off by 3 through its own Monte-Carlo error.)
func TestSpatial(t *testing.T) {
	skipResampling(t)
	e := resample(len(spatialA), 100_000, func(index []int) float64 { return variance(pick(spatialA, index)) })
	within(t, "variance", e.point, 171.534024, 1e-6)
	influence := make([]float64, len(spatialA))
	for i, x := range spatialA {
		influence[i] = (x-stat.Mean(spatialA, nil))*(x-stat.Mean(spatialA, nil)) - e.point
	}
	within(t, "acceleration", skewness(influence), .0612371, 1e-5) // R differentiates numerically
	lo, hi := e.interval(IntervalBCa, 0.05)
	within(t, "bca lo", lo, 115.6, 1)
	within(t, "bca hi", hi, 260.9, 2)
	lo, hi = e.interval(IntervalPercentile, 0.05)
	within(t, "percentile lo", lo, 97.9, 1)
	within(t, "percentile hi", hi, 235.2, 1)
}

// variance divides by n.
func variance(x []float64) float64 {
	mean, sum := stat.Mean(x, nil), 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(x))
}

// TestLawSchool: correlation of LSAT and GPA. R: point and jackknife exact, intervals from 200,000 resamples.
func TestLawSchool(t *testing.T) {
	skipResampling(t)
	e := resample(15, 100_000, func(index []int) float64 { return stat.Correlation(pick(lsat, index), pick(gpa, index), nil) })
	within(t, "correlation", e.point, .7763744913, 1e-9)
	within(t, "jackknife se", jackknifeSE(e.jackknife), .1425186186, 1e-9)
	within(t, "jackknife bias", 14*(stat.Mean(e.jackknife, nil)-e.point), -.0064736230, 1e-9)
	within(t, "acceleration", e.acceleration(), -.0756715649, 1e-9)
	lo, hi := e.interval(IntervalPercentile, 0.025)
	within(t, "percentile lo", lo, .4603, .008)
	within(t, "percentile hi", hi, .9619, .003)
	lo, hi = e.interval(IntervalBCa, 0.025)
	within(t, "bca lo", lo, .3321, .012)
	within(t, "bca hi", hi, .9418, .003)
}

// TestMouse: all 7⁷ resamples of the treated mice, in R: exact, so the type 1 rule of interval ends must hit them.
func TestMouse(t *testing.T) {
	skipResampling(t)
	const n = 7
	means, medians := make([]float64, 0, 823543), map[float64]int{}
	sorted := slices.Sorted(slices.Values(mouseTreated))
	index := make([]int, n)
	for code := range 823543 {
		sum, c := 0.0, code
		counts := [n]int{}
		for i := range index {
			index[i] = c % n
			c /= n
			sum += sorted[index[i]]
			counts[index[i]]++
		}
		means = append(means, sum/n)
		k := 0
		for i, count := range counts {
			if k += count; k >= 4 {
				medians[sorted[i]]++
				break
			}
		}
	}
	r := newReplicates(means, 0)
	within(t, "se", math.Sqrt(variance(means)), 23.36352344, 1e-7)
	for p, want := range map[float64]float64{.025: 43.428571, .05: 49.428571, .95: 126.714286, .975: 134.428571} {
		within(t, "quantile", r.at(p), want, 1e-6)
	}
	chances := []float64{.0101500468, .0981235953, .238626277, .306200162, .238626277, .0981235953, .0101500468}
	for i, v := range sorted {
		within(t, "chance of median", float64(medians[v])/823543, chances[i], 1e-9)
	}
}

// TestMousePermutation: all 11,440 ways to choose the treated mice, one-sided; R coin and by hand.
func TestMousePermutation(t *testing.T) {
	all := append(slices.Clone(mouseTreated), mouseControl...)
	set := &assignments{observed: make([]bool, 16), groups: []assignmentGroup{{counts: []int{7}}}}
	for i := range all {
		set.groups[0].pairs = append(set.groups[0].pairs, i)
		set.observed[i] = i < 7
	}
	observed, extreme, members := stat.Mean(mouseTreated, nil)*7, 1, 1
	set.enumerate(func(flips []bool) {
		sum := 0.0
		for i, f := range flips {
			if f != set.observed[i] {
				sum += all[i]
			}
		}
		members++
		if sum >= observed {
			extreme++
		}
	})
	if extreme != 1613 || members != 11440 || set.size() != 11440 {
		t.Errorf("p = %d/%d of %v members, want 1613/11440", extreme, members, set.size())
	}
}

// TestMaize: Fisher's own example. Exact p in R and scipy; the t interval and p in R.
func TestMaize(t *testing.T) {
	within(t, "sign flip p", SignFlip(maize), 1726./32768, 1e-12)
	extreme := 0 // of the 2¹⁵ assignments of signs, one-sided
	for mask := range 1 << 15 {
		sum := 0.0
		for i, d := range maize {
			sum += d * float64(1-2*(mask>>i&1))
		}
		if sum >= 314 {
			extreme++
		}
	}
	if extreme != 863 {
		t.Errorf("one-sided sign flip: %d of 32768, want 863", extreme)
	}
	e := ratioOf(t, nil, maize, 1, interval(IntervalT, 0.95))
	withinEffect(t, "t interval", e.Absolute, .03119332, 2*314./15-.03119332, 1e-7)
	// All 32,767 non-empty half-samples.
	means := make([]float64, 0, 32767)
	for mask := 1; mask < 1<<15; mask++ {
		sum, n := 0.0, 0.0
		for i, d := range maize {
			if mask>>i&1 == 1 {
				sum += d
				n++
			}
		}
		means = append(means, sum/n)
	}
	r := newReplicates(means, 0)
	within(t, "half-sample lo", r.at(.025), -.1666667, 1e-6)
	within(t, "half-sample hi", r.at(.975), 41, 1e-9)
}

// TestSleep: exact p by R coin, t interval by R.
func TestSleep(t *testing.T) {
	within(t, "sign flip p", SignFlip(sleep), 4./1024, 1e-12)
	e := ratioOf(t, nil, sleep, 0.1, interval(IntervalT, 0.95))
	withinEffect(t, "t interval", e.Absolute, .7001142, 2.4598858, 1e-6)
}

// TestAircondit: the mean; its interval is compared with the approximate bootstrap in TestABC.
func TestAircondit(t *testing.T) {
	skipResampling(t)
	e := ratioOf(t, nil, aircondit, 1, interval(IntervalBCa, 0.95))
	within(t, "mean", *e.Absolute.Estimate, 108.08333, 1e-5)
}

// TestGolden: 28 pairs. Exact p-values by R and Python, intervals from 400,000 resamples in R (± 0.0003).
func TestGolden(t *testing.T) {
	skipResampling(t)
	d := golden()
	first := []float64{-.135, -.0647, -.2528, -.2805, -.1535, -.1568, -.2203, -.191, -.0829, -.1893, -.2939, -.223, -.13, -.1816, -.2279, -.1461,
		-.1301, -.2774, -.2927, -.128, -.1516, -.2424, -.235, -.0889, -.2313, -.324, -.1415, -.1444}
	for i := range d {
		within(t, "difference", d[i], first[i], 1e-12)
	}
	within(t, "mean", stat.Mean(d, nil), -.189878571429, 1e-12)
	within(t, "sd", stat.StdDev(d, nil), .0695965961127, 1e-12)
	within(t, "sign flip p against 0", SignFlip(d), 2/math.Exp2(28), 1e-15)
	shifted := make([]float64, len(d))
	for i := range d {
		shifted[i] = d[i] + .15
	}
	within(t, "sign flip p against -.15", SignFlip(shifted), 1_494_684/math.Exp2(28), 1e-12)
	within(t, "acceleration", skewness(jackknifeDeviations(leaveOneOut(d, func(x []float64) float64 { return stat.Mean(x, nil) }))), -.00436309672, 1e-9)
	within(t, "expanded tail", ExpandedTail(.025, 28), .0183321817486, 1e-9)
	for _, c := range []struct {
		kind              string
		lo, hi, tolerance float64
	}{
		{IntervalT, -.216865314, -.162891829, 1e-9},
		{IntervalPercentile, -.2154, -.1648, .0006},
		{IntervalBasic, -.2150, -.1643, .0006},
		{IntervalBCa, -.2157, -.1650, .0006},
		{IntervalExpanded, -.21708, -.16311, .0006},
		{IntervalHalfSample, -.21696, -.16296, .0006},
	} {
		e := ratioOf(t, nil, d, 1e-4, interval(c.kind, 0.95))
		withinEffect(t, c.kind, e.Absolute, c.lo, c.hi, c.tolerance)
	}
}

// TestMonteCarloError: the standard error printed beside an interval is how much its ends vary from seed to seed.
func TestMonteCarloError(t *testing.T) {
	skipResampling(t)
	logs := golden()
	var ends []float64
	claimed := 0.0
	for seed := range uint64(60) {
		var src table
		for _, v := range logs {
			for arm, y := range []float64{1, math.Exp(v)} {
				src.n[arm], src.y[arm] = append(src.n[arm], 1), append(src.y[arm], int64(math.Round(1e9*y)))
			}
		}
		opts := DefaultOptions()
		opts.Replicates, opts.Seed = 2000, seed
		got, err := Analyze(context.Background(), src, []Metric{{ID: "y", Kind: Ratio, Scale: 1}}, make([]Pair, 28), opts)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, *got.Estimates[0].Relative.Hi)
		claimed += *got.Estimates[0].MCError / 60
	}
	// A standard deviation of 60 values has a relative error of 9 %, and tails are not quite normal.
	if ratio := stat.StdDev(ends, nil) / claimed; ratio < 0.7 || ratio > 1.4 {
		t.Errorf("ends vary by %.2f times the claimed %.5f", ratio, claimed)
	}
}
