package market

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"switchback/experiment/prices"
)

// quiet is a market without noise, incidents, errors or other customers.
func quiet() Params {
	p := DefaultParams()
	p.PriceScale, p.PriceSpread = 1, 1
	p.Background = 0
	p.TTFTSigma, p.TailShare, p.DecodeSigma = 0, 0, 0
	p.ErrorMean, p.Rejects, p.ScarceModels, p.QuotaShare, p.TokenQuotaShare = 0, 0, 0, 0, 0
	p.Storm, p.Slow, p.Outage, p.ProviderOutage = Spells{}, Spells{}, Spells{}, Spells{}
	p.CacheShare = 1
	return p
}

func offers() []Offer {
	price := func(in, out, read prices.Rate) prices.Price {
		return prices.Price{Input: in, Output: out, CacheRead: read, CacheReadKnown: read != in}
	}
	return []Offer{
		{Model: "m", Slug: "a", Provider: "a", Price: price(200_000, 800_000, 50_000), LatencyMS: 400, Throughput: 50},
		{Model: "m", Slug: "b", Provider: "b", Price: price(300_000, 900_000, 300_000), LatencyMS: 900, Throughput: 120},
		{Model: "m", Slug: "c", Provider: "c", Price: price(100_000, 400_000, 100_000), LatencyMS: 600, Throughput: 20},
		{Model: "m", Slug: "d", Provider: "a", Price: price(150_000, 500_000, 15_000), LatencyMS: 500, Throughput: 80},
	}
}

const hour = int64(3600e6)

func build(t testing.TB, p Params, horizon int64, seed uint64) *Market {
	t.Helper()
	return buildDraw(t, p, horizon, seed, seed)
}

func buildDraw(t testing.TB, p Params, horizon int64, draw, seed uint64) *Market {
	t.Helper()
	b, err := NewBuilder(p, horizon, draw, seed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.New(offers(), Demand{Flow: 2, MeanInput: 4000, MeanOutput: 600})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// At zero load an endpoint answers as its offer says, scaled: latency, then uncached input at the prefill rate, then output.
func TestUnloadedLatencyIsTheOffers(t *testing.T) {
	p := quiet()
	p.Headroom = 1e9 // one request is no load
	m := build(t, p, hour, 1)
	for i := range m.Endpoints {
		var c Cache
		a := try(m, int32(i), Work{Input: 3000, Output: 500}, Memory{Cache: &c}, 0)
		o := m.Endpoints[i].Offer
		ttft := o.LatencyMS/1000*p.LatencyScale + 3000/p.PrefillRate
		total := ttft + 500/(o.Throughput*p.ThroughputScale)
		if a.Kind != Served || math.Abs(float64(a.TTFT)/1e6/ttft-1) > 1e-5 || math.Abs(float64(a.Duration)/1e6/total-1) > 1e-5 {
			t.Errorf("endpoint %s: %+v, want ttft %v s and total %v s", o.Slug, a, ttft, total)
		}
	}
}

// Without noise, the state foretells what an attempt takes.
func TestStateIsWhatHappens(t *testing.T) {
	m := build(t, quiet(), hour, 1)
	for i := range m.Endpoints {
		var c Cache
		m.Endpoints[i].inFlight++ // as Try counts the request itself
		s := m.State(int32(i), 3000, 500, 0)
		m.Endpoints[i].inFlight--
		a := try(m, int32(i), Work{Input: 3000, Output: 500}, Memory{Cache: &c}, 0)
		if math.Abs(float64(a.TTFT)/1e6-s.TTFT) > 1e-5 || math.Abs(float64(a.Duration)/1e6-500*s.SecondsPerToken) > 1e-4 {
			t.Errorf("endpoint %d: %+v, foretold %+v", i, a, s)
		}
	}
}

func TestLatencyRisesWithLoad(t *testing.T) {
	m := build(t, quiet(), hour, 1)
	e := &m.Endpoints[0]
	lastTTFT, lastTotal := int64(0), int64(0)
	for {
		var c Cache
		a := try(m, 0, Work{Input: 3000, Output: 500}, Memory{Cache: &c}, 0)
		if a.Kind == RateLimited {
			break
		}
		if a.TTFT < lastTTFT || a.Duration < lastTotal {
			t.Fatalf("with %d in flight: %+v after %d and %d µs", e.InFlight(), a, lastTTFT, lastTotal)
		}
		lastTTFT, lastTotal = a.TTFT, a.Duration
	}
	if got := e.InFlight(); got != int(e.Capacity()) {
		t.Errorf("%d in flight when full, capacity %v", got, e.Capacity())
	}
}

// Random traffic never takes an endpoint over its capacity, and every answer is well formed.
func TestCapacityHoldsAndAnswersAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := DefaultParams()
		p.Headroom = rapid.Float64Range(0.1, 20).Draw(t, "headroom")
		p.Background = rapid.Float64Range(0, 1).Draw(t, "background")
		b, err := NewBuilder(p, 10*hour, rapid.Uint64().Draw(t, "draw"), rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := b.New(offers(), Demand{Flow: 2, MeanInput: 4000, MeanOutput: 600})
		if err != nil {
			t.Fatal(err)
		}
		running := make([]int, len(m.Endpoints))
		now := int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			at := rapid.Int32Range(0, int32(len(m.Endpoints)-1)).Draw(t, "endpoint")
			e := &m.Endpoints[at]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				now += TickMicros
				m.Tick(now)
			case 1:
				if running[at] > 0 {
					running[at]--
					var c Cache
					m.Finish(at, Work{Input: 1, Output: 1}, true, Memory{Cache: &c}, now)
				}
			default:
				var c Cache
				w := Work{Input: rapid.Int32Range(1, 100_000).Draw(t, "input"), Output: rapid.Int32Range(1, 10_000).Draw(t, "output")}
				w.Prefix = rapid.Int32Range(0, w.Input).Draw(t, "prefix")
				a := try(m, at, w, Memory{Cache: &c}, now)
				if a.Kind != RateLimited {
					running[at]++
				}
				if a.Duration <= 0 || a.TTFT > a.Duration || a.Cached != 0 || a.Output < 0 || a.Kind == Broken && a.Output < 1 || a.Output > w.Output {
					t.Fatalf("%+v", a)
				}
			}
			if e.InFlight() != running[at] || float64(e.InFlight()) > e.Capacity() {
				t.Fatalf("endpoint %d: %d in flight of %d started, capacity %v", at, e.InFlight(), running[at], e.Capacity())
			}
		}
	})
}

