package experiment

import (
	"math"
	"testing"

	"switchback/experiment/market"
	"switchback/router"
)

// The price policy's shares on the real endpoints of deepseek/deepseek-chat-v3-0324, against the requests that a public
// list counted for each on 1 July 2025. Inverse-square price alone gives DeepInfra 13.1 % and Novita 9.4 %; the list has
// 35.8 % and 30.9 %. The rest is what the list can't show: conversations pinned to their endpoint, callers who name a provider, and
// endpoints out for an outage or a rate limit. The orders agree, but for those: the rank correlation is positive.
func TestPriceSharesOnRecordedEndpoints(t *testing.T) {
	stats, err := market.DeepSeekV3Stats()
	if err != nil {
		t.Fatal(err)
	}
	endpoints := make([]router.Endpoint, len(stats))
	recorded, total := make([]float64, len(stats)), 0.0
	for i, s := range stats {
		endpoints[i] = router.Endpoint{Slug: s.Slug, Provider: s.Provider, Price: router.Price{
			Input: s.Price.Input.PerToken(), Output: s.Price.Output.PerToken(), CacheRead: s.Price.Input.PerToken(), CacheWrite: s.Price.Input.PerToken()}}
		recorded[i] = float64(s.Requests)
		total += recorded[i]
	}
	r, err := router.New("deepseek/deepseek-chat-v3-0324", endpoints, router.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Use("price"); err != nil {
		t.Fatal(err)
	}
	shares := make([]float64, len(stats))
	for _, row := range r.Rows(0, &router.Request{}) {
		shares[row.Endpoint] = row.Share
	}
	for i, s := range stats {
		t.Logf("%-22s $%.2f per M: price alone %4.1f %%, recorded %4.1f %%", s.Slug, s.Price.Input.PerMillion(), 100*shares[i], 100*recorded[i]/total)
	}
	for i, s := range stats {
		want, known := map[string]float64{"DeepInfra": 13.1, "Novita": 9.4}[s.ProviderName]
		if !known {
			continue
		}
		if math.Abs(100*shares[i]-want) > 0.1 {
			t.Errorf("%s: price alone gives %.2f %%, want %.1f", s.ProviderName, 100*shares[i], want)
		}
	}
	if rho := spearman(shares, recorded); rho < 0.2 {
		t.Errorf("rank correlation of price shares and recorded requests is %.2f", rho)
	}
}

// spearman is the rank correlation, ties by their mean rank.
func spearman(x, y []float64) float64 {
	ranks := func(v []float64) []float64 {
		r := make([]float64, len(v))
		for i := range v {
			for j := range v {
				if v[j] < v[i] {
					r[i]++
				} else if v[j] == v[i] {
					r[i] += 0.5
				}
			}
		}
		return r
	}
	a, b := ranks(x), ranks(y)
	mean := float64(len(x)) / 2
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - mean) * (b[i] - mean)
		aa += (a[i] - mean) * (a[i] - mean)
		bb += (b[i] - mean) * (b[i] - mean)
	}
	return ab / math.Sqrt(aa*bb)
}
