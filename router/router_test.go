package router

import (
	"math"
	"math/rand/v2"
	"testing"
)

// market is n endpoints, ever dearer and faster.
func market(n int) []Endpoint {
	out := make([]Endpoint, n)
	for i := range out {
		p := 1e-6 * (1 + 0.1*float64(i))
		out[i] = Endpoint{Slug: string(rune('a'+i%26)) + string(rune('a'+i/26)), Price: Price{Input: p, Output: 4 * p, CacheRead: 0.2 * p, CacheWrite: p}}
	}
	return out
}

func newRouter(t testing.TB, n int, cfg Config) *Router {
	t.Helper()
	r, err := New("m", market(n), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// An endpoint that is new starts from the model's typical numbers, so it is not left without traffic.
func TestNewEndpointStartsAtTypical(t *testing.T) {
	r := newRouter(t, 5, DefaultConfig())
	for i := range 400 {
		for e := range int32(4) {
			r.Observe(Instant(i)*Instant(Second), e, &Outcome{Kind: OutcomeOK, TTFT: 2 * Second, Duration: 10 * Second, Input: 1000, Output: 300})
		}
	}
	r.refresh(400 * Instant(Second))
	r.believe()
	s := r.signals[4]
	if math.Abs(s.ttft-2) > 0.05 || math.Abs(s.secondsPerToken-1.0/30) > 0.001 {
		t.Errorf("new endpoint: %.3f s to first token, %.4f s a token; want 2 and 0.0333", s.ttft, s.secondsPerToken)
	}
}

// Two steps of one memory each fade as one step of two; moving the epoch changes nothing.
func TestFadesByElapsedTime(t *testing.T) {
	cfg := DefaultConfig()
	tel := newTelemetry(&cfg.Telemetry, 1)
	ok := Outcome{Kind: OutcomeOK, TTFT: Second, Duration: Second, Output: 10, Input: 10}
	tel.add(tel.weigh(0), 0, 0, &ok)
	for _, age := range []Micros{5 * Minute, 10 * Minute, 100 * Minute} {
		w := tel.weigh(Instant(age))
		got := tel.endpoints[0].answered / w.usual
		want := math.Exp(-age.Seconds() / 300)
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("after %v s: %g left of 1, want %g", age.Seconds(), got, want)
		}
	}
}

// An order may be an arm of its own; slugs that the model does not have are passed over.
func TestOrderPolicy(t *testing.T) {
	endpoints := market(4)
	endpoints[3].Provider, endpoints[2].Provider = "x", "x"
	r, err := New("m", endpoints, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Use("order:nobody,x,ba"); err != nil {
		t.Fatal(err)
	}
	var tried Set
	for _, want := range []int32{2, 3, 1, 0} {
		d := r.Retry(0, &Request{}, &tried, rand.NewPCG(1, 1))
		if d.Endpoint != want {
			t.Errorf("try %d at endpoint %d, want %d", tried.Len()+1, d.Endpoint, want)
		}
		tried.Add(d.Endpoint)
	}
	if CheckPolicy("order:x") != nil || CheckPolicy("price") != nil || CheckPolicy("order-x") == nil {
		t.Error("known policies are not told from unknown ones")
	}
}

// The oracle fills the cheapest endpoint to its true room and then the next; nobody else sees the truth.
func TestOracle(t *testing.T) {
	r := newRouter(t, 3, DefaultConfig())
	rng := rand.NewPCG(1, 1)
	if err := r.Use("oracle"); err != nil {
		t.Fatal(err)
	}
	now := Instant(0)
	for range 600 { // 10 requests a second, so that the router knows its load
		now += Instant(100 * Millisecond)
		r.Decide(now, &Request{}, rng)
	}
	r.Reveal(0, Truth{TTFT: 1, SecondsPerToken: 0.02, Room: 2})
	r.Reveal(1, Truth{TTFT: 1, SecondsPerToken: 0.02, ErrorRate: 1, Room: 100})
	r.Reveal(2, Truth{TTFT: 1, SecondsPerToken: 0.02, Room: 100})
	got := make([]float64, 3)
	for range 10000 {
		got[r.Decide(now, &Request{}, rng).Endpoint]++
	}
	near(t, "share of the cheapest, with room for a fifth", got[0]/10000, 2/r.drawRate, 0.02)
	near(t, "share of one that always fails", got[1]/10000, 0, 0)
	if err := r.Use("routing-cost"); err != nil {
		t.Fatal(err)
	}
	if s := r.sharesNow(r.all); s[1] < 0.2 {
		t.Error("routing-cost saw the truth")
	}
}

// Of two endpoints, two choices takes the one with the lower peak × requests in flight, and avoids an unknown one that owes an answer.
func TestTwoChoices(t *testing.T) {
	r := newRouter(t, 2, DefaultConfig())
	if err := r.Use("p2c-peak-ewma"); err != nil {
		t.Fatal(err)
	}
	rng := rand.NewPCG(1, 1)
	slow := ok()
	slow.TTFT = 3 * Second
	r.Observe(0, 0, slow)
	r.Observe(0, 1, ok())
	for i := range 2 { // burdens 3 and 1, then 3 and 2
		if d := r.Decide(0, &Request{}, rng); d.Endpoint != 1 {
			t.Errorf("choice %d: endpoint %d, want 1", i, d.Endpoint)
		}
	}
	var l load
	l.inFlight = 1
	if l.burden() < 1e300 {
		t.Error("an unknown endpoint that owes an answer is not avoided")
	}
	l.meet(0, 5)
	l.meet(Instant(10*Second), 1)
	near(t, "peak after 10 s", l.answer, 1+4/math.E, 1e-9)
	l.meet(Instant(10*Second), 7)
	near(t, "new peak", l.answer, 7, 0)
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, policy := range Policies() {
		r := newRouter(t, 10, DefaultConfig())
		if err := r.Use(policy); err != nil {
			t.Fatal(err)
		}
		rng := rand.NewPCG(1, 2)
		now := Instant(0)
		ok := Outcome{Kind: OutcomeOK, TTFT: Second, Duration: 3 * Second, Output: 100, Input: 1000, Cached: 300}
		got := testing.AllocsPerRun(2000, func() {
			now += Instant(600 * Millisecond)
			d := r.Decide(now, &Request{InputTokens: 1000}, rng)
			r.Observe(now, d.Endpoint, &ok)
			var tried Set
			tried.Add(d.Endpoint)
			r.Retry(now, &Request{InputTokens: 1000}, &tried, rng)
		})
		if got != 0 {
			t.Errorf("%s: %v allocations per decision", policy, got)
		}
	}
}

// A policy that goes by prices alone asks for no beliefs. Those of another policy are made once per snapshot, from all that was observed until then.
func TestBeliefsAreMadeWhenAsked(t *testing.T) {
	r := newRouter(t, 4, DefaultConfig())
	rng := rand.NewPCG(1, 2)
	if err := r.Use("price"); err != nil {
		t.Fatal(err)
	}
	now := Instant(0)
	for range 100 {
		now += Instant(Second)
		r.Observe(now, r.Decide(now, &Request{}, rng).Endpoint, ok())
	}
	if r.believed != 0 || r.signals[0] != (signals{}) {
		t.Errorf("the policy price made beliefs: %+v", r.signals[0])
	}
	if err := r.Use("routing-cost"); err != nil {
		t.Fatal(err)
	}
	r.Decide(now, &Request{}, rng)
	if want := ok().TTFT.Seconds(); math.Abs(r.signals[0].ttft-want) > 0.01*want {
		t.Errorf("routing-cost believes in a TTFT of %v s, want %v", r.signals[0].ttft, want)
	}
	believed := r.signals[0]
	slow := ok()
	slow.TTFT *= 10
	r.Observe(now, 0, slow)
	r.Decide(now+1, &Request{InputTokens: 100_000}, rng) // another table of the same snapshot
	if r.signals[0] != believed {
		t.Error("two tables of one snapshot follow from different beliefs")
	}
	r.Decide(now+Instant(r.cfg.SnapshotAge), &Request{}, rng)
	if r.signals[0].ttft <= believed.ttft {
		t.Error("a new snapshot kept the beliefs of the one before")
	}
}
