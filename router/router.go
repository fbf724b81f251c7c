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
	stepped   Instant // time of the last step of the loads
	breakers  []breaker
	told      Set // flagged by Flag
	broken    Set // flagged for broken tool calls
	truth     []Truth

	// The snapshot: what the telemetry said at its time. Decisions read it until it is older than SnapshotAge or made SnapshotPicks picks.
	generation uint64
	taken      Instant
	picks      int
	stale      bool
	weights    weights
	typical    Typical
	sizes      []requestSize // by class
	signals    []signals
	backOff    []float64
	limits     []float64 // largest share of the free draws
	capped     bool      // some limit is finite
	unstable   Set       // major outage, for the price policy
	down       Set       // failing more than a pinned conversation puts up with
	open       Set       // out by the breaker
	halfOpen   Set       // one probe at a time
	cooling    Set       // asked to be left alone
	crowded    Set       // pinned conversations alone are over the cap
	flagged    Set       // exploration traffic only
	unpinned   Set       // no conversation stays here
	tiers      []uint8   // of Auto Exacto
	tiersOf    uint64    // the generation that they were made from

	// The answers of the policies, made from the snapshot on first use.
	deck     *deck
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
	for i := range r.filtered {
		r.filtered[i].table = newTable(r.rank)
	}
	return r, r.Use("routing-cost")
}

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

// Model is the name that the router was made for.
func (r *Router) Model() string { return r.model }

// Endpoints lists the endpoints by index. The caller must not change them.
func (r *Router) Endpoints() []Endpoint { return r.endpoints }

