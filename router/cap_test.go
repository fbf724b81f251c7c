package router

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// tokenBucket is a rate limit: tokens that refill evenly, up to ten seconds' worth.
type tokenBucket struct {
	at   Instant
	have float64
}

func (b *tokenBucket) admit(now Instant, perMinute float64) bool {
	b.have = min(b.have+float64(now-b.at)/float64(Minute)*perMinute, max(perMinute/6, 1))
	b.at = now
	if b.have < 1 {
		return false
	}
	b.have--
	return true
}

// The published learned-capacity figure: an endpoint takes 524 requests a minute; the load on it ramps from 339 to 657 by minute 24 and
// 429s appear; a cap appears and settles within 1–2 % of 524; at minute 86 the capacity rises to 667 and the cap follows within
// 35 minutes. Five draws of the arrivals are averaged for the levels.
func TestLearnedCapacityFigure(t *testing.T) {
	const seeds = 5
	var settled, resettled float64
	for seed := range uint64(seeds) {
		p := playCapacity(t, seed, 125, func(minute float64) (load, capacity float64) {
			if minute < 86 {
				return min(339+(657-339)*minute/24, 657), 524
			}
			return 760, 667
		})
		if wait := p.firstCap - p.firstBurst; !(wait <= 2) {
			t.Errorf("seed %d: cap %.1f minutes after the burst of 429s at %.1f, want 2 or less", seed, wait, p.firstBurst)
		}
		settled += p.meanCap(50, 86) / seeds
		resettled += p.meanCap(106, 121) / seeds
		if late := p.reaches(86, 0.98*667) - 86; !(late <= 35) {
			t.Errorf("seed %d: new capacity reached %.0f minutes after it rose, want 35 or less", seed, late)
		}
	}
	t.Logf("cap settles at %.1f of 524, then at %.1f of 667 requests a minute", settled, resettled)
	if math.Abs(settled-524) > 0.02*524 {
		t.Errorf("cap settles at %.1f requests a minute, want 524 ± 2 %%", settled)
	}
	if math.Abs(resettled-667) > 0.02*667 {
		t.Errorf("cap settles at %.1f requests a minute, want 667 ± 2 %%", resettled)
	}
}

// A storm of 429s that the endpoint's own load does not explain leaves no cap behind: caps that ratchet down on storms were the dearest
// mistake in simulated markets.
func TestStormLeavesCapAlone(t *testing.T) {
	p := playCapacity(t, 1, 60, func(minute float64) (load, capacity float64) {
		if minute >= 20 && minute < 29 {
			return 300, 120
		}
		return 300, 600
	})
	if lowest := slices.Min(p.caps[30:]); lowest < 250 && lowest > 0 {
		t.Errorf("cap fell to %.0f requests a minute after a storm, at a load of 300", lowest)
	}
}

// played is what happened to an endpoint's cap, by minute.
type played struct {
	caps       []float64 // requests a minute; 0 = none
	firstBurst float64   // minute
	firstCap   float64
}

func (p *played) meanCap(from, to int) float64 {
	s := 0.0
	for _, c := range p.caps[from:to] {
		s += c / float64(to-from)
	}
	return s
}

func (p *played) reaches(from int, level float64) float64 {
	for m := from; m < len(p.caps); m++ {
		if p.caps[m] >= level {
			return float64(m)
		}
	}
	return math.Inf(1)
}

// playCapacity sends twice the load at two endpoints alike, of which the first is limited, with Poisson arrivals.
func playCapacity(t *testing.T, seed uint64, minutes int, plan func(minute float64) (load, capacity float64)) *played {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 524))
	cfg := DefaultConfig()
	flat := Price{1e-6, 1e-6, 1e-6, 1e-6}
	r, err := New("m", []Endpoint{{Slug: "a", Price: flat}, {Slug: "b", Price: flat}}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &played{caps: make([]float64, minutes), firstBurst: math.Inf(1), firstCap: math.Inf(1)}
	var limit tokenBucket
	for now := Instant(0); ; {
		load, capacity := plan(float64(now) / float64(Minute))
		now += Instant(rng.ExpFloat64() / (2 * load) * float64(Minute))
		minute := float64(now) / float64(Minute)
		if int(minute) >= minutes {
			return p
		}
		d := r.Decide(now, &Request{}, rng)
		o := Outcome{Kind: OutcomeOK, TTFT: Second, Duration: 3 * Second, Input: 1000, Output: 100}
		if d.Endpoint == 0 && !limit.admit(now, capacity) {
			o = Outcome{Kind: OutcomeRateLimited, Duration: 100 * Millisecond}
		}
		r.Observe(now, d.Endpoint, &o)
		l := &r.loads[0]
		if l.refused > cfg.Cap.Burst*l.rate && minute > 5 {
			p.firstBurst = min(p.firstBurst, minute)
		}
		if l.cap > 0 {
			p.firstCap = min(p.firstCap, minute)
		}
		p.caps[int(minute)] = 60 * l.cap
	}
}
