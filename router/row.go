package router

// Row is what the router makes of one endpoint for one request: the terms of its Routing Cost in USD, its share of the first tries and what the
// guardrails did to it.
type Row struct {
	Endpoint     int32   `json:"endpoint"` // index
	Slug         string  `json:"slug"`
	PriceUSD     float64 `json:"effective_price_usd"`
	WaitUSD      float64 `json:"wait_usd"`       // throughput term
	TTFTUSD      float64 `json:"ttft_usd"`       // TTFT term
	RateLimitUSD float64 `json:"rate_limit_usd"` // 429 term
	Reliability  float64 `json:"reliability"`    // factor 1 + penalty × error rate
	Quality      float64 `json:"quality"`        // share of good answers; Routing Cost is divided by it
	CostUSD      float64 `json:"routing_cost_usd"`
	Share        float64 `json:"share"`               // chance of the first try; in a strict order 1 for the first
	BackOff      float64 `json:"back_off"`            // factor on the preference, 1 = none
	CapShare     float64 `json:"cap_share,omitempty"` // largest share that the learned cap leaves; 0 = no cap
	State        State   `json:"state"`
	TTFTSeconds  float64 `json:"ttft_s"`
	TokensPerS   float64 `json:"tokens_per_s"`
	ErrorRate    float64 `json:"error_rate"`
	RateLimited  float64 `json:"rate_limited"`
	CacheHitRate float64 `json:"cache_hit"`
}

// State is what the guardrails make of an endpoint.
type State string

// States, the strongest first where several hold.
const (
	StateOut      State = "out"       // taken out by the breaker
	StateCooling  State = "cooling"   // it asked to be left alone for a while
	StateProbing  State = "probing"   // back from the breaker, one probe at a time
	StateFlagged  State = "flagged"   // exploration traffic only
	StateUnstable State = "unstable"  // a major outage in the last half minute
	StateBackOff  State = "back-off"  // fewer draws for a while
	StateCapped   State = "at-cap"    // filled up to its learned cap
	StateEdge     State = "edge"      // inside the competitive edge
	StateFar      State = "past-edge" // further from the best than the edge
)

// Rows explains the router's view of every endpoint for a request, by index. It is for reports: it allocates.
func (r *Router) Rows(now Instant, req *Request) []Row {
	r.refresh(now)
	r.believe()
	t := r.table(req)
	class := r.telemetry.class(req.InputTokens)
	size := &r.sizes[class]
	rows, prices := make([]Row, len(r.endpoints)), make([]float64, len(r.endpoints))
	for i := range rows {
		prices[i] = effectivePrice(&r.endpoints[i].Price, &r.signals[i], size)
	}
	rates := r.rates(prices, size)
	best := -1.0
	for i := range rows {
		s := &r.signals[i]
		c := r.cfg.Cost.terms(prices[i], s, &rates)
		rows[i] = Row{
			Endpoint: int32(i), Slug: r.endpoints[i].Slug, PriceUSD: c.price, WaitUSD: c.wait, TTFTUSD: c.ttft, RateLimitUSD: c.rateLimit,
			Reliability: 1 + r.cfg.Cost.ErrorPenalty*s.errorRate, Quality: 1 - r.cfg.Cost.BadToolCalls*s.badTools, CostUSD: c.cost,
			BackOff: r.backOff[i], TTFTSeconds: s.ttft, TokensPerS: 1 / s.secondsPerToken, ErrorRate: s.errorRate,
			RateLimited: s.rateLimited, CacheHitRate: s.cacheHit,
		}
		if r.capped && r.limits[i] < 1 {
			rows[i].CapShare = max(r.limits[i], 1e-9) // 0 would mean no cap
		}
		if !req.Excluded.Has(int32(i)) && (best < 0 || c.cost < best) && !r.open.Has(int32(i)) && !r.halfOpen.Has(int32(i)) && !r.cooling.Has(int32(i)) && !r.flagged.Has(int32(i)) {
			best = c.cost
		}
	}
	shares := r.firstShares(req, t)
	for i := range rows {
		rows[i].Share = shares[i]
		rows[i].State = r.state(int32(i), &rows[i], best)
	}
	return rows
}

// firstShares are the chances of each endpoint to get the first try of an unpinned request.
func (r *Router) firstShares(req *Request, t *table) []float64 {
	shares := make([]float64, len(r.endpoints))
	for _, e := range req.Order {
		if !req.Excluded.Has(e) {
			shares[e] = 1
			return shares
		}
	}
	turn := r.all.Without(req.Excluded)
	if own := turn.Without(turn.Without(req.First)); !own.Empty() {
		turn = own
	}
	if usual := turn.Without(req.Last); !usual.Empty() {
		turn = usual
	}
	if t.first == byOrder {
		rest := r.all.Without(turn)
		if e := t.next(&rest); e >= 0 {
			shares[e] = 1
		}
		return shares
	}
	total := 0.0
	for i, s := range t.shares {
		if turn.Has(int32(i)) {
			total += s
		}
	}
	for i, s := range t.shares {
		switch {
		case !turn.Has(int32(i)):
		case total > 0:
			shares[i] = s / total
		default:
			shares[i] = 1 / float64(turn.Len())
		}
	}
	return shares
}

func (r *Router) state(e int32, row *Row, best float64) State {
	switch {
	case r.open.Has(e):
		return StateOut
	case r.cooling.Has(e):
		return StateCooling
	case r.halfOpen.Has(e):
		return StateProbing
	case r.flagged.Has(e):
		return StateFlagged
	case r.unstable.Has(e):
		return StateUnstable
	case row.BackOff < 1:
		return StateBackOff
	case row.CapShare > 0 && row.Share >= row.CapShare*(1-r.cfg.Share.Floor)-1e-9:
		return StateCapped
	case best >= 0 && row.CostUSD > best*(1+r.cfg.Share.Edge):
		return StateFar
	}
	return StateEdge
}

// Size is the expected size of a request in tokens, from the model's recent traffic with prompts of about that size.
func (r *Router) Size(now Instant, inputTokens int) (input, output float64) {
	r.refresh(now)
	r.believe()
	z := r.sizes[r.telemetry.class(inputTokens)]
	return z.input, z.output
}
