package experiment

import (
	"switchback/experiment/market"
	"switchback/experiment/random"
	"switchback/experiment/workload"
	"switchback/router"
)

// newSession returns the index of an unused session.
func (w *world) newSession() int32 {
	if n := len(w.freeS); n > 0 {
		at := w.freeS[n-1]
		w.freeS = w.freeS[:n-1]
		return at
	}
	w.sessions = append(w.sessions, session{})
	w.further = append(w.further, make([]place, len(w.hosts)-1)...)
	return int32(len(w.sessions) - 1)
}

// newFlight returns the index of an unused flight.
func (w *world) newFlight() int32 {
	if n := len(w.freeF); n > 0 {
		at := w.freeF[n-1]
		w.freeF = w.freeF[:n-1]
		return at
	}
	w.flights, w.tries, w.cheapest = append(w.flights, flight{}), append(w.tries, nil), append(w.cheapest, 0)
	return int32(len(w.flights) - 1)
}

// begin sends the next request of a session.
func (w *world) begin(at int32, now int64) {
	s := &w.sessions[at]
	w.demand.NextTurn(&s.Session, now)
	if s.Turn > 0 && s.Prefix == 0 {
		w.forget(at)
	}
	w.summary.Requests++
	fi := w.newFlight()
	f := &w.flights[fi]
	*f = flight{} // and then field by field: a whole flight would be made elsewhere and copied
	f.work.Input, f.work.Prefix, f.work.Shared, f.work.Output = s.Prompt, s.Prefix, s.Shared, s.Output
	f.session, f.arrival, f.giveUp = at, now, workload.Never
	f.block, f.pinBlock, f.arm = int32(w.inside), unpinned, w.armOf(s)
	if patience := w.demand.Patience(&s.Session); patience != workload.Never {
		f.giveUp = now + patience
	}
	f.host = w.orders[s.kept][0]
	if endpoint := w.decide(f, s, now); endpoint >= 0 {
		w.try(fi, endpoint, now+overhead)
		return
	}
	w.fallBack(fi, now, now+overhead)
}

// forget empties the caches of a conversation whose prompt begins anew, as after it was cut down to fit: nothing that they hold goes on.
func (w *world) forget(at int32) {
	w.sessions[at].cache = market.Cache{}
	more := len(w.hosts) - 1
	for i := range w.further[int(at)*more:][:more] {
		w.further[int(at)*more+i].cache = market.Cache{}
	}
}

// decide asks the router of the request's model for the first endpoint to try there; −1 when there is none.
func (w *world) decide(f *flight, s *session, now int64) int32 {
	h, p := w.hosts[f.host], w.placeOf(f, s)
	h.use(f.arm)
	d := h.router.Decide(router.Instant(now), w.ask(s, p), &h.draws)
	if d.Pinned {
		f.pinBlock = p.pinBlock
	}
	return d.Endpoint
}

// fallBack sends the request to the next model of its list that has an endpoint for it, at starts, or gives the request up.
func (w *world) fallBack(fi int32, now, starts int64) {
	f := &w.flights[fi]
	s := &w.sessions[f.session]
	for f.turn+1 < s.reach {
		f.turn++
		f.host, f.tried, f.pinBlock = w.orders[s.kept][f.turn], router.Set{}, unpinned
		if endpoint := w.decide(f, s, now); endpoint >= 0 {
			w.try(fi, endpoint, starts)
			return
		}
	}
	w.finish(fi, now, StatusError)
}

// placeOf is what the request's conversation has at the host that the request is sent to.
func (w *world) placeOf(f *flight, s *session) *place {
	if f.host == 0 {
		return &s.place
	}
	return &w.further[int(f.session)*(len(w.hosts)-1)+int(f.host)-1]
}

// memoryOf is what the endpoints of the host that the request is sent to remember of its prompt.
func (w *world) memoryOf(f *flight, s *session) market.Memory {
	memory := market.Memory{Cache: &w.placeOf(f, s).cache}
	if s.Shared > 0 {
		n := len(w.hosts[f.host].market.Endpoints)
		memory.Shared = w.shared[f.host][int(s.Client)*n:][:n]
	}
	return memory
}

// ask is what the router knows of the session's current request.
func (w *world) ask(s *session, p *place) *router.Request {
	w.asked.InputTokens, w.asked.Tools, w.asked.Pin = int(s.Prompt), s.Tools, p.pin
	return &w.asked
}

