package experiment

import (
	"context"
	"math"
	"testing"
)

// Little's law: the mean number of requests at the endpoints, sampled at the ticks of the clock, is the rate of the
// attempts that hold a place times the mean time that they hold it.
func TestLittlesLaw(t *testing.T) {
	scene := smallScene()
	held := 0.0 // place-seconds, from the rows
	over, wait := reading(func(b *Batch) error {
		tried := map[string]bool{}
		for i := range b.Attempts {
			a := &b.Attempts[i]
			tried[a.RequestID] = true
			if a.HTTPStatus.Value != 429 {
				held += float64(a.Latency.Value) / 1e6
			}
		}
		for i := range b.Requests {
			if r := &b.Requests[i]; !tried[r.RequestID] {
				held += float64(r.Total.Value-r.CallerTTFT.Value+r.TTFT.Value) / 1e6
			}
		}
		return nil
	})
	u, err := scene.newUnit(scene.units[0], over)
	if err != nil {
		t.Fatal(err)
	}
	w := u.worlds[0]
	samples, sum := 0.0, 0.0
	w.onTick = func() {
		samples++
		for i := range w.market.Endpoints {
			sum += float64(w.market.Endpoints[i].InFlight())
		}
	}
	if _, err := u.run(context.Background(), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	want := held / (float64(scene.horizon) / 1e6)
	if got := sum / samples; math.Abs(got/want-1) > 0.03 {
		t.Errorf("%.3f requests in flight on average, rate × time = %.3f", got, want)
	}
}
