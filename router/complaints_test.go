package router

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Each test here is a complaint that users of other routers published; the comment names it.

func ok() *Outcome {
	return &Outcome{Kind: OutcomeOK, TTFT: Second, Duration: 5 * Second, Input: 1000, Output: 200}
}

func failure() *Outcome { return &Outcome{Kind: OutcomeError, Duration: Second} }

func minutes(m float64) Instant { return Instant(m * float64(Minute)) }

// warmUp observes a success per second and endpoint for two minutes.
func warmUp(r *Router) Instant {
	now := Instant(0)
	for range 120 {
		now += Instant(Second)
		for e := range r.endpoints {
			r.Observe(now, int32(e), ok())
		}
	}
	return now
}

// BerriAI/litellm PR 40202: TTFT divided by the length of the answer made slow starters look fast.
func TestTTFTIsInPlainSeconds(t *testing.T) {
	r := newRouter(t, 2, DefaultConfig())
	for i := range 300 {
		now := Instant(i) * Instant(Second)
		r.Observe(now, 0, &Outcome{Kind: OutcomeOK, TTFT: 4 * Second, Duration: 24 * Second, Input: 10, Output: 4000})
		r.Observe(now, 1, &Outcome{Kind: OutcomeOK, TTFT: Second, Duration: 2 * Second, Input: 10, Output: 20})
	}
	r.refresh(300 * Instant(Second))
	r.believe()
	if a, b := r.signals[0].ttft, r.signals[1].ttft; a < 2.5*b {
		t.Errorf("TTFT %.2f s and %.2f s, want 4 and 1", a, b)
	}
}

// BerriAI/litellm PR 40352: mean TTFT hides the tail. A quantile may be charged instead.
func TestTTFTQuantile(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Telemetry.Percentiles, cfg.Cost.TTFTQuantile = true, 0.95
	r := newRouter(t, 2, cfg)
	for i := range 2000 {
		now := Instant(i) * Instant(100*Millisecond)
		steady, tail := *ok(), *ok()
		steady.TTFT = 1500 * Millisecond
		if tail.TTFT = 500 * Millisecond; i%10 == 0 {
			tail.TTFT = 9 * Second
		}
		r.Observe(now, 0, &steady)
		r.Observe(now, 1, &tail)
	}
	r.refresh(200 * Instant(Second))
	r.believe()
	if a, b := r.signals[0].ttft, r.signals[1].ttft; a > b || b < 7 {
		t.Errorf("p95 of TTFT %.2f s and %.2f s, want about 1.5 and 9", a, b)
	}
	p, n := r.Latency(200*Instant(Second), 1)
	if n < 900 || p.P50 < 0.44 || p.P50 > 0.57 || p.P99 < 7.9 || p.P99 > 10.2 {
		t.Errorf("percentiles %+v of %.0f requests, want p50 0.5 and p99 9 within 13 %%", p, n)
	}
	speed, _ := r.Throughput(200*Instant(Second), 0)
	if speed.P99 > speed.P50 {
		t.Errorf("throughput percentiles ascend: %+v", speed)
	}
}

// Percentiles of long ago stand for the few requests that still count, also when reading them moves the epoch of the sums.
func TestPercentilesFade(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Telemetry.Percentiles = true
	r := newRouter(t, 2, cfg)
	last := rebaseAge/2*cfg.Telemetry.RecentMemory - Second
	for i := range 100 {
		r.Observe(Instant(last)+Instant(i), 0, ok())
	}
	later := last + rebaseAge*cfg.Telemetry.RecentMemory
	want := 100 * math.Exp(-float64(later-last)/float64(cfg.Telemetry.Memory))
	if _, n := r.Latency(Instant(later), 0); math.Abs(n/want-1) > 0.01 {
		t.Errorf("%.3g requests count after %v, want %.3g", n, later-last, want)
	}
}

// Answers whose prompts have an unknown length say nothing of the usual length.
func TestUnknownPromptsHaveNoSize(t *testing.T) {
	r := newRouter(t, 2, DefaultConfig())
	usual := func(now Instant) requestSize {
		r.refresh(now)
		r.believe()
		return r.sizes[len(r.sizes)-1]
	}
	before := usual(0)
	for i := range 300 {
		answer := *ok()
		answer.Input = 0
		r.Observe(Instant(i)*Instant(Second), 0, &answer)
	}
	if after := usual(300 * Instant(Second)); after != before {
		t.Errorf("the usual request went from %+v to %+v tokens", before, after)
	}
}

