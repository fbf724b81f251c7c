package router

import (
	"errors"
	"fmt"
	"math"
)

// Config holds every constant of the router. Start from DefaultConfig or FigureConfig.
type Config struct {
	SnapshotAge   Micros // how old the signals behind a decision may be; 0 = new for every decision
	SnapshotPicks int    // how many decisions may be made from them, so that a burst is felt
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
	Memory       Micros  // time constant of speed, errors and 429s
	PriceMemory  Micros  // time constant of cache hits and token counts
	RecentMemory Micros  // time constant of outages, back-off and load
	ToolMemory   Micros  // time constant of tool calls for the tiers of Auto Exacto
	Prior        float64 // requests' worth of the model's typical endpoint mixed into every estimate
	PriorTokens  float64 // output tokens of one of those requests
	MinTypical   float64 // requests that an endpoint needs to count among the typical ones
	Typical      Typical // used until any endpoint has MinTypical requests
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
	Throughput   float64 // price of the median endpoint's whole wait, in median prices
	TTFT         float64 // price of the median endpoint's TTFT, charged again, in median prices
	RateLimit    float64 // price of one 429 (the wait for it and a penalty), in median prices
	ErrorPenalty float64 // Routing Cost grows by this times the error rate
	BadToolCalls float64 // weight of the quality term; 1 = Routing Cost ÷ share of well-formed tool calls
	TTFTQuantile float64 // quantile of TTFT that is charged, from TelemetryConfig.Percentiles; 0 = the mean
	WaitUSD      float64 // USD per second of waiting; 0 = derived from Throughput per model
	TTFTUSD      float64 // USD per second of TTFT; 0 = derived from TTFT per model
	RateLimitUSD float64 // USD per 429; 0 = derived from RateLimit per model
}

// ShareConfig shapes how Routing Costs become shares of traffic.
type ShareConfig struct {
	Edge      float64 // competitive edge: this fraction above the best Routing Cost
	Height    float64 // preference curve = Height·exp(−Slope·d) ÷ (1 + exp(Steepness·(d−1))), d = distance from the best in edges
	Slope     float64
	Steepness float64
	Floor     float64 // share of traffic spread evenly over all endpoints
	Ranked    bool    // retries go to the next highest share instead of a new draw
	Choices   int     // endpoints drawn per choice, of which the one with less in flight for its share is taken: 1 or 2
	Exacto    bool    // endpoints in the lowest tier of Auto Exacto get only the floor of requests with tools
}

// OutageConfig says when an endpoint counts as having a major outage.
type OutageConfig struct {
	ErrorRate   float64 // over the recent memory, for the price policy
	PinRate     float64 // over the recent memory, for a pinned conversation to leave
	MinRequests float64 // recent requests needed to tell
}

// BreakerConfig says when an endpoint is taken out and how it comes back.
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

// BackOffConfig shapes the short-term back-off.
type BackOffConfig struct {
	Accepts     float64 // K of adaptive throttling: multiplier = 1 − (attempts − K·accepted) ÷ (attempts + 1); 0 = off
	LatencyJump float64 // recent TTFT over usual TTFT above which the share shrinks in proportion; 0 = off
	Least       float64 // smallest multiplier

	MostRetryAfter Micros // longest Retry-After that is honoured
}

// CapConfig shapes the learned cap.
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
	Idle    Micros  // longest pause after which the cache still counts as warm, unless the endpoint states a longer one
	OverCap float64 // conversations leave an endpoint when they alone are this many times its cap; 0 = they never do
}

// QualityConfig says when an endpoint is flagged, and rules the tiers of Auto Exacto.
type QualityConfig struct {
	BrokenTools     float64 // flagged when the share of badly formed tool calls is this much above the typical endpoint's
	MinToolCalls    float64 // tool calls needed to tell
	Shortfall       float64 // flagged when benchmark accuracy is at least this much below the peers' median
	ExactoPeers     int     // endpoints with enough data needed to compare
	ExactoRequests  float64 // requests within PriceMemory that are enough data …
	ExactoToolCalls float64 // … with so many tool calls within ToolMemory
}

// PriceConfig shapes the price policy.
type PriceConfig struct {
	Exponent float64 // weight = price to the power of −Exponent
	Exacto   bool    // requests with tools take the tiers of Auto Exacto
}

// RetryConfig bounds the tries of a request.
type RetryConfig struct {
	Attempts int    // endpoints tried at most
	Time     Micros // no further try after this long; 0 = no bound
}

