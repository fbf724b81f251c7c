package stats

import "math"

// levels are the levels of one model under every draw of one set, by role.
type levels struct {
	raw [2][]float64
	log [2][]float64
}

func newLevels(draws int) levels {
	var l levels
	for role := range 2 {
		l.raw[role], l.log[role] = make([]float64, draws), make([]float64, draws)
	}
	return l
}

// effects are one row's effects under every draw of one set.
type effects struct {
	log      []float64 // logarithm of the relative effect plus one
	absolute []float64 // in the source's units
}

// blend says how models make up an overall row.
type blend struct {
	kind   Kind
	ratios []share // ω: the models of the relative effect
	levels []share // of levels and absolute effects: ω, or π for kinds with arithmetic levels
}

// share is a model's weight in a blend. The shares of a blend sum to 1.
type share struct {
	model  int
	weight float64
}

// arithmetic tells whether levels are weighted means, rather than geometric ones.
func (k Kind) arithmetic() bool { return k == Event || k == Mean }

// mean returns the weighted mean of what models have under some draws, NaN without models. It is not to be written to: that
// of one model is the model's own.
func mean(shares []share, draws int, of func(model int) []float64) []float64 {
	if len(shares) == 1 && shares[0].weight == 1 {
		return of(shares[0].model)
	}
	out := make([]float64, draws)
	for _, s := range shares {
		for d, v := range of(s.model) {
			out[d] += s.weight * v
		}
	}
	if len(shares) == 0 {
		for d := range out {
			out[d] = math.NaN()
		}
	}
	return out
}

// levelsOf returns the overall levels of a role under the draws from lo to hi.
func (b blend) levelsOf(models []levels, role, lo, hi int) []float64 {
	if b.kind.arithmetic() {
		return mean(b.levels, hi-lo, func(m int) []float64 { return models[m].raw[role][lo:hi] })
	}
	out := make([]float64, hi-lo)
	for d, log := range mean(b.levels, hi-lo, func(m int) []float64 { return models[m].log[role][lo:hi] }) {
		out[d] = math.Exp(log)
	}
	return out
}

// level returns the overall level of a role under one draw.
func (b blend) level(models []levels, role, draw int) float64 {
	return b.levelsOf(models, role, draw, draw+1)[0]
}

// effects returns the overall effects under all draws.
func (b blend) effects(models []levels, draws int) effects {
	logs := func(role int) []float64 {
		return mean(b.ratios, draws, func(m int) []float64 { return models[m].log[role] })
	}
	return effects{
		log:      differences(logs(1), logs(0)),
		absolute: differences(b.levelsOf(models, 1, 0, draws), b.levelsOf(models, 0, 0, draws)),
	}
}

func differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i, v := range a {
		out[i] = v - b[i]
	}
	return out
}

// single is the blend of one model alone.
func single(kind Kind, model int) blend {
	one := []share{{model, 1}}
	if !kind.arithmetic() {
		return blend{kind: Mean, ratios: one, levels: one} // the raw level, not the exponential of its logarithm
	}
	return blend{kind: kind, ratios: one, levels: one}
}

// influences returns, by pair, the influence of a draw's pairs on the overall effects.
func (b blend) influences(cells []cell, set *drawSet, draw, pairs int, models []levels) (log, absolute []float64) {
	log, absolute = make([]float64, pairs), make([]float64, pairs)
	for role, sign := range []float64{-1, 1} {
		for _, s := range b.ratios {
			cells[s.model].influence(set, role, draw, true, sign*s.weight, log)
		}
		factor, ofLog := sign, false
		if !b.kind.arithmetic() {
			factor, ofLog = sign*b.level(models, role, draw), true
		}
		for _, s := range b.levels {
			cells[s.model].influence(set, role, draw, ofLog, factor*s.weight, absolute)
		}
	}
	return log, absolute
}
