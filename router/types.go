package router

// Instant is a point in time in microseconds since an epoch that the caller chooses. The package never reads a clock.
type Instant int64

// Micros is a length of time in microseconds.
type Micros int64

// Lengths of time.
const (
	Millisecond Micros = 1000
	Second             = 1000 * Millisecond
	Minute             = 60 * Second
)

// Seconds is the length in seconds.
func (m Micros) Seconds() float64 { return float64(m) * 1e-6 }

// Price is what an endpoint charges, in USD per token.
type Price struct {
	Input      float64 `json:"input" toml:"input"`
	Output     float64 `json:"output" toml:"output"`
	CacheRead  float64 `json:"cache_read" toml:"cache_read"`   // Input when the endpoint gives no discount
	CacheWrite float64 `json:"cache_write" toml:"cache_write"` // Input when writing costs nothing extra
}

// Endpoint is what is fixed and known of one provider's offer of one model.
type Endpoint struct {
	Slug       string // "deepinfra/fp8"
	Provider   string // base slug, "deepinfra"
	Price      Price
	CacheTTL   Micros  // how long the provider keeps a prompt cache; 0 = unknown
	QuotaGroup string  // endpoints of one group share a rate limit; empty = its own
	Accuracy   float64 // benchmark accuracy in (0, 1]; 0 = not measured
}

// OutcomeKind classifies how an attempt ended.
type OutcomeKind uint8

// Outcome kinds. Classify tells which HTTP status belongs to which.
const (
	OutcomeOK          OutcomeKind = iota
	OutcomeRateLimited             // HTTP 429: out of capacity, kept apart from errors
	OutcomeError                   // a failure that counts against the endpoint, before the first token
	OutcomeMidstream               // a failure that counts against the endpoint, after the first token
	OutcomeNeutral                 // does not count: caller's error, moderation, disconnect
)

// Outcome is what the router learns from one attempt.
type Outcome struct {
	Kind       OutcomeKind
	TTFT       Micros // start of the attempt → first token, 0 = unknown; only for OutcomeOK and OutcomeMidstream
	Duration   Micros // whole attempt, 0 = unknown
	RetryAfter Micros // 0 = not stated
	Limit      Limit  // whose limit a 429 is
	Input      int    // tokens, cached and written included
	Cached     int    // read from the endpoint's prompt cache
	Written    int    // written to the endpoint's prompt cache at its write price
	Output     int
	ToolCall   bool // the answer called a tool …
	ToolCallOK bool // … and the call was well formed
}

// Sort is a strict order that a request asks for in place of the router's policy.
type Sort uint8

// Orders.
const (
	SortNone       Sort = iota // the router's policy decides
	SortPrice                  // cheapest first
	SortThroughput             // most tokens per second first
	SortLatency                // shortest TTFT first
	SortExacto                 // by tiers of tool-calling quality, cheapest first inside a tier
)

// Request is what the router knows of a request when it decides.
type Request struct {
	InputTokens int // estimate of the prompt's length; 0 = unknown
	Tools       bool
	Pin         Pin
	Excluded    Set     // endpoints that the request's filters rule out
	First       Set     // endpoints tried before all others, such as those with the caller's own key
	Last        Set     // endpoints tried after all others, such as those that miss a preferred speed
	Sort        Sort    // replaces the policy
	Order       []int32 // replaces the policy: these in this order, then the others by price
}

// Decision is the answer to one request or one retry.
type Decision struct {
	Endpoint int32 // index of the endpoint to try; −1 when none is left
	Pinned   bool  // the conversation stayed where it was
	Left     Left  // why a pinned conversation did not stay
}
