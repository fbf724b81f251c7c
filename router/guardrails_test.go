package router

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// share is the endpoint's share of free draws under routing-cost.
func (r *Router) shareOf(now Instant, e int32) float64 {
	r.refresh(now)
	return r.sharesNow(r.all)[e]
}

// A burst of 429s lowers an endpoint's share for a while, and only for a while.
func TestBackOffOn429s(t *testing.T) {
	r := newRouter(t, 4, DefaultConfig())
	now := warmUp(r)
	before := r.shareOf(now, 1)
	for range 60 {
		r.Observe(now, 1, &Outcome{Kind: OutcomeRateLimited, Duration: 50 * Millisecond})
	}
	now++
	r.stale = true
	r.refresh(now)
	r.believe()
	if r.backOff[1] > 0.75 || r.backOff[0] != 1 {
		t.Errorf("back-off %v, want a factor below 0.75 for endpoint 1 only", r.backOff)
	}
	if after := r.shareOf(now, 1); after > 0.6*before {
		t.Errorf("share went from %.3f to %.3f", before, after)
	}
	r.refresh(now + minutes(4))
	r.believe()
	if r.backOff[1] < 0.97 {
		t.Errorf("back-off still %.2f after 4 quiet minutes", r.backOff[1])
	}
}

// So does a sudden jump of the latency; one slow answer is no jump.
func TestBackOffOnLatencyJump(t *testing.T) {
	r := newRouter(t, 4, DefaultConfig())
	now := warmUp(r)
	slow := ok()
	slow.TTFT = 40 * Second
	r.Observe(now, 1, slow)
	r.stale = true
	r.refresh(now)
	r.believe()
	if r.backOff[1] != 1 {
		t.Errorf("back-off %.2f after one slow answer", r.backOff[1])
	}
	for range 15 {
		r.Observe(now, 1, slow)
	}
	r.stale = true
	r.refresh(now)
	r.believe()
	if r.backOff[1] > 0.8 || r.backOff[0] != 1 {
		t.Errorf("back-off %v, want a factor below 0.8 for endpoint 1 only", r.backOff)
	}
}

// An endpoint that is out gets nothing, not even the floor; one that is half open gets no more than the floor.
func TestBreakerBeatsFloor(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	rng := rand.NewPCG(1, 20)
	now := broken(t, r)
	if s := r.sharesNow(r.all)[0]; s != 0 {
		t.Errorf("share %v while out", s)
	}
	for range 2000 {
		if r.Decide(now, &Request{}, rng).Endpoint == 0 {
			t.Fatal("drawn while out")
		}
	}
	now = r.breakers[0].until
	r.refresh(now)
	floor := r.cfg.Share.Floor / 5
	if s := r.sharesNow(r.all)[0]; !r.halfOpen.Has(0) || s < floor-1e-9 || s > floor+1e-9 {
		t.Errorf("share %v while half open, want the floor %v", s, floor)
	}
}

// A half-open endpoint counts as out: with half of two out at most, the other one stays.
func TestHalfOpenCountsAsOut(t *testing.T) {
	r := newRouter(t, 2, DefaultConfig())
	now := warmUp(r)
	fail := func(e int32) {
		for range 100 {
			r.Observe(now, e, failure())
		}
		now++
		r.refresh(now)
	}
	fail(0)
	now = r.breakers[0].until
	r.refresh(now)
	if !r.halfOpen.Has(0) {
		t.Fatal("endpoint 0 is not half open")
	}
	fail(1)
	if r.open.Has(1) {
		t.Error("endpoint 1 was taken out beside a half-open one")
	}
}

// Failing alone is not enough when the peers fail alike: the breaker compares.
func TestBreakerComparesWithPeers(t *testing.T) {
	r := newRouter(t, 8, DefaultConfig())
	now := warmUp(r)
	for i := range 100 {
		for e := range int32(8) {
			if i%10 < 7 || e == 7 { // seven fail 70 %, one everything
				r.Observe(now, e, failure())
			} else {
				r.Observe(now, e, ok())
			}
		}
	}
	r.stale = true
	r.refresh(now + 1)
	for e := range int32(7) {
		if r.open.Has(e) {
			t.Errorf("endpoint %d is out though all fail alike", e)
		}
	}
	if !r.open.Has(7) {
		t.Error("the one that stands out is not out")
	}
}

