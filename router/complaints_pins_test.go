package router

import (
	"math/rand/v2"
	"testing"
)

// Complaints about conversations that leave their endpoint, or stay when they should not.

// OpenRouterTeam/ai-sdk-provider#499: affinity that expires before the paid one-hour cache makes each turn eight times dearer.
func TestPinLastsAsLongAsTheCache(t *testing.T) {
	endpoints := market(2)
	endpoints[1].CacheTTL = 60 * Minute
	r, err := New("m", endpoints, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.NewPCG(1, 1)
	for _, c := range []struct {
		gap       float64
		ten, hour bool
	}{{4, true, true}, {6, true, true}, {11, false, true}, {59, false, true}, {61, false, false}} {
		for e, want := range []bool{c.ten, c.hour} {
			d := r.Decide(minutes(100+c.gap), &Request{Pin: Pin{Endpoint: int32(e) + 1, LastUsed: minutes(100), Warm: true}}, rng)
			if d.Pinned != want || !want && d.Left != LeftIdle {
				t.Errorf("after %v minutes at endpoint %d: pinned %v (%v), want %v", c.gap, e, d.Pinned, d.Left, want)
			}
		}
	}
}

// damianvtran/local-operator PR 995 and theexperiencecompany/gaia PR 1155: conversations that hop without a reason lose their cache. Under load
// a conversation stays, and when it goes the reason is known.
func TestConversationStaysUnderLoad(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	rng := rand.NewPCG(1, 2)
	now := warmUp(r)
	pin := Pin{Endpoint: 4, LastUsed: now, Warm: true}
	for range 200 {
		now += Instant(Second)
		for range 20 {
			d := r.Decide(now, &Request{InputTokens: 1000}, rng)
			r.Observe(now, d.Endpoint, ok())
		}
		d := r.Decide(now, &Request{InputTokens: 1000, Pin: pin}, rng)
		if !d.Pinned {
			t.Fatalf("conversation left its endpoint: %v", d.Left)
		}
		r.Observe(now, d.Endpoint, ok())
		pin = UpdatePin(pin, now, d.Endpoint, ok())
	}
	var out Set
	out.Add(3)
	for want, req := range map[Left]Request{
		LeftFiltered: {Pin: pin, Excluded: out},
		LeftOrdered:  {Pin: pin, Order: []int32{0}},
		LeftCold:     {Pin: Pin{Endpoint: 4, LastUsed: now}},
		LeftIdle:     {Pin: Pin{Endpoint: 4, LastUsed: now - minutes(11), Warm: true}},
	} {
		if d := r.Decide(now, &req, rng); d.Left != want || d.Pinned {
			t.Errorf("left for %v, want %v", d.Left, want)
		}
	}
}

// Agent-Field/CodeAF#1029: full cache misses are 8.5 % at the same endpoint and 39.8 % at another one of the same provider: a pin names the
// endpoint.
func TestPinNamesTheEndpoint(t *testing.T) {
	flat := Price{Input: 2e-6, CacheRead: 1e-6}
	r, err := New("m", []Endpoint{{Slug: "p/a", Provider: "p", Price: flat}, {Slug: "p/b", Provider: "p", Price: flat}}, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.NewPCG(1, 3)
	for range 50 {
		if d := r.Decide(0, &Request{Pin: Pin{Endpoint: 2, Warm: true}}, rng); d.Endpoint != 1 {
			t.Fatal("moved to the provider's other endpoint")
		}
	}
}

// Soju06/codex-lb PR 2166: sticky owners replay a slow rejection for minutes. Health overrides the pin, and a failed pinned try moves it to
// whoever served.
func TestHealthOverridesPin(t *testing.T) {
	r := newRouter(t, 3, DefaultConfig())
	rng := rand.NewPCG(1, 4)
	now := warmUp(r)
	pin := Pin{Endpoint: 1, LastUsed: now, Warm: true}
	for range 60 {
		r.Observe(now, 0, failure())
	}
	d := r.Decide(now, &Request{Pin: pin}, rng)
	if d.Pinned || d.Left != LeftDown {
		t.Fatalf("stayed at a failing endpoint (%v)", d.Left)
	}
	if got := UpdatePin(pin, now, 0, failure()); got != pin {
		t.Error("a failure refreshed the pin")
	}
	if got := UpdatePin(pin, now, 2, ok()); got.Endpoint != 3 {
		t.Errorf("pin at %d after another endpoint served, want 3", got.Endpoint)
	}
}

// theopenco/llmgateway PR 3102: after a failed sticky try, some want to leave at once, some never. Fallbacks decide, as for any request.
func TestFailedPinnedTryFollowsFallbacks(t *testing.T) {
	r := newRouter(t, 3, DefaultConfig())
	for _, fallbacks := range []bool{true, false} {
		var tries Tries
		rng := rand.NewPCG(1, 5)
		req := Request{Pin: Pin{Endpoint: 2, Warm: true}}
		d, _ := r.Try(0, &req, &tries, nil, fallbacks, rng)
		if !d.Pinned || d.Endpoint != 1 {
			t.Fatal("not at its endpoint")
		}
		d, stop := r.Try(0, &req, &tries, failure(), fallbacks, rng)
		if fallbacks && (stop != StopNot || d.Endpoint == 1) || !fallbacks && stop != StopFallbacks {
			t.Errorf("fallbacks %v: next try at %d (%v)", fallbacks, d.Endpoint, stop)
		}
	}
}

// tingly-dev/tingly-box PR 1342: switching on noise lost more cache than it gained. While its cache is warm a conversation stays, though another
// endpoint has become the cheaper one.
func TestNoSwitchOnNoise(t *testing.T) {
	r := newRouter(t, 3, DefaultConfig())
	rng := rand.NewPCG(1, 16)
	now := warmUp(r)
	pin := Pin{Endpoint: 3, LastUsed: now, Warm: true} // the dearest
	for i := range 100 {
		now += Instant(Second)
		for e := range int32(3) {
			o := ok()
			o.TTFT += Micros(spread(uint64(i)<<8|uint64(e)) * float64(Second))
			r.Observe(now, e, o)
		}
		if d := r.Decide(now, &Request{Pin: pin}, rng); !d.Pinned {
			t.Fatalf("left for %v after %d s", d.Left, i)
		}
		r.Observe(now, 2, ok())
		pin = UpdatePin(pin, now, 2, ok())
	}
}

// Pinned conversations yield to the cap when they alone fill it.
func TestPinYieldsToCap(t *testing.T) {
	r := newRouter(t, 3, DefaultConfig())
	rng := rand.NewPCG(1, 14)
	now := warmUp(r)
	pinned := func() Decision {
		return r.Decide(now, &Request{Pin: Pin{Endpoint: 1, LastUsed: now, Warm: true}}, rng)
	}
	for range 300 {
		now += Instant(100 * Millisecond)
		r.Observe(now, pinned().Endpoint, ok())
		r.Observe(now, r.Decide(now, &Request{}, rng).Endpoint, ok())
	}
	r.loads[0].cap, r.loads[0].growFrom = 1, now+minutes(5)
	now += Instant(10 * Second)
	if d := pinned(); d.Pinned || d.Left != LeftCap {
		t.Errorf("stayed at an endpoint that takes 1 request per second with 10 pinned (%v)", d.Left)
	}
}
