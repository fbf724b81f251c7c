package rules

// Shown is a column of the views by_block and by_provider: what a metric is over the rows of a block, or of a provider in an
// arm.
type Shown struct {
	Column  string
	Metric  string // of Measures
	Total   bool   // the sum Y of the metric, and not the metric
	Decimal int    // digits behind the point of the sums and quantiles that are kept exactly; 0 for a floating-point number
}

// ShownColumns lists these columns in the order of the views.
func ShownColumns() []Shown {
	return []Shown{
		{Column: "ttft_p50_ms", Metric: "ttft_p50", Decimal: 3},
		{Column: "ttft_p95_ms", Metric: "ttft_p95", Decimal: 3},
		{Column: "throughput_p50_tokens_per_s", Metric: "throughput_p50"},
		{Column: "cost_usd", Metric: "cost_per_1k_requests", Total: true, Decimal: 9},
		{Column: "cost_per_1k_requests_usd", Metric: "cost_per_1k_requests"},
		{Column: "cost_per_1m_tokens_usd", Metric: "cost_per_1m_tokens"},
		{Column: "hit_429_share", Metric: "hit_429"},
		{Column: "needed_retry_share", Metric: "needed_retry"},
		{Column: "error_share", Metric: "error_rate"},
	}
}

// MeasureNamed returns the metric with an id, false when there is none.
func MeasureNamed(d Dialect, id string) (Measure, bool) {
	for _, m := range Measures(d) {
		if m.ID == id {
			return m, true
		}
	}
	return Measure{}, false
}
