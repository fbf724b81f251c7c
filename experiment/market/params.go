package market

import (
	"errors"
	"fmt"
	"math"
)

// Params says how real offers become simulated endpoints. See DefaultParams.
type Params struct {
	PriceScale      float64 // list prices are multiplied by it
	PriceSpread     float64 // logarithms of a model's list prices are shrunk to their median by it, in [0, 1]
	LatencyScale    float64 // published median latencies are multiplied by it
	ThroughputScale float64 // published median throughputs are multiplied by it: an unloaded endpoint is faster
	SpeedSpread     float64 // logarithms of a model's latencies and throughputs are shrunk to their median by it, in [0, 1]
	PriceGames      float64 // share of the endpoints that halve the price of input, double that of output and give no cache discount

	// Capacity.
	Headroom         float64 // places of an endpoint relative to its expected part of the model's flow
	ModelSigma       float64 // log standard deviation of the headroom between models
	EndpointSigma    float64 // and between endpoints
	SmallModels      float64 // exponent by which models with little traffic have more headroom
	LeastSlots       float64 // places of the smallest endpoint
	Background       float64 // mean load of other customers, as a share of the places
	BackgroundSpread float64 // its log standard deviation between endpoints
	BackgroundModel  float64 // and between models
	BackgroundCheap  float64 // others choose by price too: it grows as (price ÷ median price)^−this
	BackgroundWave   float64 // amplitude of its daily wave, common to all
	BackgroundPhaseH float64 // hour of the day of the wave's upward crossing
	BackgroundSigma  float64 // log standard deviation of its random part, per endpoint
	BackgroundMin    float64 // correlation time of the random part, minutes
	QueueShare       float64 // share of the endpoints that queue when full instead of answering 429 at once
	QueueLimit       float64 // load at which a queueing endpoint answers 429 at last, ≥ 1
	QueueWaitS       float64 // seconds that a request waits at load 2 (in proportion to the load above 1)
	RejectS          float64 // mean seconds until a 429, beside a least of 0.08 s
	QueueRejectRatio float64 // time-out of a queue: when it is full, its 429 comes this times later
	QuotaShare       float64 // share of the endpoints with a fixed quota of requests per minute …
	TokenQuotaShare  float64 // … and of those with one of tokens per minute, of prompts and answers …
	QuotaFlow        float64 // … of this times their expected part of the model's mean flow
	Rejects          float64 // least chance of a 429 at every endpoint, whatever its load
	ScarceRejects    float64 // the same for scarce models, which are short of capacity everywhere: …
	ScarceErrors     float64 // what that adds to their error rates
	ScarceFirst      int     // … the model of this rank by traffic, from 0, …
	ScarceModels     int     // … and those after it, so many in all
	RetryAfterShare  float64 // share of the 429s that state a Retry-After of 2 to 10 s

	// Speed.
	TTFTSigma    float64 // log standard deviation of the time to first token, in the geometric mean over endpoints
	TailSpread   float64 // how much it differs between providers: exponent of the ratios of measured ones; 0 = not at all
	TTFTLoad     float64 // time to first token grows by this × load²
	PrefillRate  float64 // uncached input tokens per second
	TailShare    float64 // share of the requests that hit a slow start …
	TailSlope    float64 // … which multiplies their time by exp(slope·(0.5 + Exp)) …
	TailMost     float64 // … but at most by this
	DecodeSigma  float64 // log standard deviation of the decode speed
	DecodeLoad   float64 // time per token grows by this × load²
	LoadCeiling  float64 // load above which nothing grows further
	MidstreamOf  float64 // share of the errors that come after the first token
	ToolErrorBad float64 // mean share of malformed tool calls
	ToolSigma    float64 // its log standard deviation between endpoints

	// Incidents: every so many hours on average, median minutes long, with a severity drawn evenly.
	Storm          Spells // 429 storms; severity = chance of a 429
	Slow           Spells // slow spells; severity = factor on latency
	Outage         Spells // of one endpoint; severity = chance of an error
	ProviderOutage Spells // of all endpoints of one provider, in all models
	DomainOutage   Spells // of all providers in one failure domain, such as a cloud region
	Domains        int    // number of failure domains, over which the providers are spread
	Regime         Spells // regime shifts; severity = factor on the time to first token and the time per token while it lasts
	ErrorMean      float64
	ErrorSigma     float64 // log standard deviation of the base error rate between endpoints
	LoneErrors     float64 // most that it is where a model has one endpoint: what nobody else offers does not fail often …
	LoneBackground float64 // … and has room: most that others' mean load is there
	FailWave       float64 // amplitude of the daily wave of the time that 429s and errors take, in step with that of the load
	QuickErrors    float64 // share of the errors that come quickly
	QuickErrorS    float64 // mean seconds until a quick error, beside a least of 0.2 s
	HangS          float64 // seconds until the other errors, times 0.4 + 0.8·Exp
	HangWithErrors float64 // exponent by which endpoints with more errors hang longer

	// Prompt caches and bills.
	CacheShare    float64 // share of the endpoints with a prompt cache
	CacheHitLo    float64 // an endpoint's cache holds between this …
	CacheHitHi    float64 // … and this share of a repeated prefix
	CacheMinutes  float64 // how long after the last use
	UsualDiscount float64 // share of the caching endpoints without a listed cache-read price that give their provider's usual discount
	CancelBilled  float64 // share of the providers that bill a cancelled answer in full, of those that router.StopsOnCancel does not know
}

