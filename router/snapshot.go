package router

// refresh takes a new snapshot when the last one is no longer good.
func (r *Router) refresh(now Instant) {
	r.follow(now)
	if r.stale || now-r.taken >= Instant(r.cfg.SnapshotAge) || r.picks >= r.cfg.SnapshotPicks {
		r.snapshot(now)
	}
}

// snapshot moves the guardrails on and lets go of what the one before believed. Beliefs and the policies' answers follow when they are asked for.
func (r *Router) snapshot(now Instant) {
	r.generation++
	r.taken, r.stale, r.picks = now, false, 0
	r.weights = r.telemetry.weigh(now)
	r.breakAndMend(now)
	r.findOutages(now)
	r.learnCaps(now)
	r.capped = r.limitShares()
	r.unpinned = r.all.Without(r.discounts).Union(r.down)
	r.guardedOff = r.open.Union(r.cooling).Union(r.crowded)
}

// believe reads the signals off the telemetry as it is now, once per snapshot. Under a policy that goes by prices alone nobody asks for them, and
// they are most of the work.
func (r *Router) believe() {
	if r.believed == r.generation {
		return
	}
	r.believed = r.generation
	t := &r.telemetry
	w := t.weigh(r.latest) // the epoch may have moved since the snapshot
	t.expect(w, r.sizes)
	r.typical = t.typical(w, r.medians)
	all := r.sizes[len(r.sizes)-1]
	r.typical.InputTokens, r.typical.OutputTokens = all.input, all.output
	t.signals(w, &r.typical, r.signals)
	if q := r.cfg.Cost.TTFTQuantile; q > 0 {
		t.tails(w, &r.typical, q, r.signals)
	}
	t.backOffs(w, &r.cfg.BackOff, r.signals, r.backOff)
	r.flag(w)
}

// findOutages finds the endpoints that fail right now and those that asked to be left alone.
func (r *Router) findOutages(now Instant) {
	c := &r.cfg.Outage
	r.unstable, r.down, r.cooling = Set{}, Set{}, Set{}
	for i := range r.endpoints {
		s, e := &r.telemetry.endpoints[i], int32(i)
		if s.recentFailed > 0 {
			if c.hit(s, r.weights, c.ErrorRate) {
				r.unstable.Add(e)
			}
			if c.hit(s, r.weights, c.PinRate) {
				r.down.Add(e)
			}
		}
		if now < r.loads[i].coolUntil {
			r.cooling.Add(e)
		}
	}
}

// table is the policy's answer for the request, made on first use after a snapshot: for all endpoints, or for those that the request's
// filters leave.
func (r *Router) table(req *Request) *table {
	d := r.deck
	switch {
	case len(req.Order) > 0:
		d = r.orderDeck()
	case req.Sort != SortNone:
		d = r.sortDeck(req.Sort)
	}
	k := d.kind(&r.telemetry, req.InputTokens, req.Tools)
	if !req.Excluded.Empty() && !d.strict {
		if f := r.filteredTable(d, k, &req.Excluded); f != nil {
			return f
		}
	}
	t := d.table(k)
	if t.generation != r.generation {
		r.fill(d, k, r.all, t)
	}
	return t
}

func (r *Router) fill(d *deck, k kind, eligible Set, t *table) {
	if d.believes {
		r.believe()
	}
	if d.policy.fill(r, k, eligible, t) && !d.strict {
		t.prepare()
	}
	t.generation, t.guarded = r.generation, d.guarded
}

// filterCache is how many tables of filtered endpoints are kept, a power of 2.
const filterCache = 16

// filteredTable is a table for the endpoints that a filter leaves.
type filteredTable struct {
	deck     *deck
	kind     kind
	excluded Set
	table    table
}

// filteredTable is the policy's answer for those that the filter leaves: measured against the best of them. nil when it leaves nobody.
func (r *Router) filteredTable(d *deck, k kind, excluded *Set) *table {
	h := (excluded.low*0x9e3779b97f4a7c15 ^ excluded.high*0xbf58476d1ce4e5b9 ^ uint64(k.class)*0x94d049bb133111eb) >> 32
	f := &r.filtered[h%filterCache]
	if f.deck == d && f.kind == k && f.excluded == *excluded && f.table.generation == r.generation {
		return &f.table
	}
	eligible := r.all.Without(*excluded)
	if eligible.Empty() {
		return nil
	}
	if f.table.shares == nil {
		f.table = newTable(r.rank)
	}
	if f.deck != d || f.kind != k {
		f.table.filled = false
	}
	f.deck, f.kind, f.excluded = d, k, *excluded
	r.fill(d, k, eligible, &f.table)
	return &f.table
}

func (r *Router) sortDeck(s Sort) *deck {
	if r.sorts[s] == nil {
		r.sorts[s] = newDeck(r, sortPolicy{by: s})
	}
	return r.sorts[s]
}

func (r *Router) orderDeck() *deck {
	if r.ordered == nil {
		r.ordered = newDeck(r, pricePolicy{})
	}
	return r.ordered
}
