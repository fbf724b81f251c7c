package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// histogram holds one quantity of one model: counts by bin and column, and the exact values of the bins that a draw's
// quantile fell into. A quantile of any draw then costs two binary searches whose probes are weighted sums of integers,
// whatever the number of rows.
type histogram struct {
	support support
	bins    []int32     // the occupied ones, ascending
	prefix  []uint32    // bins × columns: rows in this bin or a lower one
	rows    [3][]uint64 // by bin: the same for all columns of control, of treatment, and of both
	inside  []*binValues
}

// checkpointEvery is the number of value counts between two stored prefixes of a bin.
const checkpointEvery = 32

// binValues holds the exact values of one bin.
type binValues struct {
	entries []Value  // ascending; columns are the engine's
	prefix  []uint32 // checkpoints × columns: rows before every checkpointEvery-th entry
}

// newHistogram takes the counts of one model, as Source.Histogram answered them. It reorders the slice.
func newHistogram(counts []Bin, pairs int) (*histogram, error) {
	rows := make([]int64, 2*pairs)
	for _, b := range counts {
		c, err := column(b.Column, pairs)
		if err != nil {
			return nil, err
		}
		if b.N < 0 {
			return nil, fmt.Errorf("column %d, bin %d: negative count %d", b.Column, b.Bin, b.N)
		}
		rows[c] += b.N
	}
	most := int64(math.MaxUint32 / max(1, pairs)) // a draw may weigh one cell with the number of pairs
	if n := slices.Max(append(rows, 0)); n > most {
		return nil, fmt.Errorf("%d rows in one cell, at most %d", n, most)
	}
	h := &histogram{support: newSupport(rows)}
	slices.SortFunc(counts, func(a, b Bin) int { return cmp.Compare(a.Bin, b.Bin) })
	for _, b := range counts {
		if b.N == 0 || !h.support.complete[b.Column/2] {
			continue
		}
		// A new bin starts from the counts of the one below.
		if n := len(h.bins); n == 0 || h.bins[n-1] != b.Bin {
			h.bins = append(h.bins, b.Bin)
			h.prefix = append(h.prefix, make([]uint32, 2*pairs)...)
			if n > 0 {
				copy(h.prefix[n*2*pairs:], h.prefix[(n-1)*2*pairs:n*2*pairs])
			}
		}
		c, _ := column(b.Column, pairs)
		h.prefix[(len(h.bins)-1)*2*pairs+c] += uint32(b.N)
	}
	h.inside = make([]*binValues, len(h.bins))
	h.sumRows()
	return h, nil
}

// sumRows adds up the columns of each prefix, by arm and for both.
func (h *histogram) sumRows() {
	pairs := len(h.support.complete)
	for i := range h.rows {
		h.rows[i] = make([]uint64, len(h.bins))
	}
	for b := range h.bins {
		for c, n := range h.prefix[b*2*pairs : (b+1)*2*pairs] {
			h.rows[c/pairs][b] += uint64(n)
			h.rows[2][b] += uint64(n)
		}
	}
}

// row returns the columns of a prefix that a role's weights cover.
func (h *histogram) row(bin int, set *drawSet, role int) []uint32 {
	from := bin*2*len(h.support.complete) + set.offset[role]
	return h.prefix[from : from+set.cols]
}

// rowsOf returns the rows up to each bin in the columns that a role's weights cover.
func (h *histogram) rowsOf(set *drawSet, role int) []uint64 {
	if set.cols > len(h.support.complete) {
		return h.rows[2]
	}
	return h.rows[role]
}

// rank returns the rank of a quantile among total rows: ⌈q·total⌉, in integers.
func rank(perMille int, total uint64) uint64 {
	return max(1, (uint64(perMille)*total+999)/1000)
}

// place is where a draw's quantile lies: the index of its bin, and its rank among the bin's weighted rows from 1.
type place struct {
	bin  int32 // −1 when the draw leaves no row
	rank uint32
}

// locate finds the bin of a draw's quantile. near is a bin to start from, such as the point's.
func (h *histogram) locate(set *drawSet, role, draw, perMille, near int) place {
	if len(h.bins) == 0 {
		return place{bin: -1}
	}
	w := set.weights(role, draw)
	below := func(b int) uint64 { return dot(h.row(b, set, role), w) } // rows in bins ≤ b
	total := below(len(h.bins) - 1)
	if total == 0 {
		return place{bin: -1}
	}
	k := rank(perMille, total)
	// The distance from near, measured in rows without weights, tells about where the quantile is.
	rows := h.rowsOf(set, role)
	shift := (float64(k) - float64(below(near))) * float64(rows[len(rows)-1]) / float64(total)
	target := uint64(max(0, float64(rows[near])+shift))
	guess, _ := slices.BinarySearch(rows, target)
	bin, before := reach(len(h.bins), guess, k, below)
	return place{bin: int32(bin), rank: uint32(k - before)}
}

