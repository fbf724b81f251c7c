package router

// Answer is what a gateway saw of an attempt, for Classify.
type Answer struct {
	Status    int  // HTTP status; 0 = connection dropped or timed out
	Started   bool // a first token arrived
	Finished  bool // the answer ended as it should
	Output    int  // tokens
	ToolCall  bool // the answer called a tool
	Cancelled bool // the caller went away
	Limit     Limit
}

// Limit says whose limit turned an attempt away, as far as the answer or the gateway tells.
type Limit uint8

// Limits.
const (
	LimitUnknown  Limit = iota // not told, or none
	LimitCaller                // of the caller's own account or key: no endpoint is at fault
	LimitPool                  // of a quota that endpoints share (Endpoint.QuotaGroup)
	LimitCapacity              // of the endpoint's own capacity
	LimitOurs                  // of the gateway, before anything was sent
)

var limitNames = [...]string{"", "caller", "pool", "capacity", "ours"}

// String names the limit, empty for LimitUnknown.
func (l Limit) String() string { return limitNames[l] }

// MarshalText is String.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

var outcomeNames = [...]string{"ok", "rate-limited", "error", "error-midstream", "neutral"}

// String names the kind.
func (k OutcomeKind) String() string { return outcomeNames[k] }

// MarshalText is String.
func (k OutcomeKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Classify tells how an attempt ended. Server errors, dropped connections, timeouts and statuses that mean a wrong set-up of the endpoint (401,
// 402, 404, 405, 408, 410, 421, 423, 424, 426, 498) count against the endpoint; a 429 means it is full; what the caller or a
// content rule caused (400, 403, 413, 422, 451, 499 and every other 4xx), and any refusal by a limit of the caller or of the gateway, counts for nothing. A success without a token or a tool call is a
// failure: the caller got nothing.
func Classify(a Answer) OutcomeKind {
	switch {
	case a.Cancelled || a.Status == 499, a.Limit == LimitCaller || a.Limit == LimitOurs:
		return OutcomeNeutral
	case a.Status == 429:
		return OutcomeRateLimited
	case a.Status >= 400 && a.Status < 500 && !setUpError(a.Status):
		return OutcomeNeutral
	case a.Started && !a.Finished:
		return OutcomeMidstream
	case a.Status >= 200 && a.Status < 300 && a.Finished && (a.Output > 0 || a.ToolCall):
		return OutcomeOK
	}
	return OutcomeError
}

// isPlausible says whether plausible would change nothing, which is cheaper than a copy.
func (o *Outcome) isPlausible() bool {
	return o.TTFT|o.Duration >= 0 && o.Input|o.Output|o.Cached|o.Written >= 0 && o.Cached+o.Written <= o.Input && o.Cached+o.Written >= 0
}

// plausible is the outcome without what can't be: times below 0, as after a step of the caller's clock, counts below 0, or more tokens read
// from and written to the cache than there were.
func (o *Outcome) plausible() Outcome {
	p := *o
	p.TTFT, p.Duration = max(o.TTFT, 0), max(o.Duration, 0)
	p.Input, p.Output = max(o.Input, 0), max(o.Output, 0)
	p.Cached = min(max(o.Cached, 0), p.Input)
	p.Written = min(max(o.Written, 0), p.Input-p.Cached)
	return p
}

func setUpError(status int) bool {
	switch status {
	case 401, 402, 404, 405, 408, 410, 421, 423, 424, 426, 498:
		return true
	}
	return false
}
