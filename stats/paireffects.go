package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// PairEffects is the overall row of one metric taken apart by pairs. Diagnostics are methods on it; none asks the source.
type PairEffects struct {
	Metric     string       `json:"metric"`
	Estimate   *float64     `json:"estimate"` // the relative effect of all pairs together
	Placebo    Effect       `json:"placebo"`  // the effect that is found when every pair has the order of the pair before it; expected 0
	Pairs      []PairEffect `json:"pairs"`    // those that count, in order of time; empty when an effect is not finite
	Confidence float64      `json:"confidence"`
}

// PairEffect is one pair's part in an overall row.
type PairEffect struct {
	Pair    string  `json:"pair"`
	Log     float64 `json:"log"`     // the pair's own log effect: jackknife pseudo-value, shifted so that their mean is the overall one
	Without float64 `json:"without"` // the overall relative effect without the pair
	Weight  float64 `json:"weight"`  // share of the rows of both arms, averaged over models

	Index          int  `json:"index"`    // in the pairs of the analysis
	Day            int  `json:"day"`      // from 1
	Position       int  `json:"position"` // in the day, from 0
	TreatmentFirst bool `json:"treatment_first"`
}

// pairEffects takes the row apart.
func (r *row) pairEffects() PairEffects {
	out := PairEffects{Metric: r.m.metric.ID, Confidence: r.a.opts.Confidence, Pairs: []PairEffect{}}
	point := r.effects[setPoint].log[0]
	leftOut := r.effects[setJackknife].log
	if out.Estimate = fraction(point); out.Estimate == nil || r.undefinedPoint() != "" {
		out.Estimate = nil
		return out
	}
	placebo := r.effects[setPlacebo].log
	sequence := inTime(r.a.pairs)
	var shifted []float64
	for _, i := range sequence[1:] {
		if r.scope.complete[i] {
			shifted = append(shifted, placebo[1+i])
		}
	}
	e := evidence{point: placebo[0], jackknife: shifted, n: len(shifted)}
	lo, hi := e.interval(IntervalT, r.a.opts.tail())
	out.Placebo = Effect{fraction(placebo[0]), fraction(lo), fraction(hi)}
	counted := r.counted(leftOut)
	mean := stat.Mean(counted, nil)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return out
	}
	for _, i := range sequence {
		if r.scope.complete[i] {
			pair := r.a.pairs[i]
			out.Pairs = append(out.Pairs, PairEffect{
				Pair:    pair.ID,
				Log:     point + float64(len(counted)-1)*(mean-leftOut[i]),
				Without: math.Expm1(leftOut[i]),
				Weight:  r.pairWeight(i),
				Index:   i, Day: pair.Day, Position: pair.Position, TreatmentFirst: pair.TreatmentFirst,
			})
		}
	}
	return out
}

// pairWeight is a pair's share of the rows of each arm, averaged over arms and models.
func (r *row) pairWeight(pair int) float64 {
	weight := 0.0
	for _, s := range r.scope.blend.ratios {
		support := r.m.supports[s.model]
		for arm := range 2 {
			weight += s.weight / 2 * float64(support.byColumn[arm*len(r.a.pairs)+pair]) / float64(support.rows[arm])
		}
	}
	return weight
}

// logs returns the pairs' own log effects.
func (p PairEffects) logs() []float64 {
	out := make([]float64, len(p.Pairs))
	for i, e := range p.Pairs {
		out[i] = e.Log
	}
	return out
}

// SD returns the standard deviation of the pairs' log effects, the input of PowerDesign; nil with fewer than 2 pairs.
func (p PairEffects) SD() *float64 {
	if len(p.Pairs) < 2 {
		return nil
	}
	return number(stat.StdDev(p.logs(), nil))
}

// LeaveOneOut is the range of the overall effect when each pair in turn is left out. nil is undefined.
type LeaveOneOut struct {
	Pair    string   `json:"pair"`    // the pair that moves the effect most
	Without *float64 `json:"without"` // the relative effect without it
	Lo      *float64 `json:"lo"`      // smallest and largest relative effect without one pair
	Hi      *float64 `json:"hi"`
}

// LeaveOneOut leaves out each pair in turn.
func (p PairEffects) LeaveOneOut() LeaveOneOut {
	var out LeaveOneOut
	if p.Estimate == nil {
		return out
	}
	lo, hi, farthest := math.Inf(1), math.Inf(-1), -1.0
	for _, e := range p.Pairs {
		lo, hi = math.Min(lo, e.Without), math.Max(hi, e.Without)
		if moved := math.Abs(math.Log1p(e.Without) - math.Log1p(*p.Estimate)); moved > farthest {
			farthest = moved
			out.Pair, out.Without = e.Pair, number(e.Without)
		}
	}
	out.Lo, out.Hi = number(lo), number(hi)
	return out
}

// EffectivePairs returns (Σw)²/Σw² of the pairs' weights (Kish 1965): the number of equally weighted pairs that the
// estimate rests on as much. nil without pairs.
func (p PairEffects) EffectivePairs() *float64 {
	var sum, squares float64
	for _, e := range p.Pairs {
		sum += e.Weight
		squares += e.Weight * e.Weight
	}
	return number(sum * sum / squares)
}

// TestResult is a statistic with its two-sided p-value. nil is undefined.
type TestResult struct {
	Value  *float64 `json:"value"`
	PValue *float64 `json:"p_value"`
}

// Autocorrelation returns the lag-1 autocorrelation of the pairs' log effects in order of time, and the p-value of none
// (normal approximation with standard error 1/√n). It needs 4 pairs that do not all agree.
func (p PairEffects) Autocorrelation() TestResult {
	d := p.logs()
	n := float64(len(d))
	if n < 4 {
		return TestResult{}
	}
	mean := stat.Mean(d, nil)
	var products, squares float64
	for i := range d {
		squares += (d[i] - mean) * (d[i] - mean)
		if i > 0 {
			products += (d[i] - mean) * (d[i-1] - mean)
		}
	}
	r := products / squares
	return TestResult{number(r), number(2 * distuv.UnitNormal.Survival(math.Abs(r)*math.Sqrt(n)))}
}
