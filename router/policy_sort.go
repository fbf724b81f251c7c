package router

// sortPolicy tries endpoints strictly in one order, without balancing.
type sortPolicy struct {
	single
	by Sort
}

func (p sortPolicy) fill(r *Router, _ kind, eligible Set, t *table) bool {
	if p.by == SortExacto {
		r.exacto()
	}
	for i := range t.scratch {
		switch p.by {
		case SortThroughput:
			t.scratch[i] = r.signals[i].secondsPerToken
		case SortLatency:
			t.scratch[i] = r.signals[i].ttft
		case SortExacto:
			t.scratch[i] = r.endpoints[i].Price.Input + float64(r.tiers[i])*behind
		default:
			t.scratch[i] = r.endpoints[i].Price.Input + tieBreak*r.endpoints[i].Price.Output
		}
	}
	t.sortOrder(t.scratch)
	t.strict(eligible)
	return true
}

// tieBreak makes the output price decide between equal input prices.
const tieBreak = 1e-9

// orderPolicy tries the named endpoints in their order and then the others, cheapest first.
type orderPolicy struct {
	single
	rank []int // place in the list; nil = the input's order
}

// newOrderPolicy ranks the endpoints that the slugs match. Slugs that the model does not have are passed over.
func newOrderPolicy(slugs []string, endpoints []Endpoint) orderPolicy {
	p := orderPolicy{rank: make([]int, len(endpoints))}
	for i := range p.rank {
		p.rank[i] = len(slugs)
	}
	for place, slug := range slugs {
		for i := range endpoints {
			if endpoints[i].Slug == slug || endpoints[i].Provider == slug {
				p.rank[i] = min(p.rank[i], place)
			}
		}
	}
	return p
}

func (p orderPolicy) fill(r *Router, _ kind, eligible Set, t *table) bool {
	for i := range t.scratch {
		t.scratch[i] = r.endpoints[i].Price.Input
		if p.rank != nil {
			t.scratch[i] += float64(p.rank[i]) * behind
		} else {
			t.scratch[i] = float64(i)
		}
	}
	t.sortOrder(t.scratch)
	t.strict(eligible)
	return true
}
