package router

import (
	"fmt"
	"strings"
)

// AttemptEntry is what is kept of one attempt, so that the reason of a failure reaches whoever has to know. Where OpenRouter's record of a
// generation has the field (provider_responses), it has the name from there.
type AttemptEntry struct {
	Model       string      `json:"model_permaslug"`
	Endpoint    string      `json:"endpoint_id"`
	Provider    string      `json:"provider_name"`
	Status      int         `json:"status"` // HTTP; 0 = dropped or timed out
	LatencyMS   float64     `json:"latency"`
	Kind        OutcomeKind `json:"outcome"`
	RetryAfterS float64     `json:"retry_after_s,omitempty"`
	Limit       Limit       `json:"limit_source,omitempty"`
}

// AttemptLog holds the attempts of one request, in order.
type AttemptLog []AttemptEntry

// Add enters an attempt at an endpoint of a model: what was seen of it, and its outcome.
func (l *AttemptLog) Add(model string, e *Endpoint, a Answer, o *Outcome) {
	*l = append(*l, AttemptEntry{
		Model: model, Endpoint: e.Slug, Provider: e.Provider, Status: a.Status, LatencyMS: float64(o.Duration) / float64(Millisecond),
		Kind: o.Kind, RetryAfterS: o.RetryAfter.Seconds(), Limit: a.Limit,
	})
}

// String tells what became of every attempt, for an error message: "together: 429, limit of capacity, retry after 20 s; novita: no answer".
func (l AttemptLog) String() string {
	var b strings.Builder
	for i := range l {
		e := &l[i]
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(e.Endpoint + ": ")
		if e.Status == 0 {
			b.WriteString("no answer")
		} else {
			fmt.Fprint(&b, e.Status)
		}
		if e.Kind == OutcomeMidstream {
			b.WriteString(", broken off")
		}
		if e.Limit != LimitUnknown {
			fmt.Fprintf(&b, ", limit of %v", e.Limit)
		}
		if e.RetryAfterS > 0 {
			fmt.Fprintf(&b, ", retry after %g s", e.RetryAfterS)
		}
	}
	return b.String()
}
