package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Contrast compares an effect under two conditions: Relative is (1 + effect under the first) ÷ (1 + effect under the
// second) − 1, with a Student interval and its two-sided p-value.
type Contrast struct {
	Relative Effect   `json:"relative"`
	PValue   *float64 `json:"p_value"`
	First    int      `json:"first"`  // pairs under the first condition
	Second   int      `json:"second"` // pairs under the second condition
}

// Conditions of pairs, as labels for ByGroup and Compare.
const (
	TreatmentFirst   = "treatment first"
	ControlFirst     = "control first"
	SamePredecessor  = "same arm before"  // the pair's first block continues the arm of the block before it
	OtherPredecessor = "other arm before" // it follows a block of the other arm
	NoPredecessor    = "no block before"  // the first pair, or one after a gap
)

// Orders labels each pair by which arm came first.
func (p PairEffects) Orders() []string {
	labels := make([]string, len(p.Pairs))
	for i, e := range p.Pairs {
		labels[i] = ControlFirst
		if e.TreatmentFirst {
			labels[i] = TreatmentFirst
		}
	}
	return labels
}

// Predecessors labels each pair by the arm of the block before its first block. Pairs are adjacent when they have
// neighbouring positions of a day, or the last and first position of neighbouring days.
func (p PairEffects) Predecessors() []string {
	last := 0
	for _, e := range p.Pairs {
		last = max(last, e.Position)
	}
	labels := make([]string, len(p.Pairs))
	for i, e := range p.Pairs {
		labels[i] = NoPredecessor
		if i == 0 {
			continue
		}
		before := p.Pairs[i-1]
		if e.Day*(last+1)+e.Position != before.Day*(last+1)+before.Position+1 {
			continue
		}
		// The block before is treatment when its pair began with control.
		labels[i] = OtherPredecessor
		if e.TreatmentFirst != before.TreatmentFirst {
			labels[i] = SamePredecessor
		}
	}
	return labels
}

// GroupEffect is the effect over the pairs with one label.
type GroupEffect struct {
	Label    string `json:"label"`
	Pairs    int    `json:"pairs"`
	Relative Effect `json:"relative"` // with a Student interval, from 2 pairs on
}

// ByGroup returns the effect in each group of pairs, in order of first appearance. labels are those of p.Pairs.
func (p PairEffects) ByGroup(labels []string) []GroupEffect {
	var out []GroupEffect
	seen := map[string]bool{}
	for _, label := range labels {
		if seen[label] {
			continue
		}
		seen[label] = true
		d := p.labelled(labels, label)
		mean, half := studentMean(d, p.Confidence)
		out = append(out, GroupEffect{label, len(d), Effect{fraction(mean), fraction(mean - half), fraction(mean + half)}})
	}
	return out
}

func (p PairEffects) labelled(labels []string, label string) []float64 {
	var out []float64
	for i, e := range p.Pairs {
		if labels[i] == label {
			out = append(out, e.Log)
		}
	}
	return out
}

// studentMean returns a mean and the half-width of its Student interval, NaN below 2 values.
func studentMean(d []float64, confidence float64) (mean, half float64) {
	n := float64(len(d))
	mean, sd := stat.MeanStdDev(d, nil)
	if n < 2 {
		return mean, math.NaN()
	}
	return mean, distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1+confidence)/2) * sd / math.Sqrt(n)
}

// Compare contrasts the pairs with one label with those with another (Welch 1947). labels are those of p.Pairs.
func (p PairEffects) Compare(labels []string, first, second string) Contrast {
	a, b := p.labelled(labels, first), p.labelled(labels, second)
	c := Contrast{First: len(a), Second: len(b)}
	if len(a) < 2 || len(b) < 2 {
		return c
	}
	meanA, varA := stat.MeanVariance(a, nil)
	meanB, varB := stat.MeanVariance(b, nil)
	sa, sb := varA/float64(len(a)), varB/float64(len(b))
	df := (sa + sb) * (sa + sb) / (sa*sa/float64(len(a)-1) + sb*sb/float64(len(b)-1))
	c.fill(meanA-meanB, math.Sqrt(sa+sb), df, p.Confidence)
	return c
}

// Against contrasts two settings of the same metric, such as two lengths of burn-in, over the pairs that both have.
func (p PairEffects) Against(other PairEffects) Contrast {
	theirs := map[int]float64{}
	for _, e := range other.Pairs {
		theirs[e.Index] = e.Log
	}
	var d []float64
	for _, e := range p.Pairs {
		if v, ok := theirs[e.Index]; ok {
			d = append(d, e.Log-v)
		}
	}
	c := Contrast{First: len(d), Second: len(d)}
	if len(d) < 2 {
		return c
	}
	mean, sd := stat.MeanStdDev(d, nil)
	c.fill(mean, sd/math.Sqrt(float64(len(d))), float64(len(d)-1), p.Confidence)
	return c
}

// fill sets the interval and p-value of a difference of logs. Without any spread there is neither, unless it is zero.
func (c *Contrast) fill(difference, se, df, confidence float64) {
	c.Relative.Estimate = fraction(difference)
	if se == 0 && difference == 0 {
		zero, one := 0.0, 1.0
		c.Relative.Lo, c.Relative.Hi, c.PValue = &zero, &zero, &one
		return
	}
	if se == 0 || math.IsNaN(df) {
		return
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
	half := student.Quantile((1+confidence)/2) * se
	c.Relative.Lo, c.Relative.Hi = fraction(difference-half), fraction(difference+half)
	c.PValue = number(2 * student.Survival(math.Abs(difference)/se))
}
