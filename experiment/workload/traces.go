package workload

// Lengths of the windows of a [Trace], in seconds.
const (
	WindowSeconds      = 600   // of arrival rates
	TokenWindowSeconds = 21600 // of token statistics
)

// Trace is the traffic of one real model, client by client. Times count from the start of the trace, whose
// calendar day and time zone the source does not state (its authors read 72,000 s as 20:00, so time 0 is taken
// for midnight).
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
	CV       []float32 // measured coefficient of variation of the inter-arrival times (up to the root of their number, when all come at once); 0 = silent
	WeibullK []float32 // shape of the Weibull law fitted to the inter-arrival times; 0 = Gamma law of shape 1/CV²

	// One value for each window of TokenWindowSeconds; a window that the source does not describe has Mean 0 in
	// Input and Output. All are nil where HasTokens is false.
	HasTokens   bool // false: the source holds arrivals of this client but no token counts
	Input       []Quantiles
	Output      []Quantiles
	ReasonRatio []Quantiles // share of the output tokens that are reasoning; nil but in "deepseek-r1"
}

// Quantiles describes a distribution by its mean and seven quantiles, rising.
type Quantiles struct {
	Mean, P5, P25, P50, P75, P90, P95, P99 float32
}

// Requests returns the number of requests of the client in the whole trace.
func (c *Client) Requests() float64 {
	sum := 0.0
	for _, r := range c.Rate {
		sum += float64(r) * WindowSeconds
	}
	return sum
}

// TokensAt returns the index into Input, Output and ReasonRatio that describes the given window of arrivals best:
// the one that holds it, else the nearest one that is described, the earlier of two. It is false for a client
// without token counts.
func (c *Client) TokensAt(window int) (int, bool) {
	at := window * WindowSeconds / TokenWindowSeconds
	for d := range len(c.Input) {
		if i := at - d; i >= 0 && i < len(c.Input) && c.Input[i].Mean > 0 {
			return i, true
		}
		if i := at + d; i >= 0 && i < len(c.Input) && c.Input[i].Mean > 0 {
			return i, true
		}
	}
	return 0, false
}

// CoveredWindows returns the number of windows in which any client sent a request. The others are gaps of the
// source: none in "m-large" and "deepseek-r1", 84 of 2,016 in "m-mid", 37 of 2,016 in "m-small".
func (t *Trace) CoveredWindows() int {
	n := 0
	for w := range t.Windows {
		for i := range t.Clients {
			if t.Clients[i].Rate[w] > 0 {
				n++
				break
			}
		}
	}
	return n
}

// MeanRate returns the requests per second over the covered windows.
func (t *Trace) MeanRate() float64 {
	sum := 0.0
	for i := range t.Clients {
		sum += t.Clients[i].Requests()
	}
	return sum / float64(t.CoveredWindows()*WindowSeconds)
}
