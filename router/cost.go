package router

// terms are the parts of one endpoint's Routing Cost, in USD for one request of the estimated size.
type terms struct {
	price     float64 // effective price
	wait      float64 // throughput term: the whole wait at the model's rate
	ttft      float64 // the wait for the first token, charged again
	rateLimit float64
	works     float64 // quality ÷ (1 + penalty × error rate)
	cost      float64 // (price + wait + ttft + rateLimit) ÷ works
}

// rates turn waiting and rejections into USD for one model and size of request.
type rates struct {
	secondUSD    float64 // per second of the whole wait
	ttftUSD      float64 // per second until the first token
	rateLimitUSD float64 // per 429
	output       float64 // estimated tokens of the answer
}

// effectivePrice is what the endpoint charges for a request of the size, at its real rate of cache reads and writes.
func effectivePrice(p *Price, s *signals, z *requestSize) float64 {
	fresh := 1 - s.cacheHit - s.cacheWrite
	return z.input*(fresh*p.Input+s.cacheHit*p.CacheRead+s.cacheWrite*p.CacheWrite) + z.output*p.Output
}

// ratesFor derives the model's rates from what its endpoints charge and how fast they are, unless the configuration states them. A model
// that charges nothing is routed by speed alone. An endpoint that raises its price may move the median, and with it what waiting costs at
// the others. That wins it no share in ordinary snapshots, but can where caps hold back the best; with stated rates it never can.
func (c *CostConfig) ratesFor(medianPrice float64, y *Typical, z *requestSize) rates {
	medianPrice = max(medianPrice, leastPrice)
	r := rates{c.WaitUSD, c.TTFTUSD, c.RateLimitUSD, z.output}
	if r.secondUSD == 0 {
		r.secondUSD = c.Throughput * medianPrice / (z.output * y.SecondsPerToken)
	}
	if r.ttftUSD == 0 {
		r.ttftUSD = c.TTFT * medianPrice / y.TTFT
	}
	if r.rateLimitUSD == 0 {
		r.rateLimitUSD = c.RateLimit * medianPrice
	}
	return r
}

// leastPrice, in USD per request, keeps the rates of a free model above 0.
const leastPrice = 1e-9

func (r *rates) wait(s *signals) float64 { return r.secondUSD * r.output * s.secondsPerToken }

func (r *rates) ttft(s *signals) float64 { return r.ttftUSD * s.ttft }

func (r *rates) rateLimit(s *signals) float64 { return r.rateLimitUSD * s.rateLimited }

func (c *CostConfig) works(s *signals) float64 {
	return (1 - c.BadToolCalls*s.badTools) / (1 + c.ErrorPenalty*s.errorRate)
}

// routingCost is what a good answer from the endpoint costs.
func (c *CostConfig) routingCost(price float64, s *signals, r *rates) float64 {
	return (price + r.wait(s) + r.ttft(s) + r.rateLimit(s)) / max(c.works(s), leastWorks)
}

// terms are the parts of what a good answer from the endpoint costs.
func (c *CostConfig) terms(price float64, s *signals, r *rates) terms {
	return terms{price: price, wait: r.wait(s), ttft: r.ttft(s), rateLimit: r.rateLimit(s), works: c.works(s), cost: c.routingCost(price, s, r)}
}

// leastWorks keeps the Routing Cost of an endpoint that never works finite.
const leastWorks = 1e-3
