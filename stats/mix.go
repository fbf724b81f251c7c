package stats

import (
	"math"
	"slices"
)

// mixCell is a Standardized metric of one model: a ratio of sums inside strata, averaged at a fixed mix.
type mixCell struct {
	support
	strata []*sumCell
	share  []float64 // of N in both arms together, over the strata that both arms have
}

// newMixCells sorts the answer of Source.Sums into cells by model and stratum.
func newMixCells(sums []Sum, models, pairs int) ([]*mixCell, error) {
	byStratum := map[int][]Sum{}
	for _, s := range sums {
		byStratum[s.Stratum] = append(byStratum[s.Stratum], s)
	}
	labels := make([]int, 0, len(byStratum))
	for label := range byStratum {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	totals, err := newSumCells(sums, Ratio, models, pairs)
	if err != nil {
		return nil, err
	}
	cells := make([]*mixCell, models)
	for m := range cells {
		cells[m] = &mixCell{support: totals[m].support}
	}
	for _, label := range labels {
		strata, err := newSumCells(byStratum[label], Ratio, models, pairs)
		if err != nil {
			return nil, err
		}
		for m, stratum := range strata {
			// Pairs are complete for the model, not for each stratum.
			stratum.refill(byStratum[label], m, cells[m].complete)
			if rows := stratum.armRows(); rows[0] > 0 && rows[1] > 0 {
				cells[m].strata = append(cells[m].strata, stratum)
				cells[m].share = append(cells[m].share, float64(rows[0]+rows[1]))
			}
		}
	}
	for _, c := range cells {
		sum := 0.0
		for _, share := range c.share {
			sum += share
		}
		for i := range c.share {
			c.share[i] /= sum
		}
	}
	return cells, nil
}

// refill takes the sums of a model again, for the given pairs.
func (c *sumCell) refill(sums []Sum, model int, complete []bool) {
	clear(c.n)
	clear(c.y)
	for _, s := range sums {
		if s.Model == model && complete[s.Column/2] {
			at, _ := column(s.Column, len(complete))
			c.n[at] += s.N
			c.y[at] += s.Y
		}
	}
}

// armRows returns ΣN of each arm.
func (c *sumCell) armRows() (rows [2]int64) {
	for i, n := range c.n {
		rows[i/(len(c.n)/2)] += n
	}
	return rows
}

// blendOf returns the level of a draw and the weight of the strata that have rows in it.
func (c *mixCell) blendOf(set *drawSet, role, draw int) (level, weight float64) {
	sum := 0.0
	for i, s := range c.strata {
		if n, y := s.totals(set, role, draw); n > 0 {
			sum += c.share[i] * y / n
			weight += c.share[i]
		}
	}
	return sum / weight, weight
}

func (c *mixCell) levels(own *space, set *drawSet, role, first int, raw, log []float64) {
	own.weights = resized(own.weights, len(raw))
	weights := own.weights
	clear(weights)
	clear(raw)
	for i, s := range c.strata {
		for d, t := range s.eachTotal(own, set, role, first, len(raw)) {
			if t.n > 0 {
				raw[d] += c.share[i] * t.y / t.n
				weights[d] += c.share[i]
			}
		}
	}
	for d, weight := range weights {
		raw[d] /= weight
		log[d] = math.Log(raw[d])
	}
}

func (c *mixCell) influence(set *drawSet, role, draw int, ofLog bool, factor float64, out []float64) {
	level, weight := c.blendOf(set, role, draw)
	if ofLog {
		factor /= level
	}
	for i, s := range c.strata {
		if n, _ := s.totals(set, role, draw); n > 0 {
			s.influence(set, role, draw, false, factor*c.share[i]/weight, out)
		}
	}
}
