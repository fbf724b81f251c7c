package router

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// choice is a way to choose an endpoint from a table.
type choice uint8

const (
	byShare     choice = iota // draw by the shares
	byTwoShares               // draw two by the shares, take the one with less in flight for its share
	byTwoPeaks                // draw two by the shares, take the one with less burden
	byOrder                   // take the first of the order
)

// table is a policy's answer for one snapshot and kind of request: shares of traffic, ready to be drawn from, and an order of tries.
type table struct {
	generation uint64 // the snapshot that it was made from
	first      choice // how the first try is chosen …
	retry      choice // … and the others
	guarded    bool   // the guardrails rule over it
	shares     []float64
	costs      []float64 // Routing Cost, where the policy has it
	columns    []column
	order      []uint8
	scratch    []float64
	piles      []uint8
	group      []uint8 // of the price policy, what the table follows from …
	eligible   Set     // … for these endpoints …
	filled     bool    // … once it was filled
	rank       []uint8 // places of the endpoints by slug, which decide ties whatever the order of the input
}

// column is one of the equally likely columns of the alias method (Walker 1977, Vose 1991): its own endpoint when the fraction is below
// the threshold, else the alias.
type column struct {
	threshold uint64
	alias     uint8
}

func newTable(rank []uint8) table {
	n := len(rank)
	t := table{
		rank: rank, shares: make([]float64, n), costs: make([]float64, n), columns: make([]column, n),
		order: make([]uint8, n), scratch: make([]float64, n), piles: make([]uint8, n), group: make([]uint8, n),
	}
	for i := range t.order {
		t.order[i] = uint8(i)
	}
	return t
}

// prepare builds the alias columns from the shares, which sum to 1: each column that is too small is filled up by one that is too large.
func (t *table) prepare() {
	n := len(t.shares)
	small, large := 0, n // piles[:small] are too small, piles[large:] too large
	for i, s := range t.shares {
		s *= float64(n)
		t.scratch[i] = s
		if s < 1 {
			t.piles[small] = uint8(i)
			small++
		} else {
			large--
			t.piles[large] = uint8(i)
		}
	}
	for small > 0 && large < n {
		small--
		s, l := t.piles[small], t.piles[large]
		t.columns[s] = column{uint64(t.scratch[s]*(1<<63)) << 1, l}
		if t.scratch[l] -= 1 - t.scratch[s]; t.scratch[l] < 1 {
			large++
			t.piles[small] = l
			small++
		}
	}
	for _, i := range t.piles[large:] {
		t.columns[i] = column{math.MaxUint64, i}
	}
	for _, i := range t.piles[:small] { // left by rounding: almost full, or never to be drawn
		t.columns[i] = column{math.MaxUint64, i}
		if t.shares[i] == 0 {
			t.columns[i] = column{0, t.largest()}
		}
	}
}

func (t *table) largest() uint8 {
	most := 0
	for i, s := range t.shares {
		if s > t.shares[most] {
			most = i
		}
	}
	return uint8(most)
}

// even gives the eligible endpoints the same share.
func (t *table) even(eligible Set) {
	each := 1 / float64(eligible.Len())
	for i := range t.shares {
		t.shares[i] = 0
		if eligible.Has(int32(i)) {
			t.shares[i] = each
		}
	}
}

// strict makes the order decide, and gives all of the share to the first of it that is eligible.
func (t *table) strict(eligible Set) {
	t.first, t.retry = byOrder, byOrder
	clear(t.shares)
	for _, e := range t.order {
		if eligible.Has(int32(e)) {
			t.shares[e] = 1
			return
		}
	}
}

// sortOrder orders the endpoints by key, least first, ties by slug; almost sorted from the last time.
func (t *table) sortOrder(key []float64) {
	o := t.order
	for i, e := range o {
		j := i
		for ; j > 0 && (key[o[j-1]] > key[e] || key[o[j-1]] == key[e] && t.rank[o[j-1]] > t.rank[e]); j-- {
			o[j] = o[j-1]
		}
		o[j] = e
	}
}

// rejections is how often draw draws from the whole table before it sums up what is left of it.
const rejections = 8

// draw picks an endpoint that is not in out by the shares of those left, or evenly when these have no share; −1 when none is left.
func (t *table) draw(out *Set, rng rand.Source) int32 {
	for range rejections {
		i, fraction := bits.Mul64(rng.Uint64(), uint64(len(t.columns)))
		c := &t.columns[i]
		e := int32(c.alias)
		if fraction < c.threshold { // as likely as not, so nothing but this move depends on it
			e = int32(i)
		}
		if !out.Has(e) {
			return e
		}
	}
	return t.drawLeft(out, rng)
}

// drawLeft is draw where those left have a small share or none.
func (t *table) drawLeft(out *Set, rng rand.Source) int32 {
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
	even := !(sum > 0)
	if even {
		sum = float64(left)
	}
	x := float64(rng.Uint64()>>11) / (1 << 53) * sum
	last := int32(-1)
	for i, s := range t.shares {
		if out.Has(int32(i)) || s == 0 && !even {
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
