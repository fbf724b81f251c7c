package router

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Whatever happens in whatever order, with every policy, extreme prices and a clock that jumps both ways: rows are finite and not below 0,
// shares sum to 1, excluded endpoints are not tried, and half of the endpoints stay in.
func TestChaos(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		c := newChaos(t, seed)
		for range 1000 {
			c.step()
		}
	}
}

type chaos struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	r    *Router
	now  Instant
}

func newChaos(t *testing.T, seed uint64) *chaos {
	rng := rand.New(rand.NewPCG(seed, 0x6368616f73)) // "chaos"
	endpoints := make([]Endpoint, []int{1, 2, 3, 5, 12, 64, 65, 128}[rng.IntN(8)])
	for i := range endpoints {
		p := math.Exp(6*rng.NormFloat64()) * 1e-7 * float64(rng.IntN(6)) // some are free
		endpoints[i] = Endpoint{
			Slug: fmt.Sprint("é", i), Price: Price{p, 5 * p * rng.Float64(), p * rng.Float64(), p},
			Accuracy: []float64{0, 0.5, 0.9}[rng.IntN(3)], QuotaGroup: []string{"", "a", "b"}[rng.IntN(3)],
		}
	}
	cfg := DefaultConfig()
	cfg.Telemetry.Percentiles = rng.IntN(2) == 0
	if cfg.Telemetry.Percentiles && rng.IntN(2) == 0 {
		cfg.Cost.TTFTQuantile = 0.9
	}
	cfg.Share.Choices, cfg.Share.Ranked, cfg.Share.Exacto = 1+rng.IntN(2), rng.IntN(3) == 0, rng.IntN(2) == 0
	cfg.Share.Floor = []float64{0, 0.08, 1}[rng.IntN(3)]
	r, err := New("m", endpoints, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &chaos{t, seed, rng, r, Instant(rng.Int64N(2e15))}
}

func (c *chaos) step() {
	rng, n := c.rng, len(c.r.endpoints)
	hours := Instant(rng.Int64N(600 * int64(Minute)))
	switch rng.IntN(40) {
	case 0:
		c.now += hours
	case 1:
		c.now -= hours
	case 2:
		c.now = Instant(rng.Int64N(2e15))
	default:
		c.now += Instant(rng.Int64N(3 * int64(Second)))
	}
	e := int32(rng.IntN(n))
	switch rng.IntN(12) {
	case 0:
		names := append(Policies(), "order:é1,é0")
		if err := c.r.Use(names[rng.IntN(len(names))]); err != nil {
			c.t.Fatal(err)
		}
	case 1:
		c.r.Flag(e, rng.IntN(2) == 0)
	case 2:
		c.r.Recall(c.now, e, &History{
			Requests: 500 * rng.Float64(), TTFT: rng.ExpFloat64(), TokensPerSecond: 50 * rng.ExpFloat64(), ErrorRate: rng.Float64(),
			RateLimited: rng.Float64(), CacheHit: rng.Float64(), ToolCalls: 300, BadToolCalls: rng.Float64(), InputTokens: 3000, OutputTokens: 300,
			RecentRequests: 50, RecentErrorRate: rng.Float64(), CapPerSecond: 3 * rng.Float64(), LoadPerSecond: 3 * rng.Float64(), CoolDown: c.micros(Minute),
		})
	case 3:
		c.r.Reveal(e, Truth{TTFT: rng.Float64(), SecondsPerToken: rng.Float64(), ErrorRate: rng.Float64(), RateLimited: rng.Float64(), Room: 9 * rng.Float64()})
	case 4:
		for range rng.IntN(60) {
			c.r.Observe(c.now, e, c.outcome())
		}
	default:
		c.request()
	}
	if float64(c.r.open.Len()) > c.r.cfg.Breaker.MostOut*float64(n) {
		c.t.Fatalf("seed %d: %d of %d endpoints out", c.seed, c.r.open.Len(), n)
	}
}

func (c *chaos) micros(most Micros) Micros { return Micros(c.rng.Int64N(int64(most))) }

func (c *chaos) outcome() *Outcome {
	return &Outcome{
		Kind: OutcomeKind(c.rng.IntN(5)), TTFT: c.micros(Minute), Duration: c.micros(10 * Minute), RetryAfter: c.micros(Minute), Input: c.rng.IntN(1e6),
		Cached: c.rng.IntN(1e6), Written: c.rng.IntN(1e5), Output: c.rng.IntN(1e5), ToolCall: true, ToolCallOK: c.rng.IntN(2) == 0,
	}
}

// request sends a request with random filters until it is answered or given up.
func (c *chaos) request() {
	rng, n := c.rng, len(c.r.endpoints)
	req := Request{
		InputTokens: rng.IntN(1e5) - 10, Tools: rng.IntN(2) == 0, Sort: Sort(rng.IntN(int(SortExacto) + 1)),
		Pin: Pin{int32(rng.IntN(n + 3)), c.now - Instant(c.micros(20*Minute)), rng.IntN(2) == 0},
	}
	for i := range n {
		switch rng.IntN(12) {
		case 0:
			req.Excluded.Add(int32(i))
		case 1:
			req.First.Add(int32(i))
		case 2:
			req.Last.Add(int32(i))
		}
	}
	if rng.IntN(20) == 0 {
		req.Excluded = c.r.all
	}
	if req.Excluded != c.r.all {
		c.check(c.r.Rows(c.now, &req))
	}
	var tries Tries
	var last *Outcome
	for {
		d, stop := c.r.Try(c.now, &req, &tries, last, true, rng)
		if stop != StopNot {
			return
		}
		if req.Excluded.Has(d.Endpoint) {
			c.t.Fatalf("seed %d: endpoint %d is excluded and tried", c.seed, d.Endpoint)
		}
		last = c.outcome()
		c.r.Observe(c.now, d.Endpoint, last)
	}
}

func (c *chaos) check(rows []Row) {
	total := 0.0
	for _, x := range rows {
		total += x.Share
		for _, v := range []float64{x.PriceUSD, x.WaitUSD, x.TTFTUSD, x.RateLimitUSD, x.Reliability, x.Quality, x.CostUSD, x.Share, x.BackOff, x.TTFTSeconds, x.TokensPerS} {
			if !(v >= 0 && v <= math.MaxFloat64) {
				c.t.Fatalf("seed %d: row %+v", c.seed, x)
			}
		}
	}
	if math.Abs(total-1) > 1e-9 {
		c.t.Fatalf("seed %d: shares of %d endpoints sum to %v", c.seed, len(rows), total)
	}
}