// DefaultConfig returns the constants calibrated against the published result table in a simulated market. The wait rates of the
// production router are not published.
func DefaultConfig() Config {
	return Config{
		SnapshotAge: 5 * Second, SnapshotPicks: 512,
		Telemetry: TelemetryConfig{
			Memory: 5 * Minute, PriceMemory: 30 * Minute, RecentMemory: 30 * Second, ToolMemory: 120 * Minute,
			Prior: 40, PriorTokens: 500, MinTypical: 10,
			Typical:     Typical{TTFT: 1, SecondsPerToken: 1.0 / 60, ErrorRate: 0.02, RateLimited: 0.02, InputTokens: 4000, OutputTokens: 500},
			SizeClasses: []int{2048, 16384},
		},
		Cost:   CostConfig{Throughput: 0.475, TTFT: 0.2, RateLimit: 2.2, ErrorPenalty: 8, BadToolCalls: 1},
		Share:  ShareConfig{Edge: 0.30, Height: 0.955, Slope: 0.32, Steepness: 4.45, Floor: 0.08, Choices: 1},
		Outage: OutageConfig{ErrorRate: 0.2, PinRate: 0.5, MinRequests: 3},
		Breaker: BreakerConfig{Absolute: 0.5, Deviations: 3, MinRequests: 5, MostOut: 0.5, Ejection: 30 * Second, MaxEjection: 5 * Minute,
			Lease: Minute, ProbeWait: 10 * Minute},
		BackOff: BackOffConfig{Accepts: 2, LatencyJump: 3, Least: 0.1, MostRetryAfter: Minute},
		Cap: CapConfig{Burst: 0.08, MinRejected: 3, OwnLoad: 1.05, Cut: 0.84, SetPoint: 0.03, Trim: 0.02, Hold: 2 * Minute, Regrow: 8 * Minute,
			MaxGrowth: 0.15, Binding: 0.8, Drift: 0.02, Forget: 4, Memory: Minute, SlowMemory: 10 * Minute},
		Pin:     PinConfig{Idle: 10 * Minute, OverCap: 1.2},
		Quality: QualityConfig{BrokenTools: 0.2, MinToolCalls: 20, Shortfall: 0.05, ExactoPeers: 4, ExactoRequests: 100, ExactoToolCalls: 200},
		Price:   PriceConfig{Exponent: 2, Exacto: true},
		Retry:   RetryConfig{Attempts: 8, Time: 2 * Minute},
	}
}

// FigureConfig returns DefaultConfig with the rates that the published five-endpoint figure was drawn with: waiting costs 100 USD per
// 1 M tokens and (second per token), or 0.36 USD per hour, for that one model.
func FigureConfig() Config {
	c := DefaultConfig()
	c.Cost.WaitUSD = 1e-4
	return c
}

