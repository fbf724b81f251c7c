package main

import (
	"fmt"
	"math"
	"slices"

	"switchback/reports"
	"switchback/stats"
)

// What makes a diagnostic stand out. There are dozens of them, so one alone must be unlikely.
const (
	oddChance      = 0.01  // p-value of a contrast or a correlation
	oddVolume      = 0.001 // p-value of the arms' request counts
	oddWidth       = 0.15  // of the half-sample interval, against the headline's
	oddEffectPairs = 0.5   // share of the pairs that carries an estimate
)

// checks runs the diagnostics of the featured metrics.
func (a partAnalysis) checks(featured []string, e estimates) ([]reports.Check, error) {
	checks := []reports.Check{volumeCheck(e.volume), gapCheck(a.series)}
	perModel := len(e.plan.Models()) > 1 || e.plan.Models()[0] != ""
	for _, metric := range featured {
		pairs := pairsOf(e.found, metric)
		headline := overallOf(e.found.Estimates, metric)
		checks = append(checks, pairChecks(pairs, headline, perModel)...)
		if !a.series.Has(metric) {
			continue
		}
		questions, burnIns, clients := a.burnInQuestions(metric), a.burnIns(), a.series.Clients()
		answers, err := a.estimate(append(questions, a.clientQuestions(metric)...))
		if err != nil {
			return nil, err
		}
		for i, minutes := range burnIns {
			checks = append(checks, burnInCheck(metric, minutes, a.burnIn, answers[i].pairs.Against(pairs)))
		}
		checks = append(checks, clientCheck(metric, headline, clients, answers[len(burnIns):]))
	}
	// One question after the other, rather than one metric after the other.
	order := checkOrder()
	slices.SortStableFunc(checks, func(x, y reports.Check) int { return slices.Index(order, x.ID) - slices.Index(order, y.ID) })
	return checks, nil
}

// burnIns are the other burn-ins that a metric is compared under, in minutes.
func (a partAnalysis) burnIns() (others []int) {
	for minutes := 0; minutes <= 3*burnInStep && minutes < a.length; minutes += burnInStep {
		if minutes != a.burnIn {
			others = append(others, minutes)
		}
	}
	return others
}

func (a partAnalysis) burnInQuestions(metric string) (questions []partQuestion) {
	for _, minutes := range a.burnIns() {
		questions = append(questions, partQuestion{metric, a.series.BurnIn(metric, minutes)})
	}
	return questions
}

// clientQuestions leave one client out after the other.
func (a partAnalysis) clientQuestions(metric string) (questions []partQuestion) {
	for _, client := range a.series.Clients() {
		questions = append(questions, partQuestion{metric, a.series.WithoutClient(metric, client)})
	}
	return questions
}

func checkOrder() []string {
	return []string{
		reports.CheckGaps, reports.CheckVolume, reports.CheckPlacebo, reports.CheckPredecessor, reports.CheckOrder, reports.CheckBurnIn,
		reports.CheckAutocorrelation, reports.CheckLeavePairOut, reports.CheckLeaveClientOut, reports.CheckEffectivePairs,
		reports.CheckWidthsHalfSample,
	}
}

func pairsOf(found stats.Analysis, metric string) stats.PairEffects {
	for _, p := range found.PairEffects {
		if p.Metric == metric {
			return p
		}
	}
	return stats.PairEffects{Metric: metric}
}

func overallOf(rows []stats.Estimate, metric string) stats.Estimate {
	for _, r := range rows {
		if r.ID == metric && r.Scope == overallScope {
			return r
		}
	}
	return stats.Estimate{ID: metric}
}

// outcome says how a check reads: it cannot be answered without a value, and stands out when odd.
func outcome(c reports.Check, odd bool) reports.Check {
	c.Outcome = reports.CheckOK
	switch {
	case c.Value == nil:
		c.Lo, c.Hi, c.PValue, c.Outcome = nil, nil, nil, reports.CheckNotMeasurable
	case odd:
		c.Outcome = reports.CheckAttention
	}
	return c
}

func unlikely(p *float64, limit float64) bool { return p != nil && *p < limit }

func volumeCheck(v stats.VolumeTest) reports.Check {
	return outcome(reports.Check{ID: reports.CheckVolume, Value: v.Relative, PValue: v.PValue}, unlikely(v.PValue, oddVolume))
}

func contrastCheck(id, metric, subject string, c stats.Contrast) reports.Check {
	r := c.Relative
	if c.PValue == nil {
		r.Estimate = nil // a difference that nothing can be said about
	}
	return reports.Check{ID: id, Metric: metric, Subject: subject, Value: r.Estimate, Lo: r.Lo, Hi: r.Hi, PValue: c.PValue}
}

