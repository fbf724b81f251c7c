package market

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"switchback/experiment/prices"
	"switchback/experiment/random"
	"switchback/router"
)

// TickMicros is the time between two calls of Market.Tick.
const TickMicros = 20_000_000

// mostBackground is the largest mean load of other customers.
const mostBackground = 0.9

// Demand is what the endpoints of a model are built for.
type Demand struct {
	Flow       float64 // requests per second
	MeanOutput float64 // tokens of an answer
	MeanInput  float64 // tokens of a prompt
	Rank       int     // of the model by traffic, from 0
}

// Market is the endpoints of one model.
type Market struct {
	Model     string
	Endpoints []Endpoint

	params  Params
	tables  *tables
	drift   random.Stream // of other customers' load
	attempt random.Stream // of what happens to attempts
	keep    float64       // of the drift per tick
	renew   float64
	rejects float64 // least chance of a 429
	failing float64 // factor on the time that failures take now
}

// tables is what all models share.
type tables struct {
	normal *random.Table
	expo   *random.Table
	tails  [tailClasses]float64       // log standard deviations of the time to first token
	ttft   [tailClasses]*random.Table // noise of the time to first token
	token  *random.Table              // noise of the time per token
	drift  [driftSteps]float64
}

// The random part of other customers' load is tabulated over ±driftRange standard deviations.
const (
	driftRange = 5
	driftSteps = 2048
)

// drifted is the factor exp(BackgroundSigma·drift).
func (t *tables) drifted(drift float64) float64 {
	at := int((drift + driftRange) * (driftSteps / (2.0 * driftRange)))
	return t.drift[min(max(at, 0), driftSteps-1)]
}

// Builder makes the markets of all models of a scenario.
type Builder struct {
	params  Params
	tables  tables
	horizon int64
	draw    uint64
	seed    uint64
}

// NewBuilder checks the parameters. The draw decides what endpoints are like beyond what their offers state, the seed what happens to
// them. Incidents are drawn for the given number of µs from the start of the experiment.
func NewBuilder(p Params, horizon int64, draw, seed uint64) (*Builder, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	tails, err := tailSigmas(p.TTFTSigma, p.TailSpread)
	if err != nil {
		return nil, err
	}
	b := &Builder{params: p, horizon: horizon, draw: draw, seed: seed, tables: tables{
		normal: random.Normal(),
		expo:   random.Exponential(),
		tails:  tails,
		token:  random.LogNormal(p.DecodeSigma),
	}}
	for i, sigma := range tails {
		b.tables.ttft[i] = random.LogNormal(sigma)
	}
	for i := range b.tables.drift {
		b.tables.drift[i] = math.Exp(p.BackgroundSigma * ((float64(i)+0.5)*(2*driftRange)/driftSteps - driftRange))
	}
	return b, nil
}

