package reports

import (
	"fmt"
	"math"
	"slices"
)

// Aims of a validation: shares that a 95 % interval and a 5 % test should stay inside.
const (
	aimCoverLo, aimCoverHi = 0.93, 0.97
	aimAlarmLo, aimAlarmHi = 0.03, 0.07
)

// RenderValidation returns validation.md, validation.json and the figure of the coverage.
func RenderValidation(v Validation) (Files, error) {
	data, err := EncodeValidation(v)
	if err != nil {
		return nil, err
	}
	p := validationPage(v)
	files := Files{{Name: "validation.md", Bytes: writeMarkdown(p)}, {Name: "validation.json", Bytes: data}}
	for _, f := range figures(p.blocks) {
		image, err := f.svg()
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: f.name + ".svg", Bytes: image})
	}
	return files, nil
}

func validationPage(v Validation) page {
	p := page{title: words("What the intervals hold")}
	p.add(v.opening()...)
	p.add(v.mainTable()...)
	p.add(v.kindsTable()...)
	p.add(v.slotTable()...)
	p.add(v.sameTable()...)
	p.add(v.burnInTable()...)
	p.add(v.abTables()...)
	p.add(v.howMade()...)
	return p
}

// opening says what was done and which aims were met.
func (v Validation) opening() []block {
	first := sentence("{} were simulated in scenario {} ({} requests in all), where the true effect of {} against {} is known: the same week with the one router in charge of everything, against the same week with the other. "+
		"The market is a calibration, not evidence: what is found here is about the design and the intervals, not about a router. Each experiment was analysed like a real one. A {} interval should hold the truth in {} of the experiments.",
		count(int64(v.Experiments), "experiment", "experiments"), name(v.Scenario), whole(v.Requests), name(v.Arms.Treatment), name(v.Arms.Control),
		percentOf(v.Confidence), percentOf(v.Confidence))
	blocks := []block{paragraph(first)}
	var covered, near, missed, alarmed, unmeasured []text
	for _, m := range v.Metrics {
		i := m.Intervals[0]
		title := measureOf(m.ID, "").Title
		withReason := words(title + " (" + i.Covers.text() + ")")
		if reason := v.reason(m, i); reason != "" {
			withReason = append(withReason, words(": "+reason)...)
		}
		switch {
		case i.Covers.Share == nil:
			unmeasured = append(unmeasured, words(title))
		case i.Covers.inside(aimCoverLo, aimCoverHi):
			covered = append(covered, words(title))
		case i.Covers.outside(aimCoverLo, aimCoverHi):
			missed = append(missed, withReason)
		default:
			near = append(near, withReason)
		}
		for _, a := range m.SameArms {
			if a.ByInterval.outside(aimAlarmLo, aimAlarmHi) {
				alarmed = append(alarmed, append(words(title+" with "), append(name(a.Router), words(" ("+a.ByInterval.text()+")")...)...))
			}
		}
	}
	items := []text{}
	aim := percentOf(aimCoverLo) + " to " + percentOf(aimCoverHi)
	if len(covered) > 0 {
		items = append(items, sentence("Coverage is {}: {}.", aim, series(covered)))
	}
	for _, m := range near {
		items = append(items, append(append(bold("Coverage misses "+aim+", though its own interval reaches into it:"), append(words(" "), m...)...), words(".")...))
	}
	for _, m := range missed {
		items = append(items, append(append(bold("Coverage misses "+aim+":"), append(words(" "), m...)...), words(".")...))
	}
	if low, high, ok := v.extremes(); ok {
		items = append(items, sentence("The measured shares run from {} ({}) to {} ({}).",
			share(low.Intervals[0].Covers.Share), measureOf(low.ID, "").Title, share(high.Intervals[0].Covers.Share), measureOf(high.ID, "").Title))
	}
	if len(unmeasured) > 0 {
		items = append(items, sentence("Nothing was measured of {}.", series(unmeasured)))
	}
	if len(alarmed) > 0 {
		items = append(items, append(bold("False alarms are outside "+percentOf(aimAlarmLo)+" to "+percentOf(aimAlarmHi)+":"), append(append(words(" "), series(alarmed)...), words(".")...)...))
	} else {
		items = append(items, sentence("False alarms of the {} intervals agree with {} to {} for every measure and both routers.", v.Interval, percentOf(aimAlarmLo), percentOf(aimAlarmHi)))
	}
	return append(blocks, bullets(items), paragraph(words("In brackets is the 95% interval of the measured share. “Agrees” means that it reaches into the range.")))
}

