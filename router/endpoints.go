package router

import "fmt"

// checkEndpoints finds endpoints that can't be routed to.
func checkEndpoints(endpoints []Endpoint) error {
	slugs := make(map[string]bool, len(endpoints))
	for i := range endpoints {
		e := &endpoints[i]
		for _, p := range [...]float64{e.Price.Input, e.Price.Output, e.Price.CacheRead, e.Price.CacheWrite} {
			if !(p >= 0 && p < behind) {
				return fmt.Errorf("endpoint %s: %v is not a price in USD per token", e.Slug, p)
			}
		}
		if !(e.Accuracy >= 0 && e.Accuracy <= 1) {
			return fmt.Errorf("endpoint %s: accuracy %v is not in [0, 1]", e.Slug, e.Accuracy)
		}
		if slugs[e.Slug] {
			return fmt.Errorf("endpoint %s: listed twice", e.Slug)
		}
		slugs[e.Slug] = true
	}
	return nil
}

// groups are, per endpoint, those that share its rate limit, itself included.
func groups(endpoints []Endpoint) []Set {
	g := make([]Set, len(endpoints))
	for i := range endpoints {
		g[i].Add(int32(i))
		for j := range endpoints {
			if endpoints[i].QuotaGroup != "" && endpoints[i].QuotaGroup == endpoints[j].QuotaGroup {
				g[i].Add(int32(j))
			}
		}
	}
	return g
}

// ranks are the endpoints' places by slug.
func ranks(endpoints []Endpoint) []uint8 {
	rank := make([]uint8, len(endpoints))
	for i := range endpoints {
		for j := range endpoints {
			if endpoints[j].Slug < endpoints[i].Slug {
				rank[i]++
			}
		}
	}
	return rank
}
