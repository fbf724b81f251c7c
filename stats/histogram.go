package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// histogram holds one quantity of one model: counts by bin and column, and the exact values of the bins that a draw's
// quantile fell into. A quantile of any draw then costs two binary searches whose probes are weighted sums of integers,
// whatever the number of rows.
type histogram struct {
	support
	bins   []int32  // the occupied ones, ascending
	prefix []uint32 // bins × columns: rows in this bin or a lower one
	inside []*binValues
}

// checkpointEvery is the number of value counts between two stored prefixes of a bin.
const checkpointEvery = 32

// binValues holds the exact values of one bin, ascending.
type binValues struct {
	values  []int64
	columns []uint16
	counts  []uint32
	prefix  []uint32 // checkpoints × columns: rows before every checkpointEvery-th entry
}

// newHistograms sorts the answer of Source.Histogram into one histogram for each model.
func newHistograms(counts []Bin, models, pairs int) ([]*histogram, error) {
	rows := make([][]int64, models)
	for m := range rows {
		rows[m] = make([]int64, 2*pairs)
	}
	for _, b := range counts {
		if b.Model < 0 || b.Model >= models {
			return nil, fmt.Errorf("model %d: have %d", b.Model, models)
		}
		c, err := column(b.Column, pairs)
		if err != nil {
			return nil, err
		}
		if b.N < 0 {
			return nil, fmt.Errorf("model %d, column %d, bin %d: negative count %d", b.Model, b.Column, b.Bin, b.N)
		}
		rows[b.Model][c] += b.N
	}
	hs := make([]*histogram, models)
	for m := range hs {
		hs[m] = &histogram{support: newSupport(rows[m])}
		for _, n := range rows[m] {
			if n > math.MaxUint32 {
				return nil, fmt.Errorf("model %d: %d rows in one cell, at most %d", m, n, uint32(math.MaxUint32))
			}
		}
	}
	for _, b := range counts {
		if h := hs[b.Model]; b.N > 0 && h.complete[b.Column/2] {
			h.bins = append(h.bins, b.Bin)
		}
	}
	for _, h := range hs {
		slices.Sort(h.bins)
		h.bins = slices.Clip(slices.Compact(h.bins))
		h.prefix = make([]uint32, len(h.bins)*2*pairs)
		h.inside = make([]*binValues, len(h.bins))
	}
	for _, b := range counts {
		if h := hs[b.Model]; b.N > 0 && h.complete[b.Column/2] {
			at, _ := slices.BinarySearch(h.bins, b.Bin)
			c, _ := column(b.Column, pairs)
			h.prefix[at*2*pairs+c] += uint32(b.N)
		}
	}
	for _, h := range hs {
		for i := 2 * pairs; i < len(h.prefix); i++ {
			h.prefix[i] += h.prefix[i-2*pairs]
		}
	}
	return hs, nil
}

// row returns the columns of a prefix that a role's weights cover.
func (h *histogram) row(bin int, set *drawSet, role int) []uint32 {
	from := bin*2*len(h.complete) + set.offset[role]
	return h.prefix[from : from+set.cols]
}

// rank returns the rank of a quantile among total rows: ⌈q·total⌉, in integers.
func rank(perMille int, total uint64) uint64 {
	return max(1, (uint64(perMille)*total+999)/1000)
}

// locate returns the index of the bin that holds a draw's quantile, or −1 when the draw leaves no row. near is where
// the search starts.
func (h *histogram) locate(set *drawSet, role, draw, perMille, near int) int {
	if len(h.bins) == 0 {
		return -1
	}
	w := set.weights(role, draw)
	last := len(h.bins) - 1
	total := dot(h.row(last, set, role), w)
	if total == 0 {
		return -1
	}
	k := rank(perMille, total)
	reaches := func(b int) bool { return dot(h.row(b, set, role), w) >= k }
	lo, hi := 0, last // the answer is in [lo, hi]
	if near >= 0 {
		// Replicates are close to each other: widen steps from near until the answer is enclosed.
		for step, b := 4, near; ; step *= 2 {
			if reaches(b) {
				hi = b
				if lo > 0 || b == 0 {
					break
				}
				b = max(0, b-step)
			} else {
				lo = b + 1
				if hi < last || b == last {
					break
				}
				b = min(last, b+step)
			}
		}
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return reaches(lo + i) })
}

// quantile returns a draw's exact quantile, which lies in the bin with the given index, and the bin's values up to it.
func (h *histogram) quantile(set *drawSet, role, draw, perMille, bin int) (value int64, entry int) {
	switch h.bins[bin] {
	case BinInf:
		return Inf, 0
	case BinZero:
		return 0, 0
	}
	w := set.weights(role, draw)
	k := rank(perMille, dot(h.row(len(h.bins)-1, set, role), w))
	if bin > 0 {
		k -= dot(h.row(bin-1, set, role), w)
	}
	v, offset, cols := h.inside[bin], set.offset[role], 2*len(h.complete)
	// The last checkpoint before the k-th row: prefixes grow, so the first one that reaches k ends the stretch.
	at := sort.Search(len(v.prefix)/cols, func(i int) bool {
		return dot(v.prefix[i*cols+offset:][:set.cols], w) >= k
	}) - 1
	cum := dot(v.prefix[at*cols+offset:][:set.cols], w)
	for e := at * checkpointEvery; ; e++ {
		if c := int(v.columns[e]) - offset; uint(c) < uint(len(w)) {
			cum += uint64(w[c]) * uint64(v.counts[e])
			if cum >= k {
				return v.values[e], e
			}
		}
	}
}

