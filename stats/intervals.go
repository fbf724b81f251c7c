package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Kinds of intervals, the values of Options.Interval.
const (
	IntervalExpanded   = "expanded"    // percentile with tails expanded for the number of pairs (Hesterberg 2015)
	IntervalPercentile = "percentile"  // plain percentile
	IntervalBasic      = "basic"       // point mirrored percentile
	IntervalBCa        = "bca"         // bias-corrected and accelerated (Efron 1987), influence by pair
	IntervalBootstrapT = "bootstrap-t" // studentized
	IntervalT          = "t"           // point ± t · jackknife standard error
	IntervalHalfSample = "half-sample" // typical values (Hartigan 1969)
)

// maxUndefined is the share of undefined replicates above which an interval is undefined.
const maxUndefined = 0.01

// replicates are sorted defined values of a statistic under the draws of a set.
type replicates struct {
	sorted    []float64
	undefined int  // draws without a value, empty draws not counted
	usable    bool // few enough were undefined
}

// newReplicates takes the values of all draws, of which empty had no weight at all. −Inf ranks lowest, +Inf highest.
func newReplicates(values []float64, empty int) replicates {
	r := replicates{sorted: sortedFloats(those(values, func(v float64) bool { return !math.IsNaN(v) }))}
	draws := len(values) - empty
	r.undefined = draws - len(r.sorted)
	r.usable = len(r.sorted) > 0 && float64(r.undefined) <= maxUndefined*float64(draws)
	return r
}

// at returns the ⌈pB⌉-th of the sorted values (type 1 quantile), NaN for p = NaN.
func (r replicates) at(p float64) float64 {
	if math.IsNaN(p) {
		return p
	}
	b := len(r.sorted)
	k := int(math.Ceil(p*float64(b) - 1e-9)) // p·B is often meant to be whole: 0.025 · 10,000
	return r.sorted[min(max(k, 1), b)-1]
}

// sd returns the standard deviation of the finite values.
func (r replicates) sd() float64 { return finiteSD(r.sorted) }

// those returns the values that are as wanted: most often all of them, which stay where they are.
func those(values []float64, wanted func(v float64) bool) []float64 {
	for i, v := range values {
		if !wanted(v) {
			some := append(make([]float64, 0, len(values)), values[:i]...)
			for _, v := range values[i:] {
				if wanted(v) {
					some = append(some, v)
				}
			}
			return some
		}
	}
	return values
}

// finiteSD returns the standard deviation of the finite values, NaN below two of them.
func finiteSD(values []float64) float64 {
	finite := those(values, func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) })
	if len(finite) < 2 {
		return math.NaN()
	}
	return stat.StdDev(finite, nil)
}

// ExpandedTail returns the share of replicates beyond each end of the expanded percentile interval for n independent
// units: Φ(−√(n/(n−1)) · t), t being the 1−alpha quantile of Student's distribution with n−1 degrees of freedom
// (Hesterberg, What Teachers Should Know about the Bootstrap, 2015). alpha is one tail, typically 0.025; n ≥ 2.
func ExpandedTail(alpha float64, n int) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - alpha)
	return distuv.UnitNormal.CDF(-math.Sqrt(float64(n)/float64(n-1)) * t)
}

// evidence is what the intervals of one effect are made from.
type evidence struct {
	point     float64
	bootstrap replicates
	half      replicates
	jackknife []float64 // by left-out pair, for the pairs that count
	influence []float64 // by pair, for bca; nil: from the jackknife
	studentT  replicates
	studentSE float64 // of the point, by the formula that studentT used
	n         int     // pairs that count
}

