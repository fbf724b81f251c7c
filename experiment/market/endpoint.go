package market

import (
	"switchback/experiment/prices"
)

// Endpoint is one simulated offer.
type Endpoint struct {
	Offer Offer
	Price prices.Price // what it charges
	Queue bool         // queues when full instead of answering 429 at once

	// What every attempt reads stands together.
	load         float64 // other customers' load now
	Slots        float64 // requests that it serves at once, other customers' included
	limit        float64 // load above which it answers 429
	inFlight     int32
	tail         uint8 // class of the noise of its times to the first token
	quota        quota
	storm        float64 // chance of a 429 in a storm now
	errors       float64 // base error rate
	outage       float64 // chance of an error in an outage now
	cacheHit     float64 // share of a repeated prefix found in the cache
	CacheMicros  int64   // how long it keeps a prompt after its last use; 0 = no prompt cache
	ttft         float64 // median seconds to the first token without prefill, unloaded
	slow         float64 // factor on latency now
	tokenSeconds float64 // median seconds per output token, unloaded
	regime       float64 // factor on its times now

	hang          float64 // seconds of a hanging error
	badToolCalls  float64
	background    float64 // mean of other customers' load
	rejectSeconds float64 // mean beyond the least
	cancelBilled  bool
	drift         float64 // random part of the load's logarithm now, in standard deviations

	storms, slows, outages, providerOutages, domainOutages, regimes timeline
}

// InFlight is the number of our requests that the endpoint is serving or holding in its queue.
func (e *Endpoint) InFlight() int { return int(e.inFlight) }

// Capacity is the largest number of our requests that the endpoint holds at once when nobody else uses it.
func (e *Endpoint) Capacity() float64 { return e.limit * e.Slots }

// nanoPerToken is the number of units of prices.Rate (1e-12 USD) in a nano-dollar.
const nanoPerToken = 1000

// Bill returns what the tokens cost in units of 1e-9 USD, rounded half up. Input includes cached tokens.
func (e *Endpoint) Bill(input, cached, output int32) int64 {
	sum := int64(input-cached)*int64(e.Price.Input) + int64(cached)*int64(e.Price.CacheRead) + int64(output)*int64(e.Price.Output)
	return (sum + nanoPerToken/2) / nanoPerToken
}

// BillCancelled returns what an answer costs that the caller broke off after some of its output tokens.
// Some providers stop and bill what was made, the others run on and bill the whole answer.
func (e *Endpoint) BillCancelled(input, cached, made, whole int32) int64 {
	if e.cancelBilled {
		return e.Bill(input, cached, whole)
	}
	return e.Bill(input, cached, made)
}
