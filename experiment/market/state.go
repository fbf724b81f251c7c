package market

import "math"

// State is what an endpoint would do now with a typical request; only a simulation can know it.
type State struct {
	TTFT            float64 // expected seconds to the first token
	SecondsPerToken float64 // expected whole seconds ÷ output tokens
	ErrorRate       float64 // chance that an attempt that is not rejected fails
	RateLimited     float64 // chance of a 429
	Room            float64 // requests per second that it can still take
}

// State returns the endpoint's state at now for requests of the given size, in tokens.
func (m *Market) State(at int32, input, output float64, now int64) State {
	e, p := &m.Endpoints[at], &m.params
	load := e.load + float64(e.inFlight)/e.Slots
	s := State{ErrorRate: min(e.errors+e.outage, 1), RateLimited: e.storm}
	if load+1/e.Slots > e.limit || e.quota.usedUp(now) {
		s.RateLimited = 1
	}
	over := max(load-1, 0)
	square := min(load, p.LoadCeiling)
	square *= square
	mean := func(sigma float64) float64 { return math.Exp(sigma * sigma / 2) } // of a lognormal of median 1
	s.TTFT = (e.ttft*e.slow*mean(m.tables.tails[e.tail])+input/p.PrefillRate)*(1+p.TTFTLoad*square) + p.QueueWaitS*over
	s.TTFT *= e.regime
	perToken := e.tokenSeconds * mean(p.DecodeSigma) * (1 + p.DecodeLoad*square) * math.Sqrt(e.slow) * e.regime
	whole := s.TTFT + output*perToken
	s.SecondsPerToken = whole / output
	s.Room = min(max(e.limit-load, 0)*e.Slots/whole, e.quota.rate(input+output))
	return s
}
