package stats

import (
	"cmp"
	"math"
	"slices"
)

const (
	radixBits = 11
	radixSize = 1 << radixBits
)

// sortByValue sorts entries by value, those with the same value in the order given. The values inside a few bins differ in
// their lower bits only, so that two or three passes over the digits do (least significant digit first).
func sortByValue(entries []Value) {
	if len(entries) < radixSize/8 { // a pass counts every digit, however few have one
		slices.SortStableFunc(entries, func(a, b Value) int { return cmp.Compare(a.Value, b.Value) })
		return
	}
	lo, hi := entries[0].Value, entries[0].Value
	for _, e := range entries {
		lo, hi = min(lo, e.Value), max(hi, e.Value)
	}
	from, to := entries, make([]Value, len(entries))
	for shift := 0; uint64(hi-lo)>>shift > 0; shift += radixBits {
		digit := func(e Value) uint64 { return uint64(e.Value-lo) >> shift & (radixSize - 1) }
		var next [radixSize + 1]int
		for _, e := range from {
			next[digit(e)+1]++
		}
		for d := range radixSize {
			next[d+1] += next[d]
		}
		for _, e := range from {
			to[next[digit(e)]] = e
			next[digit(e)]++
		}
		from, to = to, from
	}
	if &from[0] != &entries[0] {
		copy(entries, from)
	}
}

// sortedFloats returns numbers, none of which is NaN, in order. Replicates crowd evenly enough that a place between the
// lowest and the highest is a bucket for one or two of them.
func sortedFloats(values []float64) []float64 {
	n := len(values)
	sorted := make([]float64, n)
	plain := func() []float64 {
		copy(sorted, values)
		slices.Sort(sorted)
		return sorted
	}
	if n < manyNumbers {
		return plain()
	}
	lo, hi := values[0], values[0]
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	scale := float64(n-1) / (hi - lo)
	if !(hi-lo <= math.MaxFloat64) || math.IsInf(scale, 0) { // infinite ones, or all alike
		return plain()
	}
	bucket := func(v float64) int { return int((v - lo) * scale) }
	ends := make([]int32, n+1)
	for _, v := range values {
		ends[bucket(v)+1]++
	}
	for b := range n {
		ends[b+1] += ends[b]
	}
	for _, v := range values {
		end := &ends[bucket(v)]
		sorted[*end] = v
		*end++
	}
	start := int32(0)
	for _, end := range ends[:n] {
		if end > start+1 {
			slices.Sort(sorted[start:end])
		}
		start = end
	}
	return sorted
}

// manyNumbers is how many numbers buckets pay for.
const manyNumbers = 512
