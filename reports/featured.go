package reports

import (
	"slices"

	"switchback/experiment"
)

// maxFeatured is how many measures the figures by model, block, minute and night show.
const maxFeatured = 4

// FeaturedMetrics returns the metric ids that the figures by model, block, minute and night show, at most four in report order:
// the decision metrics and guardrails first, then TTFT, throughput, cost and 429s. These are the ids that the series of a
// Document should hold.
func FeaturedMetrics(d Decision) []string {
	var chosen []string
	for _, ids := range [][]string{d.Metrics, d.Guardrails, {"ttft_p50", "throughput_p50", "cost_per_1k_requests", "hit_429"}} {
		for _, id := range ids {
			if _, known := experiment.MetricByID(id); known && len(chosen) < maxFeatured && !slices.Contains(chosen, id) {
				chosen = append(chosen, id)
			}
		}
	}
	var ordered []string
	for _, m := range experiment.Metrics() {
		if slices.Contains(chosen, m.ID) {
			ordered = append(ordered, m.ID)
		}
	}
	return ordered
}

// featured returns the featured measures that a series has, or the first ones that it has when it has none of those.
func (doc Document) featured(has func(id string) bool) []measure {
	var out []measure
	for _, id := range FeaturedMetrics(doc.Decision) {
		if has(id) {
			out = append(out, measureOf(id, ""))
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, m := range experiment.Metrics() {
		if has(m.ID) && len(out) < maxFeatured {
			out = append(out, measureOf(m.ID, ""))
		}
	}
	return out
}
