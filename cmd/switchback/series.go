package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/reports"
	"switchback/stats"
)

// series is what a report shows beside the estimates.
type series struct {
	blocks    []reports.BlockPoint
	since     []reports.SinceSwitchPoint
	providers []reports.ProviderRow
	spend     []reports.SpendHour
	dearer    *reports.Dearer  // nil: not measurable
	born      []stats.Estimate // check rows: only conversations that their block began
	checks    []reports.Check
}

// singledOut is how many clients, the largest by requests, are left out in turn.
const singledOut = 10

// askSeries asks for the series of the featured metrics and runs the diagnostics.
func (j *job) askSeries(ctx context.Context, rows rowSource, e estimates) (series, error) {
	featured := j.config.featured()
	length, burnIn := lengthsOf(e)
	slice := sliceWidth(length)
	parts, err := rows.series(ctx, e.models, featured, time.Duration(gcd(slice, burnInStep))*time.Minute, singledOut)
	if err != nil {
		return series{}, err
	}
	a := partAnalysis{ctx: ctx, series: parts, pairs: e.pairs, options: partOptions(j.config.analysis()), slice: slice, length: length, burnIn: burnIn}
	var out series
	for _, do := range []func() error{
		func() (err error) { out.blocks, err = blockPoints(ctx, parts, featured); return err },
		func() error { return a.fetch(featured) },
		func() (err error) { out.since, err = a.sinceSwitch(featured); return err },
		func() (err error) { out.born, err = a.bornInBlock(featured); return err },
		func() (err error) { out.checks, err = a.checks(featured, e); return err },
		func() (err error) { out.providers, err = providerRows(ctx, rows, e.plan.Arms); return err },
		func() (err error) { out.spend, err = spendHours(ctx, rows); return err },
		func() (err error) { out.dearer, err = dearerRows(ctx, rows, e.plan.Arms); return err },
	} {
		if err := do(); err != nil {
			return series{}, errors.Join(err, parts.Close())
		}
	}
	return out, parts.Close()
}

// featured returns the metrics that series and diagnostics are about.
func (c *config) featured() []string {
	return reports.FeaturedMetrics(reports.Decision{Metrics: c.Report.Decision, Guardrails: c.Report.Guardrails})
}

// lengthsOf returns the whole minutes of the longest block and of the longest burn-in.
func lengthsOf(e estimates) (block, burnIn int) {
	for _, b := range e.plan.Blocks {
		block = max(block, int(b.Ends.Sub(b.Starts)/time.Minute))
		burnIn = max(burnIn, int(b.BurnInEnds.Sub(b.Starts)/time.Minute))
	}
	return block, burnIn
}

const (
	tenMinutes = 10 // of a slice of a block, for blocks of 1 to 4 hours
	manySlices = 24
	fewSlices  = 6
	burnInStep = 30 // minutes between the burn-ins that are compared
)

