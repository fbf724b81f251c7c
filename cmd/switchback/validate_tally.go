package main

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"switchback/reports"
	"switchback/stats"
)

// slotAdjusted names the slot-adjusted interval among the kinds of intervals.
const slotAdjusted = "slot-adjusted"

// otherKinds are the intervals that are compared with the headline, beside the half-sample and the slot-adjusted one,
// which every analysis has. The studentized one is left out: it costs as much as all others together.
func otherKinds() []string {
	return []string{stats.IntervalPercentile, stats.IntervalBasic, stats.IntervalBCa, stats.IntervalT}
}

// tally counts over all trials what happened to the metric at an index.
func (v *validation) tally(trials []trial, metric int) reports.MetricValidation {
	truths := make([]float64, len(trials))
	for i := range trials {
		truths[i] = logOf(trials[i].Truth[metric].Relative.Estimate)
	}
	m := reports.MetricValidation{ID: v.metrics[metric].ID, Truth: logMean(truths)}
	against := func(trials []trial, of func(t *trial) finding, world string) reports.EstimateValidation {
		estimates, errors := make([]float64, len(trials)), make([]float64, len(trials))
		for i := range trials {
			estimates[i] = logOf(of(&trials[i]).Relative.Estimate)
			errors[i] = estimates[i] - truths[i]
		}
		return reports.EstimateValidation{What: world, Estimate: logMean(estimates), Bias: logMean(errors)}
	}
	headline := 0
	for b, burnIn := range v.burnIns {
		e := against(trials, func(t *trial) finding { return t.ByBurnIn[b][metric] }, naiveWorlds()[0])
		e.BurnIn = int64(burnIn.Seconds())
		m.BurnIns = append(m.BurnIns, e)
		if burnIn == v.config.Design.BurnIn {
			headline = b
		}
	}
	own := func(t *trial) finding { return t.ByBurnIn[headline][metric] }
	for _, kind := range v.kinds() {
		m.Intervals = append(m.Intervals, intervalOf(trials, own, truths, m.Truth.Log, kind))
	}
	for arm, router := range []string{v.config.Arms.Control, v.config.Arms.Treatment} {
		m.SameArms = append(m.SameArms, v.alarms(trials, arm, metric, router))
	}
	ran := trials[:min(v.abTests, len(trials))]
	for w, world := range naiveWorlds() {
		if len(ran) == 0 {
			break
		}
		of := func(t *trial) finding { return t.Naive[w][metric] }
		e := against(ran, of, world)
		interval := intervalOf(ran, of, truths, m.Truth.Log, v.options.Interval)
		e.Interval = &interval
		m.Naive = append(m.Naive, e)
	}
	return m
}

// kinds are the intervals that are compared, the headline first.
func (v *validation) kinds() []string {
	kinds := []string{v.options.Interval}
	for _, k := range append([]string{stats.IntervalExpanded, stats.IntervalHalfSample}, append(otherKinds(), slotAdjusted)...) {
		if k != v.options.Interval {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// intervalOf counts how often an interval of a kind holds the truth of its trial, and the mean truth.
func intervalOf(trials []trial, of func(t *trial) finding, truths []float64, mean *float64, kind string) reports.IntervalValidation {
	r := reports.IntervalValidation{Kind: kind}
	own, ofMean := 0, 0
	measured, width, widthLog, squares := 0, 0.0, 0.0, 0.0
	for i := range trials {
		e := boundsOf(of(&trials[i]), kind)
		lo, hi := logOf(e.Lo), logOf(e.Hi)
		if math.IsNaN(lo) || math.IsNaN(hi) || math.IsNaN(truths[i]) {
			r.NotMeasured++
			continue
		}
		measured++
		width += *e.Hi - *e.Lo
		widthLog += hi - lo
		d := logOf(e.Estimate) - truths[i]
		squares += d * d
		switch {
		case truths[i] < lo:
			r.Below++
		case truths[i] > hi:
			r.Above++
		default:
			own++
		}
		if lo <= *mean && *mean <= hi {
			ofMean++
		}
	}
	r.Covers, r.CoversMean = shareOf(own, measured), shareOf(ofMean, measured)
	if measured > 0 {
		n := float64(measured)
		r.Width, r.WidthLog, r.RMSE = finite(width/n), finite(widthLog/n), finite(math.Sqrt(squares/n))
	}
	return r
}

// boundsOf returns the estimate and the interval of a kind.
func boundsOf(e finding, kind string) stats.Effect {
	with := func(b stats.Bounds) stats.Effect {
		return stats.Effect{Estimate: e.Relative.Estimate, Lo: b.Lo, Hi: b.Hi}
	}
	switch kind {
	case slotAdjusted:
		return e.SlotAdjusted
	case stats.IntervalHalfSample:
		return with(e.HalfSample)
	}
	if b, ok := e.Others[kind]; ok {
		return with(b)
	}
	return e.Relative
}

// alarms counts how often an A/A experiment finds a difference.
func (v *validation) alarms(trials []trial, arm, metric int, router string) reports.AlarmValidation {
	a := reports.AlarmValidation{Router: router}
	var effects []float64
	excludes := func(lo, hi *float64) (bool, bool) {
		if lo == nil || hi == nil {
			return false, false
		}
		return *lo > 0 || *hi < 0, true
	}
	var interval, p, slot counter
	for i := range trials {
		e := trials[i].Same[arm][metric]
		effects = append(effects, logOf(e.Relative.Estimate))
		interval.add(excludes(e.Relative.Lo, e.Relative.Hi))
		slot.add(excludes(e.SlotAdjusted.Lo, e.SlotAdjusted.Hi))
		p.add(e.PValue != nil && *e.PValue < 1-v.options.Confidence, e.PValue != nil)
	}
	a.ByInterval, a.ByPValue, a.SlotAdjusted, a.Effect = interval.share(), p.share(), slot.share(), logMean(effects)
	return a
}

// counter counts hits among the trials that can be told.
type counter struct{ hits, trials int }

func (c *counter) add(hit, known bool) {
	if known {
		c.trials++
	}
	if hit && known {
		c.hits++
	}
}

func (c *counter) share() reports.Share { return shareOf(c.hits, c.trials) }

// shareOf returns hits of trials with the score interval for a binomial share (Wilson 1927).
func shareOf(hits, trials int) reports.Share {
	s := reports.Share{Hits: hits, Trials: trials}
	if trials == 0 {
		return s
	}
	n, p := float64(trials), float64(hits)/float64(trials)
	z := distuv.UnitNormal.Quantile(0.975)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	s.Share, s.Lo, s.Hi = finite(p), finite(max(0, middle-half)), finite(min(1, middle+half))
	return s
}

// logMean returns the mean of the values that are numbers.
func logMean(values []float64) reports.LogMean {
	var known []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			known = append(known, v)
		}
	}
	m := reports.LogMean{Experiments: len(known)}
	if len(known) == 0 {
		return m
	}
	mean := stat.Mean(known, nil)
	m.Log, m.Relative = finite(mean), finite(math.Expm1(mean))
	if len(known) > 1 {
		sd := stat.StdDev(known, nil)
		m.SD, m.SE = finite(sd), finite(sd/math.Sqrt(float64(len(known))))
	}
	return m
}

// logOf is the logarithm of a relative effect plus one, NaN when there is none.
func logOf(effect *float64) float64 {
	if effect == nil {
		return math.NaN()
	}
	return math.Log1p(*effect)
}

// finite returns a pointer to x, nil when x is no number.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
