package ingest

import (
	"math"

	"switchback/stats"
)

// findWindows takes, for each model, the values between two quantiles around the wanted one, from the arm where they lie
// farther out. Any window gives the same answers: where the quantile of a part lies outside, its source goes through all
// rows.
func (s *Series) findWindows(m *seriesMetric) {
	m.lo, m.hi = make([]int64, len(s.models)), make([]int64, len(s.models))
	slots := s.bins.slots()
	counts := make([][]int64, s.store.threads) // by model and arm, then slot
	s.eachPart(func(thread int, p *rowPart) {
		if counts[thread] == nil {
			counts[thread] = make([]int64, 2*len(s.models)*slots)
		}
		values := p.values[m.Quantity]
		for row, f := range p.fragmentOf {
			if f < 0 || !s.fragments[f].kept {
				continue
			}
			if v, known := values.at(row); known {
				model, column := s.place(s.fragments[f].cell)
				counts[thread][(2*model+column%2)*slots+s.bins.slot(v)]++
			}
		}
	})
	q := float64(m.PerMille) / 1000
	half := 0.2 * math.Sqrt(q*(1-q))
	of := make([]int64, slots)
	for group := range 2 * len(s.models) {
		clear(of)
		rows := int64(0)
		for _, c := range counts {
			if c != nil {
				for slot, n := range c[group*slots:][:slots] {
					of[slot] += n
					rows += n
				}
			}
		}
		if rows == 0 {
			continue
		}
		lo, hi := s.bins.lowestIn(slotAt(of, max(0, q-half), rows)), s.bins.highestIn(slotAt(of, min(1, q+half), rows))
		if model := group / 2; m.hi[model] == 0 {
			m.lo[model], m.hi[model] = lo, hi
		} else {
			m.lo[model], m.hi[model] = min(lo, m.lo[model]), max(hi, m.hi[model])
		}
	}
}

// slotAt returns the slot of a quantile of rows that are counted by slot.
func slotAt(counts []int64, q float64, rows int64) int {
	rank, before := max(1, int64(math.Ceil(q*float64(rows)))), int64(0)
	for slot, n := range counts {
		if before += n; before >= rank {
			return slot
		}
	}
	return len(counts) - 1
}

// outsideCounts count, by fragment, the values outside the window of a quantile.
type outsideCounts struct {
	zero, below, above, infinite []int64 // at most 0; above 0, below the window; above it; stats.Inf
}

func newOutsideCounts(fragments int) outsideCounts {
	all := make([]int64, 4*fragments)
	cut := func(i int) []int64 { return all[i*fragments:][:fragments:fragments] }
	return outsideCounts{cut(0), cut(1), cut(2), cut(3)}
}

func (c *outsideCounts) add(other outsideCounts) {
	addTo(c.zero, other.zero)
	addTo(c.below, other.below)
	addTo(c.above, other.above)
	addTo(c.infinite, other.infinite)
}

// divide counts the values outside the windows of a quantile, and keeps those inside.
func (s *Series) divide(m *seriesMetric) {
	type found struct {
		outsideCounts
		near nearRows
	}
	threads := make([]found, s.store.threads)
	s.eachPart(func(thread int, p *rowPart) {
		t := &threads[thread]
		if t.zero == nil {
			t.outsideCounts = newOutsideCounts(len(s.fragments))
		}
		values := p.values[m.Quantity]
		for row, f := range p.fragmentOf {
			if f < 0 {
				continue
			}
			v, known := values.at(row)
			if !known {
				continue
			}
			model, _ := s.place(s.fragments[f].cell)
			switch {
			case v <= 0:
				t.zero[f]++
			case v == stats.Inf:
				t.infinite[f]++
			case v < m.lo[model]:
				t.below[f]++
			case v > m.hi[model]:
				t.above[f]++
			default:
				t.near.add(f, v, binBetween(v, m.lo[model], m.hi[model]))
			}
		}
	})
	m.outside = newOutsideCounts(len(s.fragments))
	var near []nearRows
	for _, t := range threads {
		if t.zero != nil {
			m.outside.add(t.outsideCounts)
			near = append(near, t.near)
		}
	}
	m.near = s.sortNear(near)
}

// eachPart calls do for all parts of the rows, several at a time: each thread for some.
func (s *Series) eachPart(do func(thread int, p *rowPart)) {
	parallel(s.store.threads, s.store.threads, func(thread int) {
		for i := thread; i < len(s.rows); i += s.store.threads {
			do(thread, &s.rows[i])
		}
	})
}
