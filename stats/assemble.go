package stats

import (
	"fmt"
	"slices"
	"strings"
)

// assemble adjusts p-values over the published family and puts rows and warnings in the order of the metrics.
func (a *analysis) assemble(metrics []Metric, results []metricRows) Analysis {
	a.adjustFamily(metrics, results)
	var out Analysis
	for _, r := range results {
		out.Estimates = append(out.Estimates, r.estimates...)
		out.Exclusions = append(out.Exclusions, r.exclusions...)
		out.PairEffects = append(out.PairEffects, r.pairEffects)
	}
	out.Warnings = append(a.warnings(results), leftOut(metrics, results)...)
	return out
}

// adjustFamily fills the adjusted p-values and the simultaneous intervals of the published overall rows.
func (a *analysis) adjustFamily(metrics []Metric, results []metricRows) {
	var tested, ranged []int
	var p, observed, points []float64
	var swaps, boots [][]float64
	for i, m := range metrics {
		if !m.Published || results[i].estimates[0].Relative.Estimate == nil {
			continue
		}
		r := results[i]
		if r.estimates[0].PValue != nil {
			tested = append(tested, i)
			p, observed, swaps = append(p, *r.estimates[0].PValue), append(observed, r.logEffect), append(swaps, r.swaps)
		}
		if r.estimates[0].Relative.Lo != nil && r.estimates[0].Relative.Hi != nil {
			ranged = append(ranged, i)
			points, boots = append(points, r.logEffect), append(boots, r.bootstrap)
		}
	}
	holm, west := Holm(p), maxT(observed, swaps)
	for j, i := range tested {
		row := &results[i].estimates[0]
		row.PAdjusted, row.PMaxT = number(holm[j]), number(west[j])
	}
	half := simultaneous(points, boots, len(a.pairs), a.opts.Confidence)
	for j, i := range ranged {
		results[i].estimates[0].Simultaneous = expBounds(points[j]-half[j], points[j]+half[j])
	}
}

// warnings collects the caveats of the whole analysis.
func (a *analysis) warnings(results []metricRows) []Warning {
	var out []Warning
	if len(a.models) == 0 {
		out = append(out, Warning{"no_data", "no row is left to analyze"})
	}
	if len(a.pairs) < enoughPairs {
		out = append(out, Warning{"too_few_pairs", fmt.Sprintf("%d pairs: intervals need 2, and hold what they say from %d on", len(a.pairs), enoughPairs)})
	}
	if a.opts.Order == orderAlternating {
		out = append(out, Warning{"not_measurable", "no p-value: an alternating schedule has only one other assignment, its mirror"})
	}
	for _, r := range results {
		for _, w := range r.warnings {
			if !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// leftOut says which rows were left out because their pair lacks the other arm, once for all metrics alike.
func leftOut(metrics []Metric, results []metricRows) []Warning {
	byText := map[incomplete][]string{}
	var order []incomplete
	for i, r := range results {
		for _, in := range r.incomplete {
			if byText[in] == nil {
				order = append(order, in)
			}
			byText[in] = append(byText[in], metrics[i].ID)
		}
	}
	var out []Warning
	for _, in := range order {
		out = append(out, Warning{"incomplete_pairs", fmt.Sprintf("model %s: rows in only one arm of pairs %s are left out of %s", in.model, in.pairs, strings.Join(byText[in], ", "))})
	}
	return out
}