// Spells says how often something happens, how long it lasts and how bad it is.
type Spells struct {
	EveryH    float64 // mean hours from the end of one to the start of the next; 0 = never
	MedianMin float64 // median length, minutes
	Sigma     float64 // log standard deviation of the length
	Lo, Hi    float64 // range of the severity
}

// DefaultParams returns the parameters of the default scenario.
func DefaultParams() Params {
	return Params{
		PriceScale:      1.631,
		PriceSpread:     0.7236,
		LatencyScale:    1.006,
		ThroughputScale: 2.328,
		SpeedSpread:     1,

		Headroom:         40,
		ModelSigma:       0.5,
		EndpointSigma:    0.5,
		SmallModels:      0.35,
		LeastSlots:       3,
		Background:       0.3797,
		BackgroundSpread: 0.2065,
		BackgroundModel:  0.149,
		BackgroundCheap:  0.2672,
		BackgroundWave:   0.2167,
		BackgroundPhaseH: 8,
		BackgroundSigma:  0.3,
		BackgroundMin:    20,
		QueueShare:       0.5,
		QueueLimit:       1.35,
		QueueWaitS:       6,
		RejectS:          1.576,
		QueueRejectRatio: 2.6,
		QuotaShare:       0.06,
		TokenQuotaShare:  0.06,
		QuotaFlow:        3.2,
		Rejects:          0.0004,
		ScarceRejects:    0.2011,
		ScarceErrors:     0.06475,
		ScarceFirst:      1,
		ScarceModels:     1,
		RetryAfterShare:  0.3,

		TTFTSigma:    0.7516,
		TailSpread:   0.26,
		TTFTLoad:     0.8827,
		PrefillRate:  15_000,
		TailShare:    0.014,
		TailSlope:    1.6,
		TailMost:     60,
		DecodeSigma:  0.25,
		DecodeLoad:   0.4465,
		LoadCeiling:  1.2,
		MidstreamOf:  0.02,
		ToolErrorBad: 0.02,
		ToolSigma:    1,

		Storm:          Spells{EveryH: 22, MedianMin: 9, Sigma: 0.8, Lo: 0.4, Hi: 0.88},
		Slow:           Spells{EveryH: 55, MedianMin: 42, Sigma: 0.8, Lo: 1.7, Hi: 3},
		Outage:         Spells{EveryH: 208, MedianMin: 60, Sigma: 1.45, Lo: 0.25, Hi: 1},
		ProviderOutage: Spells{EveryH: 220, MedianMin: 60, Sigma: 1.45, Lo: 0.25, Hi: 1},
		Domains:        6,
		ErrorMean:      0.04818,
		ErrorSigma:     1.673,
		LoneErrors:     0.01,
		LoneBackground: 0.15,
		FailWave:       0.2602,
		QuickErrors:    0.65,
		QuickErrorS:    1,
		HangS:          2.497,
		HangWithErrors: 1.095,

		CacheShare:    0.75,
		CacheHitLo:    0.42,
		CacheHitHi:    0.77,
		CacheMinutes:  10,
		UsualDiscount: 1,
		CancelBilled:  0.4,
	}
}

