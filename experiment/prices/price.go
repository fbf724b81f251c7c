package prices

// Rate is a price per token in units of 1e-12 US dollars, which is the same as micro-dollars per million tokens:
// $0.28 per million tokens is Rate(280_000).
type Rate int64

// PerMillion returns the rate in US dollars per million tokens.
func (r Rate) PerMillion() float64 { return float64(r) / 1e6 }

// PerToken returns the rate in US dollars per token.
func (r Rate) PerToken() float64 { return float64(r) / 1e12 }

// Price is what one provider charges for the tokens of one model.
type Price struct {
	Input  Rate
	Output Rate

	CacheRead      Rate // for input tokens read from the prompt cache; Input when CacheReadKnown is false
	CacheWrite     Rate // for input tokens written to the prompt cache; Input when CacheWriteKnown is false
	CacheReadKnown bool // the list names a cache-read price
	// CacheWriteKnown tells that the list names a cache-write price.
	CacheWriteKnown bool
}
