package router

// sums are one endpoint's outcomes. Every number is a sum of contributions weighted by exp(age of the telemetry at the outcome ÷ memory):
// forward decay (Cormode et al. 2009). Old contributions fade because new ones weigh more, so nothing has to be touched as time
// passes, ratios of sums need no correction, and a sum ÷ the weight of now is the usual exponentially fading sum.
type sums struct {
	// Faded by TelemetryConfig.Memory.
	answered  float64 // attempts that succeeded
	failed    float64 // attempts that failed by the endpoint's fault
	rejected  float64 // attempts answered by a 429
	started   float64 // attempts with a first token …
	ttft      float64 // … and their seconds until then
	tokens    float64 // output tokens of successes …
	seconds   float64 // … and their whole seconds
	toolCalls float64 // answers that called a tool …
	badTools  float64 // … not well formed

	// Faded by TelemetryConfig.PriceMemory.
	priced  float64 // successes …
	input   float64 // … and their tokens
	cached  float64 // … read from the prompt cache
	written float64 // … written to it

	// Faded by TelemetryConfig.ToolMemory.
	longTools    float64 // answers that called a tool …
	longBadTools float64 // … not well formed

	// Faded by TelemetryConfig.RecentMemory.
	recentAnswered float64
	recentFailed   float64
	recentRejected float64
	recentStarted  float64
	recentTTFT     float64
}

// size is what requests of one size class were like, faded by TelemetryConfig.PriceMemory.
type size struct {
	requests, input, output float64
}

// weights are what one outcome weighs now, per memory.
type weights struct {
	usual, price, recent, tools float64
}

// telemetry holds the sums of a model's endpoints.
type telemetry struct {
	cfg         *TelemetryConfig
	epoch       Instant // age 0
	rate        weights // 1 ÷ memory, per µs
	fastest     float64 // the largest of the rates
	near        Instant // with the weights …
	nearWeights weights // … of then
	endpoints   []sums
	sizes       []size   // by class; the last is the whole model
	latency     []sketch // TTFT by endpoint, in seconds; nil unless Percentiles
	speed       []sketch // output tokens per second
}

// rebaseAge is how many of the shortest memories the telemetry may age before its epoch moves, far from the overflow of a float32.
const rebaseAge = 80

func newTelemetry(cfg *TelemetryConfig, n int) telemetry {
	t := telemetry{
		cfg:       cfg,
		rate:      weights{1 / float64(cfg.Memory), 1 / float64(cfg.PriceMemory), 1 / float64(cfg.RecentMemory), 1 / float64(cfg.ToolMemory)},
		endpoints: make([]sums, n),
		sizes:     make([]size, len(cfg.SizeClasses)+2),
	}
	t.fastest = max(t.rate.usual, t.rate.price, t.rate.recent, t.rate.tools)
	t.approach(0)
	if cfg.Percentiles {
		t.latency, t.speed = make([]sketch, n), make([]sketch, n)
	}
	return t
}

// class is the size class of a prompt; unknown sizes have the whole model's.
func (t *telemetry) class(tokens int) int {
	if tokens <= 0 {
		return len(t.sizes) - 1
	}
	class := 0
	for _, limit := range t.cfg.SizeClasses { // all of them: a count needs no branch that a processor would have to guess
		if tokens >= limit {
			class++
		}
	}
	return class
}

// weigh returns the weights of now: those of an instant nearby, for which the exponentials are known, times a short series.
func (t *telemetry) weigh(now Instant) weights {
	d := float64(now - t.near)
	if x := d * t.fastest; x > nearby || x < -nearby {
		t.approach(now)
		return t.nearWeights
	}
	return weights{
		usual:  t.nearWeights.usual * expNear0(d*t.rate.usual),
		price:  t.nearWeights.price * expNear0(d*t.rate.price),
		recent: t.nearWeights.recent * expNear0(d*t.rate.recent),
	}
}

// approach computes the weights of now, moving the epoch first when it is too long ago.
func (t *telemetry) approach(now Instant) {
	if float64(now-t.epoch)*t.fastest > rebaseAge {
		t.rebase(now)
	}
	age := float64(now - t.epoch)
	t.near = now
	t.nearWeights = weights{usual: exp(age * t.rate.usual), price: exp(age * t.rate.price), recent: exp(age * t.rate.recent)}
}

