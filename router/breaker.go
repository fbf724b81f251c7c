package router

import "math"

// breaker takes an endpoint out of traffic while it fails far more than its peers. Every state ends by itself: open when its time is over,
// half-open when a probe tells or nobody has probed for ProbeWait, a probe's lease when it is not settled in time.
type breaker struct {
	state     breakerState
	ejections int32   // since it last proved well
	until     Instant // end of the state: open → half-open, half-open → closed, closed → no ejections
	lease     Instant // until then the one probe at a time is under way
}

type breakerState uint8

const (
	closed breakerState = iota
	halfOpen
	open
)

// breakAndMend moves the breakers on, once per snapshot. An endpoint is taken out when its recent error rate exceeds both Absolute and, with at
// least four peers to compare with, their median + Deviations × 1.4826 × their median absolute deviation; the worst first, as long as
// MostOut allows.
func (r *Router) breakAndMend(now Instant) {
	c := &r.cfg.Breaker
	out := 0
	for i := range r.breakers {
		b := &r.breakers[i]
		if b.state == open && now >= b.until {
			b.state, b.until, b.lease = halfOpen, now+Instant(c.ProbeWait), 0
		}
		if b.state == halfOpen && now >= b.until {
			b.close(now, c)
		}
		if b.state == closed && b.ejections > 0 && now >= b.until {
			b.ejections = 0
		}
		if b.state != closed { // a half-open one may be out again at any moment
			out++
		}
	}
	for most := int(c.MostOut * float64(len(r.breakers))); out < most; out++ {
		e := r.worst()
		if e < 0 {
			break
		}
		r.trip(e, now)
	}
	r.open, r.halfOpen = Set{}, Set{}
	if out == 0 {
		return
	}
	for i := range r.breakers {
		switch r.breakers[i].state {
		case open:
			r.open.Add(int32(i))
		case halfOpen:
			r.halfOpen.Add(int32(i))
		case closed:
		}
	}
}

// worst is the endpoint in traffic that stands out most by its recent errors, by slug where several do alike; −1 when none does.
func (r *Router) worst() int32 {
	c := &r.cfg.Breaker
	worst, rate, limit := int32(-1), c.Absolute, math.Inf(1)
	for i := range r.breakers {
		s := &r.telemetry.endpoints[i]
		tries := s.recentAnswered + s.recentFailed
		if r.breakers[i].state != closed || tries < c.MinRequests*r.weights.recent || s.recentFailed <= c.Absolute*tries {
			continue
		}
		if math.IsInf(limit, 1) {
			limit = r.peerErrors()
		}
		failing := s.recentFailed / tries
		if failing > limit && (failing > rate || failing == rate && worst >= 0 && r.rank[i] < r.rank[worst]) {
			worst, rate = int32(i), failing
		}
	}
	return worst
}

// peerErrors is the error rate beyond which an endpoint stands out, 0 when there are too few peers to tell.
func (r *Router) peerErrors() float64 {
	v := r.scratch[0][:0]
	for i := range r.endpoints {
		e := &r.telemetry.endpoints[i]
		if tries := e.recentAnswered + e.recentFailed; tries >= r.cfg.Breaker.MinRequests*r.weights.recent {
			v = append(v, e.recentFailed/tries)
		}
	}
	if len(v) < 4 {
		return 0
	}
	return below(v, -r.cfg.Breaker.Deviations)
}

// trip takes the endpoint out, each time for twice as long, give or take a quarter that depends on the endpoint and the count, so that
// endpoints which failed together are not probed together.
func (r *Router) trip(e int32, now Instant) {
	c, b := &r.cfg.Breaker, &r.breakers[e]
	length := float64(c.Ejection) * math.Exp2(float64(min(b.ejections, 20)))
	length = min(length, float64(c.MaxEjection)) * (0.75 + 0.5*spread(uint64(r.rank[e])<<32|uint64(b.ejections)))
	b.state, b.until = open, now+Instant(length)
	b.ejections++
}

// close lets traffic in again. The count of ejections is kept until the endpoint has been in traffic for MaxEjection.
func (b *breaker) close(now Instant, c *BreakerConfig) {
	b.state, b.until, b.lease = closed, now+Instant(c.MaxEjection), 0
}

// settle learns from an attempt at an endpoint that is half open.
func (r *Router) settle(e int32, now Instant, kind OutcomeKind) {
	b := &r.breakers[e]
	if b.state != halfOpen {
		return
	}
	switch kind {
	case OutcomeOK:
		b.close(now, &r.cfg.Breaker)
		r.telemetry.forgive(e)
		r.stale = true
	case OutcomeError, OutcomeMidstream:
		r.trip(e, now)
		r.stale = true
	case OutcomeRateLimited, OutcomeNeutral:
		b.lease = 0 // it told nothing of health: the next may probe
	}
}

// leased takes the one probe of a half-open endpoint, unless it is under way.
func (r *Router) leased(e int32, now Instant) bool {
	b := &r.breakers[e]
	if now < b.lease {
		return false
	}
	b.lease = now + Instant(r.cfg.Breaker.Lease)
	return true
}

// spread hashes x to [0, 1) (the finaliser of SplitMix64).
func spread(x uint64) float64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}