// reach returns the first i in [0, n) at which a growing count reaches k, and the count at i−1 (0 for i = 0). It
// searches outward from guess, with growing steps, because the answer tends to be near. The last count must reach k.
func reach(n, guess int, k uint64, count func(i int) uint64) (first int, before uint64) {
	lo, hi := 0, n-1 // the answer lies in [lo, hi]
	probe, step := min(max(guess, 0), n-1), 1
	bracketedLow, bracketedHigh := false, false
	for lo < hi {
		if c := count(probe); c >= k {
			hi, bracketedHigh = probe, true
		} else {
			lo, before, bracketedLow = probe+1, c, true
		}
		switch {
		case bracketedLow && bracketedHigh:
			probe = lo + (hi-lo)/2
		case bracketedHigh:
			probe = max(0, hi-step)
		default:
			probe = min(n-1, lo+step-1)
		}
		step *= 2
	}
	return lo, before
}

// quantile returns the exact value at a place, and its entry among the bin's values.
func (h *histogram) quantile(set *drawSet, role, draw int, at place) (value int64, entry int) {
	switch h.bins[at.bin] {
	case BinInf:
		return Inf, 0
	case BinZero:
		return 0, 0
	}
	w := set.weights(role, draw)
	v, offset, cols := h.inside[at.bin], set.offset[role], 2*len(h.support.complete)
	k, blocks := uint64(at.rank), len(v.prefix)/cols
	// Checkpoint i holds what comes before block i, so block i ends at checkpoint i+1 and the last block at the end.
	upTo := func(i int) uint64 {
		if i == blocks-1 {
			return k
		}
		return dot(v.prefix[(i+1)*cols+offset:][:set.cols], w)
	}
	block, cum := 0, uint64(0)
	if blocks > 1 {
		rows := h.rowsOf(set, role)
		inside := rows[at.bin]
		if at.bin > 0 {
			inside -= rows[at.bin-1]
		}
		guess := float64(k) / (float64(inside) * set.mean) * float64(blocks)
		block, cum = reach(blocks, int(min(guess, float64(blocks))), k, upTo)
	}
	for e := block * checkpointEvery; ; e++ {
		if c := v.entries[e].Column - offset; uint(c) < uint(len(w)) {
			cum += uint64(w[c]) * uint64(v.entries[e].N)
			if cum >= k {
				return v.entries[e].Value, e
			}
		}
	}
}

// fill takes the exact values of the touched bins, as Source.Values answered them, and checks them against the
// histogram. It reorders and keeps the slice.
func (h *histogram) fill(values []Value) error {
	pairs := len(h.support.complete)
	kept := values[:0]
	for _, v := range values {
		c, err := column(v.Column, pairs)
		if err != nil {
			return err
		}
		if v.N < 0 || v.N > math.MaxUint32 {
			return fmt.Errorf("value %d: count %d", v.Value, v.N)
		}
		if v.N > 0 && h.support.complete[v.Column/2] {
			v.Column = c
			kept = append(kept, v)
		}
	}
	sortByValue(kept)
	// A larger value never has a smaller bin: the lowest touched bin takes as many rows as it has, then the next.
	left := make([]int64, 2*pairs)
	for b, inside := range h.inside {
		if inside == nil {
			continue
		}
		rows := int64(0)
		for c := range left {
			left[c] = int64(h.prefix[b*2*pairs+c])
			if b > 0 {
				left[c] -= int64(h.prefix[(b-1)*2*pairs+c])
			}
			rows += left[c]
		}
		n := 0
		for ; rows > 0; n++ {
			if n == len(kept) {
				return fmt.Errorf("bin %d: %d rows of the histogram have no value", h.bins[b], rows)
			}
			v := kept[n]
			if left[v.Column] -= v.N; left[v.Column] < 0 {
				return fmt.Errorf("bin %d: value %d: more values than the histogram has rows", h.bins[b], v.Value)
			}
			rows -= v.N
		}
		inside.entries, kept = kept[:n:n], kept[n:]
		inside.checkpoint(2 * pairs)
	}
	if len(kept) > 0 {
		return fmt.Errorf("value %d lies in no bin that was asked for", kept[0].Value)
	}
	return nil
}

