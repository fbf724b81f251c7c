package router

import (
	"errors"
	"fmt"
	"math"
)

// Config holds every constant of the router. Start from DefaultConfig or FigureConfig.
type Config struct {
	SnapshotAge Micros // how old the signals behind a decision may be; 0 = rebuilt for every decision
	Telemetry   TelemetryConfig
	Cost        CostConfig
	Share       ShareConfig
	Outage      OutageConfig
	BackOff     BackOffConfig
	Cap         CapConfig
	Pin         PinConfig
	Price       PriceConfig
}

// TelemetryConfig says how fast outcomes are forgotten and what is assumed without any.
type TelemetryConfig struct {
	Memory       Micros  // time constant of speed, errors and 429s
	PriceMemory  Micros  // time constant of cache hits and token counts
	RecentMemory Micros  // time constant of outages and back-off
	Prior        float64 // requests' worth of the model's typical endpoint mixed into every estimate
	PriorTokens  float64 // output tokens of one of those requests
	MinTypical   float64 // requests that an endpoint needs to count among the typical ones
	Typical      Typical // used until any endpoint has MinTypical requests
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
}

// OutageConfig says when an endpoint counts as having a major outage.
type OutageConfig struct {
	ErrorRate   float64 // over the recent memory, for the price policy
	PinRate     float64 // over the recent memory, for a pinned conversation to leave
	MinRequests float64 // recent requests needed to tell
}

// BackOffConfig shapes the short-term back-off.
type BackOffConfig struct {
	Accepts     float64 // K of adaptive throttling: multiplier = 1 − (attempts − K·accepted) ÷ (attempts + 1); 0 = off
	LatencyJump float64 // recent TTFT over usual TTFT above which the share shrinks in proportion; 0 = off
	Least       float64 // smallest multiplier
}

// CapConfig shapes the learned cap.
type CapConfig struct {
	Off         bool
	Burst       float64 // share of recent attempts answered by a 429 that means overload
	MinRejected float64 // recent 429s needed to tell
	Cut         float64 // cap after a burst, as a share of the accepted rate
	Hold        Micros  // no growth for this long after a cut
	Growth      float64 // per minute, × (0.5 + 2·(t ÷ 10 min)²), t since the end of the hold
	MaxGrowth   float64 // per minute
	Drift       float64 // growth per minute while the cap does not bind
	SlowMemory  Micros  // time constant of the usual rate: a cut needs a rate above it
}

// PinConfig says when a conversation stays where its prompt cache is.
type PinConfig struct {
	Idle Micros // longest pause after which the cache still counts as warm, unless the endpoint states a longer one
}

// PriceConfig shapes the price policy.
type PriceConfig struct {
	Exponent float64 // weight = price to the power of −Exponent
}

// DefaultConfig returns the constants calibrated against the published result table in a simulated market. The wait rates of the
// production router are not published.
func DefaultConfig() Config {
	return Config{
		SnapshotAge: 5 * Second,
		Telemetry: TelemetryConfig{
			Memory: 5 * Minute, PriceMemory: 30 * Minute, RecentMemory: 30 * Second,
			Prior: 40, PriorTokens: 500, MinTypical: 10,
			Typical:     Typical{TTFT: 1, SecondsPerToken: 1.0 / 60, ErrorRate: 0.02, RateLimited: 0.02, InputTokens: 4000, OutputTokens: 500},
			SizeClasses: []int{2048, 16384},
		},
		Cost:    CostConfig{Throughput: 0.475, TTFT: 0.2, RateLimit: 2.2, ErrorPenalty: 8, BadToolCalls: 1},
		Share:   ShareConfig{Edge: 0.30, Height: 0.955, Slope: 0.32, Steepness: 4.45, Floor: 0.08},
		Outage:  OutageConfig{ErrorRate: 0.2, PinRate: 0.5, MinRequests: 3},
		BackOff: BackOffConfig{Accepts: 2, LatencyJump: 3, Least: 0.1},
		Cap: CapConfig{Burst: 0.1, MinRejected: 2, Cut: 0.84, Hold: 2 * Minute, Growth: 0.012, MaxGrowth: 0.15, Drift: 0.02,
			SlowMemory: 10 * Minute},
		Pin:   PinConfig{Idle: 10 * Minute},
		Price: PriceConfig{Exponent: 2},
	}
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
	check("back_off.least", c.BackOff.Least, 0, 1)
	check("cap.burst", c.Cap.Burst, 0, 1)
	check("cap.min_rejected", c.Cap.MinRejected, 0, inf)
	check("cap.cut", c.Cap.Cut, 0.01, 1)
	check("cap.hold", c.Cap.Hold.Seconds(), 0, inf)
	check("cap.growth", c.Cap.Growth, 0, 1)
	check("cap.max_growth", c.Cap.MaxGrowth, 0, 1)
	check("cap.drift", c.Cap.Drift, 0, 1)
	check("cap.slow_memory", c.Cap.SlowMemory.Seconds(), 1, inf)
	check("pin.idle", c.Pin.Idle.Seconds(), 0, inf)
	check("price.exponent", c.Price.Exponent, 0, 100)
	return errors.Join(errs...)
}
