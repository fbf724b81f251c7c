package stats

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	enoughPairs  = 6  // below it an interval carries too_few_pairs
	enoughEvents = 50 // below it a row of counted events carries few_events
)

// metricRows are the results of one metric.
type metricRows struct {
	done        bool
	estimates   []Estimate // the overall row, then one for each model
	exclusions  []Exclusion
	warnings    []Warning
	incomplete  []incomplete
	logEffect   float64   // of the overall row
	swaps       []float64 // log effects of the overall row under the swaps
	bootstrap   []float64 // log effects of the overall row under the bootstrap
	pairEffects PairEffects
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
			out.pairEffects = row.pairEffects()
			out.logEffect, out.swaps, out.bootstrap = row.effects[setPoint].log[0], row.effects[setSwaps].log, row.effects[setBootstrap].log
		}
	})
	a.explain(m, &out)
	return out, err
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
		r.effects[i] = s.blend.effects(lv[i], set.n)
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
	if r.scope.models > 0 {
		e.UndefinedReplicates = relative.bootstrap.undefined
	}
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
	for _, kind := range opts.Others {
		if e.Others == nil {
			e.Others = map[string]Bounds{}
		}
		e.Others[kind] = expBounds(relative.interval(kind, opts.tail()))
	}
	e.TwoWay = expBounds(r.twoWay(relative))
	e.PValue = number(swapP(relative.point, r.effects[setSwaps].log))
	if e.Relative.Hi != nil {
		e.MCError = number(relative.monteCarloError(opts.Interval, opts.tail()) * (1 + *e.Relative.Hi))
	}
	if n := float64(relative.n); n >= 2 && !math.IsNaN(r.a.look) && relative.bootstrap.usable {
		half := lookCritical(r.a.look, relative.n) * relative.bootstrap.sd() * math.Sqrt(n/(n-1))
		e.Sequential = expBounds(relative.point-half, relative.point+half)
	}
	positions, orders := r.orders()
	theta, lo, hi := slotAdjusted(relative.point, relative.jackknife, positions, orders, opts.tail())
	e.SlotAdjusted = Effect{fraction(theta), fraction(lo), fraction(hi)}
	if opts.SlotAdjustment && e.SlotAdjusted.Estimate != nil {
		unadjusted := e.Relative
		e.Relative, e.Unadjusted = e.SlotAdjusted, &unadjusted
	}
}

// orders returns the daily position of each pair that counts and its order: +1 treatment-first, −1 control-first,
// averaged over the row's models.
func (r *row) orders() (positions []int, orders []float64) {
	for i, complete := range r.scope.complete {
		if !complete {
			continue
		}
		pair, order := r.a.pairs[i], 0.0
		for _, s := range r.scope.blend.ratios {
			if pair.treatmentFirst(r.a.models[s.model]) {
				order += s.weight
			} else {
				order -= s.weight
			}
		}
		positions, orders = append(positions, pair.Position), append(orders, order)
	}
	return positions, orders
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
			raw := point.raw[role][0]
			zero = zero || raw <= 0
			infinite = infinite || math.IsInf(raw, 1) || math.IsNaN(raw)
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
	if r.a.opts.Interval == IntervalHalfSample {
		absolute.half = newReplicates(half.absolute, empty)
	}
	if r.a.opts.wants(IntervalBCa) && r.scope.models > 0 {
		point := r.a.sets[setPoint]
		relative.influence, absolute.influence = r.scope.blend.influences(r.m.cells, point, 0, len(r.a.pairs), r.models[setPoint])
	}
	if r.a.opts.wants(IntervalBootstrapT) {
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

// twoWay returns an interval of the log effect on models like these, whose own effects vary too: the variance over pairs
// plus that over models, less what both count (Cameron, Gelbach and Miller 2011), with Student's t for the smaller of both
// numbers.
func (r *row) twoWay(relative evidence) (lo, hi float64) {
	shares := r.scope.blend.ratios
	n := min(r.scope.pairs, len(shares))
	if n < 2 || !relative.bootstrap.usable {
		return math.NaN(), math.NaN()
	}
	point, boot := r.models[setPoint], r.models[setBootstrap]
	var models, both float64
	effects := make([]float64, len(boot[shares[0].model].log[0]))
	for _, s := range shares {
		for d := range effects {
			effects[d] = boot[s.model].log[1][d] - boot[s.model].log[0][d]
		}
		sd := finiteSD(effects)
		deviation := point[s.model].log[1][0] - point[s.model].log[0][0] - relative.point
		both += s.weight * s.weight * sd * sd
		models += s.weight * s.weight * deviation * deviation
	}
	m, p := float64(len(shares)), float64(r.scope.pairs)
	models *= m / (m - 1)
	pairs := relative.bootstrap.sd() * relative.bootstrap.sd() * p / (p - 1)
	both *= p / (p - 1)
	variance := math.Max(pairs+models-both, math.Max(pairs, models))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1-r.a.opts.tail()) * math.Sqrt(variance)
	return relative.point - half, relative.point + half
}

// number returns a pointer to v, nil when v is not finite.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// largestLog is the log effect from which on an end of an interval is as good as infinite: a level 10^15 times another. A few
// pairs and a tail that is spent on many looks get there.
var largestLog = math.Log(1e15)

// fraction turns a log effect into a relative effect, nil when it is not finite or as good as infinite.
func fraction(log float64) *float64 {
	if math.IsInf(log, 0) || log > largestLog {
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