// New makes the endpoints of one model from its offers.
func (b *Builder) New(offers []Offer, d Demand) (*Market, error) {
	if len(offers) == 0 {
		return nil, errors.New("market: no offers")
	}
	model := offers[0].Model
	if d.Flow <= 0 || d.MeanOutput <= 0 {
		return nil, fmt.Errorf("market %s: flow %v and mean output %v must be above 0", model, d.Flow, d.MeanOutput)
	}
	p := &b.params
	m := &Market{
		Model: model, Endpoints: make([]Endpoint, len(offers)), params: *p, tables: &b.tables, rejects: p.Rejects,
		drift:   random.New(b.seed, "market", "background", model),
		attempt: random.New(b.seed, "market", "attempts", model),
		keep:    math.Exp(-TickMicros / 60e6 / p.BackgroundMin),
	}
	m.renew = math.Sqrt(1 - m.keep*m.keep)
	scarce := d.Rank >= p.ScarceFirst && d.Rank < p.ScarceFirst+p.ScarceModels
	if scarce {
		m.rejects = p.ScarceRejects
	}
	build := random.New(b.draw, "market", "build", model)
	roomy := p.Headroom * math.Exp(p.ModelSigma*b.tables.normal.Draw(&build)) * math.Pow(2/d.Flow, p.SmallModels)
	busy := p.Background * math.Exp(p.BackgroundModel*b.tables.normal.Draw(&build))
	medianIn, medianOut := medians(offers, func(o *Offer) (float64, float64) { return float64(o.Price.Input), float64(o.Price.Output) })
	medianLatency, medianRate := medians(offers, func(o *Offer) (float64, float64) { return o.LatencyMS, o.Throughput })
	cheap := 0.0 // Σ 1/price², for the endpoints' expected parts
	for i := range m.Endpoints {
		e := &m.Endpoints[i]
		e.Offer = offers[i]
		e.Price = p.price(offers[i].Price, medianIn, medianOut)
		b.furnish(e, model, scarce)
		cheap += math.Pow(float64(e.Price.Input), -2)
	}
	medianPrice := math.Round(p.PriceScale * medianIn)
	for i := range m.Endpoints {
		e := &m.Endpoints[i]
		e.ttft = shrunk(e.Offer.LatencyMS, medianLatency, p.SpeedSpread) / 1000 * p.LatencyScale
		e.tokenSeconds = 1 / (shrunk(e.Offer.Throughput, medianRate, p.SpeedSpread) * p.ThroughputScale)
		duration := e.ttft + d.MeanInput/p.PrefillRate + d.MeanOutput*e.tokenSeconds
		part := 0.5/float64(len(offers)) + 0.5*math.Pow(float64(e.Price.Input), -2)/cheap
		cheapness := math.Pow(float64(e.Price.Input)/medianPrice, -p.BackgroundCheap)
		e.background = min(mostBackground, busy*math.Exp(p.BackgroundSpread*b.tables.normal.Draw(&build))*cheapness)
		own := roomy * math.Exp(p.EndpointSigma*b.tables.normal.Draw(&build))
		e.Slots = math.Max(p.LeastSlots, d.Flow*duration*part*own)
		if len(offers) == 1 { // nobody else could serve in an outage or a storm of 429s, and no 95th percentile would be finite
			e.errors, e.background = min(e.errors, p.LoneErrors), min(e.background, p.LoneBackground)
			e.storms, e.outages, e.providerOutages = timeline{}, timeline{}, timeline{}
		}
		if limits := random.New(b.draw, "market", "quota", model, e.Offer.Slug); limits.Chance(p.QuotaShare) {
			e.quota.mostRequests = int64(math.Ceil(60 * d.Flow * part * p.QuotaFlow))
		}
		if limits := random.New(b.draw, "market", "token quota", model, e.Offer.Slug); limits.Chance(p.TokenQuotaShare) {
			e.quota.mostTokens = int64(math.Ceil(60 * d.Flow * part * p.QuotaFlow * (d.MeanInput + d.MeanOutput)))
		}
	}
	for i := range m.Endpoints {
		m.Endpoints[i].drift = b.tables.normal.Draw(&m.drift)
	}
	m.Tick(0)
	return m, nil
}

// shrunk moves a value towards the median: its logarithm keeps the given share of the distance.
func shrunk(v, median, share float64) float64 { return median * math.Pow(v/median, share) }

// price scales a list price, and shrinks its distance from the model's median.
func (p *Params) price(list prices.Price, medianIn, medianOut float64) prices.Price {
	scale := func(rate prices.Rate, median float64) prices.Rate {
		return prices.Rate(math.Round(p.PriceScale * shrunk(float64(rate), median, p.PriceSpread)))
	}
	q := prices.Price{Input: scale(list.Input, medianIn), Output: scale(list.Output, medianOut)}
	q.CacheWrite = q.Input
	q.CacheRead = q.Input
	if list.CacheReadKnown {
		q.CacheReadKnown = true
		q.CacheRead = prices.Rate(math.Round(float64(q.Input) * float64(list.CacheRead) / float64(list.Input)))
	}
	return q
}

// medians returns the medians of two values of the offers; the two middle ones are averaged geometrically.
func medians(offers []Offer, of func(*Offer) (float64, float64)) (first, second float64) {
	x, y := make([]float64, len(offers)), make([]float64, len(offers))
	for i := range offers {
		x[i], y[i] = of(&offers[i])
	}
	slices.Sort(x)
	slices.Sort(y)
	middle := func(v []float64) float64 { return math.Sqrt(v[(len(v)-1)/2] * v[len(v)/2]) }
	return middle(x), middle(y)
}

