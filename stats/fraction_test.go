package stats

import (
	"math"
	"testing"
)

// A relative effect that no document could hold is as unknown as an infinite one; small ones only come near −1.
func TestFractionIsBounded(t *testing.T) {
	for _, log := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 700, 40, largestLog * 1.001} {
		if got := fraction(log); got != nil {
			t.Errorf("fraction(%v) = %v, want none", log, *got)
		}
	}
	for log, want := range map[float64]float64{0: 0, math.Ln2: 1, -math.Ln2: -0.5, -700: -1, 30: math.Expm1(30)} {
		if got := fraction(log); got == nil || math.Abs(*got-want) > 1e-12*math.Abs(want) {
			t.Errorf("fraction(%v) = %v, want %v", log, got, want)
		}
	}
}
