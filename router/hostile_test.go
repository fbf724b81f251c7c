package router

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Each test here is an input or a turn of events that should not happen, and does.

// A clock that is set back, by a second or to 1970, leaves shares finite and ends every cooldown and ejection in time.
func TestClockSetBack(t *testing.T) {
	for _, back := range []Instant{Instant(Second), 2 * Instant(Minute), minutes(60), minutes(60 * 24 * 30), 1.7e15} {
		r := newRouter(t, 5, DefaultConfig())
		rng := rand.NewPCG(1, 20)
		now := Instant(1.7e15)
		for range 120 {
			now += Instant(Second)
			for e := range r.endpoints {
				r.Observe(now, int32(e), ok())
			}
		}
		for range 200 {
			r.Observe(now, 0, failure())
		}
		r.Observe(now, 1, &Outcome{Kind: OutcomeRateLimited, RetryAfter: 40 * Second})
		r.refresh(now)
		if !r.open.Has(0) || !r.cooling.Has(1) {
			t.Fatal("endpoint 0 is not out or endpoint 1 not cooling")
		}
		before := append([]float64(nil), r.sharesNow(r.all)...)
		now -= back
		r.stale = true
		r.Decide(now, &Request{}, rng)
		for i, s := range r.sharesNow(r.all) {
			near(t, "share after the clock was set back", s, before[i], 0.02)
		}
		if wait := r.RetryAfter(now, &Request{Excluded: Set{low: ^uint64(2)}}); wait > 41*Second {
			t.Errorf("set back by %v s: the cooldown of 40 s lasts for %v s", Micros(back).Seconds(), wait.Seconds())
		}
		for range 40 { // open and half-open end within 20 minutes
			now += Instant(30 * Second)
			r.refresh(now)
		}
		if r.breakers[0].state != closed || r.cooling.Has(1) {
			t.Errorf("set back by %v s: still out 20 minutes later", Micros(back).Seconds())
		}
	}
}