// extremes returns the measures whose intervals hold the truth least and most often.
func (v Validation) extremes() (low, high MetricValidation, ok bool) {
	for _, m := range v.Metrics {
		s := m.Intervals[0].Covers.Share
		if s == nil {
			continue
		}
		if !ok || *s < *low.Intervals[0].Covers.Share {
			low = m
		}
		if !ok || *s > *high.Intervals[0].Covers.Share {
			high = m
		}
		ok = true
	}
	return low, high, ok
}

// mainTable sets the estimate of the design's own burn-in beside the truth.
func (v Validation) mainTable() []block {
	t := columns("Measure", ">Truth", ">Switchback", ">Bias, log points", ">Covers the truth", ">Mean width", ">Error, log points")
	for _, m := range v.Metrics {
		e, i := v.ownBurnIn(m), m.Intervals[0]
		t.row(words(measureOf(m.ID, "").Title), words(m.Truth.text()), words(e.Estimate.text()), words(e.Bias.points()),
			words(i.Covers.text()), words(widthText(i.Width)), words(logPoints(i.RMSE)))
	}
	return []block{
		heading("Truth, estimate and interval"),
		paragraph(sentence("Relative effects, geometric means over the experiments, with {} of burn-in and the {} interval. Bias is the mean of log estimate − log truth of the same experiment, ± its standard error; "+
			"100 log points are a factor of e. Width is that of the relative effect in points; error is the root mean squared error of the estimate.", seconds(v.BurnIn), v.Interval)),
		tabular(t), drawing(coverageFigure(v)),
	}
}

// shownKinds are the intervals of kindsTable.
var shownKinds = []string{"expanded", "half-sample", "percentile", "basic", "bca", "t"}

// kindsTable compares kinds of intervals.
func (v Validation) kindsTable() []block {
	heads := []string{"Measure"}
	for _, k := range shownKinds {
		heads = append(heads, ">"+k)
	}
	t := columns(heads...)
	ratios := make([][]float64, len(shownKinds))
	for _, m := range v.Metrics {
		cells := []text{words(measureOf(m.ID, "").Title)}
		base := m.interval(shownKinds[0])
		for k, kind := range shownKinds {
			i := m.interval(kind)
			s := i.Covers.text()
			if i.Covers.outside(aimCoverLo, aimCoverHi) {
				cells = append(cells, bold(s))
			} else {
				cells = append(cells, words(s))
			}
			if i.Width != nil && base.Width != nil && *base.Width > 0 {
				ratios[k] = append(ratios[k], math.Log(*i.Width / *base.Width))
			}
		}
		t.row(cells...)
	}
	cells := []text{words("Width against expanded")}
	for _, r := range ratios {
		cells = append(cells, words(geometric(r)))
	}
	t.row(cells...)
	return []block{
		heading("Kinds of intervals"),
		paragraph(words("How often each kind of interval holds the truth of its own experiment, with the 95% interval of the share. In bold: outside the aim. The last row is the geometric mean over the measures.")),
		tabular(t),
	}
}

