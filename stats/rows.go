package stats

import (
	"context"
	"fmt"
	"math"
	"strings"
)

const (
	enoughPairs  = 6  // below it an interval carries too_few_pairs
	enoughEvents = 50 // below it a row of counted events carries few_events
)

// metricRows are the results of one metric.
type metricRows struct {
	done       bool
	estimates  []Estimate // the overall row, then one for each model
	exclusions []Exclusion
	warnings   []Warning
	logEffect  float64   // of the overall row
	swaps      []float64 // log effects of the overall row under the swaps
}

// scope is what one row covers.
type scope struct {
	name     string
	estimand string
	blend    blend
	complete []bool // pairs that count
	pairs    int
	models   int
	codes    []string
}

// rowsOf makes the rows of one metric.
func (a *analysis) rowsOf(ctx context.Context, m measured) (metricRows, error) {
	lv, err := a.evaluate(ctx, m)
	if err != nil {
		return metricRows{}, err
	}
	out := metricRows{done: true}
	overall := a.overallScope(m, lv[setPoint], &out)
	scopes := []scope{overall}
	for i := range a.models {
		scopes = append(scopes, a.modelScope(m, i))
	}
	out.estimates = make([]Estimate, len(scopes))
	err = parallel(ctx, a.opts.Threads, len(scopes), func(i int) {
		row := a.newRow(m, scopes[i], lv)
		out.estimates[i] = row.estimate()
		if i == 0 {
			out.logEffect, out.swaps = row.effects[setPoint].log[0], row.effects[setSwaps].log
		}
	})
	a.explain(m, &out)
	return out, err
}

// needRows is the number of rows that each arm of a model needs for a quantile: 4q/(1−q), or the configured minimum.
func (a *analysis) needRows(metric Metric) int64 {
	if metric.Kind != Quantile {
		return 1
	}
	if metric.PerMille == 1000 {
		return max(1, int64(a.opts.MinRows))
	}
	q := int64(metric.PerMille)
	return max(1, (4*q+1000-q-1)/(1000-q), int64(a.opts.MinRows))
}

// ineligible says why a model cannot be part of overall rows, by what does not depend on which arm does better: a
// code and a text, both empty when it can.
func (a *analysis) ineligible(m measured, model int) (code, text string) {
	s := m.supports[model]
	need := a.needRows(m.metric)
	switch {
	case s.pairs == 0 && len(s.incomplete) == 0:
		return "no_data", "no usable row"
	case s.pairs < a.opts.MinPairs:
		return "too_few_pairs", fmt.Sprintf("%d complete pairs, %d needed", s.pairs, a.opts.MinPairs)
	case min(s.rows[0], s.rows[1]) < need:
		return "few_rows", fmt.Sprintf("%d rows in the smaller arm, %d needed", min(s.rows[0], s.rows[1]), need)
	}
	return "", ""
}

// levelless returns a code when neither arm of a model has a level that a ratio can be made of.
func levelless(m measured, model int, point levels) string {
	control, treatment := point.log[0][0], point.log[1][0]
	switch {
	case m.metric.Kind == Event && m.supports[model].events == [2]int64{}:
		return "no_events"
	case m.metric.Kind != Event && math.IsInf(control, -1) && math.IsInf(treatment, -1):
		return "zero_level"
	case math.IsInf(control, 1) && math.IsInf(treatment, 1):
		return "not_finite"
	}
	return ""
}

