package router

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestExpIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 700).Draw(t, "x")
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-12*want {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	})
	for _, x := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1e300, -1e300, 5e-324} {
		if got, want := exp(x), math.Exp(x); got != want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if got := exp(math.NaN()); !math.IsNaN(got) {
		t.Errorf("exp(NaN) = %v", got)
	}
}

// Between neighbouring steps of the reduction nothing jumps.
func TestExpIsSmooth(t *testing.T) {
	for k := -80; k <= 80; k++ {
		x := (float64(k) + 0.5) * math.Ln2 / 8
		if below, above := exp(math.Nextafter(x, -1e3)), exp(math.Nextafter(x, 1e3)); math.Abs(above-below) > 1e-12*above {
			t.Errorf("exp jumps from %v to %v at %v", below, above, x)
		}
	}
}
