package router

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Router routes the requests of one model. It is not safe for concurrent use.
type Router struct {
	model     string
	endpoints []Endpoint
	cfg       Config
	policy    policy
	curve     *curve
	all       Set
	discounts Set       // endpoints that read a prompt cache for less than the prompt's price
	idle      []Instant // longest pause of a pinned conversation

	priceWeights []float64

	telemetry telemetry
	loads     []load
	drawRate  float64 // free draws per second
	stepped   Instant // of the loads

	// The snapshot: what the telemetry said at its time. Decisions read it until it is older than SnapshotAge.
	taken    Instant
	stale    bool
	weights  weights
	typical  Typical
	sizes    []requestSize // by class
	signals  []signals
	medians  medians
	backOff  []float64
	limits   []float64
	capped   bool
	unstable Set // major outage, for the price policy
	down     Set // failing more than a pinned conversation puts up with
	unpinned Set // endpoints where no conversation stays: down, or no discount
	tables   []table
	ready    []bool
	scratch  []float64
}

// New makes the router of a model, with the policy routing-cost. The endpoints' indices are their places in the slice.
func New(model string, endpoints []Endpoint, cfg Config) (*Router, error) {
	if len(endpoints) == 0 || len(endpoints) > MaxEndpoints {
		return nil, fmt.Errorf("new router for %s: %d endpoints, want 1 to %d", model, len(endpoints), MaxEndpoints)
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("new router for %s: %w", model, err)
	}
	n := len(endpoints)
	cfg.Telemetry.SizeClasses = append([]int(nil), cfg.Telemetry.SizeClasses...)
	r := &Router{
		model: model, endpoints: append([]Endpoint(nil), endpoints...), cfg: cfg,
		curve: newCurve(&cfg.Share), all: FirstN(n), idle: make([]Instant, n),
		loads: make([]load, n), stale: true,
		signals: make([]signals, n), medians: newMedians(n), backOff: make([]float64, n), limits: make([]float64, n), scratch: make([]float64, n),
	}
	r.telemetry = newTelemetry(&r.cfg.Telemetry, n)
	r.sizes = make([]requestSize, len(r.telemetry.sizes))
	r.tables = make([]table, len(r.telemetry.sizes))
	r.ready = make([]bool, len(r.tables))
	for i := range r.tables {
		r.tables[i] = newTable(n)
	}
	r.priceWeights = priceWeights(endpoints, cfg.Price.Exponent)
	slugs := make(map[string]bool, n)
	for i := range endpoints {
		e := &endpoints[i]
		for _, p := range [...]float64{e.Price.Input, e.Price.Output, e.Price.CacheRead, e.Price.CacheWrite} {
			if !(p >= 0 && p < unstableKey) || math.IsInf(p, 0) {
				return nil, fmt.Errorf("new router for %s: endpoint %s: price %v is not a price per token", model, e.Slug, p)
			}
		}
		if slugs[e.Slug] {
			return nil, fmt.Errorf("new router for %s: endpoint %s: listed twice", model, e.Slug)
		}
		slugs[e.Slug] = true
		if e.Price.CacheRead < e.Price.Input {
			r.discounts.Add(int32(i))
		}
		r.idle[i] = Instant(max(cfg.Pin.Idle, e.CacheTTL))
	}
	return r, r.Use("routing-cost")
}

// Use switches the policy. It changes nothing else: telemetry, pins and guardrails stay as they are.
func (r *Router) Use(policy string) error {
	p, err := policyNamed(policy)
	if err != nil {
		return err
	}
	r.policy = p
	clear(r.ready)
	return nil
}

