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
	starts    []int // of each step's rows, and the end, when they are in order of their step
}

func (n *nearRows) add(fragment int32, value int64, bin uint8) {
	n.fragments, n.values, n.bins = append(n.fragments, fragment), append(n.values, value), append(n.bins, bin)
}

// between returns the range of the rows of some steps.
func (n *nearRows) between(from, to int) (first, end int) {
	last := len(n.starts) - 1
	return n.starts[min(from, last)], n.starts[min(to, last)]
}

// sortBySteps puts rows in order of their step.
func (s *Series) sortBySteps(parts []nearRows) nearRows {
	var n nearRows
	n.starts = []int{0}
	for _, p := range parts {
		for _, f := range p.fragments {
			step := int(s.fragments[f].step)
			for len(n.starts) < step+2 {
				n.starts = append(n.starts, 0)
			}
			n.starts[step+1]++
		}
	}
	for step := range len(n.starts) - 1 {
		n.starts[step+1] += n.starts[step]
	}
	rows := n.starts[len(n.starts)-1]
	n.fragments, n.values, n.bins = make([]int32, rows), make([]int64, rows), make([]uint8, rows)
	next := slices.Clone(n.starts)
	for _, p := range parts {
		for i, f := range p.fragments {
			at := &next[s.fragments[f].step]
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
