package stats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// analysis is the state of one Analyze: what all metrics share.
type analysis struct {
	src     Source
	pairs   []Pair
	opts    Options
	models  []string
	rows    []int64 // kept requests by model, when traffic weighs the models
	sets    []*drawSet
	swaps   []*drawSet        // by model; sets[setSwaps] has as many draws
	placebo []*drawSet        // by model, when models have schedules of their own
	space   [numSets][]levels // by set and model, see levelsFor
	look    float64           // critical z of the last look, NaN without looks
}

// setsOf returns the draws of a model.
func (a *analysis) setsOf(model int) []*drawSet {
	sets := slices.Clone(a.sets)
	if a.swaps != nil {
		sets[setSwaps] = a.swaps[model]
	}
	if a.placebo != nil {
		sets[setPlacebo] = a.placebo[model]
	}
	return sets
}

// measured is one metric on its way to its rows.
type measured struct {
	metric   Metric
	cells    []cell
	supports []*support
}

// Analyze returns, for every metric, the overall row followed by one row for each model.
//
// Pairs are the design's, in the order of the source's columns; all of them are resampled, whether or not they have
// rows. The order of pairs must be the same in every call that is to give the same replicates. Errors are those of the
// source, options out of range, and a schedule outside its design's set (ErrNotInSet); data that cannot answer a
// question gives nulls with warning codes instead.
func Analyze(ctx context.Context, src Source, metrics []Metric, pairs []Pair, opts Options) (Analysis, error) {
	a, err := newAnalysis(ctx, src, pairs, opts)
	if err != nil {
		return Analysis{}, fmt.Errorf("analyze: %w", err)
	}
	for i, m := range metrics {
		if m.ID == "" || !(m.Scale > 0) || m.Pooled && m.Kind != Quantile {
			return Analysis{}, fmt.Errorf("analyze: metric %d: %q with scale %v: needs an id and a positive scale; only quantiles are pooled", i, m.ID, m.Scale)
		}
	}
	results := make([]metricRows, len(metrics))
	for i, metric := range metrics {
		if results[i].done {
			continue
		}
		// A quantity is asked once and serves all its quantiles.
		group := []int{i}
		for j := i + 1; metric.Kind == Quantile && j < len(metrics); j++ {
			if metrics[j].Kind == Quantile && metrics[j].Quantity == metric.Quantity {
				group = append(group, j)
			}
		}
		if err := a.measure(ctx, metrics, group, results); err != nil {
			return Analysis{}, fmt.Errorf("analyze %s: %w", metric.ID, err)
		}
	}
	return a.assemble(metrics, results), nil
}

func newAnalysis(ctx context.Context, src Source, pairs []Pair, opts Options) (*analysis, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	a := &analysis{src: src, pairs: pairs, opts: opts, sets: make([]*drawSet, numSets), look: math.NaN()}
	boundaries, err := SpendingBoundaries(opts.Looks, 1-opts.Confidence)
	if err != nil {
		return nil, err
	}
	if n := len(boundaries); n > 0 {
		a.look = boundaries[n-1]
	}
	if a.models, err = src.Models(ctx); err != nil {
		return nil, err
	}
	if opts.Weights == WeightsTraffic {
		sums, err := src.Sums(ctx, "requests")
		if err != nil {
			return nil, fmt.Errorf("requests: %w", err)
		}
		a.rows = make([]int64, len(a.models))
		total := int64(0)
		for _, s := range sums {
			if s.Model < 0 || s.Model >= len(a.models) {
				return nil, fmt.Errorf("requests: model %d: have %d", s.Model, len(a.models))
			}
			a.rows[s.Model] += s.N
			total += s.N
		}
		if total == 0 && len(a.models) > 0 {
			return nil, errors.New("weights by traffic: the source counts no requests")
		}
	}
	n := len(pairs)
	a.sets[setPoint] = pointSet(n)
	a.sets[setBootstrap] = bootstrapSet(opts.Seed, n, opts.Replicates)
	a.sets[setHalf] = halfSampleSet(opts.Seed, n, opts.Replicates)
	a.sets[setJackknife] = jackknifeSet(n)
	a.sets[setSwaps] = &drawSet{id: setSwaps, cols: 2 * n}
	a.sets[setPlacebo] = &drawSet{id: setPlacebo, cols: 2 * n}
	if n > 0 {
		a.sets[setPlacebo] = placeboSet(pairs, "")
	}
	if slices.ContainsFunc(pairs, func(p Pair) bool { return len(p.FirstByModel) > 0 }) {
		for _, model := range a.models {
			a.placebo = append(a.placebo, placeboSet(pairs, model))
		}
	}
	if opts.Order != "" && opts.Order != orderAlternating && n > 0 {
		if a.swaps, err = swapSets(opts, a.models, pairs); err != nil {
			return nil, err
		}
		if len(a.swaps) > 0 {
			a.sets[setSwaps] = a.swaps[0]
		}
	}
	return a, nil
}
