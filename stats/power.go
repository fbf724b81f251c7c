package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// PowerDesign is a paired experiment whose power is asked for.
type PowerDesign struct {
	Alpha float64 // two-sided chance of a false alarm, typically 0.05
	Power float64 // chance of detecting the effect, typically 0.8
	Lost  int     // degrees of freedom spent beyond the mean, such as one for each daily position under slot adjustment
}

// DefaultPowerDesign returns 80 % power at the two-sided 5 % level.
func DefaultPowerDesign() PowerDesign { return PowerDesign{Alpha: 0.05, Power: 0.8} }

// Validate reports what is out of range.
func (d PowerDesign) Validate() error {
	if !(d.Alpha > 0 && d.Alpha < 1) || !(d.Power > d.Alpha && d.Power < 1) || d.Lost < 0 {
		return fmt.Errorf("power %v at level %v with %d lost degrees of freedom: need 0 < level < power < 1 and no negative number", d.Power, d.Alpha, d.Lost)
	}
	return nil
}

// DetectionPower returns the chance that Student's t-test on n pairs detects a mean log effect when the log effects of
// pairs have standard deviation sd (the noncentral t distribution, both tails). It is NaN without degrees of freedom.
func (d PowerDesign) DetectionPower(effect, sd float64, n int) float64 {
	df := float64(n - 1 - d.Lost)
	if df < 1 || !(sd > 0) {
		return math.NaN()
	}
	shift := math.Abs(effect) / sd * math.Sqrt(float64(n))
	critical := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1 - d.Alpha/2)
	return 1 - noncentralT(critical, df, shift) + noncentralT(-critical, df, shift)
}

// SmallestEffect returns the smallest upward relative effect (0.052 is +5.2 %) that n pairs detect with the design's power
// when the log effects of pairs have standard deviation sd. It is NaN without degrees of freedom.
func (d PowerDesign) SmallestEffect(sd float64, n int) float64 {
	if math.IsNaN(d.DetectionPower(1, sd, n)) {
		return math.NaN()
	}
	lo, hi := 0.0, sd
	for d.DetectionPower(hi, sd, n) < d.Power {
		hi *= 2
	}
	for range 60 {
		if middle := (lo + hi) / 2; d.DetectionPower(middle, sd, n) < d.Power {
			lo = middle
		} else {
			hi = middle
		}
	}
	return math.Expm1(hi)
}

// maxPairs bounds the search of PairsNeeded.
const maxPairs = 1 << 20

// PairsNeeded returns the smallest number of pairs that detects a relative effect (−0.05 is −5 %) with the design's power
// when the log effects of pairs have standard deviation sd. ok is false when a million pairs are not enough.
func (d PowerDesign) PairsNeeded(relative, sd float64) (n int, ok bool) {
	effect := math.Log1p(relative)
	enough := func(n int) bool { return d.DetectionPower(effect, sd, n) >= d.Power }
	lo, hi := d.Lost+1, d.Lost+2
	for ; !enough(hi); lo, hi = hi, 2*hi {
		if hi > maxPairs {
			return 0, false
		}
	}
	for hi-lo > 1 {
		if middle := (lo + hi) / 2; enough(middle) {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi, true
}

// DaysNeeded turns a number of pairs into days.
func DaysNeeded(pairs, pairsPerDay int) int { return (pairs + pairsPerDay - 1) / pairsPerDay }

// PairSD returns the standard deviation of pairs' log effects that a Student interval of a relative effect from n pairs
// implies. It is how a published interval becomes an input of SmallestEffect.
func PairSD(lo, hi float64, n int, confidence float64) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile((1 + confidence) / 2)
	return (math.Log1p(hi) - math.Log1p(lo)) / 2 / t * math.Sqrt(float64(n))
}

// noncentralT returns the distribution function of the noncentral t distribution, as the mean of Φ(t·s − shift) over s, the
// root of a χ² variable over its degrees of freedom.
func noncentralT(t, df, shift float64) float64 {
	logConstant := math.Log(2) + df/2*math.Log(df/2) - lgamma(df/2)
	integrand := func(s float64) float64 {
		density := math.Exp(logConstant + (df-1)*math.Log(s) - df*s*s/2)
		return density * distuv.UnitNormal.CDF(t*s-shift)
	}
	// All but 1e-15 of the distribution of s.
	from := math.Sqrt(2 * mathext.GammaIncRegInv(df/2, 1e-15) / df)
	to := math.Sqrt(2 * mathext.GammaIncRegCompInv(df/2, 1e-15) / df)
	return quad.Fixed(integrand, from, to, 100, quad.Legendre{}, 0)
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
