package reports

import (
	"math"
	"strings"

	"switchback/experiment"
	"switchback/stats"
)

// unitKind says how a metric's numbers are printed.
type unitKind int

const (
	unitMillis  unitKind = iota // 1,007 ms
	unitSeconds                 // 4.00 s, from ms
	unitRate                    // 62.4 tok/s
	unitDollars                 // $0.301
	unitShare                   // 7.1%, differences in points
	unitEvents                  // 0.081 per request
	unitOther                   // as it is, with its unit
)

// measure is a metric as the report shows it.
type measure struct {
	experiment.Metric
	kind   unitKind
	points bool   // the difference of the levels is shown beside the percent
	less   string // word for a negative relative effect
	more   string // word for a positive one
}

// measureOf returns how to show a metric. Ids that the experiment package does not know, such as check rows, are shown by their id.
func measureOf(id, unit string) measure {
	m, ok := experiment.MetricByID(id)
	if !ok {
		m = experiment.Metric{ID: id, Title: id, Unit: unit}
		if base, known := experiment.MetricByID(baseOf(id)); known {
			m = experiment.Metric{ID: id, Title: base.Title + checkSuffix(id), Unit: base.Unit, Better: base.Better}
		}
	}
	v := measure{Metric: m, kind: unitOther, less: "lower", more: "higher"}
	switch m.Unit {
	case "ms":
		v.kind = unitMillis
		if strings.HasPrefix(id, "total_") {
			v.kind = unitSeconds
		}
	case "tokens/s":
		v.kind = unitRate
	case "USD":
		v.kind = unitDollars
	case "fraction":
		v.kind, v.points = unitShare, true
	case "events/request":
		v.kind, v.points = unitEvents, true
	}
	switch baseOf(m.ID) {
	case "hit_429", "needed_retry", "events_429", "retries", "error_rate":
		v.less, v.more = "fewer", "more"
	case "failed_ms":
		v.points = true
		v.less, v.more = "less", "more"
	}
	return v
}

// Suffixes of the ids of check rows, which repeat a metric under another definition.
const (
	suffixPooled = "_pooled_models"
	suffixBorn   = "_born_in_block"
	suffixMix    = "_fixed_mix"
)

// baseOf returns the id of the metric that a check row repeats.
func baseOf(id string) string {
	for _, suffix := range []string{suffixPooled, suffixBorn, suffixMix} {
		if base, ok := strings.CutSuffix(id, suffix); ok {
			return base
		}
	}
	return id
}

func checkSuffix(id string) string {
	switch {
	case strings.HasSuffix(id, suffixPooled):
		return ", all models pooled"
	case strings.HasSuffix(id, suffixBorn):
		return ", conversations born in the block"
	case strings.HasSuffix(id, suffixMix):
		return ", token mix held fixed"
	}
	return ""
}

// level prints one arm's level. absolute is the effect whose interval decides the rounding; at least three significant digits
// are kept (one decimal for shares).
func (m measure) level(x *float64, absolute stats.Effect, other *float64) string {
	if x == nil {
		return notKnown
	}
	largest := math.Abs(*x)
	if other != nil {
		largest = max(largest, math.Abs(*other))
	}
	scale := m.scale()
	d := threeDigits(scale * largest)
	digits := 1
	if m.kind == unitShare {
		d, digits = 1, 2
	}
	if w, ok := width(absolute); ok {
		d = min(max(d, decimals(scale*w, digits, d)), d+2)
	}
	return m.withUnit(fixed(scale**x, visible(scale**x, m.money(d, scale*largest))))
}

// money keeps cents on amounts below a thousand dollars.
func (m measure) money(d int, amount float64) int {
	if m.kind == unitDollars && amount < 1000 {
		return max(d, 2)
	}
	return d
}

// scale turns the metric's unit into the printed one.
func (m measure) scale() float64 {
	switch m.kind {
	case unitSeconds:
		return 1e-3
	case unitShare:
		return 100
	}
	return 1
}

func (m measure) withUnit(number string) string {
	switch m.kind {
	case unitMillis:
		return number + " ms"
	case unitSeconds:
		return number + " s"
	case unitRate:
		return number + " tok/s"
	case unitDollars:
		if rest, negative := strings.CutPrefix(number, minus); negative {
			return minus + "$" + rest
		}
		return "$" + number
	case unitShare:
		return number + "%"
	case unitEvents:
		return number + " per request"
	}
	if m.Unit == "" {
		return number
	}
	return number + " " + m.Unit
}

