package router

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// Complaints about failures, limits and retries.

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

// An endpoint that nobody probed comes back, and its ejections count for as long as after a probe that worked.
func TestUnprobedEndpointKeepsItsEjections(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	broken(t, r)
	now := r.breakers[0].until
	r.refresh(now)
	now += Instant(r.cfg.Breaker.ProbeWait)
	r.refresh(now)
	if b := r.breakers[0]; b.state != closed || b.ejections != 1 {
		t.Fatalf("after a wait for probes: %+v", b)
	}
	if now += Instant(r.cfg.Breaker.MaxEjection); r.breakers[0].until != now {
		t.Errorf("its ejections are forgotten at %d, want %d", r.breakers[0].until, now)
	}
	r.refresh(now)
	if b := r.breakers[0]; b.state != closed || b.ejections != 0 {
		t.Errorf("after five quiet minutes: %+v", b)
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
	for limit, want := range map[Limit]Set{LimitCaller: {}, LimitOurs: {}, LimitCapacity: {low: 1}, LimitPool: {low: 3}, LimitUnknown: {low: 3}} {
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
