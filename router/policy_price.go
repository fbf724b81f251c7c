package router

import "math"

// pricePolicy is routing by price alone, as it was before Routing Cost: the first try is drawn with weight 1 ÷ input price² among the
// endpoints without a major outage in the last 30 s; retries go to the next cheapest; those with an outage come last. Requests with
// tools take the tiers of Auto Exacto first, when it is on.
type pricePolicy struct{}

func (pricePolicy) kinds(c *Config) kinds { return kinds{tools: c.Price.Exacto} }

func (pricePolicy) fill(r *Router, k kind, eligible Set, t *table) bool {
	if k.tools {
		r.exacto()
	}
	same := t.filled && t.eligible == eligible
	key, group := t.scratch, t.group
	for i := range group {
		key[i] = r.endpoints[i].Price.Input
		g := uint8(0)
		if r.unstable.Has(int32(i)) {
			key[i] += behind
			g = 1
		}
		if k.tools {
			key[i] += float64(r.tiers[i]) * 2 * behind
			g += 2 * r.tiers[i]
		}
		same = same && group[i] == g
		group[i] = g
	}
	if same {
		return false // prices never change, so neither do shares and order
	}
	t.filled, t.eligible = true, eligible
	// The candidates of the first try are the best group: stable, and of the best tier.
	best := uint8(math.MaxUint8)
	for i, g := range group {
		if g < best && eligible.Has(int32(i)) {
			best = g
		}
	}
	sum := 0.0
	for i, g := range group {
		t.shares[i] = 0
		if g == best && eligible.Has(int32(i)) {
			t.shares[i] = r.priceWeights[i]
			sum += t.shares[i]
		}
	}
	for i := range t.shares {
		t.shares[i] /= sum
	}
	t.sortOrder(key)
	t.first, t.retry = byShare, byOrder
	return true
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
