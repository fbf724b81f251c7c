package experiment

import "time"

// Instant is a point in time in microseconds since the Unix epoch, UTC.
type Instant int64

// InstantOf returns t cut to the microsecond.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time returns the instant as a UTC time.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// Micros is a length of time in microseconds.
type Micros int64

// NanoUSD is an amount of money in units of 1e-9 US dollars.
type NanoUSD int64

// Opt is a value that a log may not state. The zero Opt is unknown, which is NULL in tables and never 0.
type Opt[T any] struct {
	Value T
	Known bool
}

// Some returns a known value.
func Some[T any](v T) Opt[T] { return Opt[T]{Value: v, Known: true} }

// Request statuses.
const (
	StatusOK             = "ok"
	StatusError          = "error"
	StatusErrorMidstream = "error_midstream"
	StatusCancelled      = "cancelled"
	StatusGatewayCache   = "ok_gateway_cache"
)

// Cost sources: who says what a request cost.
const (
	CostBilled    = "billed"
	CostUpstream  = "upstream"
	CostBreakdown = "breakdown"
	CostBook      = "book"
)

// Quality bits of a row: what was odd about it. Rows with bits are kept and counted.
const (
	QualityNegativeTime    int64 = 1 << iota // a time was below zero and became unknown
	QualityTTFTOverTotal                     // the first token came after the last
	QualityCachedOverInput                   // more cached tokens than input tokens
	QualityEmptySuccess                      // status ok without an output token
	QualityCoarseTime                        // times are whole seconds
	QualityTotalApprox                       // the whole-request time is put together from parts
	QualityLowerBoundTTFT                    // TTFT is a lower bound (time to headers)
	QualityBadValue                          // a field could not be read and became unknown
	QualityTokensAdjusted                    // token counts were converted to "input includes cached"
	QualityLabelMismatch                     // the row's own arm label disagrees with the schedule
	QualityStraddlesBlock                    // the request was still running when its block ended
)

// Request is one row of the canonical request log: one request of a caller, whatever the number of attempts.
// Empty strings are unknown.
type Request struct {
	RequestID string  // unique inside Source; ours have at most 12 bytes
	SessionID string  // conversation
	ClientID  string  // who sent it
	TS        Instant // arrival; decides block and arm

	Model    string
	Provider string // slug of the endpoint that served, "" when none did

	Arm             string
	BlockID         string
	InBurnIn        Opt[bool]
	PinnedFromBlock string // block in which the session's endpoint was chosen, when pinned

	Attempts Opt[int32]
	N429     Opt[int32] // attempts answered with HTTP 429
	Retries  Opt[int32] // attempts after the first, fallbacks included

	TTFT       Opt[Micros] // start of the serving attempt → first token
	CallerTTFT Opt[Micros] // arrival → first token, failed attempts included
	Total      Opt[Micros] // arrival → last token
	Failed     Opt[Micros] // sum of failed attempts

	InputTokens      Opt[int64] // includes cached and written tokens
	CachedTokens     Opt[int64]
	CacheWriteTokens Opt[int64]
	OutputTokens     Opt[int64] // includes reasoning tokens
	ReasoningTokens  Opt[int64]

	Cost         Opt[NanoUSD]
	CostSource   string
	CheapestCost Opt[NanoUSD] // what the same tokens would have cost at the cheapest endpoint that was eligible when the serving attempt began

	Status     string
	Streamed   Opt[bool]
	BYOK       Opt[bool]
	ToolCallOK Opt[bool] // unknown when no tool was called

	Source      string // log format, or "switchback" for rows of Drive
	SourceRowID string
	ModelRaw    string
	ProviderRaw string
	Quality     int64 // Quality… bits
}

// Attempt is one try of a request at one endpoint. Only requests with a failed or second attempt have attempt rows.
type Attempt struct {
	RequestID  string
	N          int32 // from 1
	Provider   string
	Start      Opt[Micros] // since the request's arrival
	Latency    Opt[Micros]
	HTTPStatus Opt[int32]
	ErrorType  string
	Cost       Opt[NanoUSD]
}

// Batch is a run of rows on their way from the drive or a log reader to the store.
type Batch struct {
	Requests []Request
	Attempts []Attempt
}