// slotTable says whether the adjustment for the daily position pays.
func (v Validation) slotTable() []block {
	t := columns("Measure", ">Off: covers", ">width", ">error", ">On: covers", ">width", ">error")
	var narrower, better []float64
	for _, m := range v.Metrics {
		off, on := m.Intervals[0], m.interval(kindSlotAdjusted)
		t.row(words(measureOf(m.ID, "").Title), words(off.Covers.text()), words(widthText(off.Width)), words(logPoints(off.RMSE)),
			words(on.Covers.text()), words(widthText(on.Width)), words(logPoints(on.RMSE)))
		if off.Width != nil && on.Width != nil && *off.Width > 0 {
			narrower = append(narrower, math.Log(*on.Width / *off.Width))
		}
		if off.RMSE != nil && on.RMSE != nil && *off.RMSE > 0 {
			better = append(better, math.Log(*on.RMSE / *off.RMSE))
		}
	}
	return []block{
		heading("Slot adjustment"),
		paragraph(sentence("The estimate as it is, with the {} interval, and the one adjusted for what the daily position and the order of the arms explain, with its t interval. "+
			"With the adjustment the intervals are {} as wide and the errors {} as large (geometric means over the measures).", v.Interval, geometric(narrower), geometric(better))),
		tabular(t),
	}
}

// sameTable is about experiments in which there is nothing to find.
func (v Validation) sameTable() []block {
	t := columns("Measure", ">"+v.Arms.Control+": interval", ">p-value", ">slot-adjusted", ">"+v.Arms.Treatment+": interval", ">p-value", ">slot-adjusted")
	for _, m := range v.Metrics {
		cells := []text{words(measureOf(m.ID, "").Title)}
		for _, a := range m.SameArms {
			for _, s := range []Share{a.ByInterval, a.ByPValue, a.SlotAdjusted} {
				cells = append(cells, words(s.text()))
			}
		}
		t.row(cells...)
	}
	return []block{
		heading("A/A: a router against itself"),
		paragraph(sentence("How often a difference is seen where there is none: the interval excludes 0, the p-value of the arm swaps is below {}, the slot-adjusted interval excludes 0. "+
			"A router that is the same in both arms makes the same week under every schedule, so these experiments are the pure worlds, labelled by the drawn schedule.", percentOf(1-v.Confidence))),
		tabular(t),
	}
}

// burnInTable shows what burn-in does to the bias.
func (v Validation) burnInTable() []block {
	heads := []string{"Measure", ">Truth"}
	for _, b := range v.Metrics[0].BurnIns {
		heads = append(heads, ">Bias with "+seconds(b.BurnIn))
	}
	t := columns(heads...)
	for _, m := range v.Metrics {
		cells := []text{words(measureOf(m.ID, "").Title), words(m.Truth.text())}
		for _, b := range m.BurnIns {
			cells = append(cells, words(b.Bias.points()))
		}
		t.row(cells...)
	}
	return []block{
		heading("Burn-in"),
		paragraph(words("Bias in log points ± its standard error: what the block before leaves in the next one.")),
		tabular(t),
	}
}

// abTables are about plain A/B tests and about requests taken for independent.
func (v Validation) abTables() []block {
	if v.ABTests == 0 {
		return nil
	}
	bias := columns("Measure", ">Truth", ">A/B by conversation", ">Bias", ">A/B by request", ">Bias")
	naive := columns("Measure", ">Switchback: covers", ">width", ">A/B by conversation: covers", ">width", ">A/B by request: covers", ">width")
	for _, m := range v.Metrics {
		title := words(measureOf(m.ID, "").Title)
		cells, claims := []text{title, words(m.Truth.text())}, []text{title}
		for i, e := range m.Naive {
			if i > 0 {
				cells = append(cells, words(e.Estimate.text()), words(e.Bias.points()))
			}
			claims = append(claims, words(e.Interval.Covers.text()), words(widthText(e.Interval.Width)))
		}
		bias.row(cells...)
		naive.row(claims...)
	}
	n := count(int64(v.ABTests), "experiment", "experiments")
	return []block{
		heading("Plain A/B tests"),
		paragraph(sentence("The same arrivals with the arm chosen by a hash of the conversation, or of the request ({}). Both arms share the endpoints' capacity and the router's telemetry, so each arm's rows tell of a world that neither router would make alone. Bias in log points ± its standard error.", n)),
		tabular(bias),
		heading("What an analysis by single requests would have claimed"),
		paragraph(sentence("The same kind of interval with requests in place of pairs as the unit, estimated from 50 groups dealt at random ({}). "+
			"An interval that takes requests for independent is narrow because it does not see what all requests of a block share.", n)),
		tabular(naive),
	}
}