// A pin becomes warm when a cache was seen to serve the conversation.
func TestCacheHitWarmsPin(t *testing.T) {
	hit := ok()
	hit.Cached = 100
	if p := UpdatePin(Pin{}, 5, 2, ok()); p != (Pin{Endpoint: 3, LastUsed: 5}) {
		t.Errorf("pin %+v after a success without a cache hit", p)
	}
	if p := UpdatePin(Pin{}, 5, 2, hit); p != (Pin{Endpoint: 3, LastUsed: 5, Warm: true}) {
		t.Errorf("pin %+v after a cache hit", p)
	}
	// Where reading the cache costs as much as the prompt, nothing holds the conversation.
	flat := Price{Input: 1e-6, CacheRead: 1e-6}
	r, err := New("m", []Endpoint{{Slug: "a", Price: flat}, {Slug: "b", Price: flat}}, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Decide(5, &Request{Pin: Pin{Endpoint: 1, LastUsed: 5, Warm: true}}, rand.NewPCG(1, 1)); d.Pinned || d.Left != LeftPrice {
		t.Errorf("stayed for a cache without a discount (%v)", d.Left)
	}
}

// Writing the cache costs more than the prompt at some providers (1.25 times, for five minutes).
func TestCacheWritesArePriced(t *testing.T) {
	p := Price{Input: 4e-6, Output: 20e-6, CacheRead: 0.4e-6, CacheWrite: 5e-6}
	near(t, "billed", p.Cost(1000, 300, 500, 10), 200*4e-6+300*0.4e-6+500*5e-6+10*20e-6, 1e-15)
	near(t, "effective", effectivePrice(&p, &signals{cacheHit: 0.3, cacheWrite: 0.5}, &requestSize{1000, 10}), p.Cost(1000, 300, 500, 10), 1e-15)
}

// Auto Exacto also puts an endpoint behind that is far slower than its peers, and tells nothing with too few peers.
func TestExactoSpeed(t *testing.T) {
	for n, want := range map[int]uint8{6: tierLow, 3: tierUnknown} {
		r := newRouter(t, n, DefaultConfig())
		for i := range 400 {
			for e := range int32(n) {
				o := ok()
				o.ToolCall, o.ToolCallOK = true, true
				if o.Duration += Micros(e) * 100 * Millisecond; e == 0 {
					o.Duration = 60 * Second
				}
				r.Observe(Instant(i)*Instant(Second), e, o)
			}
		}
		r.refresh(400 * Instant(Second))
		r.exacto()
		if r.tiers[0] != want {
			t.Errorf("%d endpoints: tier %d for the slow one, want %d", n, r.tiers[0], want)
		}
	}
}

// A move of the telemetry's epoch between a snapshot and its first use changes no tier.
func TestExactoAfterRebase(t *testing.T) {
	tiers := func(rebase bool) []uint8 {
		r := newRouter(t, 6, DefaultConfig())
		now := Instant(0)
		for i := range 250 {
			for e := range int32(6) {
				o := ok()
				o.ToolCall, o.ToolCallOK = true, e > 0 || i%2 == 0
				r.Observe(now, e, o)
			}
			now += 10 * Instant(Second)
		}
		r.refresh(now)
		if rebase {
			r.telemetry.rebase(now + 30*Instant(Minute))
		}
		r.exacto()
		return r.tiers
	}
	if before, after := tiers(false), tiers(true); !slices.Equal(before, after) || before[0] != tierLow {
		t.Errorf("tiers %v, after a rebase %v; want the same, the first low", before, after)
	}
}

// The guardrails belong to routing-cost: routing by price knows only outages, whatever the router has learned.
func TestPriceIsUnguarded(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	rng := rand.NewPCG(1, 21)
	broken(t, r)
	now := r.breakers[0].until
	r.Observe(now, 1, &Outcome{Kind: OutcomeRateLimited, RetryAfter: 30 * Second})
	r.telemetry.forgive(0) // its outage is over, the breaker is still half open
	r.refresh(now)
	for policy, want := range map[string]bool{"price": true, "routing-cost": false} {
		if err := r.Use(policy); err != nil {
			t.Fatal(err)
		}
		d := r.Decide(now, &Request{Pin: Pin{Endpoint: 2, LastUsed: now, Warm: true}}, rng)
		if d.Pinned != want {
			t.Errorf("%s: conversation at a cooling endpoint pinned %v, want %v", policy, d.Pinned, want)
		}
	}
	if err := r.Use("price"); err != nil {
		t.Fatal(err)
	}
	drawn := 0
	for range 1000 {
		if r.Decide(now, &Request{}, rng).Endpoint == 0 {
			drawn++
		}
	}
	if drawn < 100 {
		t.Errorf("price drew the half-open cheapest endpoint %d times of 1000", drawn)
	}
}
