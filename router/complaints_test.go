package router

import (
	"bytes"
	"encoding/json"
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

// NousResearch/hermes-agent PR 55580: a 429 of the provider taken for one of the account; diegosouzapw/OmniRoute#7000: an empty answer with
// status 200 counted as a success.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		a    Answer
		want OutcomeKind
	}{
		{Answer{Status: 200, Started: true, Finished: true, Output: 9}, OutcomeOK},
		{Answer{Status: 200, Started: true, Finished: true, ToolCall: true}, OutcomeOK},
		{Answer{Status: 200, Finished: true}, OutcomeError},
		{Answer{Status: 200, Started: true, Output: 5}, OutcomeMidstream},
		{Answer{Status: 200, Started: true, Output: 5, Cancelled: true}, OutcomeNeutral},
		{Answer{Status: 429}, OutcomeRateLimited},
		{Answer{}, OutcomeError},
		{Answer{Status: 500}, OutcomeError}, {Answer{Status: 502}, OutcomeError}, {Answer{Status: 503}, OutcomeError}, {Answer{Status: 529}, OutcomeError},
		{Answer{Status: 401}, OutcomeError}, {Answer{Status: 402}, OutcomeError}, {Answer{Status: 404}, OutcomeError}, {Answer{Status: 405}, OutcomeError},
		{Answer{Status: 408}, OutcomeError}, {Answer{Status: 410}, OutcomeError}, {Answer{Status: 421}, OutcomeError}, {Answer{Status: 423}, OutcomeError},
		{Answer{Status: 424}, OutcomeError}, {Answer{Status: 426}, OutcomeError}, {Answer{Status: 498}, OutcomeError},
		{Answer{Status: 400}, OutcomeNeutral}, {Answer{Status: 413}, OutcomeNeutral}, {Answer{Status: 422}, OutcomeNeutral},
		{Answer{Status: 403}, OutcomeNeutral}, {Answer{Status: 451}, OutcomeNeutral}, {Answer{Status: 499}, OutcomeNeutral},
	} {
		if got := Classify(c.a); got != c.want {
			t.Errorf("%+v: kind %d, want %d", c.a, got, c.want)
		}
	}
}