// Endpoints that charge nothing, with waiting that costs nothing, share the traffic evenly.
func TestEverythingFree(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Cost.Throughput, cfg.Cost.TTFT, cfg.Cost.RateLimit = 0, 0, 0
	r, err := New("m", []Endpoint{{Slug: "a"}, {Slug: "b"}, {Slug: "c", Price: Price{Input: 1e-6}}}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.refresh(0)
	shares := r.sharesNow(r.all)
	near(t, "share of a free endpoint", shares[0], (1-cfg.Share.Floor)/2+cfg.Share.Floor/3, 1e-12)
	near(t, "share of the other", shares[2], cfg.Share.Floor/3, 1e-12)
}

// Constants so large that costs would overflow are refused.
func TestHugeConstants(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"cost.throughput":    func(c *Config) { c.Cost.Throughput = 1e308 },
		"cost.error_penalty": func(c *Config) { c.Cost.ErrorPenalty = math.Inf(1) },
		"telemetry.prior":    func(c *Config) { c.Telemetry.Prior = 1e300 },
		"share.edge":         func(c *Config) { c.Share.Edge = math.NaN() },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A router takes 1 to 128 endpoints, and draws each of 128.
func TestNumberOfEndpoints(t *testing.T) {
	for n, good := range map[int]bool{0: false, 1: true, 128: true, 129: false} {
		if _, err := New("m", market(n), DefaultConfig()); (err == nil) != good {
			t.Errorf("%d endpoints: error %v", n, err)
		}
	}
	r := newRouter(t, 128, DefaultConfig())
	rng := rand.NewPCG(1, 21)
	var seen Set
	for range 20000 {
		seen.Add(r.Decide(0, &Request{}, rng).Endpoint)
	}
	if seen.Len() != 128 {
		t.Errorf("%d of 128 endpoints drawn", seen.Len())
	}
}

// A conversation whose endpoint is no longer on offer is routed anew.
func TestPinToGoneEndpoint(t *testing.T) {
	r := newRouter(t, 3, DefaultConfig())
	for _, pin := range []int32{4, 128, 129, 1000} {
		d := r.Decide(0, &Request{Pin: Pin{Endpoint: pin, Warm: true}}, rand.NewPCG(1, 22))
		if d.Pinned || d.Left != LeftGone || d.Endpoint < 0 || d.Endpoint > 2 {
			t.Errorf("pin to endpoint %d of 3: %+v", pin-1, d)
		}
	}
}

// Conversations that come back to a half-open endpoint take turns like everybody else.
func TestPinsProbeOneAtATime(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	rng := rand.NewPCG(1, 23)
	broken(t, r)
	now := Instant(0)
	for range 5 { // until the ejection is longer than the recent memory
		now = r.breakers[0].until
		r.refresh(now)
		r.Observe(now, 0, failure())
		r.refresh(now)
	}
	now = r.breakers[0].until
	r.refresh(now)
	if !r.halfOpen.Has(0) || r.down.Has(0) {
		t.Fatal("want a half-open endpoint whose failures are forgotten")
	}
	stayed := 0
	for range 500 {
		if d := r.Decide(now, &Request{Pin: Pin{Endpoint: 1, LastUsed: now, Warm: true}}, rng); d.Pinned {
			stayed++
		} else if d.Left != LeftDown {
			t.Fatalf("left for %v", d.Left)
		}
	}
	if stayed != 1 {
		t.Errorf("%d conversations at once at a half-open endpoint, want 1", stayed)
	}
}

// So do retries, drawn or ranked; a sort that the request asks for is not held back.
func TestRetriesProbeOneAtATime(t *testing.T) {
	for _, ranked := range []bool{false, true} {
		cfg := DefaultConfig()
		cfg.Share.Ranked = ranked
		r := newRouter(t, 5, cfg)
		rng := rand.NewPCG(1, 25)
		now := broken(t, r) + minutes(1)
		r.Flag(4, true) // of the two left, endpoint 0 is ranked first
		probes, sorted := 0, 0
		tried := Set{low: 0b1110}
		for range 500 {
			if r.Retry(now, &Request{}, &tried, rng).Endpoint == 0 {
				probes++
			}
			if r.Retry(now, &Request{Sort: SortPrice}, &tried, rng).Endpoint == 0 {
				sorted++
			}
		}
		if probes != 1 || sorted != 500 {
			t.Errorf("ranked %v: %d probes by retries and %d by a sort, want 1 and 500", ranked, probes, sorted)
		}
	}
}

// Where more endpoints fail than may be out, the worst are out, whatever the order of the input.
func TestBreakerTakesTheWorst(t *testing.T) {
	rates := map[string]int{"a": 80, "b": 100, "e": 90, "f": 100} // failures of 100
	cfg := DefaultConfig()
	cfg.Breaker.MostOut = 0.2
	var first map[string]Instant
	for _, order := range []string{"abcdefghijk", "kjihgfedcba", "ekgiafcdhbj"} {
		var endpoints []Endpoint
		for _, c := range order {
			endpoints = append(endpoints, Endpoint{Slug: string(c), Price: Price{Input: 1e-6}})
		}
		r, err := New("m", endpoints, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			for e := range endpoints {
				o := ok()
				if i < rates[endpoints[e].Slug] {
					o = failure()
				}
				r.Observe(0, int32(e), o)
			}
		}
		r.refresh(0)
		until := map[string]Instant{}
		for e := range endpoints {
			if r.open.Has(int32(e)) {
				until[endpoints[e].Slug] = r.breakers[e].until
			}
		}
		if len(until) != 2 || until["b"] == 0 || until["f"] == 0 {
			t.Errorf("input %s: out are %v, want b and f", order, until)
		}
		if first == nil {
			first = until
		}
		if d := cmp.Diff(first, until); d != "" {
			t.Errorf("input %s: ejections differ from those of another order:\n%s", order, d)
		}
	}
}

// Outcomes that can't be, such as negative times or more cached tokens than tokens, leave costs and shares that can.
func TestImplausibleOutcomes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.Telemetry.Percentiles = true
		r, err := New("m", market(3), cfg)
		if err != nil {
			t.Fatal(err)
		}
		now := Instant(0)
		for range rapid.IntRange(1, 60).Draw(t, "attempts") {
			now += Instant(rapid.Int64Range(0, int64(10*Second)).Draw(t, "gap"))
			amount := rapid.IntRange(-1_000_000, 1_000_000)
			r.Observe(now, int32(rapid.IntRange(0, 2).Draw(t, "endpoint")), &Outcome{
				Kind: OutcomeKind(rapid.IntRange(0, 5).Draw(t, "kind")), TTFT: Micros(amount.Draw(t, "ttft")), Duration: Micros(amount.Draw(t, "duration")),
				RetryAfter: Micros(amount.Draw(t, "retry after")), Input: amount.Draw(t, "input"), Cached: amount.Draw(t, "cached"),
				Written: amount.Draw(t, "written"), Output: amount.Draw(t, "output"), ToolCall: rapid.Bool().Draw(t, "tool"),
			})
		}
		total := 0.0
		for _, row := range r.Rows(now, &Request{}) {
			if !(row.CostUSD > 0 && row.PriceUSD >= 0 && row.WaitUSD >= 0 && row.TTFTUSD >= 0 && row.CostUSD < 1e9) {
				t.Fatalf("row %+v", row)
			}
			total += row.Share
		}
		if math.Abs(total-1) > 1e-9 {
			t.Fatalf("shares sum to %v", total)
		}
	})
}

// After any pause, however little of the telemetry it leaves, costs are finite.
func TestPauses(t *testing.T) {
	for pause := range 600 {
		r := newRouter(t, 2, DefaultConfig())
		now := Instant(Minute)
		o := ok()
		o.TTFT, o.Duration = 30*Millisecond, 40*Millisecond
		r.Observe(now, 0, o)
		now += Instant(pause) * Instant(Minute)
		for _, row := range r.Rows(now, &Request{}) {
			if !(row.CostUSD > 0 && row.TTFTSeconds > 0 && row.CostUSD < 1) {
				t.Fatalf("after %d minutes: %+v", pause, row)
			}
		}
	}
}

// An order with an empty slug in it is no policy.
func TestOrderOfNobody(t *testing.T) {
	for _, name := range []string{"order:", "order:a,,b", "order:a,"} {
		if CheckPolicy(name) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := CheckPolicy("order:deepinfra/fp8,together"); err != nil {
		t.Error(err)
	}
}

// What is checked before an outcome is put right is whether that would change it.
func TestIsPlausible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(-2, 5), rapid.SampledFrom([]int{math.MinInt, math.MaxInt}))
		o := Outcome{
			TTFT: Micros(n.Draw(t, "ttft")), Duration: Micros(n.Draw(t, "duration")), Input: n.Draw(t, "input"),
			Cached: n.Draw(t, "cached"), Written: n.Draw(t, "written"), Output: n.Draw(t, "output"),
		}
		if got, want := o.isPlausible(), o.plausible() == o; got != want {
			t.Fatalf("%+v: plausible %v, want %v", o, got, want)
		}
	})
}
