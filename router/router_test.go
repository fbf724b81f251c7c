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
	for _, age := range []Micros{5 * Minute, 10 * Minute, 600 * Minute} {
		w := tel.weigh(Instant(age))
		got := tel.endpoints[0].answered / w.usual
		want := math.Exp(-age.Seconds() / 300)
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("after %v s: %g left of 1, want %g", age.Seconds(), got, want)
		}
	}
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
