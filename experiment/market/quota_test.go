package market

import (
	"testing"

	"pgregory.net/rapid"
)

// In no minute does an endpoint let in more requests than its quota, or any beyond the one that reaches its quota of tokens.
func TestQuotasHoldInEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := quota{mostRequests: rapid.Int64Range(0, 6).Draw(t, "requests"), mostTokens: rapid.Int64Range(0, 5000).Draw(t, "tokens")}
		requests, tokens, now := map[int64]int64{}, map[int64]int64{}, int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "tries") {
			now += rapid.Int64Range(0, quotaWindow/4).Draw(t, "gap")
			w := Work{Input: rapid.Int32Range(1, 2000).Draw(t, "input"), Output: rapid.Int32Range(1, 500).Draw(t, "output")}
			minute := now / quotaWindow
			full := q.mostRequests > 0 && requests[minute] >= q.mostRequests || q.mostTokens > 0 && tokens[minute] >= q.mostTokens
			if refused := q.limits() && q.refuses(w, now); refused != full {
				t.Fatalf("refused %v after %d requests and %d tokens in the minute, quota %+v", refused, requests[minute], tokens[minute], q)
			} else if !refused {
				requests[minute]++
				tokens[minute] += int64(w.Input + w.Output)
			}
		}
	})
}

// Tries come up to 15 ms out of order, so one of the minute before may follow one of the next: the quota of neither is lifted by it.
func TestQuotaKeepsItsMinute(t *testing.T) {
	q := quota{mostRequests: 2}
	for i, c := range []struct {
		now     int64
		refused bool
	}{
		{quotaWindow - 5_000, false}, {quotaWindow + 5_000, false}, {quotaWindow - 1_000, false}, // the last takes a place of the minute that has begun
		{quotaWindow + 6_000, true}, {quotaWindow - 500, true}, {2 * quotaWindow, false},
	} {
		if refused := q.refuses(Work{Input: 1}, c.now); refused != c.refused {
			t.Errorf("try %d: refused %v, want %v", i, refused, c.refused)
		}
		if c.refused && q.renewed() != 2*quotaWindow {
			t.Errorf("try %d: told to come back at %d, want the end of the minute that is used up", i, q.renewed())
		}
	}
}

// A quota answers 429 at once and says how long the minute lasts; prompts that are twice as long use one of tokens up twice as fast.
func TestQuotaOfTokens(t *testing.T) {
	p := quiet()
	p.Headroom, p.TokenQuotaShare, p.QuotaFlow = 1e6, 1, 0.5
	admitted := map[int32]int{}
	for _, input := range []int32{2000, 4000} {
		m := build(t, p, hour, 1)
		for at := range m.Endpoints {
			for range 10_000 {
				now := int64(15e6)
				a := try(m, int32(at), Work{Input: input}, Memory{Cache: new(Cache)}, now)
				if a.Kind == RateLimited {
					if a.RetryAfter != 45e6 || a.Duration != micros(leastReject) {
						t.Fatalf("%+v", a)
					}
					break
				}
				admitted[input]++
			}
		}
	}
	if a, b := admitted[2000], admitted[4000]; b < 8 || a < 2*b-2*len(offers()) || a > 2*b {
		t.Errorf("%d prompts of 2,000 tokens and %d of 4,000 were let in", a, b)
	}
}