// howMade says how to make the page again.
func (v Validation) howMade() []block {
	var models []text
	for _, m := range v.Models {
		models = append(models, name(m))
	}
	return []block{
		heading("How this was made"),
		paragraph(sentence("Seeds {} to {}, one experiment each: {} of {}, blocks of {}, {} order, {} of burn-in; models {} with their whole traffic; about {} requests of each world analysed, whole conversations picked by a hash; {} replicates; {} weights of the models. "+
			"The true effect is measured in the same experiment's pure worlds, over all hours, from as many logged conversations. Each seed draws a market of its own, so the truths differ between experiments, and an interval is held against the truth of its own market and week, not against their mean.",
			fmt.Sprint(v.FirstSeed), fmt.Sprint(v.FirstSeed+uint64(v.Experiments)-1), count(int64(v.Pairs), "pair", "pairs"), count(int64(v.Days), "day", "days"),
			seconds(v.Block), v.Order, seconds(v.BurnIn), series(models), whole(int64(v.Logged)), whole(int64(v.Replicates)), v.Weights)),
		paragraph(sentence("The command {} gives this page again, with program {}. All numbers, unrounded, and the coverage of the mean truth are in validation.json.", text{{Text: v.Command, Style: code}}, name(v.Version))),
	}
}

// ownBurnIn is the estimate of the design's burn-in.
func (v Validation) ownBurnIn(m MetricValidation) EstimateValidation {
	at := slices.IndexFunc(m.BurnIns, func(e EstimateValidation) bool { return e.BurnIn == v.BurnIn })
	return m.BurnIns[max(at, 0)]
}

// interval returns how a kind of interval did; the zero value when it was not made.
func (m MetricValidation) interval(kind string) IntervalValidation {
	for _, i := range m.Intervals {
		if i.Kind == kind {
			return i
		}
	}
	return IntervalValidation{Kind: kind}
}

// inside tells whether the measured share lies in a range, or was not measured.
func (s Share) inside(lo, hi float64) bool { return s.Share == nil || lo <= *s.Share && *s.Share <= hi }

// outside tells whether the measured share disagrees with a range.
func (s Share) outside(lo, hi float64) bool { return s.Share != nil && (*s.Hi < lo || *s.Lo > hi) }

// text prints a share with its interval: 94.5% (92.1–96.2).
func (s Share) text() string {
	if s.Share == nil {
		return notKnown
	}
	return fmt.Sprintf("%s%% (%s–%s)", fixed(100**s.Share, 1), fixed(100**s.Lo, 1), fixed(100**s.Hi, 1))
}

// text prints a mean effect as a percentage.
func (m LogMean) text() string {
	if m.Relative == nil {
		return notKnown
	}
	return signed(100**m.Relative, 1) + "%"
}

// points prints a mean logarithm in log points with its standard error.
func (m LogMean) points() string {
	if m.Log == nil {
		return notKnown
	}
	s := signed(100**m.Log, 1)
	if m.SE != nil {
		s += " ± " + fixed(100**m.SE, 1)
	}
	return s
}

func logPoints(x *float64) string {
	return opt(x, func(v float64) string { return fixed(100*v, 1) })
}

func widthText(x *float64) string {
	return opt(x, func(v float64) string { return fixed(100*v, 1) + " pt" })
}

// geometric prints the geometric mean of ratios whose logarithms are given: ×0.94.
func geometric(logs []float64) string {
	if len(logs) == 0 {
		return notKnown
	}
	sum := 0.0
	for _, l := range logs {
		sum += l
	}
	return "×" + fixed(math.Exp(sum/float64(len(logs))), 2)
}
