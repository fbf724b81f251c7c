package router

// Config holds every constant of the router. Start from DefaultConfig or FigureConfig. The comments say where a default comes from:
//
//   - published: stated by OpenRouter's announcement of 28 October 2026, its provider-routing guide of that day, or its earlier guides;
//   - figure: not stated, but the figures of the provider-routing guide follow it exactly;
//   - calibrated: chosen so that a simulated market shows the effects of the published result table;
//   - ours: a choice of this package, in the manner of the cited practice.
type Config struct {
	SnapshotAge   Micros // how old the signals behind a decision may be; 0 = new for every decision. Ours
	SnapshotPicks int    // how many decisions may be made from them, so that a burst is felt. Ours
	Telemetry     TelemetryConfig
	Cost          CostConfig
	Share         ShareConfig
	Outage        OutageConfig
	Breaker       BreakerConfig
	BackOff       BackOffConfig
	Cap           CapConfig
	Pin           PinConfig
	Quality       QualityConfig
	Price         PriceConfig
	Retry         RetryConfig
}

// TelemetryConfig says how fast outcomes are forgotten and what is assumed without any.
type TelemetryConfig struct {
	Memory       Micros  // time constant of speed, errors and 429s. Published: the last few minutes weigh most; calibrated
	PriceMemory  Micros  // time constant of cache hits and token counts. Published: 30 minutes
	RecentMemory Micros  // time constant of outages and back-off. Published: 30 s
	ToolMemory   Micros  // time constant of tool calls for the tiers of Auto Exacto. Published: 2 h
	Prior        float64 // requests' worth of the model's typical endpoint mixed into every estimate. Calibrated
	PriorTokens  float64 // output tokens of one of those requests. Calibrated
	MinTypical   float64 // requests that an endpoint needs to count among the typical ones. Ours
	Typical      Typical // used until any endpoint has MinTypical requests. Ours
	Percentiles  bool    // keep percentiles of TTFT and throughput, for requests that prefer a speed
	SizeClasses  []int   // prompt sizes, in tokens, that divide requests into classes priced apart; ascending
}

// Typical describes the model's typical endpoint.
type Typical struct {
	TTFT            float64 // seconds
	SecondsPerToken float64 // whole attempt ÷ output tokens
	ErrorRate       float64 // of the attempts that were not rejected
	RateLimited     float64 // share of attempts answered by a 429
	CacheHit        float64 // share of input tokens read from the cache
	BadToolCalls    float64 // share of tool calls that were not well formed
	InputTokens     float64 // per request
	OutputTokens    float64 // per request
}

// CostConfig holds the coefficients of Routing Cost. The relative ones are multiples of the model's median effective price, so that
// the terms stay comparable between cheap and dear models.
type CostConfig struct {
	Throughput   float64 // price of the median endpoint's whole wait, in median prices. Calibrated (the figure has 1 to 1.4)
	TTFT         float64 // price of the median endpoint's TTFT, charged again, in median prices. Calibrated
	RateLimit    float64 // price of one 429 (the wait for it and a penalty), in median prices. Calibrated
	ErrorPenalty float64 // Routing Cost grows by this times the error rate. Published: 8
	BadToolCalls float64 // weight of the quality term; 1 = Routing Cost ÷ share of well-formed tool calls. Published: 95 % → about +5 %
	TTFTQuantile float64 // quantile of TTFT that is charged, from TelemetryConfig.Percentiles; 0 = the mean
	WaitUSD      float64 // USD per second of waiting; 0 = derived from Throughput per model
	TTFTUSD      float64 // USD per second of TTFT; 0 = derived from TTFT per model
	RateLimitUSD float64 // USD per 429; 0 = derived from RateLimit per model
}

// ShareConfig shapes how Routing Costs become shares of traffic.
type ShareConfig struct {
	Edge      float64 // competitive edge: this fraction above the best Routing Cost. Figure
	Height    float64 // preference curve = Height·exp(−Slope·d) ÷ (1 + exp(Steepness·(d−1))), d = distance from the best in edges. Figure
	Slope     float64 // figure
	Steepness float64 // figure
	Floor     float64 // share of traffic spread evenly over all endpoints. Figure
	Ranked    bool    // retries go to the next highest share (announcement) instead of a new draw (guide). Off: piling up doubles 429s
	Choices   int     // endpoints drawn per choice, of which the one with less in flight for its share is taken: 1 or 2. Ours
	Exacto    bool    // endpoints in the lowest tier of Auto Exacto get only the floor of requests with tools. Off: the quality term replaced them
}

