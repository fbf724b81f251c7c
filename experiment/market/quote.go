package market

// Quote returns what the whole answer to w would cost at an endpoint in units of 1e-9 USD, with what its prompt cache
// holds of the conversation, and whether the endpoint was eligible at now: not full, its quota not used up, in no storm of
// 429s and no outage. It changes nothing.
func (m *Market) Quote(at int32, w Work, memory Memory, now int64) (nanoUSD int64, eligible bool) {
	e := &m.Endpoints[at]
	full := e.load+float64(e.inFlight+1)/e.Slots > e.limit
	if full || e.quota.usedUp(now) || e.storm > m.rejects || e.outage > 0 {
		return 0, false
	}
	return e.Bill(w.Input, e.reads(at, w, memory, now), w.Output), true
}
