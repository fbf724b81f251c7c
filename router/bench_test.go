package router

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

var sizes = []int{10, 100}

// used is a router with the policy that has seen 600 requests per endpoint, and the instant.
func used(b *testing.B, policy string, n int) (*Router, Instant) {
	b.Helper()
	r := newRouter(b, n, DefaultConfig())
	if err := r.Use(policy); err != nil {
		b.Fatal(err)
	}
	now := Instant(0)
	for i := range 600 * n {
		now += Instant(Second) / Instant(n)
		r.Observe(now, int32(i%n), benchOutcome(i))
	}
	r.refresh(now)
	return r, now
}

// benchOutcome is a success nine times in ten, else a 429 or an error.
func benchOutcome(i int) *Outcome {
	switch i % 23 {
	case 7:
		return &Outcome{Kind: OutcomeRateLimited, Duration: 100 * Millisecond}
	case 13:
		return &Outcome{Kind: OutcomeError, Duration: Second}
	}
	return &Outcome{Kind: OutcomeOK, TTFT: Micros(500+i%700) * Millisecond, Duration: 3 * Second, Output: 100, Input: 1000, Cached: 300}
}

// half rules every second endpoint out.
func half(n int) Set {
	var s Set
	for i := 1; i < n; i += 2 {
		s.Add(int32(i))
	}
	return s
}

// BenchmarkDraw is a decision from a snapshot that is there: goal 30 ns or less at 10 and 100 endpoints, filters included. uniform is the
// baseline that does not route: an even choice over the same filter.
func BenchmarkDraw(b *testing.B) {
	for _, n := range sizes {
		worst := half(n)
		worst.Add(0) // the best endpoint is out too, so that the others are measured against another one
		for _, c := range []struct {
			name     string
			excluded Set
		}{{"all", Set{}}, {"half", half(n)}, {"without-best", worst}} {
			b.Run(fmt.Sprintf("routing-cost/%s/endpoints=%d", c.name, n), func(b *testing.B) {
				r, now := used(b, "routing-cost", n)
				r.cfg.SnapshotPicks = 1 << 62
				rng, req := rand.NewPCG(1, 2), Request{InputTokens: 1000, Excluded: c.excluded}
				b.ReportAllocs()
				for b.Loop() {
					r.Decide(now, &req, rng)
				}
			})
			b.Run(fmt.Sprintf("uniform/%s/endpoints=%d", c.name, n), func(b *testing.B) {
				rng := rand.NewPCG(1, 2)
				for b.Loop() {
					for {
						i, _ := bits.Mul64(rng.Uint64(), uint64(n))
						if !c.excluded.Has(int32(i)) {
							break
						}
					}
				}
			})
		}
	}
}

// BenchmarkRetry is a redraw after a failure.
func BenchmarkRetry(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			r, now := used(b, "routing-cost", n)
			r.cfg.SnapshotPicks = 1 << 62
			rng, req := rand.NewPCG(1, 2), Request{InputTokens: 1000}
			var tried Set
			tried.Add(0)
			b.ReportAllocs()
			for b.Loop() {
				r.Retry(now, &req, &tried, rng)
			}
		})
	}
}

// BenchmarkDecide is a decision with its share of the snapshots, at 2 requests per second and model: goal 300 ns or less at 10 endpoints.
func BenchmarkDecide(b *testing.B) {
	for _, policy := range Policies() {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/endpoints=%d", policy, n), func(b *testing.B) {
				r, now := used(b, policy, n)
				rng, req := rand.NewPCG(1, 2), Request{InputTokens: 1000}
				b.ReportAllocs()
				for b.Loop() {
					now += Instant(500 * Millisecond)
					r.Decide(now, &req, rng)
				}
			})
		}
	}
}

// BenchmarkObserve is what learning from an attempt costs: goal 100 ns or less.
func BenchmarkObserve(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			r, now := used(b, "routing-cost", n)
			outcomes := make([]*Outcome, 1024)
			for i := range outcomes {
				outcomes[i] = benchOutcome(i)
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				now += Instant(300 * Millisecond)
				r.Observe(now, int32(i%n), outcomes[i&1023])
				i++
			}
		})
	}
}

// BenchmarkBuild is the build of Routing Costs, shares and the table to draw from: goal 350 ns or less at 10 endpoints, 3 µs at 100.
func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			r, _ := used(b, "routing-cost", n)
			t := r.deck.table(kind{})
			for b.Loop() {
				r.fill(r.deck, kind{}, r.all, t)
			}
		})
	}
}

// BenchmarkSnapshot is the whole snapshot: signals, guardrails and caps from the telemetry, and one build.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			r, now := used(b, "routing-cost", n)
			req := Request{}
			for b.Loop() {
				now += Instant(5 * Second)
				r.snapshot(now)
				r.table(&req)
			}
		})
	}
}
