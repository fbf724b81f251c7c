package router

import "math"

// twoChoices is the baseline of power-of-two-choices load balancers: of two endpoints drawn evenly, the one with less peak-sensitive
// moving average of the response time × (requests in flight + 1) (Finagle's P2C with Peak EWMA).
type twoChoices struct{ single }

func (twoChoices) fill(_ *Router, _ kind, eligible Set, t *table) bool {
	t.even(eligible)
	t.first, t.retry = byTwoPeaks, byTwoPeaks
	return true
}

// peakMemory is the time constant with which a peak is forgotten.
const peakMemory = 10 * Second

// meet learns a response time: a longer one counts at once, shorter ones win slowly.
func (l *load) meet(now Instant, seconds float64) {
	if seconds >= l.answer {
		l.answer = seconds
	} else {
		l.answer = seconds + (l.answer-seconds)*exp(-float64(now-l.answerAt)*(1/float64(peakMemory)))
	}
	l.answerAt = now
}

// burden is what two choices compare: unknown endpoints with a request in flight are avoided until they answer.
func (l *load) burden() float64 {
	if l.answer == 0 && l.inFlight > 0 {
		return math.MaxFloat64
	}
	return l.answer * float64(l.inFlight+1)
}

// uniformPolicy is the baseline that knows nothing: every endpoint alike.
type uniformPolicy struct{ single }

func (uniformPolicy) fill(_ *Router, _ kind, eligible Set, t *table) bool {
	t.even(eligible)
	t.first, t.retry = byShare, byShare
	return true
}

// oraclePolicy is the bound that only a simulation can reach: Routing Cost from the market's true state, each endpoint filled to its
// room, cheapest first.
type oraclePolicy struct{}

// Truth is the true state of an endpoint, for the policy oracle.
type Truth struct {
	TTFT            float64 // expected seconds until the first token
	SecondsPerToken float64 // expected whole seconds ÷ output tokens
	ErrorRate       float64 // chance that an attempt that is not rejected fails
	RateLimited     float64 // chance of a 429
	Room            float64 // requests per second that it can still take; +Inf = no limit
}

// Reveal tells the policy oracle the true state of an endpoint. Other policies do not see it.
func (r *Router) Reveal(endpoint int32, t Truth) {
	if r.truth == nil {
		r.truth = make([]Truth, len(r.endpoints))
		r.revealed = make([]signals, len(r.endpoints))
		for i := range r.truth {
			r.truth[i].Room = math.Inf(1)
		}
	}
	r.truth[endpoint] = t
	for _, d := range [...]*deck{r.deck, r.spare} {
		if d != nil && d.policy == (oraclePolicy{}) {
			r.generation++ // its tables are out of date
			break
		}
	}
}

func (oraclePolicy) kinds(*Config) kinds { return kinds{sizes: true} }

func (oraclePolicy) fill(r *Router, k kind, eligible Set, t *table) bool {
	believed := r.signals
	if r.truth != nil {
		believed = r.revealed
		copy(believed, r.signals)
		for i := range r.truth {
			s, y := &believed[i], &r.truth[i]
			if y.TTFT > 0 {
				s.ttft, s.secondsPerToken, s.errorRate, s.rateLimited = y.TTFT, y.SecondsPerToken, y.ErrorRate, y.RateLimited
			}
		}
	}
	r.costs(k.class, believed, t.costs)
	t.sortOrder(t.costs)
	left := 1.0
	clear(t.shares)
	cheapest := int32(-1)
	for _, e := range t.order {
		if !eligible.Has(int32(e)) {
			continue
		}
		if cheapest < 0 {
			cheapest = int32(e)
		}
		take := left
		if r.truth != nil && r.drawRate > 0 {
			take = min(left, r.truth[e].Room/r.drawRate)
		}
		t.shares[e] = take
		left -= take
	}
	if cheapest >= 0 {
		t.shares[cheapest] += left
	}
	t.first, t.retry = byShare, byOrder
	return true
}
