package router

import (
	"fmt"
	"math/rand/v2"
)

// Router routes the requests of one model. It is not safe for concurrent use; Shared is.
type Router struct {
	model     string
	endpoints []Endpoint
	cfg       Config
	curve     *curve

	// Fixed facts of the endpoints.
	all          Set
	discounts    Set       // read a prompt cache for less than the prompt's price
	inaccurate   Set       // benchmark accuracy far below the peers'
	groups       []Set     // endpoints that share the rate limit
	idle         []Instant // longest pause of a pinned conversation
	priceWeights []float64
	rank         []uint8 // places by slug

	// What is learned.
	telemetry telemetry
	loads     []load
	drawRate  float64 // free draws per second
	peaks     bool    // response times are learned, from the first use of the policy that looks at them
	stepped   Instant // time of the last step of the loads
	breakers  []breaker
	told      Set // flagged by Flag
	broken    Set // flagged for broken tool calls
	truth     []Truth

	// The snapshot: what the telemetry said at its time. Decisions read it until it is older than SnapshotAge or made SnapshotPicks picks.
	latest     Instant // of all calls
	generation uint64
	taken      Instant
	picks      int
	stale      bool
	weights    weights
	limits     []float64 // largest share of the free draws
	capped     bool      // some limit is finite
	unstable   Set       // major outage, for the price policy
	down       Set       // failing more than a pinned conversation puts up with
	open       Set       // out by the breaker
	halfOpen   Set       // one probe at a time
	cooling    Set       // asked to be left alone
	crowded    Set       // pinned conversations alone are over the cap
	unpinned   Set       // no conversation stays here …
	guardedOff Set       // … nor here, under a policy with guardrails
	tiers      []uint8   // of Auto Exacto
	tiersOf    uint64    // the generation that they were made from

	// What is believed of the endpoints, made on first use after a snapshot.
	believed uint64 // the generation that it was made for
	typical  Typical
	sizes    []requestSize // by class
	signals  []signals
	backOff  []float64
	flagged  Set // exploration traffic only

	// The answers of the policies, made from the snapshot on first use.
	deck     *deck
	spare    *deck // of the policy before, which two arms in turn come back to
	sorts    [SortExacto + 1]*deck
	ordered  *deck
	filtered [filterCache]filteredTable

	medians  *medians
	revealed []signals
	scratch  [2][]float64
}

// New makes the router of a model, with the policy routing-cost. The endpoints' indices are their places in the slice.
func New(model string, endpoints []Endpoint, cfg Config) (*Router, error) {
	if len(endpoints) == 0 || len(endpoints) > MaxEndpoints {
		return nil, fmt.Errorf("new router for %s: %d endpoints, want 1 to %d", model, len(endpoints), MaxEndpoints)
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("new router for %s: %w", model, err)
	}
	if err := checkEndpoints(endpoints); err != nil {
		return nil, fmt.Errorf("new router for %s: %w", model, err)
	}
	n := len(endpoints)
	cfg.Telemetry.SizeClasses = append([]int(nil), cfg.Telemetry.SizeClasses...)
	r := &Router{
		model: model, endpoints: append([]Endpoint(nil), endpoints...), cfg: cfg, curve: newCurve(&cfg.Share),
		all: FirstN(n), inaccurate: inaccurate(endpoints, &cfg.Quality), groups: groups(endpoints), idle: make([]Instant, n),
		priceWeights: priceWeights(endpoints, cfg.Price.Exponent), rank: ranks(endpoints),
		loads: make([]load, n), breakers: make([]breaker, n), stale: true,
		signals: make([]signals, n), medians: newMedians(n), backOff: make([]float64, n), limits: make([]float64, n),
		tiers: make([]uint8, n), scratch: [2][]float64{make([]float64, n), make([]float64, n)},
	}
	for i := range endpoints {
		if endpoints[i].Price.CacheRead < endpoints[i].Price.Input {
			r.discounts.Add(int32(i))
		}
		r.idle[i] = Instant(max(cfg.Pin.Idle, endpoints[i].CacheTTL))
	}
	r.telemetry = newTelemetry(&r.cfg.Telemetry, n)
	r.sizes = make([]requestSize, len(r.telemetry.sizes))
	return r, r.Use("routing-cost")
}