// Validate reports every parameter that is out of its range.
func (p Params) Validate() error {
	var problems []error
	check := func(ok bool, name string, v float64, want string) {
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			problems = append(problems, fmt.Errorf("market %s: %v is not %s", name, v, want))
		}
	}
	positive := func(name string, v float64) { check(v > 0, name, v, "above 0") }
	positive("price scale", p.PriceScale)
	positive("latency scale", p.LatencyScale)
	positive("throughput scale", p.ThroughputScale)
	positive("headroom", p.Headroom)
	positive("least slots", p.LeastSlots)
	positive("background correlation time", p.BackgroundMin)
	positive("queue reject ratio", p.QueueRejectRatio)
	positive("prefill rate", p.PrefillRate)
	positive("load ceiling", p.LoadCeiling)
	positive("cache minutes", p.CacheMinutes)
	positive("largest slow start", p.TailMost)
	positive("quota", p.QuotaFlow)
	positive("failure domains", float64(p.Domains))
	check(p.ScarceFirst >= 0, "first scarce model", float64(p.ScarceFirst), "at least 0")
	check(p.ScarceModels >= 0, "scarce models", float64(p.ScarceModels), "at least 0")
	for _, c := range []struct {
		name string
		v    float64
	}{
		{"price spread", p.PriceSpread}, {"speed spread", p.SpeedSpread}, {"price games", p.PriceGames}, {"quota share", p.QuotaShare}, {"token quota share", p.TokenQuotaShare}, {"rejects", p.Rejects}, {"rejects of scarce models", p.ScarceRejects}, {"errors of scarce models", p.ScarceErrors}, {"queue share", p.QueueShare}, {"retry-after share", p.RetryAfterShare}, {"tail share", p.TailShare},
		{"mid-stream share", p.MidstreamOf}, {"tool errors", p.ToolErrorBad}, {"error mean", p.ErrorMean}, {"errors of a lone endpoint", p.LoneErrors}, {"quick errors", p.QuickErrors},
		{"cache share", p.CacheShare}, {"cache hit (low)", p.CacheHitLo}, {"cache hit (high)", p.CacheHitHi}, {"usual discount", p.UsualDiscount},
		{"cancel billed", p.CancelBilled}, {"background wave", p.BackgroundWave}, {"wave of failures", p.FailWave},
	} {
		check(c.v >= 0 && c.v <= 1, c.name, c.v, "between 0 and 1")
	}
	for _, c := range []struct {
		name string
		v    float64
	}{
		{"model sigma", p.ModelSigma}, {"endpoint sigma", p.EndpointSigma}, {"small models", p.SmallModels}, {"background", p.Background}, {"background spread", p.BackgroundSpread}, {"background of a lone endpoint", p.LoneBackground}, {"background between models", p.BackgroundModel}, {"background of cheap endpoints", p.BackgroundCheap},
		{"background sigma", p.BackgroundSigma}, {"queue wait", p.QueueWaitS}, {"reject time", p.RejectS}, {"ttft sigma", p.TTFTSigma}, {"tail spread", p.TailSpread}, {"ttft load", p.TTFTLoad},
		{"tail slope", p.TailSlope}, {"decode sigma", p.DecodeSigma}, {"decode load", p.DecodeLoad}, {"tool sigma", p.ToolSigma}, {"error sigma", p.ErrorSigma},
		{"quick error time", p.QuickErrorS}, {"hang time", p.HangS}, {"hang exponent", p.HangWithErrors},
	} {
		check(c.v >= 0, c.name, c.v, "at least 0")
	}
	check(p.QueueLimit >= 1, "queue limit", p.QueueLimit, "at least 1")
	check(p.CacheHitLo <= p.CacheHitHi, "cache hit (low)", p.CacheHitLo, "at most the high one")
	for _, s := range []struct {
		name   string
		spells Spells
		most   float64
	}{{"storm", p.Storm, 1}, {"slow", p.Slow, math.Inf(1)}, {"outage", p.Outage, 1}, {"provider outage", p.ProviderOutage, 1},
		{"domain outage", p.DomainOutage, 1}, {"regime", p.Regime, math.Inf(1)}} {
		check(s.spells.EveryH >= 0, s.name+" interval", s.spells.EveryH, "at least 0")
		check(s.spells.EveryH == 0 || s.spells.MedianMin > 0, s.name+" length", s.spells.MedianMin, "above 0")
		check(s.spells.Sigma >= 0, s.name+" sigma", s.spells.Sigma, "at least 0")
		check(s.spells.Lo >= 0 && s.spells.Lo <= s.spells.Hi && s.spells.Hi <= s.most, s.name+" severity", s.spells.Lo, "a range")
	}
	return errors.Join(problems...)
}
