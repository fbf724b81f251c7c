package router

import (
	"math"
	"math/rand/v2"
	"testing"
)

// near reports a number that is not the wanted one within a tolerance.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.6g, want %.6g ± %g", what, got, want, tolerance)
	}
}

// The worked examples of the announcement (OpenRouter, 28 October 2026).
func TestAnnouncementExamples(t *testing.T) {
	c := DefaultConfig().Cost

	// One try costs $0.40 and waiting worth $0.60, and works 8 times in 10: 1.25 per good answer.
	fails := signals{secondsPerToken: 1, errorRate: 0.25 / 8}
	got := c.terms(0.40, &fails, &rates{secondUSD: 0.60, output: 1})
	near(t, "works", got.works, 0.8, 1e-12)
	near(t, "Routing Cost", got.cost, 1.25, 1e-12)

	// 40 K uncached tokens at $2/M, 60 K cached at $0.50/M and 4 K output tokens at $8/M.
	price := Price{Input: 2e-6, Output: 8e-6, CacheRead: 0.5e-6, CacheWrite: 2e-6}
	near(t, "effective price", effectivePrice(&price, &signals{cacheHit: 0.6}, &requestSize{100e3, 4e3}), 0.142, 1e-12)
	near(t, "billed", price.Cost(100e3, 60e3, 0, 4e3), 0.142, 1e-12)

	// 5 s to the first token and 500 tokens streamed in 5 s are 50 tokens per second end to end.
	tel := newTelemetry(&TelemetryConfig{Memory: Minute, PriceMemory: Minute, RecentMemory: Minute, ToolMemory: Minute}, 1)
	tel.add(tel.weigh(0), 0, 0, &Outcome{TTFT: 5 * Second, Duration: 10 * Second, Output: 500})
	near(t, "throughput", tel.endpoints[0].tokens/tel.endpoints[0].seconds, 50, 1e-9)

	// A 429 that costs 2.50 at a rate of 0.4 % adds 0.01.
	near(t, "429 term", c.terms(0, &signals{rateLimited: 0.004}, &rates{rateLimitUSD: 2.50}).rateLimit, 0.01, 1e-12)

	// 1 % errors at 8× raise the Routing Cost by 8 %; 95 % well-formed tool calls by about 5 %.
	near(t, "reliability", c.terms(1, &signals{errorRate: 0.01}, &rates{}).cost, 1.08, 1e-12)
	near(t, "quality", c.terms(1, &signals{badTools: 0.05}, &rates{}).cost, 1/0.95, 1e-12)
}

// The published five-endpoint figure (provider-routing guide, 28 October 2026): adjusted prices in USD per 1 M tokens, throughputs in tokens per
// second, and the shares that it prints. Its edge is the line where adjusted price + 100 ÷ throughput = 2.687.
func TestFigureShares(t *testing.T) {
	adjusted := []float64{0.98, 1.32, 0.84, 1.54, 2.06}
	perToken := []float64{1.0 / 92, 0.0080, 0.01695, 0.01299, 0.01205}
	want := []float64{0.35, 0.34, 0.22, 0.07, 0.02}
	names := []string{"balanced", "fast", "budget", "slow-start", "unreliable"}

	endpoints := make([]Endpoint, len(names))
	for i := range endpoints {
		p := adjusted[i] * 1e-6
		endpoints[i] = Endpoint{Slug: names[i], Price: Price{p, p, p, p}}
	}
	cfg := FigureConfig()
	cfg.Cost.TTFT, cfg.Cost.RateLimit = 0, 0 // the adjusted prices include them
	r, err := New("figure", endpoints, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.snapshot(0)
	r.believe()
	for i := range r.signals {
		r.signals[i] = signals{ttft: 1, secondsPerToken: perToken[i]}
	}
	r.sizes[0] = requestSize{0, 1e6} // costs per 1 M tokens
	table := newTable(r.rank)
	costPolicy{}.fill(r, kind{}, r.all, &table)
	for i := range want {
		near(t, names[i]+" Routing Cost", table.costs[i], adjusted[i]+100*perToken[i], 1e-9)
		near(t, names[i]+" share", table.shares[i], want[i], 0.005)
	}
	near(t, "edge", table.costs[0]*(1+cfg.Share.Edge), 2.687, 0.001)
}

// The preference curve of the same figure, read off its drawing.
func TestPreferenceCurve(t *testing.T) {
	c := DefaultConfig().Share
	v := newCurve(&c)
	for _, p := range [][3]float64{{0, 0.948, 0.006}, {0.5, 0.73, 0.01}, {1, 0.34, 0.01}, {1.37, 0.10, 0.01}, {2, 0.009, 0.004}} {
		near(t, "preference", v.at(p[0]), p[1], p[2])
	}
	if v.at(math.NaN()) != 0 || v.at(math.Inf(1)) != 0 || v.at(1e9) != 0 {
		t.Error("preference far from the best: want 0")
	}
}

// Routing by price (guide on how model routing works, 12 June 2026): A costs $1, B $2 with a recent outage, C $3. A is tried first nine
// times as often as C; after A comes C, then B.
func TestPriceExample(t *testing.T) {
	endpoints := []Endpoint{{Slug: "a", Price: Price{Input: 1e-6}}, {Slug: "b", Price: Price{Input: 2e-6}}, {Slug: "c", Price: Price{Input: 3e-6}}}
	r, err := New("m", endpoints, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Use("price"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.Observe(0, 1, &Outcome{Kind: OutcomeError, Duration: Second})
	}
	rng := rand.NewPCG(9, 1)
	r.refresh(0)
	table := r.table(&Request{})
	near(t, "share of A", table.shares[0], 0.9, 1e-12)
	near(t, "share of B", table.shares[1], 0, 0)
	near(t, "share of C", table.shares[2], 0.1, 1e-12)
	var tried Set
	for _, want := range []int32{0, 2, 1, -1} {
		if got := r.Retry(0, &Request{}, &tried, rng).Endpoint; got != want {
			t.Errorf("retry after %d tries: endpoint %d, want %d", tried.Len(), got, want)
		} else if got >= 0 {
			tried.Add(got)
		}
	}
	// The outage window is 30 s: a minute and a half later B is a candidate again.
	r.refresh(90 * Instant(Second))
	if got := r.table(&Request{}).shares[1]; got == 0 {
		t.Error("B still out 90 s after its outage")
	}
}

// 1 ÷ price²: $1 against $3 is nine to one.
func TestNineToOne(t *testing.T) {
	w := priceWeights([]Endpoint{{Price: Price{Input: 1e-6}}, {Price: Price{Input: 3e-6}}}, 2)
	near(t, "weight ratio", w[0]/w[1], 9, 1e-9)
}
