package router

import "math"

// pricePolicy is routing by price alone, as it was before Routing Cost: the first try is drawn with weight 1 ÷ input price² among the
// endpoints without a major outage in the last 30 s; retries go to the next cheapest; those with an outage come last.
type pricePolicy struct{}

func (pricePolicy) sized() bool { return false }

func (pricePolicy) decide(r *Router, _ int, t *table) {
	key, out := r.scratch, r.unstable
	if out == r.all {
		out = Set{}
	}
	sum := 0.0
	for i := range t.shares {
		p := r.endpoints[i].Price.Input
		t.shares[i] = 0
		key[i] = p
		if out.Has(int32(i)) {
			key[i] = p + unstableKey
			continue
		}
		t.shares[i] = r.priceWeights[i]
		sum += t.shares[i]
	}
	for i := range t.shares {
		t.shares[i] /= sum
	}
	t.sortOrder(key)
	t.redraw = false
}

// unstableKey puts an endpoint behind all prices per token.
const unstableKey = 1e6

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
