package router

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// believed is a router with drawn endpoints, signals, back-offs and caps in its snapshot, and fixed rates.
func believed(t *rapid.T) *Router {
	n := rapid.IntRange(1, 24).Draw(t, "endpoints")
	endpoints := make([]Endpoint, n)
	for i := range endpoints {
		p := rapid.Float64Range(1e-8, 1e-4).Draw(t, "price")
		endpoints[i] = Endpoint{Slug: string(rune('a' + i)), Price: Price{Input: p, Output: 4 * p, CacheRead: p / 4, CacheWrite: p}}
	}
	cfg := DefaultConfig()
	cfg.Cost.WaitUSD = rapid.Float64Range(1e-6, 1e-2).Draw(t, "wait")
	cfg.Cost.TTFTUSD = rapid.Float64Range(1e-6, 1e-2).Draw(t, "ttft")
	cfg.Cost.RateLimitUSD = rapid.Float64Range(1e-6, 1e-1).Draw(t, "429")
	r, err := New("m", endpoints, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.snapshot(0)
	r.believe()
	for i := range r.signals {
		r.signals[i] = signals{
			ttft:            rapid.Float64Range(0.05, 60).Draw(t, "ttft"),
			secondsPerToken: rapid.Float64Range(0.001, 1).Draw(t, "spt"),
			errorRate:       rapid.Float64Range(0, 1).Draw(t, "errors"),
			rateLimited:     rapid.Float64Range(0, 1).Draw(t, "limited"),
			cacheHit:        rapid.Float64Range(0, 0.9).Draw(t, "hit"),
			badTools:        rapid.Float64Range(0, 1).Draw(t, "tools"),
		}
		r.backOff[i] = rapid.Float64Range(0.1, 1).Draw(t, "back-off")
		r.limits[i] = math.Inf(1)
		if rapid.Bool().Draw(t, "capped") {
			r.capped = true
			r.limits[i] = rapid.Float64Range(0, 1).Draw(t, "cap")
		}
	}
	return r
}

func (r *Router) sharesNow(eligible Set) []float64 {
	r.believe()
	t := newTable(r.rank)
	costPolicy{}.fill(r, kind{class: len(r.sizes) - 1}, eligible, &t)
	return t.shares
}

func TestSharesSumToOneAboveFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := believed(t)
		var eligible Set
		for i := range r.endpoints {
			if rapid.Bool().Draw(t, "eligible") {
				eligible.Add(int32(i))
			}
		}
		if eligible.Empty() {
			eligible.Add(0)
		}
		shares := r.sharesNow(eligible)
		if s := sum(shares); math.Abs(s-1) > 1e-9 {
			t.Fatalf("shares sum to %v", s)
		}
		floor := r.cfg.Share.Floor / float64(eligible.Len())
		for i, s := range shares {
			switch {
			case !eligible.Has(int32(i)) && s != 0:
				t.Fatalf("endpoint %d is out and has share %v", i, s)
			case eligible.Has(int32(i)) && s < floor-1e-12:
				t.Fatalf("endpoint %d has share %v, below the floor %v", i, s, floor)
			}
		}
	})
}

// Nobody is above its cap unless the caps together leave no room for all traffic; then all are full.
func TestCapsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		preference, limits, shares := make([]float64, n), make([]float64, n), make([]float64, n)
		room := 0.0
		for i := range n {
			preference[i] = rapid.Float64Range(0, 1).Draw(t, "preference")
			limits[i] = rapid.Float64Range(0, 2).Draw(t, "limit")
			if preference[i] > 0 {
				room += limits[i]
			}
		}
		if sum(preference) == 0 {
			preference[0] = 1
			room = limits[0]
		}
		held := spill(preference, limits, shares)
		if s := sum(shares); math.Abs(s-1) > 1e-9 {
			t.Fatalf("shares sum to %v", s)
		}
		for i, s := range shares {
			if held && s > limits[i]+1e-9 {
				t.Fatalf("share %v above the limit %v though the limits hold", s, limits[i])
			}
			if !held && preference[i] > 0 && s < limits[i]*(1-1e-9) && room > 1e-9 {
				t.Fatalf("share %v below the limit %v though there is no room elsewhere", s, limits[i])
			}
		}
		if held != (room >= 1-1e-9) && math.Abs(room-1) > 1e-9 {
			t.Fatalf("limits held: %v, with room %v", held, room)
		}
	})
}

