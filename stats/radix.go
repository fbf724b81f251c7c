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

// sortFloats sorts numbers, none of which is NaN, by the digits of their bits: positive ones order as integers do,
// negative ones the other way round.
func sortFloats(values []float64) {
	if len(values) < radixSize {
		slices.Sort(values)
		return
	}
	const digits = (64 + radixBits - 1) / radixBits
	var next [digits][radixSize]int
	from, to := make([]uint64, len(values)), make([]uint64, len(values))
	for i, v := range values {
		key := math.Float64bits(v)
		key ^= uint64(int64(key)>>63) | 1<<63
		from[i] = key
		for d := range next {
			next[d][key>>(d*radixBits)&(radixSize-1)]++
		}
	}
	for d := range next {
		shift, start, places := d*radixBits, 0, &next[d]
		if places[from[0]>>shift&(radixSize-1)] == len(from) {
			continue // all alike
		}
		for i, n := range places {
			places[i], start = start, start+n
		}
		for _, key := range from {
			place := &places[key>>shift&(radixSize-1)]
			to[*place] = key
			*place++
		}
		from, to = to, from
	}
	for i, key := range from {
		key ^= uint64(^int64(key)>>63) | 1<<63
		values[i] = math.Float64frombits(key)
	}
}
