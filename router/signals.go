package router

import "math"

// signals are what the router believes of one endpoint, shrunk towards the model's typical endpoint.
type signals struct {
	ttft            float64 // seconds
	secondsPerToken float64
	errorRate       float64 // of the attempts that were not rejected
	rateLimited     float64 // of all attempts
	cacheHit        float64 // of input tokens
	cacheWrite      float64 // of input tokens
	badTools        float64 // of tool calls
}

// medians keeps, per signal, the endpoints in last build's order: sorting again what is almost sorted costs one pass.
type medians struct {
	values []float64
	ttft, secondsPerToken, errorRate, rateLimited, cacheHit, badTools,
	price []uint8
}

func newMedians(n int) medians {
	order := func() []uint8 {
		o := make([]uint8, n)
		for i := range o {
			o[i] = uint8(i)
		}
		return o
	}
	return medians{make([]float64, n), order(), order(), order(), order(), order(), order(), order()}
}

// median sorts order by m.values, in which +Inf means absent, and returns the middle of those present.
func (m *medians) median(order []uint8) (float64, bool) {
	v := m.values
	present := 0
	for i, e := range order {
		x := v[e]
		if x < math.Inf(1) {
			present++
		}
		j := i
		for ; j > 0 && v[order[j-1]] > x; j-- {
			order[j] = order[j-1]
		}
		order[j] = e
	}
	if present == 0 {
		return 0, false
	}
	return (v[order[(present-1)/2]] + v[order[present/2]]) / 2, true
}

// ratios is the median over endpoints of part ÷ whole among those whose whole is at least least, or the pooled ratio when there is
// none of them, or otherwise when there is nothing at all.
func (m *medians) ratios(order []uint8, n int, least float64, otherwise float64, of func(i int) (part, whole, count float64)) float64 {
	var parts, wholes float64
	for i := range n {
		part, whole, count := of(i)
		parts += part
		wholes += whole
		if count >= least && whole > 0 {
			m.values[i] = part / whole
		} else {
			m.values[i] = math.Inf(1)
		}
	}
	if v, ok := m.median(order); ok {
		return v
	}
	if wholes > 0 {
		return parts / wholes
	}
	return otherwise
}

// typical is the model's typical endpoint now.
func (t *telemetry) typical(w weights, m *medians) Typical {
	e, n := t.endpoints, len(t.endpoints)
	least, d := t.cfg.MinTypical*w.usual, &t.cfg.Typical
	leastTokens := t.cfg.MinTypical * w.price * d.InputTokens / 4
	return Typical{
		TTFT: m.ratios(m.ttft, n, least, d.TTFT, func(i int) (float64, float64, float64) { return e[i].ttft, e[i].started, e[i].started }),
		SecondsPerToken: m.ratios(m.secondsPerToken, n, least, d.SecondsPerToken, func(i int) (float64, float64, float64) {
			return e[i].seconds, e[i].tokens, e[i].answered
		}),
		ErrorRate: m.ratios(m.errorRate, n, least, d.ErrorRate, func(i int) (float64, float64, float64) {
			tries := e[i].answered + e[i].failed
			return e[i].failed, tries, tries
		}),
		RateLimited: m.ratios(m.rateLimited, n, least, d.RateLimited, func(i int) (float64, float64, float64) {
			tries := e[i].answered + e[i].failed + e[i].rejected
			return e[i].rejected, tries, tries
		}),
		CacheHit: m.ratios(m.cacheHit, n, leastTokens, d.CacheHit, func(i int) (float64, float64, float64) {
			return e[i].cached, e[i].input, e[i].input
		}),
		BadToolCalls: m.ratios(m.badTools, n, least, d.BadToolCalls, func(i int) (float64, float64, float64) {
			return e[i].badTools, e[i].toolCalls, e[i].toolCalls
		}),
	}
}

// requestSize is what a request of a class is expected to use, in tokens.
type requestSize struct{ input, output float64 }

// expect fills the expected size per class: its recent mean, shrunk by Prior requests towards the whole model's, and that one
// towards the configured one.
func (t *telemetry) expect(w weights, out []requestSize) {
	last, k := len(t.sizes)-1, t.cfg.Prior*w.price
	mean := func(z *size, to requestSize) requestSize {
		return requestSize{(z.input + k*to.input) / (z.requests + k), (z.output + k*to.output) / (z.requests + k)}
	}
	out[last] = mean(&t.sizes[last], requestSize{t.cfg.Typical.InputTokens, t.cfg.Typical.OutputTokens})
	for c := range last {
		out[c] = mean(&t.sizes[c], out[last])
	}
}

// signals fills the belief about every endpoint.
func (t *telemetry) signals(w weights, y *Typical, out []signals) {
	k := t.cfg.Prior * w.usual
	kTokens := k * t.cfg.PriorTokens
	kInput := t.cfg.Prior * w.price * y.InputTokens
	for i := range t.endpoints {
		e := &t.endpoints[i]
		tries := e.answered + e.failed
		out[i] = signals{
			ttft:            (e.ttft + k*y.TTFT) / (e.started + k),
			secondsPerToken: (e.seconds + kTokens*y.SecondsPerToken) / (e.tokens + kTokens),
			errorRate:       (e.failed + k*y.ErrorRate) / (tries + k),
			rateLimited:     (e.rejected + k*y.RateLimited) / (tries + e.rejected + k),
			cacheHit:        (e.cached + kInput*y.CacheHit) / (e.input + kInput),
			cacheWrite:      e.written / (e.input + kInput),
			badTools:        (e.badTools + k*y.BadToolCalls) / (e.toolCalls + k),
		}
	}
}
