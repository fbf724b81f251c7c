package stats

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// analysis is the state of one Analyze: what all metrics share.
type analysis struct {
	src     Source
	pairs   []Pair
	opts    Options
	models  []string
	rows    []int64 // kept requests by model, when traffic weighs the models
	sets    []*drawSet
	swaps   []*drawSet // by model; sets[setSwaps] has as many draws
	placebo []*drawSet // by model, when models have schedules of their own
	look    float64    // critical z of the last look, NaN without looks
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
	hs, err := newHistograms(counts, len(a.models), len(a.pairs))
	if err != nil {
		return nil, err
	}
	found := make([]measured, len(perMilles))
	var cells []*quantileCell
	for q, perMille := range perMilles {
		for _, h := range hs {
			c := &quantileCell{histogram: h, perMille: perMille}
			cells = append(cells, c)
			found[q].cells, found[q].supports = append(found[q].cells, c), append(found[q].supports, &h.support)
		}
	}
	if err := parallel(ctx, a.opts.Threads, len(cells), func(i int) { cells[i].locateAll(a.setsOf(i % len(hs))) }); err != nil {
		return nil, err
	}
	var touched []ModelBin
	for i := range hs {
		for q := range perMilles {
			cells[q*len(hs)+i].touch()
		}
		for b, v := range hs[i].inside {
			if v != nil {
				touched = append(touched, ModelBin{Model: i, Bin: hs[i].bins[b]})
			}
		}
	}
	if len(touched) == 0 {
		return found, nil
	}
	values, err := a.src.Values(ctx, quantity, touched)
	if err != nil {
		return nil, err
	}
	byModel, err := groupByModel(values, len(hs))
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", quantity, err)
	}
	errs := make([]error, len(hs))
	if err := parallel(ctx, a.opts.Threads, len(hs), func(i int) { errs[i] = hs[i].fill(byModel[i]) }); err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("values of %s, model %s: %w", quantity, a.models[i], err)
		}
	}
	return found, nil
}

// groupByModel deals values out to their models.
func groupByModel(values []Value, models int) ([][]Value, error) {
	ends := make([]int, models+1)
	for _, v := range values {
		if v.Model < 0 || v.Model >= models {
			return nil, fmt.Errorf("model %d: have %d", v.Model, models)
		}
		ends[v.Model+1]++
	}
	for m := range models {
		ends[m+1] += ends[m]
	}
	all, groups := make([]Value, len(values)), make([][]Value, models)
	for m := range groups {
		groups[m] = all[ends[m]:ends[m]:ends[m+1]]
	}
	for _, v := range values {
		groups[v.Model] = append(groups[v.Model], v)
	}
	return groups, nil
}

// evaluate returns the levels of the models under every draw, by set. Models without a complete pair have none.
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
			out[s][i] = newLevels(set.n)
			for c := range chunks(set.n) {
				tasks = append(tasks, task{s, i, c})
			}
		}
	}
	err := parallel(ctx, a.opts.Threads, len(tasks), func(i int) {
		t := tasks[i]
		set, l := a.setsOf(t.model)[t.set], out[t.set][t.model]
		lo, hi := chunkOf(t.chunk, set.n)
		for role := range 2 {
			for d := lo; d < hi; d++ {
				l.raw[role][d], l.log[role][d] = m.cells[t.model].level(set, role, d)
			}
		}
	})
	return out, err
}

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