// BerriAI/litellm#38064: routing by list price ignored a cache-read price ten times lower, and ties fell to the order of the list.
func TestCachePriceCounts(t *testing.T) {
	endpoints := []Endpoint{
		{Slug: "z", Price: Price{Input: 1e-6, Output: 1e-6, CacheRead: 1e-6, CacheWrite: 1e-6}},
		{Slug: "a", Price: Price{Input: 1e-6, Output: 1e-6, CacheRead: 1e-7, CacheWrite: 1e-6}},
	}
	r, err := New("m", endpoints, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		o := ok()
		o.Cached = 800
		r.Observe(Instant(i)*Instant(Second), 0, o)
		r.Observe(Instant(i)*Instant(Second), 1, o)
	}
	r.refresh(100 * Instant(Second))
	r.believe()
	costs := make([]float64, 2)
	r.costs(len(r.sizes)-1, r.signals, costs)
	if costs[1] > 0.7*costs[0] {
		t.Errorf("Routing Costs %v, want the second far cheaper", costs)
	}
	if d := r.Decide(0, &Request{Sort: SortPrice}, rand.NewPCG(1, 1)); d.Endpoint != 1 {
		t.Error("a tie fell to the order of the input, want the slug")
	}
}

// maximhq/bifrost#5473: a weight below 0.01 got no traffic at all.
func TestSmallFloorIsServed(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Share.Floor = 0.002
	endpoints := market(2)
	endpoints[1].Price = Price{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1}
	r, err := New("m", endpoints, cfg)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.NewPCG(1, 10)
	hits := 0
	for range 100000 {
		if r.Decide(0, &Request{}, rng).Endpoint == 1 {
			hits++
		}
	}
	if hits < 60 || hits > 140 {
		t.Errorf("a floor of 0.1 %% got %d of 100000 requests", hits)
	}
}

