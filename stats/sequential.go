package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// SpendingBoundaries returns the two-sided critical values of z at each of several looks at a growing experiment, so that
// the chance that any of them is exceeded without an effect is alpha. fractions are the shares of the planned information
// (of pairs) at the looks, ascending in (0, 1]. The false-alarm chance is spent by the O'Brien–Fleming-type function of Lan
// and DeMets (1983), 4 − 4Φ(z₁₋α⁄₄/√t), of which early looks get little; boundaries follow by the recursion of Armitage,
// McPherson and Rowe (1969). Looks need not be equally spaced, and how many will follow does not matter.
func SpendingBoundaries(fractions []float64, alpha float64) ([]float64, error) {
	if err := checkLooks(fractions); err != nil {
		return nil, err
	}
	z := distuv.UnitNormal.Quantile(1 - alpha/4)
	spent := func(t float64) float64 { return 4 * distuv.UnitNormal.Survival(z/math.Sqrt(t)) }
	bounds := make([]float64, len(fractions))
	walk := brownianWalk{}
	for k, t := range fractions {
		chance := spent(t)
		if k > 0 {
			chance -= spent(fractions[k-1])
		}
		lo, hi := 0.0, 40.0
		for range 100 {
			if middle := (lo + hi) / 2; walk.crossing(t, middle) > chance {
				lo = middle
			} else {
				hi = middle
			}
		}
		bounds[k] = hi
		walk = walk.step(t, hi)
	}
	return bounds, nil
}

func checkLooks(fractions []float64) error {
	last := 0.0
	for _, t := range fractions {
		if !(t > last && t <= 1) {
			return fmt.Errorf("looks %v: must ascend inside (0, 1]", fractions)
		}
		last = t
	}
	return nil
}

// brownianWalk is the distribution of a Brownian motion at an information fraction among the paths that stayed inside all
// boundaries so far. The zero brownianWalk has not started.
type brownianWalk struct {
	t       float64
	at      []float64
	density []float64 // times Simpson's weights
}

// walkPoints is the odd number of points that carry a density.
const walkPoints = 801

// crossing returns the chance that a path first exceeds ±bound, in units of z, at fraction t.
func (w brownianWalk) crossing(t, bound float64) float64 {
	if w.at == nil {
		return 2 * distuv.UnitNormal.Survival(bound)
	}
	sd, sum := math.Sqrt(t-w.t), 0.0
	for i, x := range w.at {
		sum += w.density[i] * distuv.UnitNormal.Survival((bound*math.Sqrt(t)-x)/sd)
	}
	return 2 * sum
}

// step returns the walk at fraction t, kept inside ±bound.
func (w brownianWalk) step(t, bound float64) brownianWalk {
	edge := math.Min(bound, 9) * math.Sqrt(t)
	next := brownianWalk{t: t, at: make([]float64, walkPoints), density: make([]float64, walkPoints)}
	width := 2 * edge / (walkPoints - 1)
	for i := range next.at {
		x := -edge + width*float64(i)
		density := 0.0
		if w.at == nil {
			density = distuv.UnitNormal.Prob(x/math.Sqrt(t)) / math.Sqrt(t)
		} else {
			sd := math.Sqrt(t - w.t)
			for j, y := range w.at {
				density += w.density[j] * distuv.UnitNormal.Prob((x-y)/sd) / sd
			}
		}
		simpson := 2.0
		switch {
		case i == 0 || i == walkPoints-1:
			simpson = 1
		case i%2 == 1:
			simpson = 4
		}
		next.at[i], next.density[i] = x, density*simpson*width/3
	}
	return next
}

// lookCritical turns a boundary of z into Student's for n pairs by its significance level (Jennison and Turnbull 2000,
// section 3.8).
func lookCritical(boundary float64, n int) float64 {
	return -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(distuv.UnitNormal.Survival(boundary))
}
