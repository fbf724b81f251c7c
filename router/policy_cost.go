package router

import "math"

// costPolicy is routing by Routing Cost: traffic is shared inside the competitive edge, each try is drawn by share.
type costPolicy struct{}

func (costPolicy) sized() bool { return true }

func (costPolicy) decide(r *Router, class int, t *table) {
	costs, preference := t.shares, r.scratch
	r.costs(class, costs)
	best := math.Inf(1)
	for _, c := range costs {
		best = min(best, c)
	}
	perEdge := 1 / (r.cfg.Share.Edge * best)
	for i, c := range costs {
		preference[i] = r.curve.at((c-best)*perEdge) * r.backOff[i]
	}
	var limits []float64
	if r.capped {
		limits = r.limits
	}
	spill(preference, limits, t.shares)
	floor := r.cfg.Share.Floor
	each := floor / float64(len(t.shares))
	for i := range t.shares {
		t.shares[i] = (1-floor)*t.shares[i] + each
	}
	if t.redraw = !r.cfg.Share.Ranked; !t.redraw {
		for i, s := range t.shares {
			preference[i] = -s
		}
		t.sortOrder(preference)
	}
}

// costs fills every endpoint's Routing Cost for a request of the size class.
func (r *Router) costs(class int, out []float64) {
	input, output := r.sizes[class].input, r.sizes[class].output
	for i := range out {
		out[i] = effectivePrice(&r.endpoints[i].Price, &r.signals[i], input, output)
		r.medians.values[i] = out[i]
	}
	median, _ := r.medians.median(r.medians.price)
	rates := r.cfg.Cost.ratesFor(median, &r.typical, input, output)
	for i := range out {
		t := r.cfg.Cost.routingCost(out[i], &r.signals[i], &rates)
		out[i] = t.cost
	}
}
