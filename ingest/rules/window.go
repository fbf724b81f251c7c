package rules

import (
	"strings"
	"time"

	"switchback/experiment"
)

// Window says which rows an analysis is about.
type Window struct {
	Since, Until time.Time // half-open; zero is unbounded
	Arms         experiment.Arms
	BornInBlock  bool // only requests that no earlier block pinned
	PooledModels bool // all models as one, for check rows
}

// Inside is the condition that a row lies in the window.
func (w Window) Inside(d Dialect) string {
	var terms []string
	if !w.Since.IsZero() {
		terms = append(terms, d.Column("ts")+" >= "+d.Instant(w.Since))
	}
	if !w.Until.IsZero() {
		terms = append(terms, d.Column("ts")+" < "+d.Instant(w.Until))
	}
	if len(terms) == 0 {
		return "1 = 1"
	}
	return strings.Join(terms, " AND ")
}

// NoCacheHit is the condition that a gateway did not answer a request from its own cache.
func NoCacheHit(d Dialect) string {
	return d.Differs(d.Column("status"), experiment.StatusGatewayCache)
}

// Kept is the condition that the analysis keeps a row: inside the window, in a block, past its burn-in, not answered from a
// gateway's own cache.
func (w Window) Kept(d Dialect) string {
	keep := w.Inside(d) + " AND NOT " + d.Column("in_burn_in") + " AND " + NoCacheHit(d)
	if w.BornInBlock {
		keep += " AND " + Born(d)
	}
	return keep
}

// Born is the condition that no earlier block chose the endpoint of a request.
func Born(d Dialect) string {
	return "coalesce(" + d.Column("pinned_from_block") + " = " + d.Column("block_id") + ", 1 = 1)"
}
