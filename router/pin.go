package router

// Pin remembers the endpoint that a conversation was sent to. The caller keeps it beside the conversation; the zero Pin is unpinned.
type Pin struct {
	Endpoint int32   // index + 1; 0 = none
	LastUsed Instant // last success
	Warm     bool    // a prompt cache was seen to serve this conversation, or the caller named the conversation
}

// UpdatePin returns the pin of a conversation after an attempt at the endpoint ended: a success keeps it, makes it, or moves it to whoever
// served; anything else leaves it, unrefreshed.
func UpdatePin(p Pin, now Instant, endpoint int32, o *Outcome) Pin {
	if o.Kind != OutcomeOK {
		return p
	}
	return Pin{Endpoint: endpoint + 1, LastUsed: now, Warm: p.Warm || o.Cached > 0}
}

// Left is the reason why a conversation did not stay at its endpoint.
type Left uint8

// Reasons to leave.
const (
	LeftNot      Left = iota // it stayed, or had no pin
	LeftCold                 // no prompt cache was seen to serve it
	LeftIdle                 // its cache has expired
	LeftPrice                // the endpoint reads its cache for no less than the prompt's price
	LeftFiltered             // the request rules the endpoint out
	LeftOrdered              // the request orders endpoints itself
	LeftDown                 // the endpoint is failing or taken out by the breaker
	LeftLimited              // the endpoint asked to be left alone for a while (Retry-After)
	LeftCap                  // the endpoint is over its learned cap
	LeftGone                 // the endpoint is no longer on offer
)

var leftNames = [...]string{"", "cold", "idle", "no-cache-discount", "filtered", "ordered", "down", "rate-limited", "over-cap", "gone"}

// String names the reason.
func (l Left) String() string { return leftNames[l] }

// stays tells why the conversation can't stay where its pin says, or LeftNot when it can.
func (r *Router) stays(now Instant, req *Request) Left {
	p := &req.Pin
	e := p.Endpoint - 1
	switch {
	case len(req.Order) > 0:
		return LeftOrdered
	case int(e) >= len(r.endpoints):
		return LeftGone
	case req.Excluded.Has(e):
		return LeftFiltered
	case r.unpinned.Has(e) || r.deck.guarded && r.guardedOff.Has(e):
		return r.whyUnpinned(e)
	case !p.Warm:
		return LeftCold
	case now-p.LastUsed > r.idle[e]:
		return LeftIdle
	case r.deck.guarded && r.halfOpen.Has(e) && !r.leased(e, now):
		return LeftDown // one probe at a time, conversations included
	}
	return LeftNot
}

func (r *Router) whyUnpinned(e int32) Left {
	switch {
	case r.down.Has(e):
		return LeftDown
	case !r.discounts.Has(e):
		return LeftPrice
	case r.open.Has(e):
		return LeftDown
	case r.cooling.Has(e):
		return LeftLimited
	}
	return LeftCap
}