// Validate reports every constant that is out of its range.
func (c Config) Validate() error {
	var errs []error
	check := func(name string, v, least, most float64) {
		if !(v >= least && v <= most) {
			errs = append(errs, fmt.Errorf("router config: %s: %v is not in [%v, %v]", name, v, least, most))
		}
	}
	inf := math.MaxFloat64
	check("snapshot_age", c.SnapshotAge.Seconds(), 0, 3600)
	check("snapshot_picks", float64(c.SnapshotPicks), 1, inf)
	check("telemetry.tool_memory", c.Telemetry.ToolMemory.Seconds(), 1, inf)
	check("share.choices", float64(c.Share.Choices), 1, 2)
	check("breaker.absolute", c.Breaker.Absolute, 0, 1)
	check("breaker.deviations", c.Breaker.Deviations, 0, inf)
	check("breaker.min_requests", c.Breaker.MinRequests, 0, inf)
	check("breaker.most_out", c.Breaker.MostOut, 0, 1)
	check("breaker.ejection", c.Breaker.Ejection.Seconds(), 1, inf)
	check("breaker.max_ejection", c.Breaker.MaxEjection.Seconds(), c.Breaker.Ejection.Seconds(), inf)
	check("breaker.lease", c.Breaker.Lease.Seconds(), 1, inf)
	check("breaker.probe_wait", c.Breaker.ProbeWait.Seconds(), 1, inf)
	check("back_off.most_retry_after", c.BackOff.MostRetryAfter.Seconds(), 0, inf)
	check("pin.over_cap", c.Pin.OverCap, 0, inf)
	check("quality.broken_tools", c.Quality.BrokenTools, 0, 1)
	check("quality.min_tool_calls", c.Quality.MinToolCalls, 0, inf)
	check("quality.shortfall", c.Quality.Shortfall, 0, 1)
	check("quality.exacto_peers", float64(c.Quality.ExactoPeers), 1, inf)
	check("quality.exacto_requests", c.Quality.ExactoRequests, 0, inf)
	check("quality.exacto_tool_calls", c.Quality.ExactoToolCalls, 0, inf)
	check("telemetry.memory", c.Telemetry.Memory.Seconds(), 1, inf)
	check("telemetry.price_memory", c.Telemetry.PriceMemory.Seconds(), 1, inf)
	check("telemetry.recent_memory", c.Telemetry.RecentMemory.Seconds(), 1, inf)
	check("telemetry.prior", c.Telemetry.Prior, 1e-3, inf)
	check("telemetry.prior_tokens", c.Telemetry.PriorTokens, 1, inf)
	check("telemetry.min_typical", c.Telemetry.MinTypical, 1e-3, inf)
	check("telemetry.typical.ttft", c.Telemetry.Typical.TTFT, 1e-6, inf)
	check("telemetry.typical.seconds_per_token", c.Telemetry.Typical.SecondsPerToken, 1e-9, inf)
	check("telemetry.typical.error_rate", c.Telemetry.Typical.ErrorRate, 0, 1)
	check("telemetry.typical.rate_limited", c.Telemetry.Typical.RateLimited, 0, 1)
	check("telemetry.typical.cache_hit", c.Telemetry.Typical.CacheHit, 0, 1)
	check("telemetry.typical.bad_tool_calls", c.Telemetry.Typical.BadToolCalls, 0, 1)
	check("telemetry.typical.input_tokens", c.Telemetry.Typical.InputTokens, 1, inf)
	check("telemetry.typical.output_tokens", c.Telemetry.Typical.OutputTokens, 1, inf)
	for i, size := range c.Telemetry.SizeClasses {
		if size < 1 || i > 0 && size <= c.Telemetry.SizeClasses[i-1] {
			errs = append(errs, fmt.Errorf("router config: telemetry.size_classes: %d does not ascend", size))
		}
	}
	check("cost.throughput", c.Cost.Throughput, 0, inf)
	check("cost.ttft", c.Cost.TTFT, 0, inf)
	check("cost.rate_limit", c.Cost.RateLimit, 0, inf)
	check("cost.error_penalty", c.Cost.ErrorPenalty, 0, inf)
	check("cost.bad_tool_calls", c.Cost.BadToolCalls, 0, 1)
	check("cost.ttft_quantile", c.Cost.TTFTQuantile, 0, 0.999)
	if c.Cost.TTFTQuantile > 0 && !c.Telemetry.Percentiles {
		errs = append(errs, errors.New("router config: cost.ttft_quantile: needs telemetry.percentiles"))
	}
	check("cost.wait_usd", c.Cost.WaitUSD, 0, inf)
	check("cost.ttft_usd", c.Cost.TTFTUSD, 0, inf)
	check("cost.rate_limit_usd", c.Cost.RateLimitUSD, 0, inf)
	check("share.edge", c.Share.Edge, 1e-6, inf)
	check("share.height", c.Share.Height, 1e-6, inf)
	check("share.slope", c.Share.Slope, 0, inf)
	check("share.steepness", c.Share.Steepness, 0, inf)
	check("share.floor", c.Share.Floor, 0, 1)
	check("outage.error_rate", c.Outage.ErrorRate, 0, 1)
	check("outage.pin_rate", c.Outage.PinRate, 0, 1)
	check("outage.min_requests", c.Outage.MinRequests, 0, inf)
	check("back_off.accepts", c.BackOff.Accepts, 0, inf)
	check("back_off.latency_jump", c.BackOff.LatencyJump, 0, inf)
	check("back_off.least", c.BackOff.Least, 1e-3, 1)
	check("cap.burst", c.Cap.Burst, 0, 1)
	check("cap.min_rejected", c.Cap.MinRejected, 0, inf)
	check("cap.own_load", c.Cap.OwnLoad, 0, inf)
	check("cap.cut", c.Cap.Cut, 0.01, 0.99)
	check("cap.set_point", c.Cap.SetPoint, 0, 1)
	check("cap.trim", c.Cap.Trim, 0, 0.5)
	check("cap.hold", c.Cap.Hold.Seconds(), 0, inf)
	check("cap.regrow", c.Cap.Regrow.Seconds(), 1, inf)
	check("cap.max_growth", c.Cap.MaxGrowth, 0, 10)
	check("cap.binding", c.Cap.Binding, 0, 1)
	check("cap.drift", c.Cap.Drift, 0, 10)
	check("cap.forget", c.Cap.Forget, 1, inf)
	check("cap.memory", c.Cap.Memory.Seconds(), 1, inf)
	check("cap.slow_memory", c.Cap.SlowMemory.Seconds(), 1, inf)
	check("pin.idle", c.Pin.Idle.Seconds(), 0, inf)
	check("price.exponent", c.Price.Exponent, 0, 100)
	check("retry.attempts", float64(c.Retry.Attempts), 1, MaxEndpoints)
	check("retry.time", c.Retry.Time.Seconds(), 0, inf)
	return errors.Join(errs...)
}
