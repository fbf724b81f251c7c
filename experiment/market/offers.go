package market

import "switchback/experiment/prices"

// Offer is one provider's real public offer of one model, as measured in July 2025.
type Offer struct {
	Model        string // model id, "deepseek/deepseek-chat-v3-0324"
	Slug         string // unique inside the model: the provider's slug, with "/2", "/3", … for its further offers
	Provider     string // slug of the provider, "deepinfra"
	ProviderName string // name as published, "DeepInfra"

	// Price holds the list price of input and output. The cache-read price is known only where a price list
	// names one for this provider and model; where it is unknown the provider gives no discount.
	Price prices.Price

	LatencyMS       float64 // median time to the first token, ms, > 0
	Throughput      float64 // median output tokens per second, > 0
	ContextTokens   int     // longest prompt and answer together; 0 = not stated
	MaxOutputTokens int     // longest answer; 0 = not stated
}

// Skipped is a row of the source that does not become an [Offer].
type Skipped struct {
	Model        string
	ProviderName string
	Line         int    // line of the source file, from 1 (the header)
	Reason       string // one of the Skip… reasons
}

// Reasons why a row of the source is skipped. The first one that holds is given.
const (
	SkipNoLatency    = "latency N/A"
	SkipNoThroughput = "throughput N/A"
	SkipZeroLatency  = "latency 0"
	SkipZeroRate     = "throughput 0"
	SkipFree         = "price 0"
	SkipFewEndpoints = "fewer than 4 endpoints left"
)

// MinEndpoints is the number of usable endpoints from which on a model is kept by [Offers].
const MinEndpoints = 4