// A prompt cache only gives tokens that were written to the same endpoint within its lifetime.
func TestCacheHitsFollowWrites(t *testing.T) {
	m := build(t, quiet(), hour, 1)
	rapid.Check(t, func(t *rapid.T) {
		type write struct {
			tokens int32
			at     int64
		}
		written := map[int32]write{}
		var c Cache
		now := int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "turns") {
			now += rapid.Int64Range(0, 8*60e6).Draw(t, "pause")
			at := rapid.Int32Range(0, int32(len(m.Endpoints)-1)).Draw(t, "endpoint")
			w := Work{Input: rapid.Int32Range(1, 50_000).Draw(t, "input"), Output: 10}
			w.Prefix = rapid.Int32Range(0, w.Input).Draw(t, "prefix")
			a := try(m, at, w, Memory{Cache: &c}, now)
			last, ever := written[at]
			if a.Cached > 0 && (!ever || now-last.at >= m.Endpoints[at].CacheMicros) {
				t.Fatalf("%d tokens from a cache last written %v", a.Cached, last)
			}
			if a.Cached > min(w.Prefix, last.tokens) {
				t.Fatalf("%d tokens cached of a prefix of %d, %d written", a.Cached, w.Prefix, last.tokens)
			}
			m.Finish(at, w, true, Memory{Cache: &c}, now)
			written[at] = write{w.Input + w.Output, now}
		}
	})
}

func TestCacheIsUsedOnTheSameEndpoint(t *testing.T) {
	m := build(t, quiet(), hour, 1)
	var c Cache
	try(m, 0, Work{Input: 1000, Output: 100}, Memory{Cache: &c}, 0)
	m.Finish(0, Work{Input: 1000, Output: 100}, true, Memory{Cache: &c}, 1e6)
	next := Work{Input: 1500, Prefix: 1100, Output: 100}
	hit := try(m, 0, next, Memory{Cache: &c}, 2e6)
	if lo, hi := int32(0.42*1100)-1, int32(0.77*1100); hit.Cached < lo || hit.Cached > hi {
		t.Errorf("%d tokens cached, want %d to %d", hit.Cached, lo, hi)
	}
	if other := try(m, 1, next, Memory{Cache: &c}, 2e6); other.Cached != 0 {
		t.Errorf("another endpoint found %d tokens", other.Cached)
	}
	if late := try(m, 0, next, Memory{Cache: &c}, 1e6+m.Endpoints[0].CacheMicros); late.Cached != 0 {
		t.Errorf("an expired cache held %d tokens", late.Cached)
	}
}

