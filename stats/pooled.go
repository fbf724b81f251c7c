package stats

import "context"

// pool returns the same analysis with all models taken as one, and turns counts into those of that model.
func (a *analysis) pool(counts []Bin) *analysis {
	all := *a
	all.models, all.rows, all.opts.Weights = []string{"all"}, nil, WeightsEqual
	models := map[int32][]int{}
	seen := map[ModelBin]bool{}
	for i, b := range counts {
		if mb := (ModelBin{Model: b.Model, Bin: b.Bin}); !seen[mb] {
			seen[mb] = true
			models[b.Bin] = append(models[b.Bin], b.Model)
		}
		counts[i].Model = 0
	}
	all.placebo = nil
	all.src = pooledSource{a.src, models}
	if len(a.models) == 0 {
		all.swaps = nil
	}
	for _, s := range a.swaps {
		if s != a.swaps[0] { // models with schedules of their own cannot be swapped as one
			all.swaps, all.sets = nil, append([]*drawSet{}, a.sets...)
			all.sets[setSwaps] = &drawSet{id: setSwaps, cols: 2 * len(a.pairs)}
			break
		}
	}
	return &all
}

// pooledSource answers for all models as one.
type pooledSource struct {
	Source
	models map[int32][]int // models with rows in a bin
}

// Values returns the values of all models inside the bins.
func (s pooledSource) Values(ctx context.Context, quantity string, bins []ModelBin) ([]Value, error) {
	var all []ModelBin
	for _, b := range bins {
		for _, m := range s.models[b.Bin] {
			all = append(all, ModelBin{Model: m, Bin: b.Bin})
		}
	}
	values, err := s.Source.Values(ctx, quantity, all)
	for i := range values {
		values[i].Model = 0
	}
	return values, err
}

// onlyOverall drops the model rows of a pooled metric.
func (r *metricRows) onlyOverall(models int) {
	r.estimates, r.exclusions, r.warnings, r.incomplete = r.estimates[:1], nil, nil, nil
	r.estimates[0].Estimand = "treatment/control − 1 of the quantiles pooled over models"
	r.estimates[0].Models = models
}