// OutageConfig says when an endpoint counts as having a major outage.
type OutageConfig struct {
	ErrorRate   float64 // over the recent memory, for the price policy. Published: uptime below 80 % is for fallback only
	PinRate     float64 // over the recent memory, for a pinned conversation to leave. Calibrated
	MinRequests float64 // recent requests needed to tell. Ours
}

// BreakerConfig says when an endpoint is taken out and how it comes back. Published: far above the other endpoints' error rate, until it
// recovers; the numbers are ours, in the manner of Envoy's outlier detection.
type BreakerConfig struct {
	Absolute    float64 // recent error rate that has to be exceeded …
	Deviations  float64 // … and so many robust standard deviations above the median of at least four peers
	MinRequests float64 // recent requests needed to tell
	MostOut     float64 // share of the endpoints that may be out at a time
	Ejection    Micros  // length of the first ejection; each further one is twice as long
	MaxEjection Micros
	Lease       Micros // a probe that has not ended by then no longer blocks the next one
	ProbeWait   Micros // a half-open endpoint that nobody probed is closed after this long
}

// BackOffConfig shapes the short-term back-off. Published: a burst of 429s or a jump of the latency lowers the share for a while; the numbers
// are ours, in the manner of adaptive throttling.
type BackOffConfig struct {
	Accepts     float64 // K of adaptive throttling: multiplier = 1 − (attempts − K·accepted) ÷ (attempts + 1); 0 = off
	LatencyJump float64 // recent TTFT over usual TTFT above which the share shrinks in proportion; 0 = off
	Least       float64 // smallest multiplier

	MostRetryAfter Micros // longest Retry-After that is honoured
}

// CapConfig shapes the learned cap. Published: it follows from how the 429 rate changes with load, and rises when 429s stop; the figure of a
// learned capacity gives Cut and Hold; the others are ours and keep to the figure's times.
type CapConfig struct {
	Off         bool
	Burst       float64 // share of recent attempts answered by a 429 that means overload
	MinRejected float64 // recent 429s needed to tell
	OwnLoad     float64 // a cut needs a rate of attempts above this times the usual one; 0 = any burst cuts
	Cut         float64 // cap after a burst, as a share of the accepted rate
	SetPoint    float64 // share of 429s at which a cap that binds is full …
	Trim        float64 // … and is trimmed by this share
	Hold        Micros  // no growth for this long after a cut or trim
	Regrow      Micros  // from the end of the hold until the cap is back where the endpoint was full, after a cut
	MaxGrowth   float64 // per minute
	Binding     float64 // the cap binds while rate ÷ cap is between this and 1 ÷ this
	Drift       float64 // growth per minute while the cap does not bind
	Forget      float64 // a cap this many times above all traffic is dropped
	Memory      Micros  // time constant of the rates
	SlowMemory  Micros  // time constant of the usual rate
}

// PinConfig says when a conversation stays where its prompt cache is.
type PinConfig struct {
	Idle    Micros  // published: 10 minutes. Longest pause after which the cache still counts as warm, unless the endpoint states a longer one
	OverCap float64 // ours: conversations leave an endpoint when they alone are this many times its cap; 0 = they never do
}

// QualityConfig says when an endpoint is flagged, and rules the tiers of Auto Exacto.
type QualityConfig struct {
	BrokenTools     float64 // flagged when the share of badly formed tool calls is this much above the typical endpoint's. Ours
	MinToolCalls    float64 // tool calls needed to tell. Ours
	Shortfall       float64 // flagged when benchmark accuracy is at least this much below the peers' median. Ours
	ExactoPeers     int     // endpoints with enough data needed to compare. Published: 4
	ExactoRequests  float64 // requests within PriceMemory that are enough data. Published: 100 …
	ExactoToolCalls float64 // … with so many tool calls within ToolMemory. Published: 200
}

// PriceConfig shapes the price policy.
type PriceConfig struct {
	Exponent float64 // weight = price to the power of −Exponent. Published: 2
	Exacto   bool    // requests with tools take the tiers of Auto Exacto. Published: on
}

// RetryConfig bounds the tries of a request.
type RetryConfig struct {
	Attempts int    // endpoints of one model tried at most. Calibrated
	Time     Micros // no further try at any model after this long; 0 = no bound. Ours
}
