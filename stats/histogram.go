package stats

import (
	"fmt"
	"maps"
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
const checkpointEvery = 16

// binValues holds the exact values of one bin.
type binValues struct {
	entries []Value     // ascending; columns are the engine's
	rows    []entryRows // of the entries, close together for those who go through them
	logs    []float64   // of the entries' values
	prefix  []uint32    // checkpoints × columns: rows before every checkpointEvery-th entry
}

// entryRows are a number of rows in a column.
type entryRows struct{ column, n uint32 }

// newHistogram takes the counts of one model, as Source.Histogram answered them.
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
	index := map[int32]int{}
	for _, b := range counts {
		if b.N > 0 && h.support.complete[b.Column/2] {
			index[b.Bin] = 0
		}
	}
	h.bins = slices.Sorted(maps.Keys(index))
	for i, bin := range h.bins {
		index[bin] = i
	}
	h.prefix = make([]uint32, len(h.bins)*2*pairs)
	for _, b := range counts {
		if i, ok := index[b.Bin]; ok && h.support.complete[b.Column/2] {
			c, _ := column(b.Column, pairs)
			h.prefix[i*2*pairs+c] += uint32(b.N)
		}
	}
	for i := 2 * pairs; i < len(h.prefix); i++ {
		h.prefix[i] += h.prefix[i-2*pairs]
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

// place is where a draw's quantile lies: the index of its bin, and its rank from 1 among the bin's weighted rows.
type place struct {
	bin        int32 // −1 when the draw leaves no row
	rank, rows uint32
}

// drawRows answers how many rows a draw has up to a bin, for one role of one set.
type drawRows struct {
	*histogram
	set  *drawSet
	role int
	sums *binSums // nil for few draws
}

// binSums are the sums of bins that were asked for, in space that serves one drawRows after the other.
type binSums struct {
	of     []subsetCounts // by bin
	made   []int          // by bin: the number of the drawRows that its sums are of
	number int
}

// rowsIn returns the rows of draws, with the space for their sums, of which it is the only user until the next call.
func (h *histogram) rowsIn(sums *binSums, set *drawSet, role int) drawRows {
	r := drawRows{histogram: h, set: set, role: role}
	if set.packed[role] != nil {
		sums.number++
		if more := len(h.bins) - len(sums.of); more > 0 {
			sums.of, sums.made = append(sums.of, make([]subsetCounts, more)...), append(sums.made, make([]int, more)...)
		}
		r.sums = sums
	}
	return r
}

// upTo returns a draw's rows in bins ≤ bin.
func (r *drawRows) upTo(bin, draw int) uint64 {
	if r.sums == nil {
		return dot(r.row(bin, r.set, r.role), r.set.weights(r.role, draw))
	}
	if r.sums.made[bin] != r.sums.number {
		r.sums.made[bin] = r.sums.number
		r.sums.of[bin] = subsetCountsOf(r.row(bin, r.set, r.role), r.sums.of[bin])
	}
	return r.sums.of[bin].weigh(r.set.packed[r.role].of(draw))
}

// all returns all rows of a draw.
func (r *drawRows) all(draw int) uint64 {
	if len(r.bins) == 0 {
		return 0
	}
	return r.upTo(len(r.bins)-1, draw)
}

// locate finds the bin of the quantile of a draw with total rows. near is a bin to start from, such as the point's.
func (r *drawRows) locate(draw int, total uint64, perMille, near int) place {
	if total == 0 {
		return place{bin: -1}
	}
	k := rank(perMille, total)
	// The distance from near, measured in rows without weights, tells about where the quantile is.
	rows, known := r.rowsOf(r.set, r.role), r.upTo(near, draw)
	shift := (float64(k) - float64(known)) * float64(rows[len(rows)-1]) / float64(total)
	guess := walk(rows, near, uint64(max(0, float64(rows[near])+shift)))
	from, end, last := 0, near+1, known // it is in [from, end)
	if known < k {
		from, end, last = near+1, len(r.bins), total
	}
	bin, before, upTo := reach(end-from, guess-from, k, last, func(b int) uint64 { return r.upTo(from+b, draw) })
	if bin == 0 && from > 0 {
		before = known
	}
	return place{bin: int32(from + bin), rank: uint32(k - before), rows: uint32(upTo - before)}
}

// walk returns the first place of growing numbers at which they reach a target, or their end. It goes there from a place that is near.
func walk(growing []uint64, near int, target uint64) int {
	at := near
	for at > 0 && growing[at-1] >= target {
		at--
	}
	for at < len(growing) && growing[at] < target {
		at++
	}
	return at
}

// reach returns the first i in [0, n) at which a growing count reaches k, the count at i−1 (0 for i = 0) and that at i. It
// searches outward from guess, with growing steps, because the answer tends to be near. last, the count at n−1, must reach k.
func reach(n, guess int, k, last uint64, count func(i int) uint64) (first int, before, at uint64) {
	lo, hi, at := 0, n-1, last // the answer lies in [lo, hi]
	probe, step := max(0, min(guess, n-2)), 1
	bracketedLow, bracketedHigh := false, false
	for lo < hi {
		if c := count(probe); c >= k {
			hi, at, bracketedHigh = probe, c, true
		} else {
			lo, before, bracketedLow = probe+1, c, true
		}
		switch {
		case bracketedLow && bracketedHigh:
			probe = lo + (hi-lo)/2
		case bracketedHigh:
			probe = max(0, hi-step)
		default:
			probe = min(n-2, lo+step-1)
		}
		step *= 2
	}
	return lo, before, at
}

// entry finds the exact value at a place, inside a bin that has some, among the bin's entries.
func (h *histogram) entry(set *drawSet, role, draw int, at place) int {
	w := set.weights(role, draw)
	v, offset, cols := h.inside[at.bin], set.offset[role], 2*len(h.support.complete)
	k, blocks := uint64(at.rank), len(v.prefix)/cols
	block, cum := 0, uint64(0)
	if blocks > 1 {
		guess := (k - 1) * uint64(blocks) / uint64(at.rows)
		// Checkpoint i holds what comes before block i, so block i ends at checkpoint i+1 and the last block with the bin.
		block, cum, _ = reach(blocks, int(guess), k, uint64(at.rows), func(i int) uint64 {
			return dot(v.prefix[(i+1)*cols+offset:][:set.cols], w)
		})
	}
	first := block * checkpointEvery
	for i, r := range v.rows[first:] {
		if c := int(r.column) - offset; uint(c) < uint(len(w)) {
			if cum += uint64(w[c]) * uint64(r.n); cum >= k {
				return first + i
			}
		}
	}
	panic("stats: a rank beyond the rows of its bin") // fill has checked that the bin has its rows
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

// checkpoint stores the rows, the prefixes and the logarithms of the entries.
func (v *binValues) checkpoint(columns int) {
	v.rows, v.logs = make([]entryRows, len(v.entries)), make([]float64, len(v.entries))
	for i, e := range v.entries {
		v.rows[i], v.logs[i] = entryRows{uint32(e.Column), uint32(e.N)}, math.Log(float64(e.Value))
	}
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

// locateAll finds the bin of every draw's quantile, for quantiles of one histogram.
func locateAll(cells []*quantileCell, sets []*drawSet, sums *binSums) {
	h := cells[0].histogram
	near := make([][2]int, len(cells))
	for q := range near {
		near[q] = [2]int{len(h.bins) / 2, len(h.bins) / 2}
	}
	for _, set := range sets { // the point comes first
		for role := range 2 {
			for _, c := range cells {
				c.located[set.id][role] = make([]place, set.n)
			}
			rows := h.rowsIn(sums, set, role)
			for d := range set.n {
				total := rows.all(d)
				for q, c := range cells {
					c.located[set.id][role][d] = rows.locate(d, total, c.perMille, near[q][role])
				}
			}
			if set.id == setPoint {
				for q, c := range cells {
					near[q][role] = max(0, int(c.located[setPoint][role][0].bin))
				}
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

func (c *quantileCell) levels(_ *space, set *drawSet, role, first int, raw, log []float64) {
	for i, at := range c.located[set.id][role][first:][:len(raw)] {
		switch {
		case at.bin < 0:
			raw[i], log[i] = math.NaN(), math.NaN()
		case c.bins[at.bin] == BinInf:
			raw[i], log[i] = math.Inf(1), math.Inf(1)
		case c.bins[at.bin] == BinZero:
			raw[i], log[i] = 0, math.Inf(-1)
		default:
			v, e := c.inside[at.bin], c.entry(set, role, first+i, at)
			raw[i], log[i] = float64(v.entries[e].Value), v.logs[e]
		}
	}
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
	entry := c.entry(set, role, draw, place)
	value := c.inside[bin].entries[entry].Value
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
