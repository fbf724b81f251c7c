package random

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// The first outputs of splitmix64 from state 1234567, as printed by Vigna's reference implementation (prng.di.unimi.it/splitmix64.c).
func TestStreamIsSplitmix64(t *testing.T) {
	s := Seeded(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.Uint64(); got != want {
			t.Errorf("output %d = %d, want %d", i, got, want)
		}
	}
}

func TestStreamsDependOnEveryWord(t *testing.T) {
	seen := map[uint64]string{}
	for _, c := range []struct {
		seed  uint64
		words []string
	}{{1, nil}, {2, nil}, {1, []string{""}}, {1, []string{"a"}}, {1, []string{"ab", "c"}}, {1, []string{"a", "bc"}}, {1, []string{"abc"}}, {1, []string{"c", "ab"}}} {
		h := Hash(c.seed, c.words...)
		if other, dup := seen[h]; dup {
			t.Errorf("seed %d words %q collide with %s", c.seed, c.words, other)
		}
		seen[h] = "an earlier stream"
	}
}

func TestDrawsStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Seeded(rapid.Uint64().Draw(t, "state"))
		n := rapid.IntRange(1, math.MaxInt32).Draw(t, "n")
		if v := s.IntN(n); v < 0 || v >= n {
			t.Fatalf("IntN(%d) = %d", n, v)
		}
		if f := s.Float64(); f < 0 || f >= 1 {
			t.Fatalf("Float64 = %v", f)
		}
		p := rapid.Float64Range(0, 1-1e-12).Draw(t, "p")
		if x := Exponential().At(p); x < 0 || math.IsInf(x, 0) {
			t.Fatalf("quantile at %v = %v", p, x)
		}
	})
}

// Moments of the tables against the closed forms of the distributions.
func TestTableMoments(t *testing.T) {
	for _, c := range []struct {
		name     string
		table    *Table
		mean, sd float64
	}{
		{"normal", Normal(), 0, 1},
		{"exponential", Exponential(), 1, 1},
		{"lognormal 0.5", LogNormal(0.5), math.Exp(0.125), math.Exp(0.125) * math.Sqrt(math.Expm1(0.25))},
		{"weibull 1 is exponential", Weibull(1), 1, 1},
		{"weibull 2", Weibull(2), 1, distuv.Weibull{K: 2, Lambda: 1 / math.Gamma(1.5)}.StdDev()},
	} {
		mean, squares := 0.0, 0.0
		for _, v := range c.table {
			mean += float64(v) / tableSize
			squares += float64(v) * float64(v) / tableSize
		}
		if sd := math.Sqrt(squares - mean*mean); math.Abs(mean-c.mean) > 0.002 || math.Abs(sd-c.sd) > 0.01*math.Max(1, c.sd) {
			t.Errorf("%s: mean %v, sd %v, want %v, %v", c.name, mean, sd, c.mean, c.sd)
		}
	}
}
