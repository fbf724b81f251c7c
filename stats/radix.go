package stats

import (
	"cmp"
	"slices"
)

const (
	radixBits = 11
	radixSize = 1 << radixBits
)

// sortByValue sorts entries by value, those with the same value in the order given. The values inside a few bins differ in
// their lower bits only, so that two or three passes over the digits do (least significant digit first).
func sortByValue(entries []Value) {
	if len(entries) < radixSize {
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