// Effective price of the announcement: 40 K uncached at $2, 60 K cached at $0.50 and 4 K output at $8 per million make $0.142.
func TestBill(t *testing.T) {
	e := Endpoint{Price: prices.Price{Input: 2_000_000, CacheRead: 500_000, Output: 8_000_000}}
	if got := e.Bill(100_000, 60_000, 4_000); got != 142_000_000 {
		t.Errorf("%d nano-dollars, want 142,000,000", got)
	}
	if got := e.BillCancelled(100_000, 60_000, 1_000, 4_000); got != 118_000_000 {
		t.Errorf("a cancelled answer costs %d, want what was made: 118,000,000", got)
	}
	e.cancelBilled = true
	if got := e.BillCancelled(100_000, 60_000, 1_000, 4_000); got != 142_000_000 {
		t.Errorf("a provider that bills cancelled answers in full charges %d, want 142,000,000", got)
	}
}

// Whether a provider goes on billing an answer that the caller broke off is what is documented, and drawn of those that nothing is known of.
func TestCancelBillingIsAsDocumented(t *testing.T) {
	billed := map[string]map[bool]int{}
	for draw := range uint64(40) {
		b, err := NewBuilder(quiet(), hour, draw, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, provider := range []string{"deepinfra", "nebius", "parasail"} {
			e := Endpoint{Offer: Offer{Model: "m", Slug: provider, Provider: provider}}
			b.furnish(&e, "m", false)
			if billed[provider] == nil {
				billed[provider] = map[bool]int{}
			}
			billed[provider][e.cancelBilled]++
		}
	}
	drawn := billed["parasail"]
	if billed["deepinfra"][false] != 40 || billed["nebius"][true] != 40 || drawn[true] < 8 || drawn[false] < 8 {
		t.Errorf("of 40 markets: %v", billed)
	}
}

func TestPricesShrinkToTheMedian(t *testing.T) {
	p := quiet()
	p.PriceSpread, p.PriceScale = 0, 2
	m := build(t, p, hour, 1)
	for i := range m.Endpoints {
		e := &m.Endpoints[i]
		if want := prices.Rate(math.Round(2 * math.Sqrt(150_000*200_000))); e.Price.Input != want {
			t.Errorf("endpoint %s: %d, want twice the median %d", e.Offer.Slug, e.Price.Input, want)
		}
	}
	m = build(t, quiet(), hour, 1)
	for i := range m.Endpoints {
		if e := &m.Endpoints[i]; e.Price.Input != e.Offer.Price.Input || e.Price.Output != e.Offer.Price.Output || e.Price.CacheRead != e.Offer.Price.CacheRead {
			t.Errorf("endpoint %s charges %+v, offers %+v", e.Offer.Slug, e.Price, e.Offer.Price)
		}
	}
}

func TestProviderOutagesHitAllItsEndpoints(t *testing.T) {
	p := quiet()
	p.ProviderOutage = Spells{EveryH: 5, MedianMin: 30, Sigma: 0.5, Lo: 1, Hi: 1}
	m := build(t, p, 100*hour, 3)
	down := 0
	for now := int64(0); now < 100*hour; now += TickMicros {
		m.Tick(now)
		if m.Endpoints[0].outage != m.Endpoints[3].outage { // both are provider a's
			t.Fatalf("at %d µs one endpoint of the provider is down and the other is not", now)
		}
		if m.Endpoints[0].outage > 0 {
			down++
		}
	}
	// Mean length = median·exp(σ²/2) = 34 min, so down 34 of every 334 minutes.
	if share := float64(down) / float64(100*hour/TickMicros); share < 0.04 || share > 0.2 {
		t.Errorf("down %.3f of the time, want about 0.10", share)
	}
}

// Other customers' load does not depend on what our requests do, so that worlds can be compared.
func TestBackgroundIsTheSameInEveryWorld(t *testing.T) {
	a, b := build(t, DefaultParams(), 10*hour, 5), build(t, DefaultParams(), 10*hour, 5)
	var c Cache
	for now := int64(0); now < 10*hour; now += TickMicros {
		a.Tick(now)
		b.Tick(now)
		try(b, 0, Work{Input: 10, Output: 10}, Memory{Cache: &c}, now)
		for i := range a.Endpoints {
			if x, y := &a.Endpoints[i], &b.Endpoints[i]; x.load != y.load || x.storm != y.storm || x.slow != y.slow || x.outage != y.outage {
				t.Fatalf("endpoint %d at %d µs differs", i, now)
			}
		}
	}
}

func TestParamsAreChecked(t *testing.T) {
	if err := DefaultParams().Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Params){
		"price":       func(p *Params) { p.PriceScale = 0 },
		"spread":      func(p *Params) { p.PriceSpread = 1.1 },
		"nan":         func(p *Params) { p.TTFTSigma = math.NaN() },
		"queue limit": func(p *Params) { p.QueueLimit = 0.9 },
		"outage":      func(p *Params) { p.Outage.Hi = 1.5 },
		"storm":       func(p *Params) { p.Storm.MedianMin = 0 },
		"cache":       func(p *Params) { p.CacheHitLo = p.CacheHitHi + 0.1 },
	} {
		p := DefaultParams()
		spoil(&p)
		if p.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := NewBuilder(p, hour, 1, 1); err == nil {
			t.Errorf("%s: a market was built", name)
		}
	}
}