// furnish draws what the offer does not state, from a stream of the endpoint's own.
func (b *Builder) furnish(e *Endpoint, model string, scarce bool) {
	p, t := &b.params, &b.tables
	rng := random.New(b.draw, "market", "endpoint", model, e.Offer.Slug)
	e.errors = math.Min(0.35, p.ErrorMean*math.Exp(p.ErrorSigma*t.normal.Draw(&rng)-p.ErrorSigma*p.ErrorSigma/2))
	e.hang = p.HangS
	if p.ErrorMean > 0 {
		e.hang *= math.Pow(e.errors/p.ErrorMean, p.HangWithErrors)
	}
	if scarce {
		e.errors += p.ScarceErrors
	}
	e.badToolCalls = math.Min(0.5, p.ToolErrorBad*math.Exp(p.ToolSigma*t.normal.Draw(&rng)-p.ToolSigma*p.ToolSigma/2))
	e.limit, e.rejectSeconds = 1, p.RejectS
	if e.Queue = rng.Chance(p.QueueShare); e.Queue {
		e.limit, e.rejectSeconds = p.QueueLimit, p.RejectS*p.QueueRejectRatio
	}
	hit := p.CacheHitLo + (p.CacheHitHi-p.CacheHitLo)*rng.Float64()
	if rng.Chance(p.CacheShare) || e.Price.CacheReadKnown {
		e.cacheHit = hit
		e.CacheMicros = int64(p.CacheMinutes * 60e6)
		usual := e.Offer.UsualCacheRead
		if !e.Price.CacheReadKnown && usual > 0 && rng.Chance(p.UsualDiscount) {
			e.Price.CacheRead = prices.Rate(math.Round(float64(e.Price.Input) * min(usual, 1)))
		}
	}
	provider := random.New(b.draw, "market", "provider", e.Offer.Provider)
	e.cancelBilled = provider.Chance(p.CancelBilled)
	if stops, stated := router.StopsOnCancel(e.Offer.Provider); stated {
		e.cancelBilled = !stops
	}
	tail := random.New(b.draw, "market", "tail", e.Offer.Provider)
	e.tail = uint8(tail.IntN(tailClasses))
	if extra := random.New(b.draw, "market", "price games", model, e.Offer.Slug); extra.Chance(p.PriceGames) {
		e.Price.Input, e.Price.Output = (e.Price.Input+1)/2, e.Price.Output*2
		e.Price.CacheRead, e.Price.CacheWrite, e.Price.CacheReadKnown = e.Price.Input, e.Price.Input, false
	}
	stream := func(kind string) random.Stream { return random.New(b.seed, "market", kind, model, e.Offer.Slug) }
	e.storms = drawTimeline(p.Storm, b.horizon, stream("storm"), t)
	e.slows = drawTimeline(p.Slow, b.horizon, stream("slow"), t)
	e.outages = drawTimeline(p.Outage, b.horizon, stream("outage"), t)
	e.regimes = drawTimeline(p.Regime, b.horizon, stream("regime"), t)
	domain := strconv.Itoa(provider.IntN(p.Domains))
	e.domainOutages = drawTimeline(p.DomainOutage, b.horizon, random.New(b.seed, "market", "domain outage", domain), t)
	e.providerOutages = drawTimeline(p.ProviderOutage, b.horizon, random.New(b.seed, "market", "provider outage", e.Offer.Provider), t)
}

// Tick moves other customers' load and the incidents to now, µs since the start of the experiment. It is called every TickMicros.
func (m *Market) Tick(now int64) {
	p := &m.params
	hour := float64(now) / microsPerHour
	day := math.Sin(2 * math.Pi * (hour - p.BackgroundPhaseH) / 24)
	wave := 1 + p.BackgroundWave*day
	m.failing = 1 + p.FailWave*day
	for i := range m.Endpoints {
		e := &m.Endpoints[i]
		e.drift = m.keep*e.drift + m.renew*m.tables.normal.Draw(&m.drift)
		e.load = e.background * wave * m.tables.drifted(e.drift)
		e.storm = max(m.rejects, e.storms.severity(now, 0))
		e.slow = e.slows.severity(now, 1)
		e.outage = max(e.outages.severity(now, 0), e.providerOutages.severity(now, 0), e.domainOutages.severity(now, 0))
		e.regime = e.regimes.severity(now, 1)
	}
}
