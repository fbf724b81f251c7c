package ingest

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"switchback/stats"
)

// binsPerE divides the values between a number and e times that number.
const binsPerE = 64

// bins numbers the histogram bins of whole numbers: ⌊64·ln v⌋ of values above 0, stats.BinZero of others, stats.BinInf of
// stats.Inf. Logarithms are looked up, which is several times as fast as taking them.
type bins struct {
	lowest []int64 // value of each bin, and one that no value reaches
	near   []int32 // by the highest digits of a value: the bin of the lowest value with these digits
}

// topDigits is the number of binary digits after the first that near goes by: bins are less than twice as narrow.
const topDigits = 6

func newBins() *bins {
	var b bins
	last := int32(binOf(math.MaxInt64))
	for bin := range last + 1 {
		// The smallest value is at or beside the exponential of the bin's number.
		about := math.Exp(float64(bin) / binsPerE)
		from, many := max(1, int64(about*(1-rounding))), 2+int(about*2*rounding)
		b.lowest = append(b.lowest, from+int64(sort.Search(many, func(i int) bool { return binOf(from+int64(i)) >= bin })))
	}
	b.lowest = append(b.lowest, math.MaxInt64)
	b.near = make([]int32, 64<<topDigits)
	for top := range b.near {
		b.near[top] = binOf(lowestWith(top))
	}
	return &b
}

// rounding is far above the relative error of exponentials and logarithms.
const rounding = 1e-12

func binOf(v int64) int32 { return int32(math.Floor(math.Log(float64(v)) * binsPerE)) }

// topOf is the place of a positive value's highest digits in bins.near.
func topOf(v int64) int {
	octave := bits.Len64(uint64(v)) - 1
	return octave<<topDigits | int(uint64(v)<<(63-octave)>>(63-topDigits)&(1<<topDigits-1))
}

// lowestWith is the smallest value with the highest digits of a place, 1 when there is none.
func lowestWith(top int) int64 {
	octave, digits := top>>topDigits, uint64(top&(1<<topDigits-1))
	if octave == 63 {
		return math.MaxInt64
	}
	v := uint64(1) << octave
	if octave >= topDigits {
		v |= digits << (octave - topDigits)
	} else {
		v |= digits >> (topDigits - octave)
	}
	return int64(v)
}

// slot returns the place of a value's bin among all: BinZero is the first, BinInf the last.
func (b *bins) slot(v int64) int {
	switch {
	case v <= 0:
		return 0
	case v == stats.Inf:
		return b.slots() - 1
	}
	bin := b.near[topOf(v)]
	for v >= b.lowest[bin+1] {
		bin++
	}
	return int(bin) + 1
}

// slots is the number of bins.
func (b *bins) slots() int { return len(b.lowest) + 1 }

// binAt returns the bin at a place.
func (b *bins) binAt(slot int) int32 {
	if slot == b.slots()-1 {
		return stats.BinInf
	}
	return int32(slot) - 1 // stats.BinZero is −1
}

// slotOf returns the place of a bin, false when there is no such bin.
func (b *bins) slotOf(bin int32) (slot int, ok bool) {
	if bin == stats.BinInf {
		return b.slots() - 1, true
	}
	return int(bin) + 1, bin >= stats.BinZero && int(bin)+1 < b.slots()-1
}

// lowestIn and highestIn are the smallest and the largest value of a bin, in 1 … stats.Inf − 1.
func (b *bins) lowestIn(slot int) int64 {
	if slot == 0 {
		return 1
	}
	return min(b.lowest[slot-1], stats.Inf-1)
}

func (b *bins) highestIn(slot int) int64 {
	switch slot {
	case 0:
		return 1
	case b.slots() - 1:
		return stats.Inf - 1
	}
	return b.lowest[slot] - 1
}

// ranked returns the value with a rank from 1 among values, which it reorders: it sorts those of one bin only.
func (b *bins) ranked(values []int64, rank int) int64 {
	counts := make([]int, b.slots())
	for _, v := range values {
		counts[b.slot(v)]++
	}
	slot := 0
	for ; rank > counts[slot]; slot++ {
		rank -= counts[slot]
	}
	alike := values[:0]
	for _, v := range values {
		if b.slot(v) == slot {
			alike = append(alike, v)
		}
	}
	slices.Sort(alike)
	return alike[rank-1]
}
