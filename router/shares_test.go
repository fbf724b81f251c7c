package router

import (
	"math"
	"testing"
)

// 1 ÷ 6e-309 overflows, yet a third and two thirds of what is left are as clear as ever.
func TestSpillDividesByTheSmallest(t *testing.T) {
	for _, limit := range []float64{2, math.Inf(1)} {
		shares := make([]float64, 4)
		if !spill([]float64{1, 2e-309, 4e-309, 0}, []float64{0.4, limit, limit, limit}, shares) {
			t.Error("limits did not hold")
		}
		for i, want := range []float64{0.4, 0.2, 0.4, 0} {
			if math.Abs(shares[i]-want) > 1e-12 {
				t.Errorf("limit %v: shares %v, want a third and two thirds of what 0.4 leaves", limit, shares)
			}
		}
	}
}
