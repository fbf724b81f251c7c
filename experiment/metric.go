package experiment

// Direction says which way a metric is good.
type Direction int

// Directions.
const (
	DownIsGood Direction = -1
	Neutral    Direction = 0
	UpIsGood   Direction = 1
)

// Metric is what an experiment measures: its stable id and how to show it.
type Metric struct {
	ID        string    // stable name in files and tables
	Title     string    // row title in reports
	Unit      string    // ms, tokens/s, USD, fraction
	Better    Direction // which way is good
	Published bool      // one of the 12 rows of the published table
}

// Metrics returns the metrics in report order: the published table first.
func Metrics() []Metric {
	return []Metric{
		{"ttft_p50", "TTFT p50", "ms", DownIsGood, true},
		{"ttft_p95", "TTFT p95", "ms", DownIsGood, true},
		{"throughput_p50", "Throughput p50", "tokens/s", UpIsGood, true},
		{"cost_per_1k_requests", "Cost per 1K requests", "USD", DownIsGood, true},
		{"cost_per_1m_tokens", "Cost per 1M tokens", "USD", DownIsGood, true},
		{"caller_ttft_p50", "Caller TTFT p50", "ms", DownIsGood, true},
		{"caller_ttft_p95", "Caller TTFT p95", "ms", DownIsGood, true},
		{"total_p50", "Whole request p50", "ms", DownIsGood, true},
		{"total_p95", "Whole request p95", "ms", DownIsGood, true},
		{"hit_429", "Hit at least one 429", "fraction", DownIsGood, true},
		{"needed_retry", "Needed a retry", "fraction", DownIsGood, true},
		{"failed_ms", "Time in failed attempts per request", "ms", DownIsGood, true},
		{"events_429", "429s per request", "events/request", DownIsGood, false},
		{"retries", "Retries per request", "events/request", DownIsGood, false},
		{"error_rate", "Error rate", "fraction", DownIsGood, false},
		{"tool_call_ok", "Well-formed tool calls", "fraction", UpIsGood, false},
		{"cache_hit_tokens", "Input tokens read from cache", "fraction", UpIsGood, false},
		{"provider_switches", "Provider switches inside conversations", "fraction", Neutral, false},
	}
}

// MetricByID returns the metric with the given id.
func MetricByID(id string) (Metric, bool) {
	for _, m := range Metrics() {
		if m.ID == id {
			return m, true
		}
	}
	return Metric{}, false
}