// Raising an endpoint's price, TTFT, error rate, 429 rate or share of bad tool calls never raises its own share.
func TestWorseNeverGainsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := believed(t)
		e := rapid.IntRange(0, len(r.endpoints)-1).Draw(t, "endpoint")
		before := r.sharesNow(r.all)[e]
		more := rapid.Float64Range(1.01, 10).Draw(t, "more")
		s := &r.signals[e]
		switch rapid.SampledFrom([]string{"price", "ttft", "speed", "errors", "429", "tools"}).Draw(t, "worse") {
		case "price":
			p := &r.endpoints[e].Price
			*p = Price{p.Input * more, p.Output * more, p.CacheRead * more, p.CacheWrite * more}
		case "ttft":
			s.ttft *= more
		case "speed":
			s.secondsPerToken *= more
		case "errors":
			s.errorRate = min(s.errorRate*more, 1)
		case "429":
			s.rateLimited = min(s.rateLimited*more, 1)
		case "tools":
			s.badTools = min(s.badTools*more, 1)
		}
		if after := r.sharesNow(r.all)[e]; after > before+1e-9 {
			t.Fatalf("share rose from %v to %v", before, after)
		}
	})
}

// With derived rates a dearer endpoint moves the median price, and so what everybody's waiting costs. In snapshots like those of real models
// that never raises its own share either. (Where the best are held back by caps it can, once in some thousand snapshots of extremes.)
func TestDearerNeverGainsByTheMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	spread := func(middle, sigma float64) float64 { return middle * math.Exp(sigma*rng.NormFloat64()) }
	for range 2000 {
		n := 1 + rng.IntN(8)
		endpoints := make([]Endpoint, n)
		for i := range endpoints {
			p := spread(3e-7, 0.4)
			endpoints[i] = Endpoint{Slug: string(rune('a' + i)), Price: Price{p, 4 * p, p / 4, p}}
		}
		r, err := New("m", endpoints, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		r.snapshot(0)
		r.believe()
		for i := range r.signals {
			r.signals[i] = signals{ttft: spread(1, 0.5), secondsPerToken: spread(0.02, 0.5), errorRate: 0.02 * rng.Float64(), rateLimited: 0.05 * rng.Float64(), cacheHit: 0.3}
		}
		e := rng.IntN(n)
		before := r.sharesNow(r.all)[e]
		more, p := 1.01+rng.Float64(), &r.endpoints[e].Price
		*p = Price{p.Input * more, p.Output * more, p.CacheRead * more, p.CacheWrite * more}
		if after := r.sharesNow(r.all)[e]; after > before+1e-9 {
			t.Fatalf("share rose from %v to %v", before, after)
		}
	}
}

// The order of the endpoints in the input does not matter.
func TestInputOrderIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := believed(t)
		n := len(r.endpoints)
		at := rapid.Permutation(seq(n)).Draw(t, "order")
		moved := make([]Endpoint, n)
		for i, j := range at {
			moved[j] = r.endpoints[i]
		}
		q, err := New("m", moved, r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		q.snapshot(0)
		q.believe()
		q.capped = r.capped
		for i, j := range at {
			q.signals[j], q.backOff[j], q.limits[j] = r.signals[i], r.backOff[i], r.limits[i]
		}
		for p := range policies {
			if policies[p].name == "order" {
				continue // its order is the input's
			}
			a, b := newTable(r.rank), newTable(q.rank)
			policies[p].fill(r, kind{}, r.all, &a)
			policies[p].fill(q, kind{}, q.all, &b)
			for i, j := range at {
				if math.Abs(a.shares[i]-b.shares[j]) > 1e-9 {
					t.Fatalf("%s: share of %s is %v or %v", policies[p].name, r.endpoints[i].Slug, a.shares[i], b.shares[j])
				}
			}
			if a.retry == byOrder {
				for k := range a.order {
					if at[a.order[k]] != int(b.order[k]) {
						t.Fatalf("%s: place %d of the order differs", policies[p].name, k)
					}
				}
			}
		}
	})
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// Scaling all prices and the price of waiting together changes nothing; with derived rates, scaling the prices alone doesn't.
func TestCurrencyIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := believed(t)
		c := &r.cfg.Cost
		if rapid.Bool().Draw(t, "derived") {
			c.WaitUSD, c.TTFTUSD, c.RateLimitUSD = 0, 0, 0
		}
		before := append([]float64(nil), r.sharesNow(r.all)...)
		by := rapid.Float64Range(0.01, 100).Draw(t, "scale")
		for i := range r.endpoints {
			p := &r.endpoints[i].Price
			*p = Price{p.Input * by, p.Output * by, p.CacheRead * by, p.CacheWrite * by}
		}
		c.WaitUSD, c.TTFTUSD, c.RateLimitUSD = c.WaitUSD*by, c.TTFTUSD*by, c.RateLimitUSD*by
		for i, after := range r.sharesNow(r.all) {
			if math.Abs(after-before[i]) > 1e-9 {
				t.Fatalf("share %d went from %v to %v", i, before[i], after)
			}
		}
	})
}