// sliceWidth returns the minutes of the slices that a block is cut into to show its effect since the switch.
func sliceWidth(length int) int {
	switch {
	case length < tenMinutes*fewSlices:
		return max(1, length/fewSlices)
	case length > tenMinutes*manySlices:
		return tenMinutes * ((length + tenMinutes*manySlices - 1) / (tenMinutes * manySlices))
	}
	return tenMinutes
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// partAnalysis estimates effects of parts of the rows.
type partAnalysis struct {
	ctx     context.Context
	series  rowSeries
	pairs   []stats.Pair
	options stats.Options
	slice   int // minutes that a block is cut into
	length  int // minutes of the longest block
	burnIn  int // minutes of the longest burn-in
}

// partOptions are those of the headline, with Student's interval on the standard error by leaving out one pair after the
// other: exact, the same at every run, and some hundred times cheaper than a bootstrap.
func partOptions(o stats.Options) stats.Options {
	o.Interval, o.Replicates, o.Others, o.Order, o.Looks, o.SlotAdjustment = stats.IntervalT, 1, nil, "", nil, false
	return o
}

// partQuestion asks for the effect on a metric in a part of the rows.
type partQuestion struct {
	metric string
	part   stats.Source
}

// partAnswer is the overall row of the part, and its pairs.
type partAnswer struct {
	stats.Estimate
	pairs stats.PairEffects
}

// estimate answers questions, in their order. There are many small ones, so each has one thread and several are worked on
// at a time.
func (a partAnalysis) estimate(questions []partQuestion) ([]partAnswer, error) {
	answers := make([]partAnswer, len(questions))
	work, ctx := errgroup.WithContext(a.ctx)
	work.SetLimit(cmp.Or(max(0, a.options.Threads), runtime.GOMAXPROCS(0)))
	options := a.options
	options.Threads = 1
	for i, q := range questions {
		work.Go(func() error {
			found, err := stats.Analyze(ctx, q.part, []stats.Metric{partMetric(q.metric)}, a.pairs, options)
			if err == nil {
				answers[i] = partAnswer{found.Estimates[0], found.PairEffects[0]}
			}
			return err
		})
	}
	return answers, work.Wait()
}

func partMetric(id string) stats.Metric {
	for _, m := range ingest.StatsMetrics() {
		if m.ID == id {
			m.Published = false
			return m
		}
	}
	return stats.Metric{}
}

// fetch tells the series of everything that it is going to be asked.
func (a partAnalysis) fetch(featured []string) error {
	var questions []partQuestion
	for _, metric := range featured {
		if a.series.Has(metric) {
			questions = slices.Concat(questions, a.sliceQuestions(metric), a.bornQuestions(metric), a.burnInQuestions(metric), a.clientQuestions(metric))
		}
	}
	parts := make([]stats.Source, len(questions))
	for i, q := range questions {
		parts[i] = q.part
	}
	return a.series.Fetch(a.ctx, parts, func(i int) ([]stats.ModelBin, error) {
		return stats.Touched(a.ctx, parts[i], partMetric(questions[i].metric), a.pairs, a.options)
	})
}

// sliceQuestions are about the slices of the blocks, in order.
func (a partAnalysis) sliceQuestions(metric string) (questions []partQuestion) {
	for from := 0; from < a.length; from += a.slice {
		questions = append(questions, partQuestion{metric, a.series.Minutes(metric, from, from+a.slice)})
	}
	return questions
}

func (a partAnalysis) bornQuestions(metric string) []partQuestion {
	return []partQuestion{{metric, a.series.BornInBlock(metric)}}
}

func blockPoints(ctx context.Context, parts rowSeries, featured []string) ([]reports.BlockPoint, error) {
	blocks, err := parts.Blocks(ctx, featured)
	if err != nil {
		return nil, err
	}
	points := make([]reports.BlockPoint, len(blocks))
	for i, b := range blocks {
		points[i] = reports.BlockPoint{
			BlockID: b.ID, PairID: b.PairID, Model: b.Model, Day: b.Day, Slot: b.Slot, Arm: b.Arm,
			Starts: b.Starts.UTC(), BurnInEnds: b.BurnInEnds.UTC(), Ends: b.Ends.UTC(), Rows: b.Rows, BurnInRows: b.BurnIn,
		}
		for k, id := range featured {
			points[i].Values = append(points[i].Values, reports.MetricValue{Metric: id, Value: b.Values[k]})
		}
	}
	return points, nil
}

// sinceSwitch estimates the effect in each slice of the blocks, burn-in included.
func (a partAnalysis) sinceSwitch(featured []string) ([]reports.SinceSwitchPoint, error) {
	var points []reports.SinceSwitchPoint
	var questions []partQuestion
	for _, metric := range featured {
		if !a.series.Has(metric) {
			continue
		}
		for from := 0; from < a.length; from += a.slice {
			points = append(points, reports.SinceSwitchPoint{
				Metric: metric, FromMinute: float64(from), ToMinute: float64(min(from+a.slice, a.length)), InBurnIn: from < a.burnIn,
			})
		}
		questions = append(questions, a.sliceQuestions(metric)...)
	}
	answers, err := a.estimate(questions)
	for i, e := range answers {
		points[i].Relative, points[i].Pairs = e.Relative, e.Pairs
	}
	return points, err
}

// bornInBlock returns the check rows of requests that no earlier block pinned to an endpoint.
func (a partAnalysis) bornInBlock(featured []string) ([]stats.Estimate, error) {
	var questions []partQuestion
	for _, metric := range featured {
		if a.series.Has(metric) {
			questions = append(questions, a.bornQuestions(metric)...)
		}
	}
	answers, err := a.estimate(questions)
	if err != nil {
		return nil, err
	}
	var rows []stats.Estimate
	for _, e := range answers {
		e.ID += ingest.SuffixBornInBlock
		e.Estimand += ", over requests that no earlier block pinned to an endpoint, with Student's interval by leaving out pairs"
		rows = append(rows, e.Estimate)
	}
	return rows, nil
}

// providerRows puts both arms of each provider side by side.
func providerRows(ctx context.Context, source rowSource, arms experiment.Arms) ([]reports.ProviderRow, error) {
	found, err := source.providers(ctx)
	if err != nil {
		return nil, err
	}
	served := map[string]int64{}
	for _, p := range found {
		served[p.Arm] += p.Requests
	}
	var rows []reports.ProviderRow
	for _, p := range found {
		if len(rows) == 0 || rows[len(rows)-1].Provider != p.Provider {
			rows = append(rows, reports.ProviderRow{Provider: p.Provider})
		}
		arm := reports.ProviderArm{
			Requests: p.Requests, Share: shareOfAll(p.Requests, served[p.Arm]),
			USDPerMTokens: p.USDPerMTokens, TTFTp50: p.TTFTp50, ThroughputP50: p.ThroughputP50,
		}
		if p.Attempts != nil {
			arm.Rate429, arm.ErrorRate = shareOfAll(*p.Limited, *p.Attempts), shareOfAll(*p.Failed, *p.Attempts)
		}
		if p.Arm == arms.Control {
			rows[len(rows)-1].Control = arm
		} else {
			rows[len(rows)-1].Treatment = arm
		}
	}
	return rows, nil
}

func shareOfAll(n, of int64) *float64 {
	if of == 0 {
		return nil
	}
	share := float64(n) / float64(of)
	return &share
}

func spendHours(ctx context.Context, source rowSource) ([]reports.SpendHour, error) {
	found, err := source.spend(ctx)
	if err != nil {
		return nil, err
	}
	hours := make([]reports.SpendHour, len(found))
	for i, h := range found {
		hours[i] = reports.SpendHour{Hour: h.Hour, Arm: h.Arm, USD: h.USD, Requests: h.Requests}
	}
	return hours, nil
}
