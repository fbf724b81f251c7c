package router

import "math"

// costPolicy is routing by Routing Cost: traffic is shared inside the competitive edge, each try is drawn by share. The guardrails come in
// this order: hard filters, breaker, shares, back-off, learned cap with spill, floor.
type costPolicy struct{}

// kinds: requests with tools are different when tiers apply to them.
func (costPolicy) kinds(c *Config) kinds { return kinds{sizes: true, tools: c.Share.Exacto} }

func (costPolicy) fill(r *Router, k kind, eligible Set, t *table) bool {
	flagged := r.flagged
	if k.tools {
		r.exacto()
		for i, tier := range r.tiers {
			if tier == tierLow {
				flagged.Add(int32(i))
			}
		}
	}
	r.costs(k.class, r.signals, t.costs)
	r.share(eligible, flagged, t)
	t.first, t.retry = byShare, byShare
	if r.cfg.Share.Choices == 2 {
		t.first, t.retry = byTwoShares, byTwoShares
	}
	if r.cfg.Share.Ranked {
		for i, s := range t.shares {
			t.scratch[i] = -s
		}
		t.sortOrder(t.scratch)
		t.retry = byOrder
	}
	return true
}

// share turns the costs of a table into shares of the eligible endpoints.
func (r *Router) share(eligible, flagged Set, t *table) {
	able := eligible.Without(r.open.Union(r.cooling))
	if able.Empty() {
		able = eligible // nobody is well: the least bad has to do
	}
	normal := able.Without(flagged.Union(r.halfOpen))
	if normal.Empty() {
		normal = able
	}
	best := math.Inf(1)
	for i, c := range t.costs {
		if c < best && normal.Has(int32(i)) {
			best = c
		}
	}
	perEdge := 1 / (r.cfg.Share.Edge * max(best, leastCost))
	preference := t.scratch
	for i, c := range t.costs {
		preference[i] = 0
		if normal.Has(int32(i)) {
			preference[i] = r.curve.at((c-best)*perEdge) * r.backOff[i]
		}
	}
	var limits []float64
	if r.capped {
		limits = r.limits
	}
	spill(preference, limits, t.shares)
	floor := r.cfg.Share.Floor
	each := floor / float64(able.Len())
	for i := range t.shares {
		t.shares[i] *= 1 - floor
		if able.Has(int32(i)) {
			t.shares[i] += each
		}
	}
}

// leastCost, in USD per request, is where distances from a best endpoint that costs nothing are measured.
const leastCost = 1e-18

// costs fills every endpoint's Routing Cost for a request of the size class.
func (r *Router) costs(class int, s []signals, out []float64) {
	size := &r.sizes[class]
	for i := range out {
		out[i] = effectivePrice(&r.endpoints[i].Price, &s[i], size)
	}
	rates := r.rates(out, size)
	for i := range out {
		out[i] = r.cfg.Cost.routingCost(out[i], &s[i], &rates)
	}
}

// rates are the model's rates for a size of request, from all its endpoints' effective prices.
func (r *Router) rates(prices []float64, size *requestSize) rates {
	copy(r.medians.of[ofPrice].values, prices)
	median := 0.0
	r.medians.find(ofPrice, &median)
	return r.cfg.Cost.ratesFor(median, &r.typical, size)
}
