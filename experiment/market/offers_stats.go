package market

import (
	"errors"
	"fmt"
	"strings"

	"switchback/experiment/prices"
)

// EndpointStats is what a public endpoint list of 1 July 2025 said of one endpoint of deepseek/deepseek-chat-v3-0324.
type EndpointStats struct {
	Provider        string // slug without variant, "deepinfra"
	ProviderName    string // "DeepInfra"
	Slug            string // slug with the variant, "deepinfra/fp4"
	Quantization    string // "fp4"; "" = not stated
	Price           prices.Price
	LatencyMS       float64 // median time to the first token, ms
	Throughput      float64 // median output tokens per second
	Requests        int     // requests counted by the list, over a span that it does not state
	Deranked        bool    // the list's router preferred other endpoints
	SupportsTools   bool
	CanAbort        bool // a caller who leaves stops the billing
	ContextTokens   int
	MaxOutputTokens int // longest answer; 0 = not stated
}

// DeepSeekV3Stats returns the 17 endpoints of deepseek/deepseek-chat-v3-0324 with the requests that each of them
// got from a router whose shares went by inverse-square price, in the order of the source: 80,331 in all.
func DeepSeekV3Stats() ([]EndpointStats, error) {
	rows, err := readTable("deepseek-v3-0324-endpoints.csv")
	if err != nil {
		return nil, err
	}
	stats := make([]EndpointStats, 0, len(rows))
	for _, row := range rows {
		var problem error
		number := func(column string) float64 {
			x, err := row.number(column)
			problem = errors.Join(problem, err)
			return x
		}
		rate := func(column string) prices.Rate {
			r, err := prices.PerToken(number(column))
			problem = errors.Join(problem, err)
			return r
		}
		slug := row.cell("provider_slug")
		provider, _, _ := strings.Cut(slug, "/")
		s := EndpointStats{
			Provider:     provider,
			ProviderName: row.cell("provider_name"),
			Slug:         slug,
			Quantization: row.cell("quantization"),
			Price: prices.Price{
				Input:          rate("usd_per_tok_prompt"),
				Output:         rate("usd_per_tok_completion"),
				CacheRead:      rate("usd_per_tok_cache_read"),
				CacheReadKnown: row.cell("usd_per_tok_cache_read") != "",
			},
			LatencyMS:       number("p50_latency_ms"),
			Throughput:      number("p50_throughput_tok_s"),
			Requests:        int(number("request_count")),
			Deranked:        row.cell("is_deranked") == "True",
			SupportsTools:   row.cell("supports_tools") == "True",
			CanAbort:        row.cell("can_abort") == "True",
			ContextTokens:   int(number("context_length")),
			MaxOutputTokens: int(number("max_completion_tokens")),
		}
		if problem != nil {
			return nil, fmt.Errorf("read %s: %w", row.at(), problem)
		}
		stats = append(stats, s)
	}
	return stats, nil
}

// Tail is the spread of single requests to one provider in a benchmark of December 2023: Llama 2 of one size, 550
// tokens in, 150 out, five requests at a time. The levels are old; the ratios show how heavy tails are. Quantiles
// are inverse empirical distributions over the requests that were answered in full.
type Tail struct {
	Provider    string // "anyscale"
	ModelSize   string // "7b", "13b" or "70b"
	Requests    int
	RateLimited int // answered with HTTP 429
	TooShort    int // answered with fewer tokens than asked for: not an outage
	Failed      int // other errors

	TTFTMS     Quantiles // time to the first token, ms
	TotalMS    Quantiles // whole request, ms
	Throughput Quantiles // output tokens per second over the whole request
}

// Quantiles are points of a distribution; 0 where the table doesn't hold one.
type Quantiles struct{ P5, P50, P95, P99 float64 }

// Tails returns the 19 rows of the benchmark, sorted by provider and model size.
func Tails() ([]Tail, error) {
	rows, err := readTable("llmperf-tails.csv")
	if err != nil {
		return nil, err
	}
	tails := make([]Tail, 0, len(rows))
	for _, row := range rows {
		t := Tail{Provider: row.cell("provider"), ModelSize: row.cell("model_size")}
		var problem error
		number := func(column string) float64 {
			x, err := row.number(column)
			problem = errors.Join(problem, err)
			return x
		}
		t.Requests, t.RateLimited = int(number("requests")), int(number("rate_limited"))
		t.TooShort, t.Failed = int(number("too_short")), int(number("failed"))
		t.TTFTMS = Quantiles{P50: number("ttft_p50_ms"), P95: number("ttft_p95_ms"), P99: number("ttft_p99_ms")}
		t.TotalMS = Quantiles{P50: number("total_p50_ms"), P95: number("total_p95_ms"), P99: number("total_p99_ms")}
		t.Throughput = Quantiles{P5: number("throughput_p5"), P50: number("throughput_p50"), P95: number("throughput_p95")}
		if problem != nil {
			return nil, fmt.Errorf("read %s: %w", row.at(), problem)
		}
		tails = append(tails, t)
	}
	return tails, nil
}