// overallScope finds the models of the overall row and their weights, and lists the others in out.
func (a *analysis) overallScope(m measured, point []levels, out *metricRows) scope {
	s := scope{name: "overall", complete: make([]bool, len(a.pairs))}
	s.blend.kind = m.metric.Kind
	s.estimand = "equal-weight geometric mean over models of treatment/control − 1"
	if a.opts.Weights == WeightsTraffic {
		s.estimand = "traffic-weighted geometric mean over models of treatment/control − 1"
	}
	reasons := map[string]bool{}
	exclude := func(model int, code, text string) {
		reasons[code] = true
		out.exclusions = append(out.exclusions, Exclusion{Metric: m.metric.ID, Model: a.models[model], Reason: text})
	}
	for i := range a.models {
		if code, text := a.ineligible(m, i); code != "" {
			exclude(i, code, code+": "+text)
			continue
		}
		traffic := float64(m.supports[i].rows[0] + m.supports[i].rows[1])
		if m.metric.Kind.arithmetic() {
			s.blend.levels = append(s.blend.levels, share{i, traffic})
		}
		if code := levelless(m, i, point[i]); code != "" {
			exclude(i, code, code+": in both arms")
			continue
		}
		weight := 1.0
		if a.opts.Weights == WeightsTraffic {
			weight = float64(a.rows[i])
		}
		s.blend.ratios = append(s.blend.ratios, share{i, weight})
	}
	normalize(s.blend.levels)
	normalize(s.blend.ratios)
	if !m.metric.Kind.arithmetic() {
		s.blend.levels = s.blend.ratios
	}
	s.models = len(s.blend.ratios)
	counting := s.blend.ratios
	if s.models == 0 {
		counting = s.blend.levels
	}
	for _, c := range counting {
		for p, complete := range m.supports[c.model].complete {
			s.complete[p] = s.complete[p] || complete
		}
	}
	for _, complete := range s.complete {
		if complete {
			s.pairs++
		}
	}
	if s.models == 0 {
		for _, code := range []string{"too_few_pairs", "few_rows", "no_events", "zero_level", "not_finite"} {
			if reasons[code] {
				s.codes = append(s.codes, code)
			}
		}
		switch {
		case len(a.models) == 0:
			s.codes = append(s.codes, "no_data")
		case len(s.codes) == 0:
			s.codes = append(s.codes, "not_measurable")
		}
	}
	events := int64(0)
	for _, l := range s.blend.levels {
		events += m.supports[l.model].events[0] + m.supports[l.model].events[1]
	}
	if m.metric.Kind == Event && events > 0 && events < enoughEvents {
		s.codes = append(s.codes, "few_events")
	}
	return s
}

func normalize(shares []share) {
	sum := 0.0
	for _, s := range shares {
		sum += s.weight
	}
	for i := range shares {
		shares[i].weight /= sum
	}
}

// modelScope is the scope of one model's row.
func (a *analysis) modelScope(m measured, model int) scope {
	sup := m.supports[model]
	s := scope{
		name:     "model:" + a.models[model],
		estimand: "treatment/control − 1",
		blend:    single(m.metric.Kind, model),
		complete: sup.complete,
		pairs:    sup.pairs,
		models:   1,
	}
	if len(sup.incomplete) > 0 {
		s.codes = append(s.codes, "incomplete_pairs")
	}
	code, _ := a.ineligible(m, model)
	if code == "few_rows" || sup.pairs == 0 {
		// A quantile of so few rows is an extreme value: no level, no effect.
		s.codes, s.blend.ratios, s.blend.levels, s.models = append(s.codes, code), nil, nil, 0
	}
	if events := sup.events[0] + sup.events[1]; m.metric.Kind == Event && events > 0 && events < enoughEvents {
		s.codes = append(s.codes, "few_events")
	}
	return s
}

// row is one row under work.
type row struct {
	a       *analysis
	m       measured
	scope   scope
	control float64
	treat   float64
	effects [numSets]effects
	models  [][]levels // by set and model
}

func (a *analysis) newRow(m measured, s scope, lv [][]levels) *row {
	r := &row{a: a, m: m, scope: s, models: lv}
	r.control, r.treat = s.blend.level(lv[setPoint], 0, 0), s.blend.level(lv[setPoint], 1, 0)
	for i, set := range a.sets {
		e := effects{log: make([]float64, set.n), absolute: make([]float64, set.n)}
		for d := range set.n {
			e.log[d], e.absolute[d] = s.blend.effect(lv[i], d)
		}
		r.effects[i] = e
	}
	return r
}

// counted returns the entries of pairs that count.
func (r *row) counted(byPair []float64) []float64 {
	var out []float64
	for i, complete := range r.scope.complete {
		if complete {
			out = append(out, byPair[i])
		}
	}
	return out
}

