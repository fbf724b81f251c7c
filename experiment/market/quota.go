package market

import "math"

// quota is an endpoint's limit per minute, in fixed windows: of requests, of tokens, or of both.
type quota struct {
	mostRequests, mostTokens int64 // 0 = no limit

	minute           int64 // that the counts are of
	requests, tokens int64
}

// quotaWindow is the length of the windows over which a quota counts, µs.
const quotaWindow = 60_000_000

func (q *quota) limits() bool { return q.mostRequests > 0 || q.mostTokens > 0 }

// refuses counts a request against the quota, with the tokens of its prompt and its whole answer, unless that of the minute is used up.
func (q *quota) refuses(w Work, now int64) bool {
	if q.usedUp(now) {
		return true
	}
	if minute := now / quotaWindow; minute > q.minute {
		q.minute, q.requests, q.tokens = minute, 0, 0
	}
	q.requests++
	q.tokens += int64(w.Input) + int64(w.Output)
	return false
}

// renewed is the instant at which the minute ends whose quota is counted.
func (q *quota) renewed() int64 { return (q.minute + 1) * quotaWindow }

// rate is the requests per second of so many tokens each that the quota lets in; +Inf without one.
func (q *quota) rate(tokens float64) float64 {
	rate := math.Inf(1)
	if q.mostRequests > 0 {
		rate = float64(q.mostRequests) / (quotaWindow / 1e6)
	}
	if q.mostTokens > 0 {
		rate = min(rate, float64(q.mostTokens)/tokens/(quotaWindow/1e6))
	}
	return rate
}

// usedUp reports whether nothing more is let in at now. The request that reaches a limit of tokens is the last one that is.
// Tries come a little out of order: the first of a request starts behind the gateway's own time, and one that was let in
// at the start of a minute leaves none of the minute before.
func (q *quota) usedUp(now int64) bool {
	return now/quotaWindow <= q.minute &&
		(q.mostRequests > 0 && q.requests >= q.mostRequests || q.mostTokens > 0 && q.tokens >= q.mostTokens)
}
