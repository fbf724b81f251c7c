package ingest

import (
	"context"
	"slices"

	"switchback/ingest/rules"
	"switchback/stats"
)

// Ids of check rows, which repeat a metric under another definition.
const (
	FixedMix          = "cost_per_1m_tokens_fixed_mix"
	SuffixPooled      = "_pooled_models"
	SuffixBornInBlock = "_born_in_block"
)

// CheckMetrics returns the check rows that the analysis gives beside StatsMetrics: the quantiles among the given metrics
// pooled over models, and the cost of tokens at a fixed mix of input and output.
func CheckMetrics(ids []string) []stats.Metric {
	var out []stats.Metric
	for _, m := range StatsMetrics() {
		switch {
		case m.Kind == stats.Quantile && slices.Contains(ids, m.ID):
			m.ID += SuffixPooled
			m.Pooled = true
		case m.ID == "cost_per_1m_tokens":
			m.ID, m.Kind = FixedMix, stats.Standardized
		default:
			continue
		}
		m.Published = false
		out = append(out, m)
	}
	return out
}

// fixedMix returns the sums of cost_per_1m_tokens by class of requests.
func (s *Summaries) fixedMix(ctx context.Context) ([]stats.Sum, error) {
	class, where := rules.MixClass(rules.DuckDB{})
	rows, err := s.conn.QueryContext(ctx, "SELECT c.cell, "+class+` AS class, CAST(sum(r.input_tokens + r.output_tokens) AS BIGINT), CAST(sum(r.cost_usd) * 1000000000 AS BIGINT)`+
		s.from()+" WHERE "+where+" AND "+s.window.kept()+" GROUP BY ALL")
	if err != nil {
		return nil, err
	}
	return collect(rows, func(scan func(...any) error) (sum stats.Sum, err error) {
		var cell int
		err = scan(&cell, &sum.Stratum, &sum.N, &sum.Y)
		sum.Model, sum.Column = s.place(cell)
		return sum, err
	})
}