// weighPrice returns the weight of an instant in the price memory, whatever the epoch is by now.
func (t *telemetry) weighPrice(at Instant) float64 {
	return exp(float64(at-t.epoch) * t.rate.price)
}

// weighTools returns the weight of an instant in the tool memory, which few outcomes need, whatever the epoch is by now.
func (t *telemetry) weighTools(at Instant) float64 {
	return exp(float64(at-t.epoch) * t.rate.tools)
}

// rebase moves the epoch to now.
func (t *telemetry) rebase(now Instant) {
	age := float64(now - t.epoch)
	usual, price, recent, tools := exp(-age*t.rate.usual), exp(-age*t.rate.price), exp(-age*t.rate.recent), exp(-age*t.rate.tools)
	for i := range t.endpoints {
		s := &t.endpoints[i]
		fade(usual, &s.answered, &s.failed, &s.rejected, &s.started, &s.ttft, &s.tokens, &s.seconds, &s.toolCalls, &s.badTools)
		fade(price, &s.priced, &s.input, &s.cached, &s.written)
		fade(recent, &s.recentAnswered, &s.recentFailed, &s.recentRejected, &s.recentStarted, &s.recentTTFT)
		fade(tools, &s.longTools, &s.longBadTools)
	}
	for i := range t.latency {
		for b := range t.latency[i] {
			t.latency[i][b] *= float32(usual)
			t.speed[i][b] *= float32(usual)
		}
	}
	for i := range t.sizes {
		fade(price, &t.sizes[i].requests, &t.sizes[i].input, &t.sizes[i].output)
	}
	t.epoch = now
}

// fade multiplies sums. Those too small to matter become 0: arithmetic on numbers near the smallest is slow.
func fade(by float64, sums ...*float64) {
	for _, s := range sums {
		if *s *= by; *s < 1e-12 {
			*s = 0
		}
	}
}

// addSize counts the tokens of an answer among those of a class of prompts.
func (t *telemetry) addSize(class int, w weights, o *Outcome) {
	z := &t.sizes[class]
	z.requests += w.price
	z.input += w.price * float64(o.Input)
	z.output += w.price * float64(o.Output)
}

// add counts an outcome of the endpoint.
func (t *telemetry) add(w weights, now Instant, endpoint int32, o *Outcome) {
	s := &t.endpoints[endpoint]
	switch o.Kind {
	case OutcomeOK:
		s.answered += w.usual
		s.recentAnswered += w.recent
		t.addStart(s, w, o)
		if o.Duration > 0 {
			s.tokens += w.usual * float64(o.Output)
			s.seconds += w.usual * o.Duration.Seconds()
		}
		if t.latency != nil && o.TTFT > 0 && o.Duration > 0 {
			t.latency[endpoint].add(w.usual, o.TTFT.Seconds())
			t.speed[endpoint].add(w.usual, float64(o.Output)/o.Duration.Seconds())
		}
		s.priced += w.price
		s.input += w.price * float64(o.Input)
		s.cached += w.price * float64(o.Cached)
		s.written += w.price * float64(o.Written)
		if o.Input > 0 {
			t.addSize(t.class(o.Input), w, o)
			t.addSize(len(t.sizes)-1, w, o)
		}
		if o.ToolCall {
			tools := t.weighTools(now)
			s.toolCalls += w.usual
			s.longTools += tools
			if !o.ToolCallOK {
				s.badTools += w.usual
				s.longBadTools += tools
			}
		}
	case OutcomeMidstream:
		t.addStart(s, w, o)
		fallthrough
	case OutcomeError:
		s.failed += w.usual
		s.recentFailed += w.recent
	case OutcomeRateLimited:
		s.rejected += w.usual
		s.recentRejected += w.recent
	case OutcomeNeutral:
	}
}

func (t *telemetry) addStart(s *sums, w weights, o *Outcome) {
	if o.TTFT == 0 {
		return
	}
	ttft := o.TTFT.Seconds()
	s.started += w.usual
	s.ttft += w.usual * ttft
	s.recentStarted += w.recent
	s.recentTTFT += w.recent * ttft
}

// forgive drops the recent failures of an endpoint that proved well again, so that they don't take it out once more.
func (t *telemetry) forgive(endpoint int32) { t.endpoints[endpoint].recentFailed = 0 }