// armOf decides the arm of a session's current request.
func (w *world) armOf(s *session) arm {
	key := uint64(w.job.number)<<32 + uint64(s.Number)
	switch w.scene.world {
	case WorldControl:
		return control
	case WorldTreatment:
		return treatment
	case WorldABRequest:
		key = random.Mix(key) + uint64(s.Turn)
	case WorldAB:
	default:
		return w.arm
	}
	return arm(random.Mix(random.Mix(w.scene.seed^0x6162)+key) & 1)
}

// try starts an attempt.
func (w *world) try(fi, endpoint int32, now int64) {
	f := &w.flights[fi]
	f.endpoint, f.started = endpoint, now
	f.attempts++
	f.tried.Add(endpoint)
	s := &w.sessions[f.session]
	memory := w.memoryOf(f, s)
	w.hosts[f.host].market.Try(&f.answer, endpoint, f.work, memory, now)
	if s.logged && f.answer.Kind == market.Served {
		w.cheapest[fi] = w.cheapestCost(f, memory)
	}
	w.events.push(event{at: min(now+f.answer.Duration, max(f.giveUp, now)), what: fi})
}

// endAttempt learns from an attempt that ended and goes on with the request.
func (w *world) endAttempt(fi int32, now int64) {
	f := &w.flights[fi]
	s := &w.sessions[f.session]
	h, p := w.hosts[f.host], w.placeOf(f, s)
	a := &f.answer
	spent := now - f.started
	cancelled := spent < a.Duration
	served := a.Kind == market.Served && !cancelled
	if a.Kind != market.RateLimited {
		h.market.Finish(f.endpoint, f.work, served, w.memoryOf(f, s), now)
	}
	out := router.Outcome{Duration: router.Micros(spent), Input: int(f.work.Input)}
	switch {
	case cancelled:
		out.Kind = router.OutcomeNeutral
	case a.Kind == market.RateLimited:
		out.Kind, out.RetryAfter = router.OutcomeRateLimited, router.Micros(a.RetryAfter)
		f.n429++
	case a.Kind == market.Failed:
		out.Kind = router.OutcomeError
	default:
		out.Kind = router.OutcomeOK
		if a.Kind == market.Broken {
			out.Kind = router.OutcomeMidstream
		}
		out.TTFT, out.Cached, out.Output = router.Micros(a.TTFT), int(a.Cached), int(a.Output)
		if served && s.Tools {
			out.ToolCall, out.ToolCallOK = true, h.market.ToolCallOK(f.endpoint)
		}
	}
	h.router.Observe(router.Instant(now), f.endpoint, &out)
	if pin := router.UpdatePin(p.pin, router.Instant(now), f.endpoint, &out); pin != p.pin {
		if pin.Endpoint != p.pin.Endpoint || f.pinBlock == unpinned { // it was chosen now, be it once more
			p.pinBlock = f.block
		}
		p.pin = pin
	}
	if s.logged && (!served || f.attempts > 1) {
		w.tries[fi] = append(w.tries[fi], w.attemptRow(f, &out, spent, cancelled))
	}
	switch {
	case cancelled:
		w.finish(fi, now, StatusCancelled)
	case served:
		if f.host != s.kept && len(w.orders) > 1 {
			s.kept = f.host
		}
		w.record(fi, &out, now, StatusOK)
		w.release(fi, now)
	case a.Kind == market.Broken:
		w.finish(fi, now, StatusErrorMidstream)
	default:
		f.failed += spent
		w.retry(fi, now)
	}
}

// retry sends the request to another endpoint of its model, or to the next model of its list, or gives it up.
func (w *world) retry(fi int32, now int64) {
	f := &w.flights[fi]
	if f.tried.Len() < w.scene.scenario.Attempts {
		s := &w.sessions[f.session]
		h := w.hosts[f.host]
		h.use(f.arm)
		if d := h.router.Retry(router.Instant(now), w.ask(s, w.placeOf(f, s)), &f.tried, &h.draws); d.Endpoint >= 0 {
			w.try(fi, d.Endpoint, now)
			return
		}
	}
	w.fallBack(fi, now, now)
}

// finish ends a request that was not served.
func (w *world) finish(fi int32, now int64, status string) {
	w.record(fi, nil, now, status)
	w.release(fi, now)
}

// release frees the flight and plans the session's next turn.
func (w *world) release(fi int32, now int64) {
	at := w.flights[fi].session
	w.freeF = append(w.freeF, fi)
	s := &w.sessions[at]
	if s.More() {
		if next := w.demand.NextAt(&s.Session, now); next < w.scene.horizon {
			w.events.push(event{at: next, what: ^at})
			return
		}
	}
	w.freeS = append(w.freeS, at)
}