// maximhq/bifrost#5651: live concurrency was not seen and an idle equal provider stayed unused; llm-d/llm-d-router#1598: a burst on one
// snapshot herded onto one endpoint. Picks in flight count at once.
func TestBurstDoesNotHerd(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Share.Choices = 2
	flat := Price{Input: 1e-6, Output: 1e-6, CacheRead: 1e-6, CacheWrite: 1e-6}
	r, err := New("m", []Endpoint{{Slug: "a", Price: flat}, {Slug: "b", Price: flat}, {Slug: "c", Price: flat}, {Slug: "d", Price: flat}}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.NewPCG(1, 11)
	got := make([]int, 4)
	for range 400 {
		got[r.Decide(0, &Request{}, rng).Endpoint]++
	}
	for e, n := range got {
		if n < 95 || n > 105 { // independent draws spread by ±9
			t.Errorf("endpoint %d got %d of 400 at once, want 100", e, n)
		}
	}
}

// langchain-ai/openwiki#61 and #85: a cheap model fell back to a dear one unseen. The ledger counts every step up.
func TestLedgerCountsStepsUp(t *testing.T) {
	var l Ledger
	cheap, dear := Price{Input: 1e-6, Output: 2e-6}, Price{Input: 0.9e-6, Output: 9e-6}
	for _, p := range []*Price{&cheap, &dear, &dear, &cheap, &dear} {
		l.Add(p, &Attempt{Outcome: Outcome{Kind: OutcomeError, Input: 1000}, ExpectedOutput: 500}, 0, true)
	}
	if l.StepUps != 2 || l.Tries != 5 {
		t.Errorf("%d steps up in %d tries, want 2 in 5", l.StepUps, l.Tries)
	}
}

// theopenco/llmgateway PR 3331, Wei-Shaw/sub2api#4408: an aborted answer was billed $0 here and in full there. It depends on the provider; and
// a try that gave nothing is not billed, though it cost its wait.
func TestLedgers(t *testing.T) {
	p := Price{Input: 1e-6, Output: 10e-6, CacheRead: 1e-6, CacheWrite: 1e-6}
	cases := map[string]struct {
		a        Attempt
		provider string
		billed   float64
	}{
		"answered":                 {Attempt{Outcome: Outcome{Input: 1000, Output: 100}, Finish: "stop"}, "together", 0.002},
		"failed":                   {Attempt{Outcome: Outcome{Kind: OutcomeError, Input: 1000}}, "together", 0},
		"empty":                    {Attempt{Outcome: Outcome{Input: 1000}}, "together", 0},
		"failed in mid-stream":     {Attempt{Outcome: Outcome{Kind: OutcomeMidstream, Input: 1000, Output: 50}, Finish: "error"}, "together", 0},
		"cancelled, billing stops": {Attempt{Outcome: Outcome{Kind: OutcomeNeutral, Input: 1000, Output: 50}, Cancelled: true, ExpectedOutput: 100}, "together", 0.0015},
		"cancelled, it goes on":    {Attempt{Outcome: Outcome{Kind: OutcomeNeutral, Input: 1000, Output: 50}, Cancelled: true, ExpectedOutput: 100}, "groq", 0.002},
	}
	for name, c := range cases {
		var l Ledger
		c.a.Outcome.Duration = 10 * Second
		stops, _ := StopsOnCancel(c.provider)
		l.Add(&p, &c.a, 1e-4, stops)
		near(t, name+": billed", l.BilledUSD, c.billed, 1e-12)
		if want := 1e-4*10 + 1000*p.Input; l.EconomicUSD < want-1e-12 {
			t.Errorf("%s: economic cost %v leaves out price or wait (%v)", name, l.EconomicUSD, want)
		}
	}
}

// Layr-Labs/d-inference PR 360: a provider that accepts work it can't start and times out late must cost more than one that says 429 early.
func TestLateTimeoutCostsMoreThanEarly429(t *testing.T) {
	r := newRouter(t, 2, DefaultConfig())
	r.endpoints[1].Price = r.endpoints[0].Price
	for i := range 1000 {
		now := Instant(i) * Instant(300*Millisecond)
		late, early := ok(), ok()
		if i%10 == 0 {
			late, early = &Outcome{Kind: OutcomeError, Duration: 30 * Second}, &Outcome{Kind: OutcomeRateLimited, Duration: 50 * Millisecond}
		}
		r.Observe(now, 0, late)
		r.Observe(now, 1, early)
	}
	r.refresh(300 * Instant(Second))
	r.believe()
	costs := make([]float64, 2)
	r.costs(0, r.signals, costs)
	if costs[0] <= costs[1] {
		t.Errorf("late timeouts cost %v, early 429s %v", costs[0], costs[1])
	}
}

// Intrect-io/OpenSwarm PR 544: 2,759 against 160 tokens per second for the same model, and routing by price is blind to it.
func TestSeventeenTimesFasterWins(t *testing.T) {
	endpoints := market(2)
	endpoints[1].Price = Price{Input: 1.2e-6, Output: 4.8e-6, CacheRead: 0.24e-6, CacheWrite: 1.2e-6}
	r, err := New("m", endpoints, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		now := Instant(i) * Instant(Second)
		r.Observe(now, 0, &Outcome{Kind: OutcomeOK, TTFT: Second, Duration: 12_500_000, Input: 1000, Output: 2000})
		r.Observe(now, 1, &Outcome{Kind: OutcomeOK, TTFT: 300 * Millisecond, Duration: 724_900, Input: 1000, Output: 2000})
	}
	r.refresh(300 * Instant(Second))
	if s := r.sharesNow(r.all); s[1] < 0.6 {
		t.Errorf("the endpoint 17 times faster at 1.2 times the price gets %.0f %%", 100*s[1])
	}
}

// d-inference PR 681: admission was judged by a measured speed and ranking by a static one, so a quarter of the picks broke their promise. One
// estimate feeds the orders, the Routing Cost and what Rows shows.
func TestOneEstimateFeedsAll(t *testing.T) {
	r := newRouter(t, 6, DefaultConfig())
	for i := range 3000 {
		o := ok()
		o.TTFT = Micros(300+200*((i*7)%6)) * Millisecond
		o.Duration = o.TTFT + Micros(1+(i*5)%6)*Second
		r.Observe(Instant(i)*Instant(100*Millisecond), int32(i%6), o)
	}
	now := 300 * Instant(Second)
	rows := r.Rows(now, &Request{})
	var tried Set
	last := 0.0
	for range 6 {
		e := r.Retry(now, &Request{Sort: SortLatency}, &tried, rand.NewPCG(1, 1)).Endpoint
		tried.Add(e)
		if rows[e].TTFTSeconds < last {
			t.Errorf("sort by latency tries %v s after %v s", rows[e].TTFTSeconds, last)
		}
		last = rows[e].TTFTSeconds
		want := r.cfg.Cost.TTFT * medianPrice(r) / r.typical.TTFT * rows[e].TTFTSeconds
		near(t, "TTFT term", rows[e].TTFTUSD, want, 1e-12)
	}
}

// medianPrice is the median effective price of a request of the model's usual size.
func medianPrice(r *Router) float64 {
	prices := make([]float64, len(r.endpoints))
	for i := range prices {
		prices[i] = effectivePrice(&r.endpoints[i].Price, &r.signals[i], &r.sizes[len(r.sizes)-1])
	}
	return below(prices, 0)
}

// A flag for broken tool calls leaves an endpoint the exploration traffic only, and clears when its calls are well formed again.
func TestBrokenToolCallsLeaveTheFloor(t *testing.T) {
	r := newRouter(t, 4, DefaultConfig())
	now := Instant(0)
	use := func(good bool, times int) {
		for range times {
			now += Instant(Second)
			for e := range int32(4) {
				o := ok()
				o.ToolCall, o.ToolCallOK = true, good || e != 0
				r.Observe(now, e, o)
			}
		}
		r.refresh(now)
		r.believe()
	}
	use(false, 200)
	if s := r.sharesNow(r.all); !r.flagged.Has(0) || s[0] > r.cfg.Share.Floor/4+1e-9 {
		t.Errorf("share %.3f with every tool call broken, want the floor", s[0])
	}
	use(true, 1200)
	if r.flagged.Has(0) {
		t.Error("still flagged after 20 minutes of well-formed calls")
	}
	r.Flag(1, true)
	r.refresh(now)
	if s := r.sharesNow(r.all); s[1] > r.cfg.Share.Floor/4+1e-9 {
		t.Error("a flag from outside has no effect")
	}
}

// Benchmark accuracy far below the peers' flags an endpoint.
func TestLowAccuracyIsFlagged(t *testing.T) {
	endpoints := market(5)
	for i, a := range []float64{0.80, 0.81, 0.55, 0.79, 0} {
		endpoints[i].Accuracy = a
	}
	r, err := New("m", endpoints, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	r.refresh(0)
	r.believe()
	if r.flagged != (Set{low: 1 << 2}) {
		t.Errorf("flagged %b, want only endpoint 2", r.flagged)
	}
}

// Auto Exacto: for requests with tools, routing by price takes the endpoints with good tool calls first and those far below their peers last.
func TestExactoTiers(t *testing.T) {
	r := newRouter(t, 6, DefaultConfig())
	if err := r.Use("price"); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		now := Instant(i) * Instant(Second)
		for e := range int32(5) { // endpoint 5 has no data
			o := ok()
			o.Duration += Micros(e) * 50 * Millisecond
			o.ToolCall, o.ToolCallOK = true, e != 0 || i%2 == 0
			if e > 0 && i%(20+int(e)) == 0 {
				o.ToolCallOK = false
			}
			r.Observe(now, e, o)
		}
	}
	r.refresh(600 * Instant(Second))
	with, without := r.table(&Request{Tools: true}), r.table(&Request{})
	if with.shares[0] != 0 || with.shares[5] != 0 || without.shares[0] == 0 || without.shares[5] == 0 {
		t.Errorf("shares %v with tools, %v without", with.shares, without.shares)
	}
	if last := with.order[4:]; last[0] != 5 || last[1] != 0 {
		t.Errorf("order with tools %v, want 5 (no data) and 0 (broken) last", with.order)
	}
}

// Switching the arm changes the policy and nothing else.
func TestUseKeepsEverything(t *testing.T) {
	r := newRouter(t, 4, DefaultConfig())
	rng := rand.NewPCG(1, 15)
	now := warmUp(r)
	r.loads[2].cap = 5
	r.refresh(now)
	before := *r
	if err := r.Use("price"); err != nil {
		t.Fatal(err)
	}
	if err := r.Use("routing-cost"); err != nil {
		t.Fatal(err)
	}
	if r.telemetry.endpoints[1] != before.telemetry.endpoints[1] || r.loads[2] != before.loads[2] || r.taken != before.taken {
		t.Error("something else changed")
	}
	if d := r.Decide(now, &Request{Pin: Pin{Endpoint: 3, LastUsed: now, Warm: true}}, rng); !d.Pinned {
		t.Error("a conversation lost its endpoint")
	}
	if r.Use("cheapest") == nil {
		t.Error("an unknown policy was accepted")
	}
}
