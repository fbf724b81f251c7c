package market

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"switchback/experiment/random"
)

// While a regime lasts, both the time to first token and the time per token of its endpoint are its factor times what they were, whatever
// is asked; before and after, and at the endpoints that have none, they are what they always are.
func TestRegimesStretchBothTimes(t *testing.T) {
	p := quiet()
	p.Headroom = 1e9 // one request is no load
	usual := build(t, p, 100*hour, 1)
	p.Regime = Spells{EveryH: 3, MedianMin: 60, Lo: 0.5, Hi: 2} // all of an hour, as they have no sigma
	m := build(t, p, 100*hour, 1)
	w := Work{Input: 3000, Output: 500}
	times := func(m *Market, at int32) (ttft, perToken float64) {
		var c Cache
		a := try(m, at, w, Memory{Cache: &c}, 0)
		m.Finish(at, w, false, Memory{Cache: &c}, 0)
		return float64(a.TTFT), float64(a.Duration-a.TTFT) / float64(a.Output)
	}
	type regime struct {
		factor float64
		ticks  int64
	}
	regimes := make([][]regime, len(m.Endpoints))
	for now := int64(0); now < 100*hour; now += TickMicros {
		m.Tick(now)
		usual.Tick(now)
		for i := range m.Endpoints {
			ttft, perToken := times(m, int32(i))
			usualTTFT, usualPerToken := times(usual, int32(i))
			factor := ttft / usualTTFT
			if math.Abs(perToken/usualPerToken/factor-1) > 1e-3 {
				t.Fatalf("endpoint %d at %d µs: %.4f times the usual time to first token, %.4f times that per token", i, now, factor, perToken/usualPerToken)
			}
			switch list := regimes[i]; {
			case math.Abs(factor-1) < 1e-9: // untouched, bit by bit
			case len(list) > 0 && math.Abs(list[len(list)-1].factor/factor-1) < 1e-4:
				list[len(list)-1].ticks++
			default:
				regimes[i] = append(list, regime{factor, 1})
			}
			// What only the simulation knows follows.
			s, u := m.State(int32(i), 3000, 500, now), usual.State(int32(i), 3000, 500, now)
			if math.Abs(s.TTFT/u.TTFT/factor-1) > 1e-4 || math.Abs(s.SecondsPerToken/u.SecondsPerToken/factor-1) > 1e-4 {
				t.Fatalf("endpoint %d at %d µs: state %+v, usually %+v, factor %.4f", i, now, s, u, factor)
			}
		}
	}
	slower, faster := 0, 0
	for i, list := range regimes {
		if len(list) < 10 { // 100 hours hold about 25 of them
			t.Errorf("endpoint %d had %d regimes", i, len(list))
		}
		for _, r := range list {
			// The clock starts and ends an hour's regime at the next tick; the last one may outlive the experiment.
			if minutes := float64(r.ticks) * TickMicros / 60e6; minutes > 61 || minutes < 59 && r != list[len(list)-1] || r.factor < 0.5 || r.factor > 2 {
				t.Errorf("endpoint %d: %.1f minutes of factor %.4f, want 60 of one between 0.5 and 2", i, minutes, r.factor)
			}
			if r.factor > 1 {
				slower++
			} else {
				faster++
			}
		}
	}
	if slower == 0 || faster == 0 {
		t.Errorf("%d regimes are slower than usual and %d faster", slower, faster)
	}
}

// Outages last as long as the public incidents of providers' status pages: medians of 55 to 77 minutes, 90th percentiles of 320 to 490.
func TestOutagesLastAsLongAsRecorded(t *testing.T) {
	p := DefaultParams()
	laws := tables{normal: random.Normal(), expo: random.Exponential()}
	for name, s := range map[string]Spells{"endpoint": p.Outage, "provider": p.ProviderOutage} {
		line := drawTimeline(s, 2_000_000*hour, random.New(1, "test", "outages", name), &laws)
		var minutes []float64
		for _, o := range line.spells {
			minutes = append(minutes, float64(o.end-o.start)/60e6)
		}
		slices.Sort(minutes)
		median, p90 := stat.Quantile(0.5, stat.Empirical, minutes, nil), stat.Quantile(0.9, stat.Empirical, minutes, nil)
		if len(minutes) < 8000 || median < 55 || median > 77 || p90 < 320 || p90 > 490 {
			t.Errorf("%s: %d outages with a median of %.0f minutes and a 90th percentile of %.0f", name, len(minutes), median, p90)
		}
	}
}

// In a domain outage all providers of one failure domain fail together, in all models, and the others go on.
func TestDomainOutagesHitWholeDomains(t *testing.T) {
	const domains, providers, horizon = 4, 24, 200 * hour
	p := quiet()
	p.Domains = domains
	p.DomainOutage = Spells{EveryH: 10, MedianMin: 30, Sigma: 0.5, Lo: 1, Hi: 1}
	b, err := NewBuilder(p, horizon, 5, 5)
	if err != nil {
		t.Fatal(err)
	}
	var models [2]*Market
	for k, model := range []string{"m", "n"} {
		var list []Offer
		for i := range providers {
			o := offers()[i%len(offers())]
			o.Model, o.Provider = model, fmt.Sprintf("provider-%d", i)
			o.Slug = o.Provider
			list = append(list, o)
		}
		slices.Reverse(list[:k*providers/2]) // the place of a provider means nothing
		if models[k], err = b.New(list, Demand{Flow: 2, MeanInput: 4000, MeanOutput: 600}); err != nil {
			t.Fatal(err)
		}
	}
	// History of every provider in each model: a mark for each tick, up or down, as attempts find it.
	history := [2]map[string]*strings.Builder{{}, {}}
	for now := int64(0); now < horizon; now += 15 * TickMicros {
		for k, m := range models {
			m.Tick(now)
			for i := range m.Endpoints {
				provider := m.Endpoints[i].Offer.Provider
				if history[k][provider] == nil {
					history[k][provider] = new(strings.Builder)
				}
				var c Cache
				switch w := (Work{Input: 100, Output: 10}); try(m, int32(i), w, Memory{Cache: &c}, now).Kind {
				case Served:
					m.Finish(int32(i), w, true, Memory{Cache: &c}, now)
					history[k][provider].WriteByte('.')
				case Failed:
					m.Finish(int32(i), w, false, Memory{Cache: &c}, now)
					history[k][provider].WriteByte('x')
				default:
					t.Fatalf("%s at %d µs: neither served nor failed", provider, now)
				}
			}
		}
	}
	members := map[string]int{} // of domains, by their history
	for provider, h := range history[0] {
		if other := history[1][provider].String(); h.String() != other {
			t.Errorf("%s is not down at the same times in both models", provider)
		}
		members[h.String()]++
	}
	if len(members) != domains {
		t.Errorf("%d providers in %d domains have %d different histories", providers, domains, len(members))
	}
	for h, n := range members {
		// Mean length = median·exp(σ²/2) = 34 min, so a domain is down 34 of every 634 minutes.
		down := float64(strings.Count(h, "x")) / float64(len(h))
		if n < 2 || down < 0.015 || down > 0.12 {
			t.Errorf("a domain of %d providers is down %.3f of the time, want several and about 0.054", n, down)
		}
	}
}
