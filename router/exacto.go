package router

import (
	"math"
	"slices"
)

// Tiers of Auto Exacto, best first.
const (
	tierGood    = iota // enough data and no signal far below the peers'
	tierUnknown        // too little data
	tierLow            // throughput or tool calls far below the peers'
)

// exacto sorts the endpoints into tiers of tool-calling quality, once per snapshot: an endpoint is low when its throughput is more than
// 1.5 or its share of well-formed tool calls more than 2 robust standard deviations below the peers' median; fewer than ExactoPeers
// endpoints with enough data tell nothing.
func (r *Router) exacto() {
	if r.tiersOf == r.generation {
		return
	}
	r.tiersOf = r.generation
	c := &r.cfg.Quality
	// The sums may have moved to a later epoch since the snapshot; so do the weights of its time.
	priced, called := c.ExactoRequests*r.telemetry.weighPrice(r.taken), c.ExactoToolCalls*r.telemetry.weighTools(r.taken)
	speed, tools := r.scratch[0][:0], r.scratch[1][:0]
	for i := range r.endpoints {
		r.tiers[i] = tierUnknown
		e := &r.telemetry.endpoints[i]
		if e.priced >= priced && e.longTools >= called {
			r.tiers[i] = tierGood
			speed = append(speed, e.tokens/max(e.seconds, 1e-9))
			tools = append(tools, 1-e.longBadTools/e.longTools)
		}
	}
	if len(speed) < c.ExactoPeers {
		for i := range r.tiers {
			r.tiers[i] = tierUnknown
		}
		return
	}
	leastSpeed, leastTools := below(speed, 1.5), below(tools, 2)
	for i := range r.endpoints {
		e := &r.telemetry.endpoints[i]
		if r.tiers[i] == tierGood && (e.tokens/max(e.seconds, 1e-9) < leastSpeed || 1-e.longBadTools/e.longTools < leastTools) {
			r.tiers[i] = tierLow
		}
	}
}

// below is the median of the values less k robust standard deviations (1.4826 × median absolute deviation). It reorders the values.
func below(values []float64, k float64) float64 {
	slices.Sort(values)
	m := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	for i := range values {
		values[i] = math.Abs(values[i] - m)
	}
	slices.Sort(values)
	return m - k*1.4826*(values[(len(values)-1)/2]+values[len(values)/2])/2
}
