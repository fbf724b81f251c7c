package router

import "math"

// pricePolicy is routing by price alone, as it was before Routing Cost: the first try is drawn with weight 1 ÷ input price² among the
// endpoints without a major outage in the last 30 s; retries go to the next cheapest; those with an outage come last. Requests with
// tools take the tiers of Auto Exacto first, when it is on.
type pricePolicy struct{}

func (pricePolicy) variants(*Router) int { return 2 }

func (pricePolicy) variant(r *Router, inputTokens int, tools bool) int {
	if tools && r.cfg.Price.Exacto {
		return 1
	}
	return 0
}

func (pricePolicy) fill(r *Router, variant int, eligible Set, t *table) {
	key := t.scratch
	for i := range key {
		key[i] = r.endpoints[i].Price.Input
		if r.unstable.Has(int32(i)) {
			key[i] += behind
		}
	}
	if variant == 1 {
		r.exacto()
		for i := range key {
			key[i] += float64(r.tiers[i]) * 2 * behind
		}
	}
	// The candidates of the first try are the best group: stable, and of the best tier.
	group := math.Inf(1)
	for i := range key {
		if eligible.Has(int32(i)) {
			group = min(group, math.Floor(key[i]/behind))
		}
	}
	sum := 0.0
	for i := range key {
		t.shares[i] = 0
		if eligible.Has(int32(i)) && math.Floor(key[i]/behind) == group {
			t.shares[i] = r.priceWeights[i]
			sum += t.shares[i]
		}
	}
	for i := range t.shares {
		t.shares[i] /= sum
	}
	t.sortOrder(key)
	t.first, t.retry = byShare, byOrder
}

// behind added to a price per token puts an endpoint behind all prices.
const behind = 1e6

// priceWeights is price to the power of −exponent, relative to the cheapest endpoint so that no tiny price overflows. A free endpoint weighs
// as one at a hundredth of the least price.
func priceWeights(endpoints []Endpoint, exponent float64) []float64 {
	least := math.Inf(1)
	for i := range endpoints {
		if p := endpoints[i].Price.Input; p > 0 {
			least = min(least, p)
		}
	}
	w := make([]float64, len(endpoints))
	for i := range w {
		w[i] = 1
		if !math.IsInf(least, 1) {
			w[i] = math.Pow(max(endpoints[i].Price.Input/least, 0.01), -exponent)
		}
	}
	return w
}
