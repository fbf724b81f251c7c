package ingest

import (
	"math"
	"math/rand/v2"
	"testing"

	"switchback/stats"
)

// The looked-up bins are those that the logarithms give, and a larger value never has a smaller bin.
func TestBins(t *testing.T) {
	b := newBins()
	rng := rand.New(rand.NewPCG(1, 1))
	var values []int64
	for v := range int64(100_000) {
		values = append(values, v-3)
	}
	for range 200_000 {
		values = append(values, int64(math.Exp(rng.Float64()*43)))
	}
	for _, v := range b.lowest {
		values = append(values, v-1, v, min(v, math.MaxInt64-1)+1)
	}
	for _, v := range values {
		want := stats.BinZero
		if v == stats.Inf {
			want = stats.BinInf
		} else if v > 0 {
			want = binOf(v)
		}
		got := b.binAt(b.slot(v))
		if slot, ok := b.slotOf(want); got != want || !ok || slot != b.slot(v) {
			t.Fatalf("value %d: bin %d, want %d, at place %d", v, got, want, slot)
		}
	}
	for i := 1; i < len(b.lowest); i++ {
		if b.lowest[i] < b.lowest[i-1] {
			t.Fatalf("bin %d begins with %d, below %d", i, b.lowest[i], b.lowest[i-1])
		}
	}
}

func BenchmarkBins(b *testing.B) {
	of := newBins()
	sum := 0
	for i := range b.N {
		sum += of.slot(int64(i)*7919%90_000_000 + 1)
	}
	_ = sum
}

func BenchmarkNewBins(b *testing.B) {
	for b.Loop() {
		newBins()
	}
}
