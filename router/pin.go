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

// holds says whether the conversation stays: its cache is warm, reading it is cheaper than the prompt, and the endpoint is up and allowed.
func (r *Router) holds(now Instant, req *Request) bool {
	p := &req.Pin
	e := p.Endpoint - 1
	return e >= 0 && p.Warm && now-p.LastUsed <= r.idle[e] && !r.unpinned.Has(e) && !req.Excluded.Has(e)
}
