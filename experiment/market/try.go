package market

import "math"

// Kind says how an attempt ends.
type Kind uint8

// Kinds of ends.
const (
	Served      Kind = iota
	RateLimited      // HTTP 429 at once or after a wait in the queue
	Failed           // an error before the first token
	Broken           // an error after the first token
)

// Work is one attempt as the endpoint sees it.
type Work struct {
	Input  int32 // prompt tokens
	Prefix int32 // of those, the ones that the conversation's last turn ended with
	Shared int32 // of those, the first ones, with which all of the client's conversations begin
	Output int32 // tokens of a complete answer
}

// Answer tells how an attempt will end.
type Answer struct {
	Kind       Kind
	Timeout    bool  // a Failed attempt that hung
	TTFT       int64 // µs to the first token; 0 when none comes
	Duration   int64 // µs to the end of the attempt
	RetryAfter int64 // µs, 0 = not stated
	Cached     int32 // prompt tokens read from the cache
	Output     int32 // tokens that come
}

// leastReject is the quickest 429, and leastError the quickest error, seconds.
const (
	leastReject = 0.08
	leastError  = 0.2
)

// Try starts an attempt at an endpoint at now and tells in a how it will end. Unless it is RateLimited, it takes a place until Finish.
func (m *Market) Try(a *Answer, at int32, w Work, memory Memory, now int64) {
	e, p, t, rng := &m.Endpoints[at], &m.params, m.tables, &m.attempt
	*a = Answer{}
	load := e.load + float64(e.inFlight+1)/e.Slots
	if e.quota.limits() && e.quota.refuses(w, now) {
		a.Kind, a.Duration, a.RetryAfter = RateLimited, micros(leastReject), e.quota.renewed()-now
		return
	}
	if load > e.limit || e.storm > 0 && rng.Chance(e.storm) {
		a.Kind, a.Duration = RateLimited, micros(m.failing*(leastReject+e.rejectSeconds*t.expo.Draw(rng)))
		if p.RetryAfterShare > 0 && rng.Chance(p.RetryAfterShare) {
			a.RetryAfter = 2e6 + int64(8e6*rng.Float64())
		}
		return
	}
	e.inFlight++
	broken := false
	if u := rng.Float64(); u < e.errors+e.outage {
		if broken = u < e.errors*p.MidstreamOf; !broken {
			m.fail(a, e)
			return
		}
	}
	a.Kind, a.Output = Served, w.Output
	a.Cached = e.reads(at, w, memory, now)
	over := max(load-1, 0)
	if load > p.LoadCeiling {
		load = p.LoadCeiling
	}
	square := load * load
	ttft := (e.ttft*e.slow*t.ttft[e.tail].Draw(rng) + float64(w.Input-a.Cached)/p.PrefillRate) * (1 + p.TTFTLoad*square)
	if p.TailShare > 0 && rng.Chance(p.TailShare) {
		ttft *= min(math.Exp(p.TailSlope*(0.5+t.expo.Draw(rng))), p.TailMost)
	}
	ttft += p.QueueWaitS * over
	perToken := e.tokenSeconds * t.token.Draw(rng) * (1 + p.DecodeLoad*square)
	if e.slow != 1 {
		perToken *= math.Sqrt(e.slow)
	}
	if e.regime != 1 {
		ttft *= e.regime
		perToken *= e.regime
	}
	if broken {
		a.Kind = Broken
		a.Output = max(1, int32(float64(w.Output)*rng.Float64()))
	}
	a.TTFT = micros(ttft)
	a.Duration = a.TTFT + micros(perToken*float64(a.Output))
}

// reads returns how many prompt tokens the endpoint, which has index at, reads from its cache.
func (e *Endpoint) reads(at int32, w Work, memory Memory, now int64) int32 {
	if e.cacheHit == 0 {
		return 0
	}
	return int32(e.cacheHit * float64(memory.held(at, w, now)))
}

// fail ends an attempt with an error before the first token.
func (m *Market) fail(a *Answer, e *Endpoint) {
	p, t, rng := &m.params, m.tables, &m.attempt
	a.Kind = Failed
	if rng.Chance(p.QuickErrors) {
		a.Duration = micros(m.failing * (leastError + p.QuickErrorS*t.expo.Draw(rng)))
		return
	}
	a.Timeout, a.Duration = true, micros(m.failing*(leastError+e.hang*(0.4+0.8*t.expo.Draw(rng))))
}

// Finish frees the place of an attempt. When it was served, the endpoint's prompt cache now holds the conversation.
func (m *Market) Finish(at int32, w Work, served bool, memory Memory, now int64) {
	e := &m.Endpoints[at]
	e.inFlight--
	if served && e.CacheMicros > 0 {
		memory.write(at, w, now+e.CacheMicros)
	}
}

// ToolCallOK draws whether a tool call of the endpoint is well formed.
func (m *Market) ToolCallOK(at int32) bool { return !m.attempt.Chance(m.Endpoints[at].badToolCalls) }

func micros(seconds float64) int64 { return int64(seconds * 1e6) }
