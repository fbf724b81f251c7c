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

// Signals whose median over the endpoints makes the typical one.
const (
	ofTTFT = iota
	ofSecondsPerToken
	ofErrors
	ofRateLimits
	ofCacheHits
	ofBadTools
	ofPrice
	measures
)

// medians finds medians over endpoints. Per measure it keeps the order of the last time: sorting again what is almost sorted costs one pass.
type medians struct {
	of [measures]struct {
		values []float64 // +Inf = the endpoint does not count
		order  []uint8
	}
	sorted []float64
}

func newMedians(n int) *medians {
	m := &medians{sorted: make([]float64, n)}
	for i := range m.of {
		m.of[i].values, m.of[i].order = make([]float64, n), make([]uint8, n)
		for e := range m.of[i].order {
			m.of[i].order[e] = uint8(e)
		}
	}
	return m
}

// find sets out to the median of a measure over the endpoints that count, and reports whether any does.
func (m *medians) find(measure int, out *float64) bool {
	values, order := m.of[measure].values, m.of[measure].order
	sorted := m.sorted[:len(order)]
	present := 0
	for i, e := range order {
		x := values[e]
		if x <= math.MaxFloat64 {
			present++
		}
		j := i
		for ; j > 0 && sorted[j-1] > x; j-- {
			sorted[j], order[j] = sorted[j-1], order[j-1]
		}
		sorted[j], order[j] = x, e
	}
	if present == 0 {
		return false
	}
	*out = (sorted[(present-1)/2] + sorted[present/2]) / 2
	return true
}

// ratio is part ÷ whole where an endpoint's count is at least least, +Inf otherwise.
func ratio(part, whole, count, least float64) float64 {
	if count >= least && whole > 0 {
		return part / whole
	}
	return math.Inf(1)
}

// typical is the model's typical endpoint now: per measure, the median over the endpoints with MinTypical requests; when there is none, what
// all endpoints together show; when that is nothing, the configured one.
func (t *telemetry) typical(w weights, m *medians) Typical {
	least := t.cfg.MinTypical * w.usual
	leastPriced := t.cfg.MinTypical * w.price
	n := len(t.endpoints)
	ttft, perToken, errors := m.of[ofTTFT].values[:n], m.of[ofSecondsPerToken].values[:n], m.of[ofErrors].values[:n]
	limits, hits, badTools := m.of[ofRateLimits].values[:n], m.of[ofCacheHits].values[:n], m.of[ofBadTools].values[:n]
	for i := range t.endpoints {
		e := &t.endpoints[i]
		tries := e.answered + e.failed
		ttft[i] = ratio(e.ttft, e.started, e.started, least)
		perToken[i] = ratio(e.seconds, e.tokens, e.answered, least)
		errors[i] = ratio(e.failed, tries, tries, least)
		limits[i] = ratio(e.rejected, tries+e.rejected, tries+e.rejected, least)
		hits[i] = ratio(e.cached, e.input, e.priced, leastPriced)
		badTools[i] = ratio(e.badTools, e.toolCalls, e.toolCalls, least)
	}
	y := t.cfg.Typical
	seen := [...]bool{m.find(ofTTFT, &y.TTFT), m.find(ofSecondsPerToken, &y.SecondsPerToken), m.find(ofErrors, &y.ErrorRate),
		m.find(ofRateLimits, &y.RateLimited), m.find(ofCacheHits, &y.CacheHit), m.find(ofBadTools, &y.BadToolCalls)}
	if seen != [...]bool{true, true, true, true, true, true} {
		t.pool(&y, seen)
	}
	return y
}

// pool fills the measures that no endpoint alone shows with what all together show.
func (t *telemetry) pool(y *Typical, seen [ofPrice]bool) {
	var all sums
	for i := range t.endpoints {
		e := &t.endpoints[i]
		all.answered += e.answered
		all.failed += e.failed
		all.rejected += e.rejected
		all.started += e.started
		all.ttft += e.ttft
		all.tokens += e.tokens
		all.seconds += e.seconds
		all.toolCalls += e.toolCalls
		all.badTools += e.badTools
		all.input += e.input
		all.cached += e.cached
	}
	fill := func(measure int, out *float64, part, whole float64) {
		time := measure == ofTTFT || measure == ofSecondsPerToken
		if !seen[measure] && whole > 0 && (part > 0 || !time) { // a time of 0 is what fading leaves of old sums
			*out = part / whole
		}
	}
	tries := all.answered + all.failed
	fill(ofTTFT, &y.TTFT, all.ttft, all.started)
	fill(ofSecondsPerToken, &y.SecondsPerToken, all.seconds, all.tokens)
	fill(ofErrors, &y.ErrorRate, all.failed, tries)
	fill(ofRateLimits, &y.RateLimited, all.rejected, tries+all.rejected)
	fill(ofCacheHits, &y.CacheHit, all.cached, all.input)
	fill(ofBadTools, &y.BadToolCalls, all.badTools, all.toolCalls)
}

// requestSize is what a request of a class is expected to use, in tokens.
type requestSize struct{ input, output float64 }

// expect fills the expected size per class: its recent mean, shrunk by Prior requests towards the whole model's (within the class's bounds), and that one
// towards the configured one.
func (t *telemetry) expect(w weights, out []requestSize) {
	last, k := len(t.sizes)-1, t.cfg.Prior*w.price
	mean := func(z *size, to requestSize) requestSize {
		return requestSize{(z.input + k*to.input) / (z.requests + k), (z.output + k*to.output) / (z.requests + k)}
	}
	out[last] = mean(&t.sizes[last], requestSize{t.cfg.Typical.InputTokens, t.cfg.Typical.OutputTokens})
	for c := range last {
		prior := out[last]
		if c > 0 {
			prior.input = max(prior.input, float64(t.cfg.SizeClasses[c-1]))
		}
		if c < len(t.cfg.SizeClasses) {
			prior.input = min(prior.input, float64(t.cfg.SizeClasses[c]))
		}
		out[c] = mean(&t.sizes[c], prior)
	}
}

// tails replaces the mean TTFT by a quantile, shrunk in the same way.
func (t *telemetry) tails(w weights, y *Typical, q float64, out []signals) {
	k := t.cfg.Prior * w.usual
	for i := range t.latency {
		v, weight := t.latency[i].quantile(q)
		out[i].ttft = (v*weight + k*y.TTFT) / (weight + k)
	}
}

// signals fills the belief about every endpoint.
func (t *telemetry) signals(w weights, y *Typical, out []signals) {
	k := t.cfg.Prior * w.usual
	kTokens := k * t.cfg.PriorTokens
	kInput := t.cfg.Prior * w.price * y.InputTokens
	out = out[:len(t.endpoints)]
	for i := range t.endpoints {
		e := &t.endpoints[i]
		tries := e.answered + e.failed
		s := &out[i]
		s.ttft = (e.ttft + k*y.TTFT) / (e.started + k)
		s.secondsPerToken = (e.seconds + kTokens*y.SecondsPerToken) / (e.tokens + kTokens)
		s.errorRate = (e.failed + k*y.ErrorRate) / (tries + k)
		s.rateLimited = (e.rejected + k*y.RateLimited) / (tries + e.rejected + k)
		s.cacheHit = (e.cached + kInput*y.CacheHit) / (e.input + kInput)
		s.cacheWrite = e.written / (e.input + kInput)
		s.badTools = (e.badTools + k*y.BadToolCalls) / (e.toolCalls + k)
	}
}
