package router

// Cost is what the price makes of an answer, in USD. Input tokens include cached and written ones.
func (p *Price) Cost(input, cached, written, output int) float64 {
	return float64(input-cached-written)*p.Input + float64(cached)*p.CacheRead + float64(written)*p.CacheWrite + float64(output)*p.Output
}

// Attempt is what the ledgers need to know of a try.
type Attempt struct {
	Outcome        Outcome
	Finish         string // finish reason; empty = none was given
	Cancelled      bool   // the caller went away
	ExpectedOutput int    // tokens of the whole answer; they count when the provider goes on after a cancellation
}

// Ledger keeps two accounts of a request's tries: the dollars billed to the caller, and the economic cost, in which a failed try costs its
// price and its wait although nobody is billed for it.
type Ledger struct {
	BilledUSD   float64
	EconomicUSD float64
	Tries       int
	Failed      int
	StepUps     int // tries at an endpoint that charges more for the request than the one before
	last        *Price
}

// Add enters a try; p must stay as it is until the next one. secondUSD is the price of a second of waiting; stops tells whether the provider stops billing when the caller goes away
// (StopsOnCancel). Nothing is billed for a try that produced no token and no finish reason, or whose finish reason is "error".
func (l *Ledger) Add(p *Price, a *Attempt, secondUSD float64, stops bool) {
	o := &a.Outcome
	l.Tries++
	whole := max(o.Output, a.ExpectedOutput)
	if l.last != nil && p.Cost(o.Input, 0, 0, whole) > l.last.Cost(o.Input, 0, 0, whole) {
		l.StepUps++
	}
	l.last = p
	output := o.Output
	if a.Cancelled && !stops {
		output = whole
	}
	price := p.Cost(o.Input, o.Cached, o.Written, output)
	l.EconomicUSD += price + secondUSD*o.Duration.Seconds()
	failed := o.Kind != OutcomeOK && !a.Cancelled
	if failed {
		l.Failed++
	}
	insured := output == 0 && a.Finish == "" || a.Finish == "error"
	if !insured {
		l.BilledUSD += price
	}
}

// StopsOnCancel tells whether a provider (base slug) stops billing when a stream is cancelled, for all that the gateway's streaming
// guide names (August 2026). Others had better be taken to go on, the dearer case.
func StopsOnCancel(provider string) (stops, stated bool) {
	switch provider {
	case "anthropic", "anyscale", "avian", "azure", "chutes", "cloudflare", "cohere", "deepinfra", "deepseek", "fireworks", "friendli", "hyperbolic", "infermatic",
		"lepton", "liquid", "mancer", "nineteen", "novita", "octoai", "openai", "recursal", "sfcompute", "together", "xai":
		return true, true
	case "01ai", "ai21", "aion-labs", "alibaba", "amazon-bedrock", "featherless", "google-ai-studio", "google-vertex", "groq", "huggingface", "inference-net", "inflection",
		"klusterai", "lambda", "lynn", "minimax", "mistral", "modal", "nebius", "perplexity", "reflection", "replicate", "sambanova", "targon":
		return false, true
	}
	return false, false
}