// Use switches the policy. It changes nothing else: telemetry, pins and guardrails stay as they are.
func (r *Router) Use(policy string) error {
	p, err := policyNamed(policy, r.endpoints)
	if err != nil {
		return err
	}
	r.deck = newDeck(r, p)
	r.generation++
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

// choose picks an endpoint that is not in out and counts it: among those that go first, then the usual ones, then those that go last.
func (r *Router) choose(now Instant, req *Request, t *table, c choice, out *Set, rng rand.Source) int32 {
	e := int32(-1)
	if len(req.Order) > 0 {
		for _, o := range req.Order {
			if !out.Has(o) {
				r.pick(o)
				return o
			}
		}
	}
	if !req.First.Empty() {
		rest := out.Union(r.all.Without(req.First))
		e = r.among(now, t, c, &rest, rng)
	}
	if e < 0 && !req.Last.Empty() {
		rest := out.Union(req.Last)
		e = r.among(now, t, c, &rest, rng)
	}
	if e < 0 {
		e = r.among(now, t, c, out, rng)
	}
	if e >= 0 {
		r.pick(e)
		if c != byOrder {
			r.loads[e].draws++
		}
	}
	return e
}

// among picks an endpoint that is not in out; −1 when there is none. A half-open one must have its probe free.
func (r *Router) among(now Instant, t *table, c choice, out *Set, rng rand.Source) int32 {
	e := r.drawn(t, c, out, rng)
	if e >= 0 && r.halfOpen.Has(e) && c != byOrder && !r.leased(e, now) {
		rest := out.Union(r.halfOpen)
		if other := r.drawn(t, c, &rest, rng); other >= 0 {
			return other
		}
	}
	return e
}

func (r *Router) drawn(t *table, c choice, out *Set, rng rand.Source) int32 {
	if c == byOrder {
		return t.next(out)
	}
	var e int32
	if out.Empty() {
		e = t.draw(rng)
	} else if e = t.drawWithout(out, rng); e < 0 {
		return e
	}
	if c == byShare {
		return e
	}
	if c == byTwoPeaks {
		rest := *out
		rest.Add(e)
		if other := t.drawWithout(&rest, rng); other >= 0 && r.loads[other].burden() < r.loads[e].burden() {
			return other
		}
		return e
	}
	other := t.drawWithout(out, rng)
	a, b := &r.loads[e], &r.loads[other]
	if float64(b.inFlight)*t.shares[e] < float64(a.inFlight)*t.shares[other] {
		return other
	}
	return e
}

// pick counts a decision for the endpoint.
func (r *Router) pick(e int32) {
	r.picks++
	l := &r.loads[e]
	l.picks++
	l.inFlight++
}

// Observe learns from an attempt that ended. Every attempt that Decide or Retry decided must be observed once.
func (r *Router) Observe(now Instant, endpoint int32, o *Outcome) {
	w := r.telemetry.weigh(now)
	r.telemetry.add(w, now, endpoint, o)
	l := &r.loads[endpoint]
	if l.inFlight > 0 {
		l.inFlight--
	}
	switch o.Kind {
	case OutcomeOK:
		l.meet(now, o.TTFT.Seconds())
	case OutcomeMidstream, OutcomeError:
		l.meet(now, o.Duration.Seconds())
		// An outage is seen by the very next decision, whatever the snapshot's age.
		if s := &r.telemetry.endpoints[endpoint]; !r.stale {
			c := &r.cfg.Outage
			r.stale = c.hit(s, w, c.ErrorRate) && !r.unstable.Has(endpoint) || c.hit(s, w, c.PinRate) && !r.down.Has(endpoint)
		}
	case OutcomeRateLimited:
		l.rejected++
		if o.RetryAfter > 0 {
			r.coolDown(now, endpoint, o.RetryAfter)
		}
	case OutcomeNeutral:
	}
	if r.halfOpen.Has(endpoint) {
		r.settle(endpoint, now, o.Kind)
	}
}

// coolDown leaves the endpoint, and those with the same rate limit, alone for as long as it asked, within MostRetryAfter. A shorter wait never
// replaces a longer one.
func (r *Router) coolDown(now Instant, endpoint int32, wait Micros) {
	until := now + Instant(min(wait, r.cfg.BackOff.MostRetryAfter))
	for i := range r.loads {
		if r.groups[endpoint].Has(int32(i)) && until > r.loads[i].coolUntil {
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

// refresh takes a new snapshot when the last one is no longer good.
func (r *Router) refresh(now Instant) {
	if r.stale || now-r.taken >= Instant(r.cfg.SnapshotAge) || r.picks >= r.cfg.SnapshotPicks {
		r.snapshot(now)
	}
}

func (r *Router) snapshot(now Instant) {
	r.generation++
	r.taken, r.stale, r.picks = now, false, 0
	t := &r.telemetry
	r.weights = t.weigh(now)
	r.weights.tools = t.weighTools(now)
	t.expect(r.weights, r.sizes)
	r.typical = t.typical(r.weights, r.medians)
	all := r.sizes[len(r.sizes)-1]
	r.typical.InputTokens, r.typical.OutputTokens = all.input, all.output
	t.signals(r.weights, &r.typical, r.signals)
	if q := r.cfg.Cost.TTFTQuantile; q > 0 {
		t.tails(r.weights, &r.typical, q, r.signals)
	}
	t.backOffs(r.weights, &r.cfg.BackOff, r.signals, r.backOff)
	r.flag()
	r.breakAndMend(now)
	r.unstable, r.down, r.cooling = Set{}, Set{}, Set{}
	for i := range r.endpoints {
		s := &t.endpoints[i]
		if r.cfg.Outage.hit(s, r.weights, r.cfg.Outage.ErrorRate) {
			r.unstable.Add(int32(i))
		}
		if r.cfg.Outage.hit(s, r.weights, r.cfg.Outage.PinRate) {
			r.down.Add(int32(i))
		}
		if now < r.loads[i].coolUntil {
			r.cooling.Add(int32(i))
		}
	}
	r.learnCaps(now)
	r.capped = r.limitShares()
	r.unpinned = r.all.Without(r.discounts).Union(r.down).Union(r.open).Union(r.cooling).Union(r.crowded)
}

// table is the policy's answer for the request, made on first use after a snapshot. Endpoints that the request rules out matter only when
// the others are measured against one of them.
func (r *Router) table(req *Request) *table {
	d := r.deck
	switch {
	case len(req.Order) > 0:
		d = r.orderDeck()
	case req.Sort != SortNone:
		d = r.sortDeck(req.Sort)
	}
	v := d.policy.variant(r, req.InputTokens, req.Tools)
	t := &d.tables[v]
	if t.generation != r.generation {
		r.fill(d, v, r.all, t)
	}
	if !req.Excluded.Empty() && (t.best < 0 || req.Excluded.Has(t.best)) && t.first != byOrder {
		return r.filteredTable(d, v, &req.Excluded)
	}
	return t
}

func (r *Router) fill(d *deck, variant int, eligible Set, t *table) {
	d.policy.fill(r, variant, eligible, t)
	if t.first != byOrder || t.retry != byOrder {
		t.prepare()
	}
	t.generation = r.generation
}

// filterCache is how many tables of filtered endpoints are kept.
const filterCache = 16

// filteredTable is a table for the endpoints that a filter leaves.
type filteredTable struct {
	deck     *deck
	variant  int
	excluded Set
	table    table
}

func (r *Router) filteredTable(d *deck, variant int, excluded *Set) *table {
	h := (excluded[0]*0x9e3779b97f4a7c15 ^ excluded[1]*0xbf58476d1ce4e5b9 ^ uint64(variant)*0x94d049bb133111eb) >> 60
	f := &r.filtered[h%filterCache]
	if f.deck != d || f.variant != variant || f.excluded != *excluded || f.table.generation != r.generation {
		f.deck, f.variant, f.excluded = d, variant, *excluded
		eligible := r.all.Without(*excluded)
		if eligible.Empty() {
			f.table.generation = 0
			return &d.tables[variant] // nobody is left: every draw says so
		}
		r.fill(d, variant, eligible, &f.table)
	}
	return &f.table
}

func (r *Router) sortDeck(s Sort) *deck {
	if r.sorts[s] == nil {
		r.sorts[s] = newDeck(r, sortPolicy{s})
	}
	return r.sorts[s]
}

func (r *Router) orderDeck() *deck {
	if r.ordered == nil {
		r.ordered = newDeck(r, pricePolicy{})
	}
	return r.ordered
}

// InFlight is the number of attempts at the endpoint that were decided and not yet observed.
func (r *Router) InFlight(endpoint int32) int { return int(r.loads[endpoint].inFlight) }
