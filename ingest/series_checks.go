package ingest

import (
	"slices"

	"switchback/stats"
)

// Ids of check rows, which repeat a metric under another definition.
const (
	FixedMix          = "cost_per_1m_tokens_fixed_mix"
	SuffixPooled      = "_pooled_models"
	SuffixBornInBlock = "_born_in_block"
)

// costOfTokens is the metric that FixedMix standardises.
const costOfTokens = "cost_per_1m_tokens"

// CheckMetrics returns the check rows that the analysis gives beside StatsMetrics: the quantiles among the given metrics
// pooled over models, and the cost of tokens at a fixed mix of input and output.
func CheckMetrics(ids []string) []stats.Metric {
	var out []stats.Metric
	for _, m := range StatsMetrics() {
		switch {
		case m.Kind == stats.Quantile && slices.Contains(ids, m.ID):
			m.ID += SuffixPooled
			m.Pooled = true
		case m.ID == costOfTokens:
			m.ID, m.Kind = FixedMix, stats.Standardized
		default:
			continue
		}
		m.Published = false
		out = append(out, m)
	}
	return out
}
