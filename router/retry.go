package router

import "math/rand/v2"

// Tries is what a request has behind it. The zero Tries is a request that has not been sent.
type Tries struct {
	Tried Set     // endpoints of the model that were tried
	Count int     // attempts at the model
	Began Instant // when the first attempt at any model was decided
	sent  bool
}

// NextModel turns to the next model of a request that names several: none of its endpoints was tried, but the request's time goes on.
func (t *Tries) NextModel() { t.Tried, t.Count = Set{}, 0 }

// Stop is the reason why a request is not tried again.
type Stop uint8

// Reasons to stop.
const (
	StopNot       Stop = iota // it is tried again
	StopAnswered              // it has its answer
	StopStarted               // the caller has seen a first token: nothing can be taken back
	StopCaller                // the request itself is at fault
	StopAttempts              // RetryConfig.Attempts are used up
	StopTime                  // RetryConfig.Time is used up
	StopNobody                // every endpoint that it may use was tried
	StopFallbacks             // it does not allow fallbacks
)

var stopNames = [...]string{"", "answered", "first token sent", "caller's error", "attempts used up", "time used up", "no endpoint left", "no fallbacks allowed"}

// String names the reason.
func (s Stop) String() string { return stopNames[s] }

// Try decides the next try of a request: the first at a model when last is nil, or one more after last, the outcome of the try before. When it stops, the
// decision's endpoint is −1 and the reason says why. fallbacks = false allows one try only.
func (r *Router) Try(now Instant, req *Request, tries *Tries, last *Outcome, fallbacks bool, rng rand.Source) (Decision, Stop) {
	none := Decision{Endpoint: -1}
	c := &r.cfg.Retry
	if !tries.sent {
		tries.Began, tries.sent = now, true
	}
	if last != nil {
		switch last.Kind {
		case OutcomeOK:
			return none, StopAnswered
		case OutcomeMidstream:
			return none, StopStarted
		case OutcomeNeutral:
			return none, StopCaller
		case OutcomeError, OutcomeRateLimited:
		}
		if !fallbacks {
			return none, StopFallbacks
		}
	}
	switch {
	case tries.Count >= c.Attempts:
		return none, StopAttempts
	case c.Time > 0 && now-tries.Began >= Instant(c.Time):
		return none, StopTime
	}
	var d Decision
	if tries.Count == 0 {
		d = r.Decide(now, req, rng)
	} else {
		d = r.Retry(now, req, &tries.Tried, rng)
	}
	if d.Endpoint < 0 {
		return d, StopNobody
	}
	tries.Tried.Add(d.Endpoint)
	tries.Count++
	return d, StopNot
}

// RetryAfter is how long until the first of the request's endpoints wants to be asked again, for an answer to a caller whom nobody can
// serve now; 0 when one can be asked at once.
func (r *Router) RetryAfter(now Instant, req *Request) Micros {
	least := Micros(-1)
	for i := range r.endpoints {
		if req.Excluded.Has(int32(i)) {
			continue
		}
		wait := max(Micros(r.loads[i].coolUntil-now), 0)
		if r.open.Has(int32(i)) {
			wait = max(wait, Micros(r.breakers[i].until-now))
		}
		if least < 0 || wait < least {
			least = wait
		}
	}
	return max(least, 0)
}