// estimate puts the row together.
func (r *row) estimate() Estimate {
	opts, metric := r.a.opts, r.m.metric
	scale := metric.Scale
	e := Estimate{
		ID: metric.ID, Unit: metric.Unit, Scope: r.scope.name, Estimand: r.scope.estimand,
		Control: number(r.control * scale), Treatment: number(r.treat * scale),
		RatioOfLevels: number(r.treat/r.control - 1),
		Pairs:         r.scope.pairs, Models: r.scope.models,
	}
	relative, absolute := r.evidence()
	point := relative.point
	if r.scope.models > 0 {
		if code := r.undefinedPoint(); code != "" {
			r.scope.codes = append(r.scope.codes, code)
			if code == "no_events" || code == "zero_level" {
				point, relative.point = math.NaN(), math.NaN()
			}
		}
	}
	lo, hi := relative.interval(opts.Interval, opts.tail())
	e.Relative = Effect{fraction(point), fraction(lo), fraction(hi)}
	e.Absolute.Estimate = number(absolute.point * scale)
	absLo, absHi := absolute.interval(opts.Interval, opts.tail())
	e.Absolute.Lo, e.Absolute.Hi = number(absLo*scale), number(absHi*scale)
	if e.Relative.Estimate != nil {
		r.beside(&e, relative)
	}
	if r.scope.pairs > 0 && r.scope.pairs < enoughPairs && r.scope.models > 0 {
		r.scope.codes = append(r.scope.codes, "too_few_pairs")
	}
	e.UndefinedReplicates = relative.bootstrap.undefined
	if e.Relative.Estimate != nil && (e.Relative.Lo == nil || e.Relative.Hi == nil) && r.scope.pairs >= 2 {
		code := "undefined_replicates"
		if relative.usable(opts.Interval) {
			code = "not_finite"
		}
		r.scope.codes = append(r.scope.codes, code)
	}
	e.Verdict = verdict(e.Relative, metric.Better)
	e.Warnings = unique(r.scope.codes)
	return e
}

// beside fills what stands beside the headline of a row with a finite relative effect.
func (r *row) beside(e *Estimate, relative evidence) {
	opts := r.a.opts
	e.HalfSample = expBounds(relative.interval(IntervalHalfSample, opts.tail()))
	e.TwoWay = expBounds(r.twoWay())
	e.PValue = number(swapP(relative.point, r.effects[setSwaps].log))
	if relative.n >= 2 && relative.bootstrap.usable {
		tail := opts.tail()
		if opts.Interval == IntervalExpanded {
			tail = ExpandedTail(tail, relative.n)
		}
		if e.Relative.Hi != nil {
			e.MCError = number(monteCarloError(relative.bootstrap, tail) * (1 + *e.Relative.Hi))
		}
	}
	var pairs []Pair
	for i, complete := range r.scope.complete {
		if complete {
			pairs = append(pairs, r.a.pairs[i])
		}
	}
	theta, lo, hi := slotAdjusted(relative.point, relative.jackknife, pairs, opts.tail())
	e.SlotAdjusted = Effect{fraction(theta), fraction(lo), fraction(hi)}
	if opts.SlotAdjustment && e.SlotAdjusted.Estimate != nil {
		unadjusted := e.Relative
		e.Relative, e.Unadjusted = e.SlotAdjusted, &unadjusted
	}
}

// undefinedPoint returns the code of a relative effect that is not a number, "" when it is one.
func (r *row) undefinedPoint() string {
	zero, infinite := false, false
	for _, s := range r.scope.blend.ratios {
		point := r.models[setPoint][s.model]
		if r.m.metric.Kind == Event {
			if r.m.supports[s.model].events == [2]int64{} {
				return "no_events"
			}
			continue
		}
		for role := range 2 {
			zero = zero || !(point.raw[role][0] > 0)
			infinite = infinite || math.IsInf(point.raw[role][0], 1)
		}
	}
	switch {
	case zero && r.m.metric.Kind != Quantile:
		return "zero_level"
	case zero || infinite:
		return "not_finite"
	}
	return ""
}

// evidence gathers what the intervals of the relative (log) and of the absolute effect are made from.
func (r *row) evidence() (relative, absolute evidence) {
	boot, half := r.effects[setBootstrap], r.effects[setHalf]
	empty := r.a.sets[setHalf].empty
	relative = evidence{
		point:     r.effects[setPoint].log[0],
		n:         r.scope.pairs,
		bootstrap: newReplicates(boot.log, 0),
		half:      newReplicates(half.log, empty),
		jackknife: r.counted(r.effects[setJackknife].log),
	}
	absolute = evidence{
		point:     r.effects[setPoint].absolute[0],
		n:         r.scope.pairs,
		bootstrap: newReplicates(boot.absolute, 0),
		jackknife: r.counted(r.effects[setJackknife].absolute),
	}
	switch r.a.opts.Interval {
	case IntervalHalfSample:
		absolute.half = newReplicates(half.absolute, empty)
	case IntervalBootstrapT:
		r.studentize(&relative, &absolute)
	}
	return relative, absolute
}

