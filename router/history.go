package router

import "math"

// History is what is known of an endpoint from before the router was made: from a database, a file, another process. Rates and shares lie in
// [0, 1]; a field that is 0 adds nothing, unless Requests says that it was seen.
type History struct {
	Requests        float64 // attempts of the last minutes behind the numbers below
	TTFT            float64 // mean seconds until the first token
	TokensPerSecond float64 // output tokens ÷ seconds of the whole attempts
	ErrorRate       float64 // of the attempts that were not rejected
	RateLimited     float64 // share of attempts answered by a 429
	CacheHit        float64 // share of input tokens read from the cache
	ToolCalls       float64 // answers that called a tool
	BadToolCalls    float64 // share of them not well formed
	InputTokens     float64 // mean per request
	OutputTokens    float64 // mean per request

	RecentRequests    float64 // attempts of the last half minute
	RecentErrorRate   float64
	RecentRateLimited float64

	LoadPerSecond float64 // attempts that this router sends
	CapPerSecond  float64 // learned cap; 0 = none
	CoolDown      Micros  // rest of a Retry-After
}

// Recall adds what is known of an endpoint to the telemetry, as if it had just been observed.
func (r *Router) Recall(now Instant, endpoint int32, h *History) {
	r.follow(now)
	t := &r.telemetry
	w := t.weigh(now)
	e := &t.endpoints[endpoint]
	rejected := h.Requests * h.RateLimited
	failed := (h.Requests - rejected) * h.ErrorRate
	answered := h.Requests - rejected - failed
	e.answered += w.usual * answered
	e.failed += w.usual * failed
	e.rejected += w.usual * rejected
	if h.TTFT > 0 {
		e.started += w.usual * answered
		e.ttft += w.usual * answered * h.TTFT
	}
	if output := answered * h.OutputTokens; h.TokensPerSecond > 0 && output > 0 {
		e.tokens += w.usual * output
		e.seconds += w.usual * output / h.TokensPerSecond
	}
	e.toolCalls += w.usual * h.ToolCalls
	e.badTools += w.usual * h.ToolCalls * h.BadToolCalls
	e.longTools += t.weighTools(now) * h.ToolCalls
	e.longBadTools += t.weighTools(now) * h.ToolCalls * h.BadToolCalls
	e.priced += w.price * answered
	e.input += w.price * answered * h.InputTokens
	e.cached += w.price * answered * h.InputTokens * h.CacheHit
	if h.InputTokens > 0 {
		for _, c := range [...]int{t.class(int(h.InputTokens)), len(t.sizes) - 1} {
			t.sizes[c].requests += w.price * answered
			t.sizes[c].input += w.price * answered * h.InputTokens
			t.sizes[c].output += w.price * answered * h.OutputTokens
		}
	}
	e.recentRejected += w.recent * h.RecentRequests * h.RecentRateLimited
	e.recentFailed += w.recent * h.RecentRequests * (1 - h.RecentRateLimited) * h.RecentErrorRate
	e.recentAnswered += w.recent * h.RecentRequests * (1 - h.RecentRateLimited) * (1 - h.RecentErrorRate)
	if t.latency != nil && h.TTFT > 0 {
		t.latency[endpoint].add(w.usual*answered, h.TTFT)
		t.speed[endpoint].add(w.usual*answered, math.Max(h.TokensPerSecond, 1e-3))
	}
	l := &r.loads[endpoint]
	l.rate, l.usual = l.rate+h.LoadPerSecond, l.usual+h.LoadPerSecond
	if h.CapPerSecond > 0 {
		l.cap, l.peak, l.cut = h.CapPerSecond, h.CapPerSecond, r.cfg.Cap.Trim
		l.growFrom = now + Instant(r.cfg.Cap.Hold)
	}
	r.drawRate += h.LoadPerSecond
	if r.stepped == 0 {
		r.stepped = now
	}
	if h.CoolDown > 0 {
		r.coolDown(now, endpoint, &Outcome{RetryAfter: h.CoolDown})
	}
	r.stale = true
}
