package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// slotAdjusted fits d = θ + Σ β_position · order by least squares, d being a row's jackknife pseudo-values shifted to
// average to its point, order +1 for treatment-first pairs and −1 for the others (between them where models have schedules of their own).
// positions and orders are those of the pairs that leftOut leaves out. It returns θ with its Student
// interval of one tail alpha: the effect without what the daily position and the order of the arms explain.
// All three are NaN when the design cannot tell them apart.
func slotAdjusted(point float64, leftOut []float64, positions []int, orders []float64, alpha float64) (theta, lo, hi float64) {
	nan := math.NaN()
	n := len(leftOut)
	param := map[int]int{}
	for _, p := range positions {
		if _, ok := param[p]; !ok {
			param[p] = len(param) + 1
		}
	}
	params := len(param) + 1
	df := n - params
	if df < 1 || math.IsNaN(point) || math.IsInf(point, 0) {
		return nan, nan, nan
	}
	x, d := mat.NewDense(n, params, nil), mat.NewVecDense(n, nil)
	mean := stat.Mean(leftOut, nil)
	for i, left := range leftOut {
		d.SetVec(i, point+float64(n-1)*(mean-left))
		x.Set(i, 0, 1)
		x.Set(i, param[positions[i]], orders[i])
	}
	var normal mat.SymDense
	normal.SymOuterK(1, x.T())
	var chol mat.Cholesky
	if !chol.Factorize(&normal) || chol.Cond() > 1e10 {
		return nan, nan, nan
	}
	var right, beta, fitted mat.VecDense
	right.MulVec(x.T(), d)
	if err := chol.SolveVecTo(&beta, &right); err != nil {
		return nan, nan, nan
	}
	fitted.MulVec(x, &beta)
	rss := 0.0
	for i := range n {
		r := d.AtVec(i) - fitted.AtVec(i)
		rss += r * r
	}
	var inverse mat.SymDense
	if err := chol.InverseTo(&inverse); err != nil {
		return nan, nan, nan
	}
	se := math.Sqrt(rss / float64(df) * inverse.At(0, 0))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(df)}.Quantile(1 - alpha)
	theta = beta.AtVec(0)
	return theta, theta - t*se, theta + t*se
}