// Decide returns the endpoint of a request's first try.
func (r *Router) Decide(now Instant, req *Request, rng rand.Source) Decision {
	r.refresh(now)
	if req.Pin.Endpoint > 0 && r.holds(now, req) {
		e := req.Pin.Endpoint - 1
		r.loads[e].picks++
		return Decision{Endpoint: e, Pinned: true}
	}
	t := r.table(req)
	var e int32
	if req.Excluded.Empty() {
		e = t.draw(rng)
	} else if e = t.drawWithout(&req.Excluded, rng); e < 0 {
		return Decision{Endpoint: -1}
	}
	r.loads[e].picks++
	r.loads[e].draws++
	return Decision{Endpoint: e}
}

// Retry returns the endpoint of a request's next try, none of those tried; −1 when none is left.
func (r *Router) Retry(now Instant, req *Request, tried *Set, rng rand.Source) Decision {
	r.refresh(now)
	t := r.table(req)
	out := tried.Union(req.Excluded)
	var e int32
	if t.redraw {
		e = t.drawWithout(&out, rng)
	} else {
		e = t.next(&out)
	}
	if e >= 0 {
		r.loads[e].picks++
		if t.redraw {
			r.loads[e].draws++
		}
	}
	return Decision{Endpoint: e}
}

// Observe learns from an attempt that ended.
func (r *Router) Observe(now Instant, endpoint int32, o *Outcome) {
	w := r.telemetry.weigh(now)
	r.telemetry.add(w, endpoint, o)
	switch o.Kind {
	case OutcomeError, OutcomeMidstream:
		// An outage is seen by the very next decision, whatever the snapshot's age.
		if s := &r.telemetry.endpoints[endpoint]; !r.stale && r.cfg.Outage.hit(s, w, min(r.cfg.Outage.ErrorRate, r.cfg.Outage.PinRate)) {
			r.stale = !r.unstable.Has(endpoint) || !r.down.Has(endpoint) && r.cfg.Outage.hit(s, w, r.cfg.Outage.PinRate)
		}
	case OutcomeRateLimited:
		r.loads[endpoint].rejected++
	case OutcomeOK, OutcomeNeutral:
	}
}

// hit says whether the endpoint failed more than rate of its recent tries.
func (c *OutageConfig) hit(s *sums, w weights, rate float64) bool {
	tries := s.recentAnswered + s.recentFailed
	return tries >= c.MinRequests*w.recent && s.recentFailed > rate*tries
}

// refresh takes a new snapshot when the last one is too old.
func (r *Router) refresh(now Instant) {
	if r.stale || now-r.taken >= Instant(r.cfg.SnapshotAge) {
		r.snapshot(now)
	}
}

func (r *Router) snapshot(now Instant) {
	r.taken, r.stale = now, false
	r.weights = r.telemetry.weigh(now)
	r.telemetry.expect(r.weights, r.sizes)
	r.typical = r.telemetry.typical(r.weights, &r.medians)
	all := r.sizes[len(r.sizes)-1]
	r.typical.InputTokens, r.typical.OutputTokens = all.input, all.output
	r.telemetry.signals(r.weights, &r.typical, r.signals)
	r.telemetry.backOffs(r.weights, &r.cfg.BackOff, r.signals, r.backOff)
	r.unstable, r.down = Set{}, Set{}
	for i := range r.endpoints {
		s := &r.telemetry.endpoints[i]
		if r.cfg.Outage.hit(s, r.weights, r.cfg.Outage.ErrorRate) {
			r.unstable.Add(int32(i))
		}
		if r.cfg.Outage.hit(s, r.weights, r.cfg.Outage.PinRate) {
			r.down.Add(int32(i))
		}
	}
	r.unpinned = r.all.Without(r.discounts).Union(r.down)
	r.learnCaps(now)
	r.capped = r.limitShares()
	clear(r.ready)
}

// table is the policy's answer for the request, made on first use after a snapshot.
func (r *Router) table(req *Request) *table {
	class := len(r.tables) - 1
	if r.policy.sized() {
		class = r.telemetry.class(req.InputTokens)
	}
	t := &r.tables[class]
	if !r.ready[class] {
		r.policy.decide(r, class, t)
		t.prepare()
		r.ready[class] = true
	}
	return t
}