// fill stores the exact values of touched bins, as Source.Values answered them, and checks them against the histogram.
func (h *histogram) fill(values []Value) error {
	pairs := len(h.complete)
	slices.SortFunc(values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Column, b.Column))
	})
	return h.split(values, pairs)
}

// split deals ascending values out to the bins that are wanted (those with a non-nil inside), in order.
func (h *histogram) split(values []Value, pairs int) error {
	kept := values[:0]
	for _, v := range values {
		if _, err := column(v.Column, pairs); err != nil {
			return err
		}
		if v.N < 0 || v.N > math.MaxUint32 {
			return fmt.Errorf("value %d: count %d", v.Value, v.N)
		}
		if v.N > 0 && h.complete[v.Column/2] {
			kept = append(kept, v)
		}
	}
	left := make([]int64, 2*pairs)
	for b, wanted := range h.inside {
		if wanted == nil {
			continue
		}
		var n, rows int64
		for c := range left {
			left[c] = int64(h.prefix[b*2*pairs+c])
			if b > 0 {
				left[c] -= int64(h.prefix[(b-1)*2*pairs+c])
			}
			rows += left[c]
		}
		sums := make([]uint32, 2*pairs)
		for rows > 0 {
			if len(kept) == 0 {
				return fmt.Errorf("bin %d: %d rows of the histogram have no value", h.bins[b], rows)
			}
			v := kept[0]
			kept = kept[1:]
			c, _ := column(v.Column, pairs)
			if left[c] -= v.N; left[c] < 0 {
				return fmt.Errorf("bin %d, column %d: more values than the histogram has rows", h.bins[b], v.Column)
			}
			if n%checkpointEvery == 0 {
				wanted.prefix = append(wanted.prefix, sums...)
			}
			wanted.values = append(wanted.values, v.Value)
			wanted.columns = append(wanted.columns, uint16(c))
			wanted.counts = append(wanted.counts, uint32(v.N))
			sums[c] += uint32(v.N)
			rows -= v.N
			n++
		}
	}
	if len(kept) > 0 {
		return fmt.Errorf("value %d lies in no bin that was asked for", kept[0].Value)
	}
	return nil
}

// quantileCell is a quantile of one model, located in its histogram for every draw.
type quantileCell struct {
	*histogram
	perMille int
	located  [numSets][2][]int32 // by set, role and draw: index of the bin, −1 without rows
}

// locateAll finds the bin of every draw's quantile.
func (c *quantileCell) locateAll(sets []*drawSet) {
	near := -1
	for _, set := range sets { // the point comes first
		for role := range 2 {
			c.located[set.id][role] = make([]int32, set.n)
			for d := range set.n {
				bin := c.locate(set, role, d, c.perMille, near)
				c.located[set.id][role][d] = int32(bin)
				if set.id == setPoint {
					near = bin
				}
			}
		}
	}
}

// touch marks the bins whose exact values are needed.
func (c *quantileCell) touch() {
	for _, roles := range c.located {
		for _, bins := range roles {
			for _, b := range bins {
				if b >= 0 && c.inside[b] == nil && c.bins[b] != BinInf && c.bins[b] != BinZero {
					c.inside[b] = &binValues{}
				}
			}
		}
	}
}

func (c *quantileCell) level(set *drawSet, role, draw int) (raw, log float64) {
	bin := int(c.located[set.id][role][draw])
	if bin < 0 {
		return math.NaN(), math.NaN()
	}
	value, _ := c.quantile(set, role, draw, c.perMille, bin)
	if value == Inf {
		return math.Inf(1), math.Inf(1)
	}
	return float64(value), math.Log(float64(value))
}

// influence is that of a quantile of pooled clusters: a surplus of rows at or below the quantile pulls it down, by
// the surplus over the density of rows per unit of log value.
func (c *quantileCell) influence(set *drawSet, role, draw int, ofLog bool, factor float64, out []float64) {
	bin := int(c.located[set.id][role][draw])
	if bin < 0 || c.inside[bin] == nil {
		out[0] = math.NaN() // without rows, or not a positive number
		return
	}
	value, entry := c.quantile(set, role, draw, c.perMille, bin)
	scale := factor / c.density(set, role, draw, bin)
	if !ofLog {
		scale *= float64(value)
	}
	below := make([]float64, set.cols)
	if bin > 0 {
		for i, n := range c.row(bin-1, set, role) {
			below[i] = float64(n)
		}
	}
	v, cols := c.inside[bin], 2*len(c.complete)
	at := entry / checkpointEvery
	for i, n := range v.prefix[at*cols+set.offset[role]:][:set.cols] {
		below[i] += float64(n)
	}
	for e := at * checkpointEvery; e <= entry; e++ {
		if i := int(v.columns[e]) - set.offset[role]; uint(i) < uint(set.cols) {
			below[i] += float64(v.counts[e])
		}
	}
	for i, n := range c.row(len(c.bins)-1, set, role) {
		out[i] -= scale * (below[i] - float64(c.perMille)/1000*float64(n))
	}
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
	last := c.inside[hi].values
	return rows / (math.Log(float64(last[len(last)-1])) - math.Log(float64(c.inside[lo].values[0])))
}