func gapCheck(s rowSeries) reports.Check {
	minutes, block := s.Gaps()
	value := float64(minutes)
	return outcome(reports.Check{ID: reports.CheckGaps, Subject: block, Value: &value}, minutes > 0)
}

// pairChecks are the diagnostics that follow from the pairs of a metric's headline. Where models have schedules of their
// own, a pair has no order that all of them share.
func pairChecks(p stats.PairEffects, headline stats.Estimate, perModel bool) []reports.Check {
	id := p.Metric
	predecessor := contrastCheck(reports.CheckPredecessor, id, "", p.Compare(p.Predecessors(), stats.OtherPredecessor, stats.SamePredecessor))
	order := contrastCheck(reports.CheckOrder, id, "", p.Compare(p.Orders(), stats.TreatmentFirst, stats.ControlFirst))
	if perModel {
		predecessor.Value, order.Value = nil, nil
	}
	correlation := p.Autocorrelation()
	out := p.LeaveOneOut()
	effective := p.EffectivePairs()
	checks := []reports.Check{
		outcome(reports.Check{ID: reports.CheckPlacebo, Metric: id, Value: p.Placebo.Estimate, Lo: p.Placebo.Lo, Hi: p.Placebo.Hi}, excludesZero(p.Placebo)),
		outcome(predecessor, unlikely(predecessor.PValue, oddChance)),
		outcome(order, unlikely(order.PValue, oddChance)),
		outcome(reports.Check{ID: reports.CheckAutocorrelation, Metric: id, Value: correlation.Value, PValue: correlation.PValue}, unlikely(correlation.PValue, oddChance)),
		outcome(reports.Check{ID: reports.CheckLeavePairOut, Metric: id, Subject: out.Pair, Value: out.Without, Lo: out.Lo, Hi: out.Hi},
			readsDifferently(headline, stats.Effect{Estimate: out.Without, Lo: out.Lo, Hi: out.Hi})),
		outcome(reports.Check{ID: reports.CheckEffectivePairs, Metric: id, Value: effective},
			effective != nil && *effective < oddEffectPairs*float64(len(p.Pairs))),
	}
	return append(checks, widthCheck(headline))
}

func excludesZero(e stats.Effect) bool {
	return e.Lo != nil && e.Hi != nil && (*e.Lo > 0 || *e.Hi < 0)
}

// readsDifferently tells whether leaving something out takes a detected effect to the other side of zero, or any effect out
// of its interval.
func readsDifferently(headline stats.Estimate, left stats.Effect) bool {
	r := headline.Relative
	if r.Estimate == nil || left.Estimate == nil {
		return false
	}
	crossed := excludesZero(r) && left.Lo != nil && left.Hi != nil && (*left.Lo < 0) != (*left.Hi < 0)
	return crossed || r.Lo != nil && *left.Estimate < *r.Lo || r.Hi != nil && *left.Estimate > *r.Hi
}

// widthCheck compares the widths of the half-sample and the headline interval.
func widthCheck(headline stats.Estimate) reports.Check {
	c := reports.Check{ID: reports.CheckWidthsHalfSample, Metric: headline.ID}
	r, h := headline.Relative, headline.HalfSample
	if r.Lo != nil && r.Hi != nil && h.Lo != nil && h.Hi != nil && *r.Hi > *r.Lo {
		width := (*h.Hi-*h.Lo)/(*r.Hi-*r.Lo) - 1
		c.Value = &width
	}
	return outcome(c, c.Value != nil && math.Abs(*c.Value) > oddWidth)
}

// burnInCheck says what another burn-in would change. A shorter one is expected to change the effect, which is what a
// burn-in is for; a longer one is not.
func burnInCheck(metric string, minutes, burnIn int, against stats.Contrast) reports.Check {
	c := contrastCheck(reports.CheckBurnIn, metric, fmt.Sprintf("%dm", minutes), against)
	return outcome(c, minutes > burnIn && unlikely(c.PValue, oddChance))
}

// clientCheck compares the effects without each of the largest clients in turn.
func clientCheck(metric string, headline stats.Estimate, clients []string, each []partAnswer) reports.Check {
	c := reports.Check{ID: reports.CheckLeaveClientOut, Metric: metric}
	farthest := -1.0
	for i, client := range clients {
		without := each[i].Relative.Estimate
		if without == nil || headline.Relative.Estimate == nil {
			continue
		}
		if moved := math.Abs(math.Log1p(*without) - math.Log1p(*headline.Relative.Estimate)); moved > farthest {
			farthest = moved
			c.Subject, c.Value = client, without
		}
		if c.Lo == nil || *without < *c.Lo {
			c.Lo = without
		}
		if c.Hi == nil || *without > *c.Hi {
			c.Hi = without
		}
	}
	return outcome(c, readsDifferently(headline, stats.Effect{Estimate: c.Value, Lo: c.Lo, Hi: c.Hi}))
}
