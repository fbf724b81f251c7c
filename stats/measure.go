package stats

import (
	"context"
	"fmt"
)

// measure fills the results of a group of metrics: one sum, or the quantiles of one quantity.
func (a *analysis) measure(ctx context.Context, metrics []Metric, group []int, results []metricRows) error {
	first := metrics[group[0]]
	if first.Kind != Quantile {
		m, err := a.sums(ctx, first)
		if err != nil {
			return err
		}
		results[group[0]], err = a.rowsOf(ctx, m)
		return err
	}
	counts, err := a.src.Histogram(ctx, first.Quantity)
	if err != nil {
		return err
	}
	var each, pooled []int
	for _, i := range group {
		if q := metrics[i].PerMille; q < 1 || q > 1000 {
			return fmt.Errorf("quantile %d per mille: must lie in 1 … 1000", q)
		}
		if metrics[i].Pooled {
			pooled = append(pooled, i)
		} else {
			each = append(each, i)
		}
	}
	if err := a.measureQuantiles(ctx, counts, metrics, each, results); err != nil {
		return err
	}
	if len(pooled) == 0 {
		return nil
	}
	all := a.pool(counts)
	if err := all.measureQuantiles(ctx, counts, metrics, pooled, results); err != nil {
		return err
	}
	for _, i := range pooled {
		results[i].onlyOverall(len(a.models))
	}
	return nil
}

// measureQuantiles fills the results of the quantiles of one quantity, whose histograms are given.
func (a *analysis) measureQuantiles(ctx context.Context, counts []Bin, metrics []Metric, group []int, results []metricRows) error {
	if len(group) == 0 {
		return nil
	}
	perMilles := make([]int, len(group))
	for g, i := range group {
		perMilles[g] = metrics[i].PerMille
	}
	found, err := a.quantiles(ctx, metrics[group[0]].Quantity, counts, perMilles)
	if err != nil {
		return err
	}
	for g, i := range group {
		found[g].metric = metrics[i]
		if results[i], err = a.rowsOf(ctx, found[g]); err != nil {
			return err
		}
	}
	return nil
}

func (a *analysis) sums(ctx context.Context, metric Metric) (measured, error) {
	m := measured{metric: metric}
	sums, err := a.src.Sums(ctx, metric.ID)
	if err != nil {
		return m, err
	}
	if metric.Kind == Standardized {
		cells, err := newMixCells(sums, len(a.models), len(a.pairs))
		for _, c := range cells {
			m.cells, m.supports = append(m.cells, c), append(m.supports, &c.support)
		}
		return m, err
	}
	cells, err := newSumCells(sums, metric.Kind, len(a.models), len(a.pairs))
	for _, c := range cells {
		m.cells, m.supports = append(m.cells, c), append(m.supports, &c.support)
	}
	return m, err
}

// quantiles locates the bins of the given quantiles of a quantity under every draw, asks the source for the values
// inside them, and returns the cells of each quantile.
func (a *analysis) quantiles(ctx context.Context, quantity string, counts []Bin, perMilles []int) ([]measured, error) {
	l, err := a.locate(ctx, counts, perMilles)
	if err != nil || len(l.touched) == 0 {
		return l.found, err
	}
	values, err := a.src.Values(ctx, quantity, l.touched)
	if err != nil {
		return nil, err
	}
	valuesByModel, err := groupByModel(values, len(l.histograms), func(v Value) int { return v.Model })
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", quantity, err)
	}
	if err := a.eachModel(ctx, func(i int) error { return l.histograms[i].fill(valuesByModel[i]) }); err != nil {
		return nil, fmt.Errorf("values of %s: %w", quantity, err)
	}
	return l.found, nil
}

// located are quantiles of which the bins are known under every draw, and not yet the values.
type located struct {
	histograms []*histogram // by model
	found      []measured   // by quantile
	touched    []ModelBin   // by model and number
}