// interval returns the ends of the named interval with one tail of alpha, NaN where it is undefined. An interval
// contains its point: where the replicates lie wholly to one side, the end is moved to the point.
func (e evidence) interval(kind string, alpha float64) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	if e.n < 2 || math.IsNaN(e.point) || math.IsInf(e.point, 0) || !e.usable(kind) {
		return lo, hi
	}
	switch kind {
	case IntervalT:
		se := jackknifeSE(e.jackknife)
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(e.n - 1)}.Quantile(1 - alpha)
		lo, hi = e.point-t*se, e.point+t*se
	case IntervalHalfSample:
		lo, hi = e.half.at(alpha), e.half.at(1-alpha)
	case IntervalBootstrapT:
		lo, hi = e.point-e.studentT.at(1-alpha)*e.studentSE, e.point-e.studentT.at(alpha)*e.studentSE
	case IntervalExpanded:
		tail := ExpandedTail(alpha, e.n)
		lo, hi = e.bootstrap.at(tail), e.bootstrap.at(1-tail)
	case IntervalPercentile:
		lo, hi = e.bootstrap.at(alpha), e.bootstrap.at(1-alpha)
	case IntervalBasic:
		lo, hi = 2*e.point-e.bootstrap.at(1-alpha), 2*e.point-e.bootstrap.at(alpha)
	case IntervalBCa:
		low, high := bcaTails(e.bootstrap, e.point, e.acceleration(), alpha)
		lo, hi = e.bootstrap.at(low), e.bootstrap.at(high)
	}
	return math.Min(lo, e.point), math.Max(hi, e.point)
}

// usable tells whether the replicates that a kind of interval is made from are defined often enough.
func (e evidence) usable(kind string) bool {
	switch kind {
	case IntervalT:
		return true
	case IntervalHalfSample:
		return e.half.usable
	case IntervalBootstrapT:
		return e.studentT.usable
	}
	return e.bootstrap.usable
}

// jackknifeDeviations returns mean − θ₍₋ᵢ₎ for delete-one values.
func jackknifeDeviations(leftOut []float64) []float64 {
	mean := stat.Mean(leftOut, nil)
	d := make([]float64, len(leftOut))
	for i, v := range leftOut {
		d[i] = mean - v
	}
	return d
}

// jackknifeSE returns the delete-one jackknife standard error, √((n−1)/n · Σd²).
func jackknifeSE(leftOut []float64) float64 {
	sum := 0.0
	for _, d := range jackknifeDeviations(leftOut) {
		sum += d * d
	}
	n := float64(len(leftOut))
	return math.Sqrt(sum * (n - 1) / n)
}

// acceleration returns the constant a of BCa from the pairs' influence.
func (e evidence) acceleration() float64 {
	if e.influence != nil {
		return skewness(e.influence)
	}
	return skewness(jackknifeDeviations(e.jackknife))
}

// skewness returns Σv³ / (6 (Σv²)^1.5), 0 when all are 0.
func skewness(values []float64) float64 {
	var two, three float64
	for _, v := range values {
		two += v * v
		three += v * v * v
	}
	if two == 0 {
		return 0
	}
	return three / (6 * math.Pow(two, 1.5))
}

// bcaTails returns the shares of sorted replicates at which the BCa interval ends. Replicates that tie with the point
// count half, and a point beyond all replicates is taken as half a replicate from the edge, so both tails are defined.
func bcaTails(r replicates, point, a, alpha float64) (low, high float64) {
	b := float64(len(r.sorted))
	below, _ := slices.BinarySearch(r.sorted, point)
	above := below
	for above < len(r.sorted) && r.sorted[above] == point {
		above++
	}
	share := (float64(below) + float64(above-below)/2) / b
	z0 := distuv.UnitNormal.Quantile(min(max(share, 0.5/b), 1-0.5/b))
	tail := func(p float64) float64 {
		z := z0 + distuv.UnitNormal.Quantile(p)
		if 1-a*z <= 0 { // beyond the pole of the formula
			return math.Max(0, math.Copysign(1, z))
		}
		return distuv.UnitNormal.CDF(z0 + z/(1-a*z))
	}
	return tail(alpha), tail(1 - alpha)
}

// monteCarloError returns the standard error of an end of an interval that comes from the finite number of replicates:
// √(p(1−p)/B) for its tail p, over the density of a normal distribution with the replicates' spread. It is NaN for the t
// interval, which has no random part, and for a tail of less than one replicate, as the expanded one of two pairs: no
// normal distribution tells of the extremes.
func (e evidence) monteCarloError(kind string, alpha float64) float64 {
	r, tail := e.bootstrap, alpha
	switch kind {
	case IntervalT:
		return math.NaN()
	case IntervalHalfSample:
		r = e.half
	case IntervalExpanded:
		tail = ExpandedTail(alpha, e.n)
	}
	if tail*float64(len(r.sorted)) < 1 {
		return math.NaN()
	}
	z := distuv.UnitNormal.Quantile(tail)
	return r.sd() * math.Sqrt(tail*(1-tail)/float64(len(r.sorted))) / distuv.UnitNormal.Prob(z)
}
