package ingest

import "slices"

// Bins of the values that the sources of a Series answer with: one below the window, some inside, one above.
const (
	binBelow  = 0
	fetchBins = 16
	binAbove  = fetchBins + 1
	allBins   = binAbove + 1
)

// nearRows are the rows with a value inside the window around a quantile.
type nearRows struct {
	fragments []int32
	values    []int64
	bins      []uint8
	steps     int   // of the longest block
	starts    []int // by model and step: of the rows, and the end, when they are in this order
}

func (n *nearRows) add(fragment int32, value int64, bin uint8) {
	n.fragments, n.values, n.bins = append(n.fragments, fragment), append(n.values, value), append(n.bins, bin)
}

// between returns the range of a model's rows of some steps.
func (n *nearRows) between(model, from, to int) (first, end int) {
	return n.starts[model*n.steps+min(from, n.steps)], n.starts[model*n.steps+min(to, n.steps)]
}

// sortNear puts rows in order of their model and step.
func (s *Series) sortNear(parts []nearRows) nearRows {
	var n nearRows
	for _, f := range s.fragments {
		n.steps = max(n.steps, int(f.step)+1)
	}
	order := make([]int, len(s.fragments)) // place among all models and steps
	for i, f := range s.fragments {
		model, _ := s.place(f.cell)
		order[i] = model*n.steps + int(f.step)
	}
	n.starts = make([]int, len(s.models)*n.steps+1)
	for _, p := range parts {
		for _, f := range p.fragments {
			n.starts[order[f]+1]++
		}
	}
	for i := range len(n.starts) - 1 {
		n.starts[i+1] += n.starts[i]
	}
	rows := n.starts[len(n.starts)-1]
	n.fragments, n.values, n.bins = make([]int32, rows), make([]int64, rows), make([]uint8, rows)
	next := slices.Clone(n.starts)
	for _, p := range parts {
		for i, f := range p.fragments {
			at := &next[order[f]]
			n.fragments[*at], n.values[*at], n.bins[*at] = f, p.values[i], p.bins[i]
			*at++
		}
	}
	return n
}

// binBetween numbers a value in lo … hi from 1 to fetchBins. A larger value never has a smaller bin.
func binBetween(value, lo, hi int64) uint8 {
	share := float64(value-lo) / (float64(hi-lo) + 1)
	return 1 + uint8(min(fetchBins-1, int(share*fetchBins)))
}