// Whatever happens, every decision names an endpoint that the request allows, tries are distinct until nobody is left, and nothing panics.
func TestDecisionsKeepFilters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		r, err := New("m", market(n), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Use(rapid.SampledFrom(Policies()).Draw(t, "policy")); err != nil {
			t.Fatal(err)
		}
		rng := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)
		now := Instant(0)
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			now += Instant(rapid.Int64Range(0, int64(40*Second)).Draw(t, "gap"))
			req := Request{
				InputTokens: rapid.IntRange(0, 50000).Draw(t, "input"), Tools: rapid.Bool().Draw(t, "tools"),
				Sort: Sort(rapid.IntRange(0, int(SortExacto)).Draw(t, "sort")),
				Pin:  Pin{Endpoint: int32(rapid.IntRange(0, n).Draw(t, "pin")), LastUsed: now, Warm: true},
			}
			for i := range n {
				switch rapid.IntRange(0, 9).Draw(t, "filter") {
				case 0, 1, 2:
					req.Excluded.Add(int32(i))
				case 3:
					req.First.Add(int32(i))
				case 4:
					req.Last.Add(int32(i))
				}
			}
			var tries Tries
			var last *Outcome
			for {
				d, stop := r.Try(now, &req, &tries, last, true, rng)
				if stop == StopNobody && tries.Count != min(n-req.Excluded.Len(), 8) && tries.Count < 8 {
					t.Fatalf("nobody left after %d tries of %d", tries.Count, n-req.Excluded.Len())
				}
				if stop != StopNot {
					break
				}
				if req.Excluded.Has(d.Endpoint) || tries.Tried.Len() != tries.Count {
					t.Fatalf("try %d at endpoint %d: excluded or tried before", tries.Count, d.Endpoint)
				}
				kind := OutcomeKind(rapid.IntRange(0, int(OutcomeNeutral)).Draw(t, "kind"))
				last = &Outcome{Kind: kind, TTFT: Second, Duration: 3 * Second, Input: 1000, Output: 100, ToolCall: req.Tools,
					ToolCallOK: rapid.Bool().Draw(t, "tool ok"), RetryAfter: Micros(rapid.Int64Range(0, int64(Minute)).Draw(t, "retry after"))}
				r.Observe(now, d.Endpoint, last)
			}
		}
	})
}

// Every state of the breaker ends by itself, whatever happened before; and it never takes out more than its share of the endpoints.
func TestBreakerAlwaysEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		r, err := New("m", market(n), DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)
		now := Instant(0)
		for range rapid.IntRange(0, 200).Draw(t, "attempts") {
			now += Instant(rapid.Int64Range(0, int64(20*Second)).Draw(t, "gap"))
			d := r.Decide(now, &Request{}, rng)
			if rapid.Bool().Draw(t, "lost") {
				continue // a probe that is never observed
			}
			kind := OutcomeKind(rapid.IntRange(0, int(OutcomeNeutral)).Draw(t, "kind"))
			r.Observe(now, d.Endpoint, &Outcome{Kind: kind, Duration: Second})
			if out := r.open.Len(); float64(out) > r.cfg.Breaker.MostOut*float64(n) {
				t.Fatalf("%d of %d endpoints out", out, n)
			}
		}
		// Without any traffic: open ends after at most 1.25 × MaxEjection, half-open after ProbeWait more.
		for range 200 {
			now += 10 * Instant(Second)
			r.snapshot(now)
		}
		for i := range r.breakers {
			if r.breakers[i].state != closed {
				t.Fatalf("endpoint %d is still in state %d", i, r.breakers[i].state)
			}
		}
	})
}

// The alias table draws by the shares.
func TestDrawFollowsShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := believed(t)
		table := newTable(r.rank)
		costPolicy{}.fill(r, kind{}, r.all, &table)
		table.prepare()
		n := float64(len(table.shares))
		got := make([]float64, len(table.shares))
		for i, column := range table.columns {
			kept := float64(column.threshold) / (1 << 64)
			got[i] += kept / n
			got[column.alias] += (1 - kept) / n
		}
		for i := range got {
			if math.Abs(got[i]-table.shares[i]) > 1e-9 {
				t.Fatalf("endpoint %d is drawn with chance %v, want %v", i, got[i], table.shares[i])
			}
		}
	})
}
