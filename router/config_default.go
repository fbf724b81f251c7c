package router

import (
	"errors"
	"fmt"
)

// DefaultConfig returns the constants of the sources, and where they state none, those that fit the published result table in a simulated
// market. The wait rates of the production router are not published; simulated scenarios may set others.
func DefaultConfig() Config {
	return Config{
		SnapshotAge: 10 * Second, SnapshotPicks: 512,
		Telemetry: TelemetryConfig{
			Memory: 5 * Minute, PriceMemory: 30 * Minute, RecentMemory: 30 * Second, ToolMemory: 120 * Minute,
			Prior: 40, PriorTokens: 500, MinTypical: 10,
			Typical:     Typical{TTFT: 1, SecondsPerToken: 1.0 / 60, ErrorRate: 0.02, RateLimited: 0.02, InputTokens: 4000, OutputTokens: 500},
			SizeClasses: []int{2048, 16384},
		},
		Cost:   CostConfig{Throughput: 0.475, TTFT: 0.2, RateLimit: 2.2, ErrorPenalty: 8, BadToolCalls: 1},
		Share:  ShareConfig{Edge: 0.30, Height: 0.955, Slope: 0.32, Steepness: 4.45, Floor: 0.08, Choices: 1},
		Outage: OutageConfig{ErrorRate: 0.2, PinRate: 0.5, MinRequests: 5},
		Breaker: BreakerConfig{Absolute: 0.5, Deviations: 3, MinRequests: 5, MostOut: 0.5, Ejection: 30 * Second, MaxEjection: 5 * Minute,
			Lease: Minute, ProbeWait: 10 * Minute},
		BackOff: BackOffConfig{Accepts: 2, LatencyJump: 2, Least: 0.1, MostRetryAfter: Minute},
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
	const most = 1e9 // keeps products of constants, prices and tokens finite
	check("snapshot_age", c.SnapshotAge.Seconds(), 0, 3600)
	check("snapshot_picks", float64(c.SnapshotPicks), 1, most)
	check("telemetry.tool_memory", c.Telemetry.ToolMemory.Seconds(), 1, most)
	check("share.choices", float64(c.Share.Choices), 1, 2)
	check("breaker.absolute", c.Breaker.Absolute, 0, 1)
	check("breaker.deviations", c.Breaker.Deviations, 0, most)
	check("breaker.min_requests", c.Breaker.MinRequests, 0, most)
	check("breaker.most_out", c.Breaker.MostOut, 0, 1)
	check("breaker.ejection", c.Breaker.Ejection.Seconds(), 1, most)
	check("breaker.max_ejection", c.Breaker.MaxEjection.Seconds(), c.Breaker.Ejection.Seconds(), most)
	check("breaker.lease", c.Breaker.Lease.Seconds(), 1, most)
	check("breaker.probe_wait", c.Breaker.ProbeWait.Seconds(), 1, most)
	check("back_off.most_retry_after", c.BackOff.MostRetryAfter.Seconds(), 0, most)
	check("pin.over_cap", c.Pin.OverCap, 0, most)
	check("quality.broken_tools", c.Quality.BrokenTools, 0, 1)
	check("quality.min_tool_calls", c.Quality.MinToolCalls, 0, most)
	check("quality.shortfall", c.Quality.Shortfall, 0, 1)
	check("quality.exacto_peers", float64(c.Quality.ExactoPeers), 1, most)
	check("quality.exacto_requests", c.Quality.ExactoRequests, 0, most)
	check("quality.exacto_tool_calls", c.Quality.ExactoToolCalls, 0, most)
	check("telemetry.memory", c.Telemetry.Memory.Seconds(), 1, most)
	check("telemetry.price_memory", c.Telemetry.PriceMemory.Seconds(), 1, most)
	check("telemetry.recent_memory", c.Telemetry.RecentMemory.Seconds(), 1, most)
	check("telemetry.prior", c.Telemetry.Prior, 1e-3, most)
	check("telemetry.prior_tokens", c.Telemetry.PriorTokens, 1, most)
	check("telemetry.min_typical", c.Telemetry.MinTypical, 1e-3, most)
	check("telemetry.typical.ttft", c.Telemetry.Typical.TTFT, 1e-6, most)
	check("telemetry.typical.seconds_per_token", c.Telemetry.Typical.SecondsPerToken, 1e-9, most)
	check("telemetry.typical.error_rate", c.Telemetry.Typical.ErrorRate, 0, 1)
	check("telemetry.typical.rate_limited", c.Telemetry.Typical.RateLimited, 0, 1)
	check("telemetry.typical.cache_hit", c.Telemetry.Typical.CacheHit, 0, 1)
	check("telemetry.typical.bad_tool_calls", c.Telemetry.Typical.BadToolCalls, 0, 1)
	check("telemetry.typical.input_tokens", c.Telemetry.Typical.InputTokens, 1, most)
	check("telemetry.typical.output_tokens", c.Telemetry.Typical.OutputTokens, 1, most)
	for i, size := range c.Telemetry.SizeClasses {
		if size < 1 || i > 0 && size <= c.Telemetry.SizeClasses[i-1] {
			errs = append(errs, fmt.Errorf("router config: telemetry.size_classes: %d does not ascend", size))
		}
	}
	check("cost.throughput", c.Cost.Throughput, 0, most)
	check("cost.ttft", c.Cost.TTFT, 0, most)
	check("cost.rate_limit", c.Cost.RateLimit, 0, most)
	check("cost.error_penalty", c.Cost.ErrorPenalty, 0, most)
	check("cost.bad_tool_calls", c.Cost.BadToolCalls, 0, 1)
	check("cost.ttft_quantile", c.Cost.TTFTQuantile, 0, 0.999)
	if c.Cost.TTFTQuantile > 0 && !c.Telemetry.Percentiles {
		errs = append(errs, errors.New("router config: cost.ttft_quantile: needs telemetry.percentiles"))
	}
	check("cost.wait_usd", c.Cost.WaitUSD, 0, most)
	check("cost.ttft_usd", c.Cost.TTFTUSD, 0, most)
	check("cost.rate_limit_usd", c.Cost.RateLimitUSD, 0, most)
	check("share.edge", c.Share.Edge, 1e-6, most)
	check("share.height", c.Share.Height, 1e-6, most)
	check("share.slope", c.Share.Slope, 0, most)
	check("share.steepness", c.Share.Steepness, 0, most)
	check("share.floor", c.Share.Floor, 0, 1)
	check("outage.error_rate", c.Outage.ErrorRate, 0, 1)
	check("outage.pin_rate", c.Outage.PinRate, 0, 1)
	check("outage.min_requests", c.Outage.MinRequests, 0, most)
	check("back_off.accepts", c.BackOff.Accepts, 0, most)
	check("back_off.latency_jump", c.BackOff.LatencyJump, 0, most)
	check("back_off.least", c.BackOff.Least, 1e-3, 1)
	check("cap.burst", c.Cap.Burst, 0, 1)
	check("cap.min_rejected", c.Cap.MinRejected, 0, most)
	check("cap.own_load", c.Cap.OwnLoad, 0, most)
	check("cap.cut", c.Cap.Cut, 0.01, 0.99)
	check("cap.set_point", c.Cap.SetPoint, 0, 1)
	check("cap.trim", c.Cap.Trim, 0, 0.5)
	check("cap.hold", c.Cap.Hold.Seconds(), 0, most)
	check("cap.regrow", c.Cap.Regrow.Seconds(), 1, most)
	check("cap.max_growth", c.Cap.MaxGrowth, 0, 10)
	check("cap.binding", c.Cap.Binding, 0, 1)
	check("cap.drift", c.Cap.Drift, 0, 10)
	check("cap.forget", c.Cap.Forget, 1, most)
	check("cap.memory", c.Cap.Memory.Seconds(), 1, most)
	check("cap.slow_memory", c.Cap.SlowMemory.Seconds(), 1, most)
	check("pin.idle", c.Pin.Idle.Seconds(), 0, most)
	check("price.exponent", c.Price.Exponent, 0, 100)
	check("retry.attempts", float64(c.Retry.Attempts), 1, MaxEndpoints)
	check("retry.time", c.Retry.Time.Seconds(), 0, most)
	return errors.Join(errs...)
}
