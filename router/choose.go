package router

import "math/rand/v2"

// choose picks an endpoint that is not in out and counts it: among those that go first, then the usual ones, then those that go last; −1
// when there is none. A half-open one must have its probe free.
func (r *Router) choose(now Instant, req *Request, t *table, c choice, out *Set, rng rand.Source) int32 {
	for _, o := range req.Order {
		if !out.Has(o) {
			r.pick(o)
			return o
		}
	}
	if !req.First.Empty() || !req.Last.Empty() {
		rest := r.outOfTurn(req, out)
		out = &rest
	}
	var e int32
	if c == byShare { // nearly always
		e = t.draw(out, rng)
	} else {
		e = r.chosen(t, c, out, rng)
	}
	if e < 0 {
		return e
	}
	if t.guarded && r.halfOpen.Has(e) && !r.leased(e, now) {
		rest := out.Union(r.halfOpen)
		if other := r.chosen(t, c, &rest, rng); other >= 0 {
			e = other
		}
	}
	r.pick(e)
	if c != byOrder {
		r.loads[e].draws++
	}
	return e
}

// outOfTurn adds to out the endpoints whose turn has not come: all but those that go first, or those that go last.
func (r *Router) outOfTurn(req *Request, out *Set) Set {
	for _, later := range [...]Set{r.all.Without(req.First), req.Last} {
		rest := out.Union(later)
		if left := r.all.Without(rest); !left.Empty() {
			return rest
		}
	}
	return *out
}

// chosen picks an endpoint that is not in out; −1 when there is none.
func (r *Router) chosen(t *table, c choice, out *Set, rng rand.Source) int32 {
	switch c {
	case byShare:
		return t.draw(out, rng)
	case byOrder:
		return t.next(out)
	default:
		return r.better(t, c, out, rng)
	}
}

// better draws two and takes the one that has less to do.
func (r *Router) better(t *table, c choice, out *Set, rng rand.Source) int32 {
	e := t.draw(out, rng)
	if e < 0 {
		return e
	}
	if c == byTwoPeaks {
		rest := *out
		rest.Add(e)
		if other := t.draw(&rest, rng); other >= 0 && r.loads[other].burden() < r.loads[e].burden() {
			return other
		}
		return e
	}
	other := t.draw(out, rng)
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
