package router

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// table is a policy's answer for one snapshot and size class: shares of traffic, ready to be drawn from, and an order of tries.
type table struct {
	shares    []float64
	threshold []uint64 // alias method (Walker 1977, Vose 1991): keep column i when the fraction is below threshold[i] …
	alias     []uint8  // … else take alias[i]
	order     []uint8  // endpoints in the order in which retries take them
	redraw    bool     // retries draw again instead of following the order
	scratch   []float64
	small     []uint8
	large     []uint8
}

func newTable(n int) table {
	t := table{
		shares: make([]float64, n), threshold: make([]uint64, n), alias: make([]uint8, n), order: make([]uint8, n),
		scratch: make([]float64, n), small: make([]uint8, 0, n), large: make([]uint8, 0, n),
	}
	for i := range t.order {
		t.order[i] = uint8(i)
	}
	return t
}

// prepare builds the alias columns from the shares, which sum to 1.
func (t *table) prepare() {
	n := float64(len(t.shares))
	small, large := t.small[:0], t.large[:0]
	for i, s := range t.shares {
		t.scratch[i] = s * n
		if s*n < 1 {
			small = append(small, uint8(i))
		} else {
			large = append(large, uint8(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.threshold[s], t.alias[s] = uint64(t.scratch[s]*(1<<63))<<1, l
		if t.scratch[l] -= 1 - t.scratch[s]; t.scratch[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, i := range large {
		t.threshold[i], t.alias[i] = math.MaxUint64, i
	}
	for _, i := range small { // rounding only
		t.threshold[i], t.alias[i] = math.MaxUint64, i
	}
}

// sortOrder orders the endpoints by key, least first, ties by index; almost sorted from the last time.
func (t *table) sortOrder(key []float64) {
	o := t.order
	for i, e := range o {
		j := i
		for ; j > 0 && (key[o[j-1]] > key[e] || key[o[j-1]] == key[e] && o[j-1] > e); j-- {
			o[j] = o[j-1]
		}
		o[j] = e
	}
}

// draw picks an endpoint by the shares.
func (t *table) draw(rng rand.Source) int32 {
	column, fraction := bits.Mul64(rng.Uint64(), uint64(len(t.threshold)))
	if fraction < t.threshold[column] {
		return int32(column)
	}
	return int32(t.alias[column])
}

// rejections is how often drawWithout draws from the whole table before it sums up what is left of it.
const rejections = 8

// drawWithout picks an endpoint that is not in out by the shares of those left, or evenly when these have no share; −1 when none is left.
func (t *table) drawWithout(out *Set, rng rand.Source) int32 {
	for range rejections {
		if i := t.draw(rng); !out.Has(i) {
			return i
		}
	}
	sum, left := 0.0, 0
	for i, s := range t.shares {
		if !out.Has(int32(i)) {
			sum += s
			left++
		}
	}
	if left == 0 {
		return -1
	}
	x := float64(rng.Uint64()>>11) / (1 << 53)
	even := !(sum > 0)
	if even {
		sum = float64(left)
	}
	x *= sum
	last := int32(-1)
	for i, s := range t.shares {
		if out.Has(int32(i)) {
			continue
		}
		if even {
			s = 1
		}
		last = int32(i)
		if x -= s; x < 0 {
			break
		}
	}
	return last
}

// next is the first endpoint of the order that is not in out; −1 when none is left.
func (t *table) next(out *Set) int32 {
	for _, e := range t.order {
		if !out.Has(int32(e)) {
			return int32(e)
		}
	}
	return -1
}