// locate finds the bins of the given quantiles of a quantity under every draw.
func (a *analysis) locate(ctx context.Context, counts []Bin, perMilles []int) (located, error) {
	l := located{histograms: make([]*histogram, len(a.models)), found: make([]measured, len(perMilles))}
	hs := l.histograms
	countsByModel, err := groupByModel(counts, len(hs), func(b Bin) int { return b.Model })
	if err != nil {
		return l, err
	}
	err = a.eachModel(ctx, func(i int) (err error) {
		hs[i], err = newHistogram(countsByModel[i], len(a.pairs))
		return err
	})
	if err != nil {
		return l, err
	}
	cells := make([][]*quantileCell, len(hs)) // by model
	for q, perMille := range perMilles {
		for i, h := range hs {
			c := &quantileCell{histogram: h, perMille: perMille}
			cells[i] = append(cells[i], c)
			l.found[q].cells, l.found[q].supports = append(l.found[q].cells, c), append(l.found[q].supports, &h.support)
		}
	}
	if err := parallelWith(ctx, a.opts.Threads, len(cells), func(sums *binSums, i int) { locateAll(cells[i], a.setsOf(i), sums) }); err != nil {
		return l, err
	}
	for i, h := range hs {
		for _, c := range cells[i] {
			c.touch()
		}
		for b, v := range h.inside {
			if v != nil {
				l.touched = append(l.touched, ModelBin{Model: i, Bin: h.bins[b]})
			}
		}
	}
	return l, nil
}

// eachModel calls do for every model and returns the first error in their order.
func (a *analysis) eachModel(ctx context.Context, do func(model int) error) error {
	errs := make([]error, len(a.models))
	if err := parallel(ctx, a.opts.Threads, len(errs), func(i int) { errs[i] = do(i) }); err != nil {
		return err
	}
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("model %s: %w", a.models[i], err)
		}
	}
	return nil
}

// groupByModel deals items out to their models. Those that stand in the order of the models stay where they are.
func groupByModel[T any](items []T, models int, modelOf func(T) int) ([][]T, error) {
	ends := make([]int, models+1)
	ordered, last := true, 0
	for _, item := range items {
		m := modelOf(item)
		if m < 0 || m >= models {
			return nil, fmt.Errorf("model %d: have %d", m, models)
		}
		ends[m+1]++
		ordered = ordered && m >= last
		last = m
	}
	for m := range models {
		ends[m+1] += ends[m]
	}
	groups := make([][]T, models)
	if ordered {
		for m := range groups {
			groups[m] = items[ends[m]:ends[m+1]:ends[m+1]]
		}
		return groups, nil
	}
	all := make([]T, len(items))
	for m := range groups {
		groups[m] = all[ends[m]:ends[m]:ends[m+1]]
	}
	for _, item := range items {
		m := modelOf(item)
		groups[m] = append(groups[m], item)
	}
	return groups, nil
}

// levelsFor returns space for the levels of a model under a set of draws. That of the metric before, whose rows are made, serves
// again: so much new memory for each would take longer to clear than some metrics to evaluate.
func (a *analysis) levelsFor(set, model, draws int) levels {
	for len(a.space[set]) <= model {
		a.space[set] = append(a.space[set], levels{})
	}
	l := &a.space[set][model]
	if len(l.raw[0]) != draws {
		*l = newLevels(draws)
	}
	return *l
}

// evaluate returns the levels of the models under every draw, by set, until it is called again. Models without a complete pair
// have none.
func (a *analysis) evaluate(ctx context.Context, m measured) ([][]levels, error) {
	type task struct{ set, model, chunk int }
	var tasks []task
	out := make([][]levels, numSets)
	for s, set := range a.sets {
		out[s] = make([]levels, len(m.cells))
		for i := range m.cells {
			if m.supports[i].pairs == 0 {
				continue
			}
			out[s][i] = a.levelsFor(s, i, set.n)
			for c := range chunks(set.n) {
				tasks = append(tasks, task{s, i, c})
			}
		}
	}
	err := parallelWith(ctx, a.opts.Threads, len(tasks), func(own *space, i int) {
		t := tasks[i]
		set, l := a.setsOf(t.model)[t.set], out[t.set][t.model]
		lo, hi := chunkOf(t.chunk, set.n)
		for role := range 2 {
			m.cells[t.model].levels(own, set, role, lo, l.raw[role][lo:hi], l.log[role][lo:hi])
		}
	})
	return out, err
}