// checkpoint stores the prefixes of the entries.
func (v *binValues) checkpoint(columns int) {
	blocks := (len(v.entries) + checkpointEvery - 1) / checkpointEvery
	v.prefix = make([]uint32, blocks*columns)
	for i := range blocks - 1 {
		next := v.prefix[(i+1)*columns:][:columns]
		copy(next, v.prefix[i*columns:][:columns])
		for _, e := range v.entries[i*checkpointEvery : (i+1)*checkpointEvery] {
			next[e.Column] += uint32(e.N)
		}
	}
}

// quantileCell is a quantile of one model, located in its histogram for every draw.
type quantileCell struct {
	*histogram
	perMille int
	located  [numSets][2][]place // by set, role and draw
}

// locateAll finds the bin of every draw's quantile.
func (c *quantileCell) locateAll(sets []*drawSet) {
	near := [2]int{len(c.bins) / 2, len(c.bins) / 2}
	for _, set := range sets { // the point comes first
		for role := range 2 {
			places := make([]place, set.n)
			for d := range places {
				places[d] = c.locate(set, role, d, c.perMille, near[role])
			}
			c.located[set.id][role] = places
			if set.id == setPoint {
				near[role] = max(0, int(places[0].bin))
			}
		}
	}
}

// touch marks the bins whose exact values are needed.
func (c *quantileCell) touch() {
	for _, roles := range c.located {
		for _, places := range roles {
			for _, p := range places {
				if b := p.bin; b >= 0 && c.inside[b] == nil && c.bins[b] != BinInf && c.bins[b] != BinZero {
					c.inside[b] = &binValues{}
				}
			}
		}
	}
}

func (c *quantileCell) level(set *drawSet, role, draw int) (raw, log float64) {
	at := c.located[set.id][role][draw]
	if at.bin < 0 {
		return math.NaN(), math.NaN()
	}
	value, _ := c.quantile(set, role, draw, at)
	if value == Inf {
		return math.Inf(1), math.Inf(1)
	}
	return float64(value), math.Log(float64(value))
}

// influence is that of a quantile of pooled clusters: a surplus of rows at or below the quantile pulls it down, by
// the surplus over the density of rows per unit of log value.
func (c *quantileCell) influence(set *drawSet, role, draw int, ofLog bool, factor float64, out []float64) {
	place := c.located[set.id][role][draw]
	bin := int(place.bin)
	if bin < 0 || c.inside[bin] == nil {
		out[0] = math.NaN() // without rows, or not a positive number
		return
	}
	value, entry := c.quantile(set, role, draw, place)
	w := set.weights(role, draw)
	counts := c.upTo(set, role, bin, entry)
	total := c.row(len(c.bins)-1, set, role)
	share := float64(dot(counts, w)) / float64(dot(total, w))
	scale := factor / c.density(set, role, draw, bin)
	if !ofLog {
		scale *= float64(value)
	}
	for i, n := range total {
		out[i] -= scale * (float64(counts[i]) - share*float64(n))
	}
}

// upTo counts, by column that a role's weights cover, the rows up to the value of an entry of a bin, ties included.
func (c *quantileCell) upTo(set *drawSet, role, bin, entry int) []uint32 {
	counts := make([]uint32, set.cols)
	if bin > 0 {
		copy(counts, c.row(bin-1, set, role))
	}
	v := c.inside[bin]
	at := entry / checkpointEvery
	for i, n := range v.prefix[at*2*len(c.support.complete)+set.offset[role]:][:set.cols] {
		counts[i] += n
	}
	for e := at * checkpointEvery; e < len(v.entries) && v.entries[e].Value <= v.entries[entry].Value; e++ {
		if i := v.entries[e].Column - set.offset[role]; uint(i) < uint(set.cols) {
			counts[i] += uint32(v.entries[e].N)
		}
	}
	return counts
}

// slopeBins is how many occupied bins on each side of a quantile measure the density there.
const slopeBins = 8

// density returns a draw's rows per unit of log value around a bin with known values, +Inf where all values tie.
func (c *quantileCell) density(set *drawSet, role, draw, bin int) float64 {
	lo, hi := bin, bin
	for lo > max(0, bin-slopeBins) && c.inside[lo-1] != nil {
		lo--
	}
	for hi < min(len(c.bins)-1, bin+slopeBins) && c.inside[hi+1] != nil {
		hi++
	}
	w := set.weights(role, draw)
	rows := float64(dot(c.row(hi, set, role), w))
	if lo > 0 {
		rows -= float64(dot(c.row(lo-1, set, role), w))
	}
	last := c.inside[hi].entries
	return rows / (math.Log(float64(last[len(last)-1].Value)) - math.Log(float64(c.inside[lo].entries[0].Value)))
}
