package ingest

import (
	"slices"
	"strings"

	"switchback/experiment"
)

// need is what a row must tell so that some metrics can be measured from it.
type need struct {
	metrics []string
	met     func(r *request) bool
}

// needs covers every metric. The SQL of measures and quantities says the same of loaded rows.
func needs() []need {
	return []need{
		{[]string{"ttft_p50", "ttft_p95"}, func(r *request) bool { return r.TTFT.Known }},
		{[]string{"caller_ttft_p50", "caller_ttft_p95"}, func(r *request) bool { return r.CallerTTFT.Known }},
		{[]string{"total_p50", "total_p95"}, func(r *request) bool { return r.Total.Known }},
		{[]string{"throughput_p50"}, func(r *request) bool {
			return r.Status == experiment.StatusOK && r.OutputTokens.Known && r.OutputTokens.Value > 0 && r.Total.Known &&
				(r.TTFT.Known && r.CallerTTFT.Known || r.Failed.Known)
		}},
		{[]string{"cost_per_1k_requests"}, func(r *request) bool { return r.Cost.Known }},
		{[]string{"cost_per_1m_tokens"}, func(r *request) bool { return r.Cost.Known && r.InputTokens.Known && r.OutputTokens.Known }},
		{[]string{"hit_429", "events_429"}, func(r *request) bool { return r.N429.Known }},
		{[]string{"needed_retry", "retries"}, func(r *request) bool { return r.Retries.Known || r.Attempts.Known }},
		{[]string{"failed_ms"}, func(r *request) bool { return r.Failed.Known }},
		{[]string{"error_rate"}, func(r *request) bool { return r.Status != "" }},
		{[]string{"tool_call_ok"}, func(r *request) bool { return r.ToolCallOK.Known }},
		{[]string{"cache_hit_tokens"}, func(r *request) bool { return r.CachedTokens.Known && r.InputTokens.Known }},
		{[]string{"provider_switches"}, func(r *request) bool { return r.SessionID != "" && r.Provider != "" }},
	}
}

// unmetBy lists, in report order, the metrics of needs that no row met.
func unmetBy(unmet []need) []string {
	var ids []string
	for _, m := range experiment.Metrics() {
		if slices.ContainsFunc(unmet, func(n need) bool { return slices.Contains(n.metrics, m.ID) }) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// unmetQuery is a SELECT of the metrics that no row of a load can be measured by, in report order, separated by
// spaces. Hits of a gateway's cache say nothing of a router: the analysis leaves them out.
func unmetQuery(loadID string) string {
	counted := map[string]string{
		"error_rate":        "count(r.status)",
		"provider_switches": "count(*) FILTER (r.session_id IS NOT NULL AND r.provider IS NOT NULL)",
	}
	quantiles := map[string]string{}
	for _, q := range quantities() {
		quantiles[q.name] = "count(" + q.value + ")"
	}
	for _, m := range measures() {
		switch {
		case m.quantity != "":
			counted[m.id] = quantiles[m.quantity]
		case counted[m.id] == "":
			counted[m.id] = m.n
		}
	}
	var parts []string
	for _, m := range experiment.Metrics() {
		parts = append(parts, "CASE WHEN coalesce("+counted[m.ID]+", 0) = 0 THEN '"+m.ID+"' END")
	}
	return "WITH measurable AS (" + measurable + ") SELECT concat_ws(' ', " + strings.Join(parts, ", ") +
		") FROM requests r JOIN measurable m ON m.load_id = r.load_id WHERE r.load_id = " + quote(loadID) +
		" AND r.status IS DISTINCT FROM " + quote(experiment.StatusGatewayCache)
}
