package workload

// WindowSeconds is the length of the windows of arrival rates, in seconds.
const WindowSeconds = 600

// TokenWindowSeconds is the length of the windows of token statistics, in seconds.
const TokenWindowSeconds = 21600

// Trace is the traffic of one real model, client by client. Times count from the start of the trace, whose
// calendar day and time zone the source does not state (its authors read 72,000 s as 20:00).
type Trace struct {
	Name    string // "m-large"
	Windows int    // number of windows of WindowSeconds: 2,016 (14 days) or 144 (1 day)
	Clients []Client
}

// Client is one customer's part of a [Trace].
type Client struct {
	ID int // the source's number of the client

	// One value for each window of the trace.
	Rate     []float32 // requests per second, the mean of the window; 0 = silent
	CV       []float32 // coefficient of variation of the inter-arrival times; 0 in silent windows
	WeibullK []float32 // shape of the Weibull law fitted to the inter-arrival times; 0 = Gamma law of shape 1/CV²

	// One value for each window of TokenWindowSeconds; a window without requests has Mean 0. All nil where HasTokens is false.
	HasTokens   bool // false: the source holds arrivals of this client but no token counts
	Input       []Quantiles
	Output      []Quantiles
	ReasonRatio []Quantiles // share of the output tokens that are reasoning; nil but in "deepseek-r1"
}

// Quantiles describes a distribution by its mean and seven quantiles, rising.
type Quantiles struct {
	Mean, P5, P25, P50, P75, P90, P95, P99 float32
}