// difference prints a difference of levels, in points for shares.
func (m measure) difference(number string) string {
	if m.kind == unitShare {
		return number + " pt"
	}
	return m.withUnit(number)
}

// absolute prints the difference of the levels and its interval: "−3.4 pt" and "−4.2 to −2.5 pt".
func (m measure) absolute(e stats.Effect) (estimate, interval string) {
	scale := m.scale()
	fallback := 1
	if e.Estimate != nil && m.kind != unitShare {
		fallback = threeDigits(scale * *e.Estimate)
	}
	d := fallback
	if w, ok := width(e); ok {
		d = decimals(scale*w, 2, fallback)
	}
	estimate, interval = notKnown, notKnown
	if e.Estimate != nil {
		estimate = m.difference(signed(scale**e.Estimate, d))
	}
	if e.Lo != nil && e.Hi != nil {
		interval = m.difference(signed(scale**e.Lo, d) + " to " + signed(scale**e.Hi, d))
	}
	return estimate, interval
}

// relative prints the relative effect and its interval in words: "16.9% lower" and "13.9% to 19.8% lower".
func (m measure) relative(e stats.Effect) (estimate, interval string) {
	d := relativeDecimals(e)
	estimate, interval = notKnown, notKnown
	if e.Estimate != nil {
		estimate = m.change(*e.Estimate, d)
	}
	if e.Lo != nil && e.Hi != nil {
		interval = m.changes(*e.Lo, *e.Hi, d)
	}
	return estimate, interval
}

// compact prints a relative effect with its interval for narrow cells: "−16.9%" and "(−19.8 to −13.9)".
func compact(e stats.Effect) (estimate, interval string) {
	if e.Estimate == nil {
		return notKnown, ""
	}
	d := relativeDecimals(e)
	estimate = signed(100**e.Estimate, d) + "%"
	if e.Lo == nil || e.Hi == nil {
		return estimate, "(" + notKnown + ")"
	}
	return estimate, "(" + signed(100**e.Lo, d) + " to " + signed(100**e.Hi, d) + ")"
}

// relativeDecimals gives a percentage two significant digits of its interval's width, and more when an interval that
// excludes zero would seem to touch it.
func relativeDecimals(e stats.Effect) int {
	w, ok := width(e)
	if !ok {
		return 1
	}
	d := decimals(100*w, 2, 1)
	if *e.Lo > 0 || *e.Hi < 0 {
		d = min(visible(100*min(math.Abs(*e.Lo), math.Abs(*e.Hi)), d), 4)
	}
	return d
}

func (m measure) change(x float64, d int) string {
	return fixed(100*math.Abs(x), d) + "%" + m.word(x)
}

func (m measure) word(x float64) string {
	switch {
	case x < 0:
		return " " + m.less
	case x > 0:
		return " " + m.more
	}
	return ""
}

// changes prints the two ends of an interval, the smaller change first when both have one sign.
func (m measure) changes(lo, hi float64, d int) string {
	percent := func(x float64) string { return fixed(100*math.Abs(x), d) + "%" }
	switch {
	case hi <= 0 && lo < 0:
		return percent(hi) + " to " + percent(lo) + m.word(lo)
	case lo >= 0 && hi > 0:
		return percent(lo) + " to " + percent(hi) + m.word(hi)
	case lo == 0 && hi == 0:
		return percent(0) + " to " + percent(0)
	default:
		return m.change(lo, d) + " to " + m.change(hi, d)
	}
}

// width returns the width of an effect's interval.
func width(e stats.Effect) (float64, bool) {
	if e.Lo == nil || e.Hi == nil {
		return 0, false
	}
	return *e.Hi - *e.Lo, true
}

// ratioNote returns the ratio of the levels shown when a percent beside it would puzzle a reader: when the two differ by more
// than two points.
func (m measure) ratioNote(shown stats.Effect, ratio *float64) string {
	if ratio == nil || shown.Estimate == nil || math.Abs(*ratio-*shown.Estimate) <= 0.02 {
		return ""
	}
	return "ratio of the levels shown: " + m.change(*ratio, relativeDecimals(shown))
}
