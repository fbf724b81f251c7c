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

// meanLog returns the weighted mean of the logarithms of a role's level.
func meanLog(shares []share, models []levels, role, draw int) float64 {
	if len(shares) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, s := range shares {
		sum += s.weight * models[s.model].log[role][draw]
	}
	return sum
}

// level returns the overall level of a role under a draw.
func (b blend) level(models []levels, role, draw int) float64 {
	if len(b.levels) == 0 {
		return math.NaN()
	}
	if !b.kind.arithmetic() {
		return math.Exp(meanLog(b.levels, models, role, draw))
	}
	sum := 0.0
	for _, s := range b.levels {
		sum += s.weight * models[s.model].raw[role][draw]
	}
	return sum
}

// effect returns the overall effects under a draw.
func (b blend) effect(models []levels, draw int) (log, absolute float64) {
	log = meanLog(b.ratios, models, 1, draw) - meanLog(b.ratios, models, 0, draw)
	return log, b.level(models, 1, draw) - b.level(models, 0, draw)
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
