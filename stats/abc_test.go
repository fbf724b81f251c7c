package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// abc is the approximate bootstrap confidence interval (DiCiccio and Efron 1992), which needs no random numbers: an
// independent check of the BCa interval, which it approximates. statistic takes weights that sum to 1.
func abc(n int, alpha float64, statistic func(w []float64) float64) (lo, hi float64) {
	eps := 0.001 / float64(n)
	at := func(step func(i int) float64) float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = 1/float64(n) + step(i)
		}
		return statistic(w)
	}
	point := at(func(int) float64 { return 0 })
	l := make([]float64, n)
	var two, three, bias float64
	for i := range n {
		toward := func(e float64) func(int) float64 {
			return func(j int) float64 {
				if i == j {
					return e * (1 - 1/float64(n))
				}
				return -e / float64(n)
			}
		}
		up, down := at(toward(eps)), at(toward(-eps))
		l[i] = (up - down) / (2 * eps)
		two += l[i] * l[i]
		three += l[i] * l[i] * l[i]
		bias += (up - 2*point + down) / (eps * eps)
	}
	size := float64(n)
	sigma := math.Sqrt(two) / size
	a := three / (6 * size * size * size * sigma * sigma * sigma)
	direction := func(i int) float64 { return l[i] / (size * size * sigma) }
	curve := (at(func(i int) float64 { return eps * direction(i) }) - 2*point + at(func(i int) float64 { return -eps * direction(i) })) / (2 * eps * eps * sigma)
	z0 := a - (bias/(2*size*size)/sigma - curve)
	end := func(p float64) float64 {
		w := z0 + distuv.UnitNormal.Quantile(p)
		lambda := w / ((1 - a*w) * (1 - a*w))
		return at(func(i int) float64 { return lambda * direction(i) })
	}
	return end(alpha), end(1 - alpha)
}

// weighted returns Σwx.
func weighted(w, x []float64) float64 {
	sum := 0.0
	for i := range w {
		sum += w[i] * x[i]
	}
	return sum
}

var (
	// Populations of 49 cities in 1920 and 1930 (Cochran 1977; R boot, bigcity).
	bigU = []float64{138, 93, 61, 179, 48, 37, 29, 23, 30, 2, 38, 46, 71, 25, 298, 74, 50, 76, 381, 387, 78, 60, 507, 50, 77, 64, 40, 136, 243, 256, 94, 36, 45, 67, 120, 172, 66, 46, 121, 44, 64, 56, 40, 116, 87, 43, 43, 161, 36}
	bigX = []float64{143, 104, 69, 260, 75, 63, 50, 48, 111, 50, 52, 53, 79, 57, 317, 93, 58, 80, 464, 459, 106, 57, 634, 64, 89, 77, 60, 139, 291, 288, 85, 46, 53, 67, 115, 183, 86, 65, 113, 58, 63, 142, 64, 130, 105, 61, 50, 232, 54}
)

// TestABC: R boot's abc.ci on seven data sets, and the engine's BCa beside it.
func TestABC(t *testing.T) {
	mean := func(x []float64) func([]float64) float64 {
		return func(w []float64) float64 { return weighted(w, x) }
	}
	ratio := func(u, x []float64) func([]float64) float64 {
		return func(w []float64) float64 { return weighted(w, x) / weighted(w, u) }
	}
	spread := func(w []float64) float64 {
		m, sum := weighted(w, spatialA), 0.0
		for i, v := range spatialA {
			sum += w[i] * (v - m) * (v - m)
		}
		return sum
	}
	correlation := func(w []float64) float64 { return stat.Correlation(lsat, gpa, w) }
	for _, c := range []struct {
		name              string
		n                 int
		alpha             float64
		statistic         func([]float64) float64
		lo, hi, tolerance float64
	}{
		{"city", 10, .025, ratio(cityU, cityX), 1.26182, 2.07808, 1e-3},
		{"bigcity", 49, .025, ratio(bigU, bigX), 1.182689, 1.321108, 1e-5},
		{"aircondit", 12, .025, mean(aircondit), 57.1928, 226.7173, 1e-3},
		{"spatial 90 %", 26, .05, spread, 116.497, 260.533, 2e-3},
		{"spatial 95 %", 26, .025, spread, 106.466, 278.130, 2e-3},
		{"scipy sample", 16, .025, mean(scipySample), 32.32421, 91.53014, 1e-3},
		{"law school", 15, .025, correlation, .337971, .942071, 1e-4},
		{"golden", 28, .025, mean(golden()), -.215689427, -.165046558, 1e-7},
	} {
		lo, hi := abc(c.n, c.alpha, c.statistic)
		within(t, c.name+" lo", lo, c.lo, c.tolerance)
		within(t, c.name+" hi", hi, c.hi, c.tolerance)
	}
	skipResampling(t)
	// The engine's BCa on the sums among them: the two methods differ by terms of order 1/n and Monte-Carlo error.
	for _, c := range []struct {
		name   string
		u, x   []float64
		share  float64 // of the interval's width
		lo, hi float64
		point  float64
	}{
		{"bigcity", bigU, bigX, 0.03, 1.182689, 1.321108, 1.2390186},
		{"aircondit", nil, aircondit, 0.05, 57.1928, 226.7173, 108.08333},
		{"golden", nil, golden(), 0.02, -.215689427, -.165046558, -.189878571429},
	} {
		scale := 1.0
		if c.name == "golden" {
			scale = 1e-4
		}
		e := ratioOf(t, c.u, c.x, scale, interval(IntervalBCa, 0.95))
		within(t, c.name, *e.Absolute.Estimate, c.point, 1e-5)
		withinEffect(t, c.name, e.Absolute, c.lo, c.hi, c.share*(c.hi-c.lo))
	}
}