func try(m *Market, at int32, w Work, memory Memory, now int64) (a Answer) {
	m.Try(&a, at, w, memory, now)
	return a
}

// What a client's conversations begin with is found by its other ones where one of them was served within the cache's lifetime, and only there.
func TestSharedTokensAreFoundByOtherConversations(t *testing.T) {
	m := build(t, quiet(), hour, 1)
	client, other := make([]int64, len(m.Endpoints)), make([]int64, len(m.Endpoints))
	first := Work{Input: 1000, Shared: 600, Output: 100}
	if a := try(m, 0, first, Memory{new(Cache), client}, 0); a.Cached != 0 {
		t.Errorf("the first conversation found %d tokens", a.Cached)
	}
	m.Finish(0, first, true, Memory{new(Cache), client}, 1e6)
	second := Work{Input: 900, Shared: 600, Output: 100}
	hit := try(m, 0, second, Memory{new(Cache), client}, 2e6).Cached
	if want := int32(m.Endpoints[0].cacheHit * 600); hit != want || hit == 0 {
		t.Errorf("the second conversation found %d tokens, want %d", hit, want)
	}
	for what, cached := range map[string]int32{
		"another client":     try(m, 0, second, Memory{new(Cache), other}, 2e6).Cached,
		"another endpoint":   try(m, 1, second, Memory{new(Cache), client}, 2e6).Cached,
		"a short prompt":     try(m, 0, Work{Input: 500, Output: 100}, Memory{new(Cache), client}, 2e6).Cached,
		"after its lifetime": try(m, 0, second, Memory{new(Cache), client}, 1e6+m.Endpoints[0].CacheMicros).Cached,
	} {
		if cached != 0 {
			t.Errorf("%s found %d tokens", what, cached)
		}
	}
	// A conversation's own past counts where it is longer.
	var c Cache
	c.write(0, 800, hour)
	longer := Work{Input: 1200, Prefix: 800, Shared: 600, Output: 100}
	if got, want := try(m, 0, longer, Memory{&c, client}, 2e6).Cached, int32(m.Endpoints[0].cacheHit*800); got != want {
		t.Errorf("a later turn found %d tokens, want %d", got, want)
	}
}

// The draw decides what endpoints are like, the seed what happens to them.
func TestTheSeedLeavesTheMarketAsItIs(t *testing.T) {
	p := DefaultParams()
	a, b, c := buildDraw(t, p, 1000*hour, 1, 1), buildDraw(t, p, 1000*hour, 1, 2), buildDraw(t, p, 1000*hour, 2, 1)
	incidents := func(m *Market) (n int) {
		for i := range m.Endpoints {
			n += len(m.Endpoints[i].outages.spells) * (i + 1)
		}
		return n
	}
	same := func(a, b *Market) bool {
		for i := range a.Endpoints {
			x, y := &a.Endpoints[i], &b.Endpoints[i]
			if x.Slots != y.Slots || x.errors != y.errors || x.cacheHit != y.cacheHit || x.background != y.background {
				return false
			}
		}
		return true
	}
	if !same(a, b) || incidents(a) == incidents(b) {
		t.Error("another seed: other endpoints, or the same incidents")
	}
	if same(a, c) || incidents(a) != incidents(c) {
		t.Error("another draw: the same endpoints, or other incidents")
	}
}
