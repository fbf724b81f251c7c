package stats

import (
	"fmt"
	"math"
)

// cell is one metric of one model: what its level is under a draw.
type cell interface {
	// levels fills raw and log, which are as long, with an arm's raw level, in the source's units, and the logarithm that
	// relative effects use, for the draws from first on. Both are NaN when a draw leaves no row.
	levels(own *space, set *drawSet, role, first int, raw, log []float64)
	// influence adds to out, by pair, factor times the derivative of the level's logarithm (or of the raw level)
	// with respect to the pair's weight. It is meant for sets of draws on pairs.
	influence(set *drawSet, role, draw int, ofLog bool, factor float64, out []float64)
}

// space is what a goroutine works in while it makes levels.
type space struct {
	sums    subsetSums
	totals  []total
	weights []float64
}

// support says which rows of a model count for a metric.
type support struct {
	complete   []bool // pairs with a usable row in both arms
	pairs      int    // number of complete pairs
	incomplete []int  // pairs with usable rows in one arm only
	rows       [2]int64
	byColumn   []int64  // usable rows of complete pairs
	events     [2]int64 // numerators, for sums
}

// newSupport finds the complete pairs from the rows in each column, laid out arm by arm.
func newSupport(rows []int64) support {
	pairs := len(rows) / 2
	s := support{complete: make([]bool, pairs), byColumn: make([]int64, len(rows))}
	for i := range pairs {
		control, treatment := rows[i] > 0, rows[pairs+i] > 0
		switch {
		case control && treatment:
			s.complete[i] = true
			s.pairs++
			for arm := range 2 {
				s.byColumn[arm*pairs+i] = rows[arm*pairs+i]
				s.rows[arm] += rows[arm*pairs+i]
			}
		case control || treatment:
			s.incomplete = append(s.incomplete, i)
		}
	}
	return s
}

// column turns the column number of a Source (2·pair + arm) into the engine's (arm·pairs + pair).
func column(sourceColumn, pairs int) (int, error) {
	if sourceColumn < 0 || sourceColumn >= 2*pairs {
		return 0, fmt.Errorf("column %d: have %d", sourceColumn, 2*pairs)
	}
	return sourceColumn%2*pairs + sourceColumn/2, nil
}

// sumCell is a metric ΣY/ΣN of one model.
type sumCell struct {
	support
	kind Kind
	n, y []int64 // by column
}

// newSumCells sorts the answer of Source.Sums into cells, one for each model.
func newSumCells(sums []Sum, kind Kind, models, pairs int) ([]*sumCell, error) {
	cells := make([]*sumCell, models)
	for m := range cells {
		cells[m] = &sumCell{kind: kind, n: make([]int64, 2*pairs), y: make([]int64, 2*pairs)}
	}
	for _, s := range sums {
		if s.Model < 0 || s.Model >= models {
			return nil, fmt.Errorf("model %d: have %d", s.Model, models)
		}
		c, err := column(s.Column, pairs)
		if err != nil {
			return nil, err
		}
		if s.N < 0 {
			return nil, fmt.Errorf("model %d, column %d: negative count %d", s.Model, s.Column, s.N)
		}
		cells[s.Model].n[c] += s.N
		cells[s.Model].y[c] += s.Y
	}
	for _, cell := range cells {
		cell.support = newSupport(cell.n)
		for i, complete := range cell.complete {
			for arm := range 2 {
				if c := arm*pairs + i; complete {
					cell.events[arm] += cell.y[c]
				} else {
					cell.n[c], cell.y[c] = 0, 0
				}
			}
		}
	}
	return cells, nil
}

// totals returns ΣN and ΣY of a draw.
func (c *sumCell) totals(set *drawSet, role, draw int) (n, y float64) {
	w := set.weights(role, draw)
	ns, ys := c.n[set.offset[role]:], c.y[set.offset[role]:]
	var sumN, sumY int64
	for i, weight := range w {
		sumN += int64(weight) * ns[i]
		sumY += int64(weight) * ys[i]
	}
	return float64(sumN), float64(sumY)
}

// total is ΣN and ΣY of a draw.
type total struct{ n, y float64 }

// eachTotal returns the totals of draws from first on, until it is called again with the same space.
func (c *sumCell) eachTotal(own *space, set *drawSet, role, first, draws int) []total {
	own.totals = resized(own.totals, draws)
	out := own.totals
	packed := set.packed[role]
	if packed == nil {
		for i := range out {
			out[i].n, out[i].y = c.totals(set, role, first+i)
		}
		return out
	}
	from, to := set.offset[role], set.offset[role]+set.cols
	own.sums = subsetSumsOf(c.n[from:to], c.y[from:to], own.sums)
	for i := range out {
		n, y := own.sums.weigh(packed.of(first + i))
		out[i] = total{float64(n), float64(y)}
	}
	return out
}

func (c *sumCell) levels(own *space, set *drawSet, role, first int, raw, log []float64) {
	for i, t := range c.eachTotal(own, set, role, first, len(raw)) {
		switch {
		case t.n == 0:
			raw[i], log[i] = math.NaN(), math.NaN()
		case c.kind == Event:
			raw[i], log[i] = t.y/t.n, math.Log((t.y+0.5)/(t.n+1))
		default:
			raw[i], log[i] = t.y/t.n, math.Log(t.y/t.n)
		}
	}
}

func (c *sumCell) influence(set *drawSet, role, draw int, ofLog bool, factor float64, out []float64) {
	n, y := c.totals(set, role, draw)
	ns, ys := c.n[set.offset[role]:], c.y[set.offset[role]:]
	for i := range out {
		ni, yi := float64(ns[i]), float64(ys[i])
		switch {
		case !ofLog:
			out[i] += factor * (yi - y/n*ni) / n
		case c.kind == Event:
			out[i] += factor * (yi/(y+0.5) - ni/(n+1))
		default:
			out[i] += factor * (yi/y - ni/n)
		}
	}
}