// Model is the name that the router was made for.
func (r *Router) Model() string { return r.model }

// Endpoints lists the endpoints by index. The caller must not change them.
func (r *Router) Endpoints() []Endpoint { return r.endpoints }

// Use switches the policy. It changes nothing else: telemetry, pins and guardrails stay as they are.
func (r *Router) Use(policy string) error {
	if r.deck != nil && r.deck.name == policy {
		return nil
	}
	if r.spare == nil || r.spare.name != policy {
		p, err := policyNamed(policy, r.endpoints)
		if err != nil {
			return err
		}
		r.spare = newDeck(r, p)
		r.spare.name = policy
	}
	r.deck, r.spare = r.spare, r.deck
	r.peaks = r.peaks || r.deck.policy == (twoChoices{})
	return nil
}

// Decide returns the endpoint of a request's first try: the one where its conversation is, or a new choice.
func (r *Router) Decide(now Instant, req *Request, rng rand.Source) Decision {
	r.refresh(now)
	left := LeftNot
	if req.Pin.Endpoint > 0 {
		if left = r.stays(now, req); left == LeftNot {
			e := req.Pin.Endpoint - 1
			r.pick(e)
			return Decision{Endpoint: e, Pinned: true}
		}
	}
	t := r.table(req)
	return Decision{Endpoint: r.choose(now, req, t, t.first, &req.Excluded, rng), Left: left}
}

// Retry returns the endpoint of a request's next try, none of those tried; −1 when none is left.
func (r *Router) Retry(now Instant, req *Request, tried *Set, rng rand.Source) Decision {
	r.refresh(now)
	t := r.table(req)
	out := tried.Union(req.Excluded)
	return Decision{Endpoint: r.choose(now, req, t, t.retry, &out, rng)}
}

// Observe learns from an attempt that ended. Every attempt that Decide or Retry decided must be observed once.
func (r *Router) Observe(now Instant, endpoint int32, o *Outcome) {
	r.follow(now)
	if !o.isPlausible() {
		seen := o.plausible()
		o = &seen
	}
	w := r.telemetry.weigh(now)
	r.telemetry.add(w, now, endpoint, o)
	l := &r.loads[endpoint]
	if l.inFlight > 0 {
		l.inFlight--
	}
	switch o.Kind {
	case OutcomeOK:
		if r.peaks {
			l.meet(now, o.TTFT.Seconds())
		}
	case OutcomeMidstream, OutcomeError:
		if r.peaks {
			l.meet(now, o.Duration.Seconds())
		}
		// An outage is seen by the very next decision, whatever the snapshot's age.
		if s := &r.telemetry.endpoints[endpoint]; !r.stale {
			c := &r.cfg.Outage
			r.stale = c.hit(s, w, c.ErrorRate) && !r.unstable.Has(endpoint) || c.hit(s, w, c.PinRate) && !r.down.Has(endpoint)
		}
	case OutcomeRateLimited:
		l.rejected++
		if o.RetryAfter > 0 {
			r.coolDown(now, endpoint, o)
		}
	case OutcomeNeutral:
	}
	if r.halfOpen.Has(endpoint) {
		r.settle(endpoint, now, o.Kind)
	}
}

// coolDown leaves the endpoint alone for as long as it asked, within MostRetryAfter, and with it those that share its rate limit unless the
// limit was the endpoint's own capacity. A shorter wait never replaces a longer one.
func (r *Router) coolDown(now Instant, endpoint int32, o *Outcome) {
	until := now + Instant(min(o.RetryAfter, r.cfg.BackOff.MostRetryAfter))
	for i := range r.loads {
		shared := r.groups[endpoint].Has(int32(i)) && o.Limit != LimitCapacity
		if (shared || int32(i) == endpoint) && until > r.loads[i].coolUntil {
			r.loads[i].coolUntil = until
			r.stale = true
		}
	}
}

// hit says whether the endpoint failed more than rate of its recent tries.
func (c *OutageConfig) hit(s *sums, w weights, rate float64) bool {
	tries := s.recentAnswered + s.recentFailed
	return tries >= c.MinRequests*w.recent && s.recentFailed > rate*tries
}

// InFlight is the number of attempts at the endpoint that were decided and not yet observed.
func (r *Router) InFlight(endpoint int32) int { return int(r.loads[endpoint].inFlight) }