// BerriAI/litellm#40130: a second, shorter cooldown replaced a longer one; #34399: deployments that share one quota were retried at once; #27823:
// with everybody cooling nobody said for how long. And the wait is honoured within bounds.
func TestRetryAfter(t *testing.T) {
	endpoints := market(4)
	endpoints[0].QuotaGroup, endpoints[1].QuotaGroup = "shared", "shared"
	r, err := New("m", endpoints, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.NewPCG(1, 6)
	limited := func(e int32, wait Micros) { r.Observe(0, e, &Outcome{Kind: OutcomeRateLimited, RetryAfter: wait}) }
	limited(0, 40*Second)
	limited(0, 5*Second)
	for range 200 {
		if d := r.Decide(20*Instant(Second), &Request{}, rng); d.Endpoint < 2 {
			t.Fatalf("endpoint %d asked while its quota is used up", d.Endpoint)
		}
	}
	limited(2, 90*Second)
	limited(3, 30*Second)
	now := 20 * Instant(Second)
	if d := r.Decide(now, &Request{}, rng); d.Endpoint < 0 {
		t.Error("all are cooling: nobody was chosen, want the least bad")
	}
	if got := r.RetryAfter(now, &Request{}); got != 10*Second {
		t.Errorf("retry after %v s, want 10", got.Seconds())
	}
	if r.loads[2].coolUntil != Instant(Minute) {
		t.Errorf("a Retry-After of 90 s is honoured until %v s, want 60", Micros(r.loads[2].coolUntil).Seconds())
	}
	seen := Set{}
	for range 400 {
		seen.Add(r.Decide(2*Instant(Minute), &Request{}, rng).Endpoint)
	}
	if seen.Len() != 4 {
		t.Error("an endpoint stayed out after its time")
	}
}

// BerriAI/litellm PR 17464: one failure of one request is 100 %, and cooled the endpoint.
func TestOneFailureIsNoOutage(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	r.Observe(0, 0, failure())
	r.refresh(0)
	if r.open.Has(0) || r.unstable.Has(0) || r.down.Has(0) {
		t.Error("out after a single failure")
	}
	// Nor is it one among the few requests that a small endpoint sees.
	now := Instant(0)
	for i := range 100 {
		now += 7 * Instant(Second)
		r.Observe(now, 1, ok())
		if i%10 == 9 {
			r.Observe(now, 1, failure())
			r.refresh(now)
			if r.open.Has(1) || r.unstable.Has(1) || r.down.Has(1) {
				t.Fatal("out after a single failure in a minute")
			}
		}
	}
}

// BerriAI/litellm PR 34836: a cooldown was enforced only at the next 10-second cycle. The very next decision must see it.
func TestOutageIsSeenAtOnce(t *testing.T) {
	r := newRouter(t, 3, DefaultConfig())
	rng := rand.NewPCG(1, 7)
	now := warmUp(r) + 60*Instant(Second)
	r.refresh(now)
	for range 20 {
		r.Observe(now+1, 0, failure())
	}
	if d := r.Decide(now+1, &Request{Pin: Pin{Endpoint: 1, LastUsed: now, Warm: true}}, rng); d.Pinned {
		t.Error("the decision after 20 failures still went there")
	}
}

// deltawi/deltallm#247: retries went A, A, A, B; kgateway#11116: to the same failing group.
func TestTriesAreDistinct(t *testing.T) {
	for _, policy := range Policies() {
		r := newRouter(t, 8, DefaultConfig())
		if err := r.Use(policy); err != nil {
			t.Fatal(err)
		}
		rng := rand.NewPCG(1, 8)
		var tries Tries
		var last *Outcome
		for range 8 {
			d, stop := r.Try(0, &Request{}, &tries, last, true, rng)
			if stop != StopNot {
				t.Fatalf("%s: stopped after %d tries: %v", policy, tries.Count, stop)
			}
			last = failure()
			r.Observe(0, d.Endpoint, last)
		}
		if tries.Tried.Len() != 8 {
			t.Errorf("%s: %d distinct endpoints in 8 tries", policy, tries.Tried.Len())
		}
	}
}

// broken makes endpoint 0 of five fail until its breaker opens, and returns the instant.
func broken(t *testing.T, r *Router) Instant {
	t.Helper()
	now := warmUp(r)
	for range 200 {
		r.Observe(now, 0, failure())
	}
	now++
	r.refresh(now)
	if !r.open.Has(0) {
		t.Fatal("the breaker did not open")
	}
	return now
}

// diegosouzapw/OmniRoute#13836: a half-open probe that never settled kept an endpoint out for six days; getnora-io/nora#585: one answered by a
// caller's error kept the slot.
func TestLostProbeDoesNotBlock(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	now := broken(t, r) + minutes(1)
	r.refresh(now)
	if !r.halfOpen.Has(0) {
		t.Fatal("not half open after its ejection")
	}
	if !r.leased(0, now) || r.leased(0, now+1) {
		t.Fatal("want one probe at a time")
	}
	if !r.leased(0, now+1+Instant(r.cfg.Breaker.Lease)) {
		t.Error("a lost probe blocks the next one for ever")
	}
	r.Observe(now, 0, &Outcome{Kind: OutcomeNeutral})
	if !r.leased(0, now) {
		t.Error("a probe that told nothing blocks the next one")
	}
}

// safe-global/safe-client-gateway PR 3442: half-open let everybody in, 17 times the load.
func TestOneProbeAtATime(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	rng := rand.NewPCG(1, 9)
	now := broken(t, r) + minutes(1)
	probes := 0
	for range 5000 {
		if r.Decide(now, &Request{}, rng).Endpoint == 0 {
			probes++
		}
	}
	if probes != 1 {
		t.Errorf("%d probes under way at once, want 1", probes)
	}
	r.Observe(now, 0, ok())
	r.refresh(now)
	if r.open.Has(0) || r.halfOpen.Has(0) {
		t.Error("still out after a probe that worked")
	}
}

// A breaker that opens again stays open for longer, up to a limit.
func TestEjectionsGrow(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	now := broken(t, r)
	last := Instant(0)
	for i := range 6 {
		length := r.breakers[0].until - now
		if i > 0 && i < 3 && length < last*6/5 {
			t.Errorf("ejection %d lasts %v s after %v s", i+1, Micros(length).Seconds(), Micros(last).Seconds())
		}
		if most := Instant(r.cfg.Breaker.MaxEjection) * 5 / 4; length > most {
			t.Errorf("ejection %d lasts %v s", i+1, Micros(length).Seconds())
		}
		last, now = length, r.breakers[0].until
		r.refresh(now)
		r.Observe(now, 0, failure())
		r.refresh(now)
	}
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

// Growth-Circle/cadis#412: failing over in mid-stream repeated text; anomalyco/opencode#17648: retries without end.
func TestTriesEnd(t *testing.T) {
	r := newRouter(t, 20, DefaultConfig())
	rng := rand.NewPCG(1, 12)
	var tries Tries
	if _, stop := r.Try(0, &Request{}, &tries, nil, true, rng); stop != StopNot {
		t.Fatal(stop)
	}
	for want, last := range map[Stop]*Outcome{StopStarted: {Kind: OutcomeMidstream}, StopCaller: {Kind: OutcomeNeutral}, StopAnswered: ok()} {
		if _, stop := r.Try(0, &Request{}, &tries, last, true, rng); stop != want {
			t.Errorf("stopped for %v, want %v", stop, want)
		}
	}
	if _, stop := r.Try(minutes(3), &Request{}, &tries, failure(), true, rng); stop != StopTime {
		t.Errorf("after 3 minutes: %v, want %v", stop, StopTime)
	}
	n := 1
	for ; ; n++ {
		if _, stop := r.Try(0, &Request{}, &tries, failure(), true, rng); stop == StopAttempts {
			break
		}
	}
	if n != 8 {
		t.Errorf("%d tries, want 8", n)
	}
}

// A request that names several models has a number of tries at each, and one time for all.
func TestNextModelKeepsTheTime(t *testing.T) {
	r := newRouter(t, 20, DefaultConfig())
	rng := rand.NewPCG(1, 24)
	var tries Tries
	var last *Outcome
	for range 8 {
		if _, stop := r.Try(minutes(10), &Request{}, &tries, last, true, rng); stop != StopNot {
			t.Fatal(stop)
		}
		last = failure()
	}
	tries.NextModel()
	if d, stop := r.Try(minutes(11), &Request{}, &tries, nil, true, rng); stop != StopNot || d.Endpoint < 0 || tries.Count != 1 {
		t.Errorf("the next model's first try: %+v, %v", d, stop)
	}
	tries.NextModel()
	if _, stop := r.Try(minutes(12), &Request{}, &tries, nil, true, rng); stop != StopTime {
		t.Errorf("2 minutes after the first try: %v, want %v", stop, StopTime)
	}
}

// NousResearch/hermes-agent PR 55580: a limit of one side was taken for that of another, and a healthy key was switched off. The caller's own
// limit leaves the endpoint alone; a full endpoint cools by itself, a used-up quota with all that share it.
func TestLimitsAreToldApart(t *testing.T) {
	for limit, want := range map[Limit]Set{LimitCaller: {}, LimitOurs: {}, LimitCapacity: {1}, LimitPool: {3}, LimitUnknown: {3}} {
		endpoints := market(3)
		endpoints[0].QuotaGroup, endpoints[1].QuotaGroup = "shared", "shared"
		r, err := New("m", endpoints, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		kind := Classify(Answer{Status: 429, Limit: limit})
		r.Observe(0, 0, &Outcome{Kind: kind, RetryAfter: 30 * Second, Limit: limit})
		r.refresh(0)
		if r.cooling != want {
			t.Errorf("limit of %q: cooling %b, want %b", limit, r.cooling, want)
		}
		if counted := r.telemetry.endpoints[0].rejected > 0; counted != (want != Set{}) {
			t.Errorf("limit of %q: counts against the endpoint: %v", limit, counted)
		}
	}
}

// open-webui/computer#293: a generic message swallowed the reason and the source of a limit. The log keeps both, under published names.
func TestAttemptLog(t *testing.T) {
	var log AttemptLog
	add := func(slug string, a Answer, o Outcome) {
		o.Kind = Classify(a)
		log.Add("minimax/m3", &Endpoint{Slug: slug, Provider: "p"}, a, &o)
	}
	add("together", Answer{Status: 429, Limit: LimitCapacity}, Outcome{Duration: 80 * Millisecond, RetryAfter: 20 * Second})
	add("novita/bf16", Answer{}, Outcome{Duration: 30 * Second})
	add("gmicloud", Answer{Status: 200, Started: true, Output: 3}, Outcome{Duration: Second})
	if got, want := log.String(), "together: 429, limit of capacity, retry after 20 s; novita/bf16: no answer; gmicloud: 200, broken off"; got != want {
		t.Errorf("log: %s\nwant %s", got, want)
	}
	text, err := json.Marshal(log[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model_permaslug":"minimax/m3","endpoint_id":"together","provider_name":"p","status":429,"latency":80,"outcome":"rate-limited",` +
		`"retry_after_s":20,"limit_source":"capacity"}`
	if string(text) != want {
		t.Errorf("entry %s\nwant  %s", text, want)
	}
	if text, _ := json.Marshal(log[1]); bytes.Contains(text, []byte("limit_source")) {
		t.Errorf("an unknown limit is told: %s", text)
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
		l.Add(&p, &c.a, 1e-4, StopsOnCancel(c.provider))
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

// A storm of errors at every endpoint alike takes nobody out: there is nowhere better to go.
func TestNeverEverybodyOut(t *testing.T) {
	r := newRouter(t, 6, DefaultConfig())
	rng := rand.NewPCG(1, 13)
	now := warmUp(r)
	for range 300 {
		now += Instant(100 * Millisecond)
		d := r.Decide(now, &Request{}, rng)
		if d.Endpoint < 0 {
			t.Fatal("nobody was chosen")
		}
		r.Observe(now, d.Endpoint, failure())
		if r.open.Len() > 3 {
			t.Fatalf("%d of 6 endpoints out", r.open.Len())
		}
	}
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
	if r.flagged != (Set{1 << 2}) {
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
