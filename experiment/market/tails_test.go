package market

import (
	"math"
	"slices"
	"testing"
)

// The classes are as far apart as the benchmark's quarters (Tails), around the given level.
func TestTailsOfTheBenchmark(t *testing.T) {
	tails, err := Tails()
	if err != nil {
		t.Fatal(err)
	}
	rows := len(tails)
	sigmas, err := tailSigmas(0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(sigmas[:]) {
		t.Errorf("%v", sigmas)
	}
	// By hand from data/llmperf-tails.csv: the five widest rows have p95 ÷ p50 of 1.737, 1.742, 2.656, 2.771 and 20.48.
	widest := 0.0
	for _, ratio := range []float64{367.1 / 211.4, 636.4 / 365.3, 14994.8 / 5646.6, 744.8 / 268.8, 24333.9 / 1188} {
		widest += math.Log(math.Log(ratio)) / 5
	}
	mean, weight := 0.0, 0.0
	for class, s := range sigmas {
		n := float64((class+1)*rows/tailClasses - class*rows/tailClasses)
		mean, weight = mean+n*math.Log(s/0.5), weight+n
	}
	if weight != float64(rows) || math.Abs(mean) > 1e-9 {
		t.Errorf("log σ ÷ 0.5 sums to %v over %v rows", mean, weight)
	}
	all := 0.0
	for _, row := range tails {
		all += math.Log(math.Log(row.TTFTMS.P95/row.TTFTMS.P50)) / float64(rows)
	}
	if got, want := sigmas[tailClasses-1]/0.5, math.Exp(widest-all); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("the widest quarter is %v times the middle, want %v", got, want)
	}
	alike, err := tailSigmas(0.5, 0)
	if err != nil || alike != [tailClasses]float64{0.5, 0.5, 0.5, 0.5} {
		t.Errorf("without spread: %v, %v", alike, err)
	}
}

// The noise of an endpoint's times is that of its class, and all endpoints of a provider are of one class.
func TestNoiseIsThatOfTheClass(t *testing.T) {
	p := quiet()
	p.Headroom, p.TTFTSigma, p.TailSpread, p.CacheShare = 1e9, 0.5, 1, 0
	seen := map[uint8]bool{}
	for draw := range uint64(6) {
		m := build(t, p, hour, draw)
		if m.Endpoints[0].tail != m.Endpoints[3].tail {
			t.Fatal("two endpoints of provider a have noise of two classes")
		}
		for at := range m.Endpoints {
			e := &m.Endpoints[at]
			seen[e.tail] = true
			const n = 4000
			logs := make([]float64, n)
			for i := range logs {
				logs[i] = math.Log(float64(try(m, int32(at), Work{Input: 1}, Memory{Cache: new(Cache)}, 0).TTFT))
				m.Finish(int32(at), Work{}, false, Memory{}, 0)
			}
			slices.Sort(logs)
			sigma := m.tables.tails[e.tail]
			if got, want := logs[n*95/100]-logs[n/2], 1.6449*sigma; math.Abs(got-want) > 0.12*want {
				t.Errorf("class %d: log of p95 ÷ p50 %.3f, want %.3f", e.tail, got, want)
			}
		}
	}
	if len(seen) != tailClasses {
		t.Errorf("%d classes occur", len(seen))
	}
}
