package market

import (
	"math"
	"testing"
)

// A scarce model turns requests away at every endpoint, at its rate and whatever the load; other models do not. An endpoint in its
// everyday state is eligible for a quote all the same.
func TestScarceModelsAreShortEverywhere(t *testing.T) {
	p := quiet()
	p.ScarceFirst, p.ScarceModels, p.ScarceRejects = 1, 2, 0.3
	b, err := NewBuilder(p, hour, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for rank, want := range []float64{0, 0.3, 0.3, 0} {
		m, err := b.New(offers(), Demand{Flow: 2, MeanInput: 4000, MeanOutput: 600, Rank: rank})
		if err != nil {
			t.Fatal(err)
		}
		for at := range m.Endpoints {
			w, rejected := Work{Input: 1000, Output: 100}, 0
			const tries = 4000
			for range tries {
				if try(m, int32(at), w, Memory{Cache: new(Cache)}, 0).Kind == RateLimited {
					rejected++
				} else {
					m.Finish(int32(at), w, false, Memory{}, 0)
				}
			}
			if share := float64(rejected) / tries; math.Abs(share-want) > 4*math.Sqrt(want*(1-want)/tries) { // 4 standard errors
				t.Errorf("model of rank %d: endpoint %d turns %.3f of the requests away, want %.1f", rank, at, share, want)
			}
			if _, eligible := m.Quote(int32(at), w, Memory{Cache: new(Cache)}, 0); !eligible {
				t.Errorf("model of rank %d: endpoint %d is not eligible", rank, at)
			}
		}
	}
}

// Failures take longest when others' load is highest, a quarter of a day after its wave's upward crossing.
func TestFailuresTakeLongerByDay(t *testing.T) {
	p := quiet()
	p.ScarceModels, p.ScarceRejects = 1, 1
	p.ScarceFirst, p.FailWave, p.BackgroundPhaseH = 0, 0.5, 0
	m := build(t, p, 24*hour, 1)
	mean := func() float64 {
		sum := 0.0
		for range 20_000 {
			sum += float64(try(m, 0, Work{Input: 1000, Output: 100}, Memory{Cache: new(Cache)}, 0).Duration)
		}
		return sum
	}
	m.Tick(6 * hour)
	day := mean()
	m.Tick(18 * hour)
	if ratio := day / mean(); math.Abs(ratio-3) > 0.15 { // 1.5 ÷ 0.5
		t.Errorf("failures take %.2f times as long by day as by night, want 3", ratio)
	}
}
