package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// tieTolerance is the relative difference within which two statistics of a randomization test count as equal, so that
// rounding cannot hide a tie.
const tieTolerance = 1e-9

// atLeast tells whether a statistic is at least as extreme as the observed one. An undefined one counts as extreme.
func atLeast(statistic, observed float64) bool {
	return math.IsNaN(statistic) || statistic >= observed-tieTolerance*math.Max(observed, 1e-3)
}

// swapP returns the two-sided p-value (1+b)/(1+B) of an observed effect among its values under B swaps, NaN when
// there is no swap or the effect is not finite. (Phipson and Smyth 2010; over an enumerated set it is exact.)
func swapP(observed float64, swaps []float64) float64 {
	if len(swaps) == 0 || math.IsNaN(observed) || math.IsInf(observed, 0) {
		return math.NaN()
	}
	extreme := 0
	for _, s := range swaps {
		if atLeast(math.Abs(s), math.Abs(observed)) {
			extreme++
		}
	}
	return float64(1+extreme) / float64(1+len(swaps))
}

// Holm returns p-values adjusted by Holm's step-down method (Holm 1979), in the order given. NaN entries stay NaN and
// do not count.
func Holm(p []float64) []float64 {
	adjusted := slices.Clone(p)
	order := make([]int, 0, len(p))
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	highest := 0.0
	for rank, i := range order {
		highest = math.Max(highest, math.Min(1, p[i]*float64(len(order)-rank)))
		adjusted[i] = highest
	}
	return adjusted
}

// maxT returns the max-|t| adjusted p-values of several effects (Westfall and Young 1993): how often the largest of
// all standardized effects under a swap reaches each one. swaps[j] are effect j's values under the same swaps;
// the standard is their root mean square.
func maxT(observed []float64, swaps [][]float64) []float64 {
	scale := make([]float64, len(observed))
	for j, s := range swaps {
		sum, n := 0.0, 0
		for _, v := range s {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				sum += v * v
				n++
			}
		}
		scale[j] = math.Sqrt(sum / float64(n))
	}
	standard := func(j int, v float64) float64 {
		switch {
		case math.IsNaN(v):
			return math.Inf(1)
		case v == 0:
			return 0
		}
		return math.Abs(v) / scale[j]
	}
	p := make([]float64, len(observed))
	for j := range observed {
		t, extreme := standard(j, observed[j]), 0
		for d := range swaps[j] {
			highest := 0.0
			for k := range swaps {
				highest = math.Max(highest, standard(k, swaps[k][d]))
			}
			if atLeast(highest, t) {
				extreme++
			}
		}
		p[j] = float64(1+extreme) / float64(1+len(swaps[j]))
	}
	return p
}

// simultaneous returns half-widths of intervals that hold for several effects at once with the given confidence: the
// max-|t| critical value of their joint bootstrap, with tails made Student's for n pairs, times each standard error.
func simultaneous(points []float64, boots [][]float64, n int, confidence float64) []float64 {
	half := make([]float64, len(points))
	if len(points) == 0 || n < 2 {
		for j := range half {
			half[j] = math.NaN()
		}
		return half
	}
	for j, b := range boots {
		half[j] = finiteSD(b) * math.Sqrt(float64(n)/float64(n-1))
	}
	highest := make([]float64, len(boots[0]))
	for d := range highest {
		for j, b := range boots {
			if t := math.Abs(b[d]-points[j]) / half[j]; t > highest[d] { // not for an undefined replicate or a constant
				highest[d] = t
			}
		}
	}
	z := newReplicates(highest, 0).at(confidence)
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(distuv.UnitNormal.CDF(z))
	for j := range half {
		half[j] *= critical
	}
	return half
}