// studentize adds the standardized replicates of the bootstrap-t interval. A replicate's standard error is the
// infinitesimal jackknife's at its weights; the factor n/(n−1) is the same everywhere and cancels.
func (r *row) studentize(relative, absolute *evidence) {
	if r.scope.models == 0 || r.scope.pairs < 2 {
		return
	}
	se := func(set *drawSet, draw int) (log, abs float64) {
		u, v := r.scope.blend.influences(r.m.cells, set, draw, len(r.a.pairs), r.models[set.id])
		for i, w := range set.weights(0, draw) {
			log += float64(w) * u[i] * u[i]
			abs += float64(w) * v[i] * v[i]
		}
		return math.Sqrt(log), math.Sqrt(abs)
	}
	student := func(difference, se float64) float64 {
		if difference == 0 {
			return 0
		}
		if t := difference / se; !math.IsInf(t, 0) {
			return t
		}
		return math.NaN()
	}
	boot := r.effects[setBootstrap]
	tLog, tAbs := make([]float64, len(boot.log)), make([]float64, len(boot.log))
	for d := range boot.log {
		log, abs := se(r.a.sets[setBootstrap], d)
		tLog[d] = student(boot.log[d]-relative.point, log)
		tAbs[d] = student(boot.absolute[d]-absolute.point, abs)
	}
	relative.studentT, absolute.studentT = newReplicates(tLog, 0), newReplicates(tAbs, 0)
	relative.studentSE, absolute.studentSE = se(r.a.sets[setPoint], 0)
}

// twoWay returns an interval of the log effect on models like these: pairs and models are resampled independently
// (the pigeonhole bootstrap, Owen 2007), tails expanded for the smaller of both numbers.
func (r *row) twoWay() (lo, hi float64) {
	shares := r.scope.blend.ratios
	n := min(r.scope.pairs, len(shares))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	boot := r.models[setBootstrap]
	random := newStream(r.a.opts.Seed, "models")
	values := make([]float64, r.a.sets[setBootstrap].n)
	for d := range values {
		rng := random.at(d)
		sum, weight := 0.0, 0.0
		for range shares {
			s := shares[rng.IntN(len(shares))]
			sum += s.weight * (boot[s.model].log[1][d] - boot[s.model].log[0][d])
			weight += s.weight
		}
		values[d] = sum / weight
	}
	e := evidence{point: r.effects[setPoint].log[0], n: n, bootstrap: newReplicates(values, 0)}
	lo, hi = e.interval(IntervalExpanded, r.a.opts.tail())
	return lo, hi
}

// verdict reads a headline effect: only an interval that excludes 0 says something.
func verdict(e Effect, better int) string {
	if e.Estimate == nil || e.Lo == nil || e.Hi == nil {
		return VerdictNotMeasurable
	}
	sign := 0
	switch {
	case *e.Lo > 0:
		sign = 1
	case *e.Hi < 0:
		sign = -1
	default:
		return VerdictNone
	}
	switch {
	case better == 0 && sign > 0:
		return VerdictHigher
	case better == 0:
		return VerdictLower
	case sign == better:
		return VerdictBetter
	}
	return VerdictWorse
}

// explain adds texts to the codes of a metric's rows: which pairs were left out, and which models leave a row undefined.
func (a *analysis) explain(m measured, out *metricRows) {
	for i, s := range m.supports {
		if len(s.incomplete) > 0 {
			ids := make([]string, len(s.incomplete))
			for j, p := range s.incomplete {
				ids[j] = a.pairs[p].ID
			}
			out.warnings = append(out.warnings, Warning{"incomplete_pairs",
				fmt.Sprintf("%s: model %s: rows in only one arm of pairs %s are left out", m.metric.ID, a.models[i], strings.Join(ids, ", "))})
		}
	}
	for _, code := range out.estimates[0].Warnings {
		if code != "not_finite" && code != "zero_level" && code != "undefined_replicates" {
			continue
		}
		var names []string
		for i, e := range out.estimates[1:] {
			for _, c := range e.Warnings {
				if c == code {
					names = append(names, a.models[i])
				}
			}
		}
		out.warnings = append(out.warnings, Warning{code, fmt.Sprintf("%s: the overall row is undefined because of model %s", m.metric.ID, strings.Join(names, ", "))})
	}
}

// number returns a pointer to v, nil when v is not finite.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// fraction turns a log effect into a relative effect, nil when it is not finite.
func fraction(log float64) *float64 {
	if math.IsInf(log, 0) {
		return nil
	}
	return number(math.Expm1(log))
}

// expBounds turns an interval of the log effect into one of the relative effect.
func expBounds(lo, hi float64) Bounds { return Bounds{fraction(lo), fraction(hi)} }

// unique drops repeated codes and keeps their order.
func unique(codes []string) []string {
	out := []string{}
	for _, c := range codes {
		seen := false
		for _, o := range out {
			seen = seen || o == c
		}
		if !seen {
			out = append(out, c)
		}
	}
	return out
}
