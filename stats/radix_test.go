package stats

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSortByValue: the same order as a stable sort, over short and long lists, ties and values of any size.
func TestSortByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 100, radixSize, 5000}).Draw(t, "n")
		spread := rapid.Uint64Range(1, 1<<62).Draw(t, "spread")
		state := rapid.Uint64().Draw(t, "seed")
		entries := make([]Value, n)
		for i := range entries {
			state = mix(state)
			entries[i] = Value{Column: i, Value: 1 + int64(state%spread), N: 1}
		}
		want := slices.Clone(entries)
		slices.SortStableFunc(want, func(a, b Value) int { return cmp.Compare(a.Value, b.Value) })
		sortByValue(entries)
		if diff := gocmp.Diff(want, entries); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSortedFloats: the same as a comparing sort, over short and long lists, ties, both signs, outliers and infinities.
func TestSortedFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 100, radixSize, 5000}).Draw(t, "n")
		digits := rapid.IntRange(1, 53).Draw(t, "digits")
		spread := rapid.Uint64Range(1, 200).Draw(t, "spread")
		infinite := rapid.Bool().Draw(t, "infinite")
		state := rapid.Uint64().Draw(t, "seed")
		values := make([]float64, n)
		for i := range values {
			state = mix(state)
			values[i] = math.Ldexp(float64(int64(state)>>(64-digits)), int(state%spread))
			if infinite && state%64 == 0 {
				values[i] = math.Inf(1 - int(state>>62))
			}
		}
		given, want := slices.Clone(values), slices.Clone(values)
		slices.Sort(want)
		if diff := gocmp.Diff(want, sortedFloats(values)); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(given, values) {
			t.Error("the numbers themselves were moved")
		}
	})
}

// TestReach: the first index at which a growing count reaches k, from any guess.
func TestReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Uint64Range(0, 9), 1, 200).Draw(t, "steps")
		for i := 1; i < len(counts); i++ {
			counts[i] += counts[i-1]
		}
		last := counts[len(counts)-1]
		if last == 0 {
			t.Skip("no rows")
		}
		k := rapid.Uint64Range(1, last).Draw(t, "k")
		guess := rapid.IntRange(-5, 300).Draw(t, "guess")
		first, before, at := reach(len(counts), guess, k, last, func(i int) uint64 { return counts[i] })
		want := slices.IndexFunc(counts, func(c uint64) bool { return c >= k })
		if first != want || first > 0 && before != counts[first-1] || first == 0 && before != 0 || at != counts[first] {
			t.Errorf("reach = %d, %d, %d; want %d in %v", first, before, at, want, counts)
		}
	})
}
