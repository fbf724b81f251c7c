package experiment

import "switchback/experiment/market"

// cheapestCost is the least that the answer of the attempt that just began costs: where it is served, or at another
// endpoint of that model that the request has not tried and that was eligible at this moment, whatever the policy thinks of it.
func (w *world) cheapestCost(f *flight, memory market.Memory) NanoUSD {
	a, m := &f.answer, w.hosts[f.host].market
	least := m.Endpoints[f.endpoint].Bill(f.work.Input, a.Cached, a.Output)
	for i := range m.Endpoints {
		if f.tried.Has(int32(i)) {
			continue
		}
		if cost, eligible := m.Quote(int32(i), f.work, memory, f.started); eligible {
			least = min(least, cost)
		}
	}
	return NanoUSD(least)
}
