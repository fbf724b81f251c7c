package stats

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSubsetSums: the same weighted sums as by multiplication, for any number of columns and any weights.
func TestSubsetSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols := rapid.IntRange(1, 40).Draw(t, "columns")
		counts := rapid.SliceOfN(rapid.Uint32Range(0, 1<<20), cols, cols).Draw(t, "counts")
		signed := make([]int64, cols)
		for c, n := range counts {
			signed[c] = int64(n) - 1<<19
		}
		draws := rapid.IntRange(1, 5).Draw(t, "draws")
		weights := rapid.SliceOfN(rapid.Uint32Range(0, 9), draws*cols, draws*cols).Draw(t, "weights")
		packed := packWeights(weights, cols)
		squares := make([]int64, cols)
		for c, n := range signed {
			squares[c] = n * n
		}
		// Space that was used before is as good as new.
		before := rapid.SliceOfN(rapid.Uint32Range(1, 9), 0, 40).Draw(t, "counts before")
		others := make([]int64, len(before))
		for c, n := range before {
			others[c] = int64(n)
		}
		sums, both := subsetCountsOf(counts, subsetCountsOf(before, nil)), subsetSumsOf(signed, squares, subsetSumsOf(others, others, nil))
		for draw := range draws {
			w := weights[draw*cols:][:cols]
			var wantN, wantY int64
			for c, n := range signed {
				wantN += int64(w[c]) * n
				wantY += int64(w[c]) * n * n
			}
			if n, y := both.weigh(packed.of(draw)); n != wantN || y != wantY {
				t.Errorf("weights %v of %v: %d and %d of squares, want %d and %d", w, signed, n, y, wantN, wantY)
			}
			if got, want := sums.weigh(packed.of(draw)), dot(counts, w); got != want {
				t.Errorf("weights %v of %v: %d, want %d", w, counts, got, want)
			}
		}
	})
}
