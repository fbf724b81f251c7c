package stats

import (
	"context"
	"fmt"
)

// Touched returns the bins whose exact values Analyze would ask a source for, of one metric that is not pooled: those that
// its quantile lies in under some draw, by model and number. It asks the source for models and the histogram, and for
// requests where traffic weighs the models. Metrics that are no quantiles touch none.
//
// A source to which every question is a long way can ask for the values of many analyses at once with it.
func Touched(ctx context.Context, src Source, metric Metric, pairs []Pair, opts Options) ([]ModelBin, error) {
	if metric.Kind != Quantile {
		return nil, nil
	}
	a, err := newAnalysis(ctx, src, pairs, opts)
	if err != nil {
		return nil, fmt.Errorf("touched bins of %s: %w", metric.ID, err)
	}
	counts, err := src.Histogram(ctx, metric.Quantity)
	if err != nil {
		return nil, fmt.Errorf("touched bins of %s: %w", metric.ID, err)
	}
	l, err := a.locate(ctx, counts, []int{metric.PerMille})
	if err != nil {
		return nil, fmt.Errorf("touched bins of %s: %w", metric.ID, err)
	}
	return l.touched, nil
}
