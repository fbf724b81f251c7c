package market

import "testing"

// A quote is what Try would bill, and changes nothing.
func TestQuoteIsTheBill(t *testing.T) {
	m := build(t, quiet(), hour, 1)
	for i := range m.Endpoints {
		var c Cache
		first := Work{Input: 3000, Output: 500}
		try(m, int32(i), first, Memory{Cache: &c}, 0)
		m.Finish(int32(i), first, true, Memory{Cache: &c}, 1e6)
		second := Work{Input: 4000, Prefix: 3500, Output: 300}
		before := m.Endpoints[i].inFlight
		got, eligible := m.Quote(int32(i), second, Memory{Cache: &c}, 2e6)
		if !eligible || m.Endpoints[i].inFlight != before {
			t.Fatalf("endpoint %d: eligible %v, in flight %d before and %d after", i, eligible, before, m.Endpoints[i].inFlight)
		}
		a := try(m, int32(i), second, Memory{Cache: &c}, 2e6)
		if want := m.Endpoints[i].Bill(second.Input, a.Cached, a.Output); got != want {
			t.Errorf("endpoint %d: quote %d, bill %d (%d tokens cached)", i, got, want, a.Cached)
		}
	}
}

func TestQuoteOfAnEndpointThatIsNotEligible(t *testing.T) {
	for name, spoil := range map[string]func(*Endpoint){
		"full":           func(e *Endpoint) { e.load = e.limit },
		"quota used up":  func(e *Endpoint) { e.quota = quota{mostRequests: 3, requests: 3} },
		"tokens used up": func(e *Endpoint) { e.quota = quota{mostTokens: 3, tokens: 3} },
		"storm":          func(e *Endpoint) { e.storm = 0.4 },
		"outage":         func(e *Endpoint) { e.outage = 0.4 },
	} {
		m := build(t, quiet(), hour, 1)
		spoil(&m.Endpoints[2])
		for i := range m.Endpoints {
			if _, eligible := m.Quote(int32(i), Work{Input: 3000, Output: 500}, Memory{Cache: new(Cache)}, 1e6); eligible != (i != 2) {
				t.Errorf("%s: endpoint %d eligible: %v", name, i, eligible)
			}
		}
	}
	m := build(t, quiet(), hour, 1)
	m.Endpoints[2].quota = quota{mostRequests: 3, requests: 3}
	if _, eligible := m.Quote(2, Work{Input: 3000, Output: 500}, Memory{Cache: new(Cache)}, quotaWindow); !eligible {
		t.Error("a quota of the minute before counts")
	}
}
