package reports

import (
	"slices"
	"strconv"
	"strings"

	"switchback/stats"
)

// title names experiment and date, and says at once when the report is of a simulation, not whole or not final.
func title(doc Document) text {
	t := words(clean(doc.Experiment) + " – " + doc.ReportDate + " (UTC)")
	if _, driven := warningOf(doc, WarningDriven); driven || doc.Simulated {
		t = append(t, words(" · SIMULATED")...)
	}
	if doc.Incomplete {
		t = append(t, words(" · INCOMPLETE")...)
	}
	if doc.Provisional {
		t = append(t, words(" · PROVISIONAL")...)
	}
	return t
}

// firstScreen is what most readers will read and no more: banners, one sentence of verdict, the table, the figure.
func firstScreen(doc Document) []block {
	rows := published(doc)
	blocks := banners(doc)
	blocks = append(blocks,
		paragraph(verdict(doc, rows)),
		paragraph(facts(doc)),
	)
	blocks = append(blocks, resultTable(doc, rows)...)
	if f, ok := effectsFigure(doc, rows); ok {
		blocks = append(blocks, drawing(f))
	}
	return blocks
}

func banners(doc Document) []block {
	var out []block
	h := doc.Diagnostics.Health
	if w, driven := warningOf(doc, WarningDriven); driven || doc.Simulated {
		t := bold("SIMULATED.")
		if driven {
			t = append(t, sentence(" Of the logs, {}.", oneLine(w.Text))...)
		}
		out = append(out, notice(append(t, words(" The market is a calibration: some of its constants were set with a published result in view. What is found here is no evidence of what a router would do with real traffic.")...)))
	}
	if doc.Incomplete {
		t := append(bold("INCOMPLETE."), words(" Inputs are missing")...)
		var why []text
		if n := len(h.MissingBlocks); n > 0 {
			why = append(why, words(count(int64(n), "planned block without any row", "planned blocks without any row")))
		}
		if n := len(h.LoneBlocks); n > 0 {
			why = append(why, words(count(int64(n), "block left out because its pair is not whole", "blocks left out because their pairs are not whole")))
		}
		if n := total(h.Rejects); n > 0 {
			why = append(why, words(count(n, "line that could not be read", "lines that could not be read")))
		}
		if _, unread := warningOf(doc, WarningUnread); unread && doc.Simulated {
			why = append(why, words("lines of the replayed log that could not be read"))
		}
		if len(why) > 0 {
			t = append(t, words(": ")...)
			t = append(t, series(why)...)
		}
		t = append(t, words(". What follows rests on the rest; see “Data health”.")...)
		out = append(out, notice(t))
	}
	if doc.Provisional {
		t := append(bold("PROVISIONAL."), sentence(" The last day of the design is not over. These {} intervals are meant to be read once, at the end: "+
			"whoever reads them every night and stops at the first clear difference will see differences that are not there.", doc.level())...)
		if hasSequential(doc) {
			t = append(t, words(" “Read every night” below has intervals that allow for it.")...)
		}
		out = append(out, notice(t))
	}
	return out
}

// warningOf returns the first warning of a code.
func warningOf(doc Document, code string) (stats.Warning, bool) {
	i := slices.IndexFunc(doc.Warnings, func(w stats.Warning) bool { return w.Code == code })
	if i < 0 {
		return stats.Warning{}, false
	}
	return doc.Warnings[i], true
}

// verdict says in one sentence what was found, on the configured decision metrics and guardrails where there are any.
func verdict(doc Document, rows []shownRow) text {
	treatment, control := name(doc.Arms.Treatment), name(doc.Arms.Control)
	if len(doc.Decision.Metrics)+len(doc.Decision.Guardrails) > 0 {
		return decisionVerdict(doc, treatment, control)
	}
	var better, worse, other, none, open, unknown []shownRow
	for _, r := range rows {
		switch r.Verdict {
		case stats.VerdictBetter:
			better = append(better, r)
		case stats.VerdictWorse:
			worse = append(worse, r)
		case stats.VerdictHigher, stats.VerdictLower:
			other = append(other, r)
		case stats.VerdictNone:
			none = append(none, r)
		default:
			if r.Control == nil && r.Treatment == nil {
				unknown = append(unknown, r)
			} else {
				open = append(open, r)
			}
		}
	}
	measurable := len(rows) - len(unknown)
	switch {
	case measurable == 0:
		return sentence("Nothing can be said about {} against {} yet: none of the {} measures is measurable from this log.",
			treatment, control, strconv.Itoa(len(rows)))
	case len(better)+len(worse)+len(other) == 0:
		return sentence("No difference of {} against {} was detected in the {} measures that this log can give, which does not show that the two are equal.",
			treatment, control, strconv.Itoa(measurable))
	}
	var parts []text
	if len(better) > 0 {
		parts = append(parts, sentence("detected better in {} of {} measures ({})", strconv.Itoa(len(better)), strconv.Itoa(measurable), named(doc, better)))
	}
	if len(worse) > 0 {
		parts = append(parts, sentence("detected worse in {} ({})", ofMeasures(len(worse), measurable, len(better) == 0), named(doc, worse)))
	}
	if len(other) > 0 {
		parts = append(parts, sentence("detected different in {} ({})", strconv.Itoa(len(other)), named(doc, other)))
	}
	t := sentence("Against {}, {} is {}", control, treatment, series(parts))
	if len(none) > 0 {
		t = append(t, sentence("; no difference was detected in {}", strconv.Itoa(len(none)))...)
	}
	if len(open) > 0 {
		t = append(t, sentence("; {} gave no interval to judge by", strconv.Itoa(len(open)))...)
	}
	if len(unknown) > 0 {
		t = append(t, sentence("; {} cannot be measured from this log", strconv.Itoa(len(unknown)))...)
	}
	return append(t, words(".")...)
}

func ofMeasures(n, all int, withTotal bool) string {
	if withTotal {
		return strconv.Itoa(n) + " of " + strconv.Itoa(all) + " measures"
	}
	return strconv.Itoa(n)
}

// named lists the first rows with their effects.
func named(doc Document, rows []shownRow) text {
	const most = 3
	var items []text
	for i, r := range rows {
		if i == most {
			items = append(items, sentence("{} more", strconv.Itoa(len(rows)-most)))
			break
		}
		estimate, _ := r.relative(r.Relative)
		items = append(items, words(r.Title+" "+estimate))
	}
	return series(items)
}

// decisionVerdict speaks of the metrics that the configuration named before the experiment.
func decisionVerdict(doc Document, treatment, control text) text {
	var parts, held []text
	for _, id := range doc.Decision.Metrics {
		parts = append(parts, sentence("decision metric {}", decided(doc, id)))
	}
	for _, g := range doc.GuardrailStates() {
		switch g.State {
		case GuardrailBreached:
			parts = append(parts, sentence("guardrail breached: {}", decided(doc, g.Metric)))
		case GuardrailNotMeasurable:
			parts = append(parts, sentence("guardrail {}, so it does not count as held", decided(doc, g.Metric)))
		default:
			held = append(held, words(measureOf(g.Metric, "").Title))
		}
	}
	if len(held) > 0 {
		parts = append(parts, sentence("guardrails not detected as worse: {}", series(held)))
	}
	t := sentence("{} against {}: ", treatment, control)
	for i, p := range parts {
		if i > 0 {
			t = append(t, words("; ")...)
		}
		t = append(t, p...)
	}
	return append(t, words(".")...)
}

// decided says what was found of one metric.
func decided(doc Document, id string) text {
	e, ok := doc.overall(id)
	m := measureOf(id, e.Unit)
	effect := e.Relative
	switch {
	case !ok || e.Control == nil && e.Treatment == nil:
		return words(m.Title + " cannot be measured from this log")
	case e.Verdict == stats.VerdictNotMeasurable:
		return words(m.Title + " gave no interval to judge by")
	}
	estimate, interval := m.relative(effect)
	found := "shows no detected difference"
	switch e.Verdict {
	case stats.VerdictBetter:
		found = "is better"
	case stats.VerdictWorse:
		found = "is worse"
	case stats.VerdictHigher, stats.VerdictLower:
		found = "is different"
	}
	return sentence("{} {} ({}, {} interval {})", m.Title, found, estimate, doc.level(), interval)
}

// facts says in one line what was run and how much of it the numbers rest on.
func facts(doc Document) text {
	d, h := doc.Design, doc.Diagnostics.Health
	source := "from request logs"
	if doc.Simulated {
		source = "simulated market"
	}
	return sentence("{} from {} to {} UTC · {} in {} · {} burn-in · {} requests analysed of {} · {}.",
		count(int64(d.Days), "day", "days"), minuteOf(doc.Window.Start), minuteOf(doc.Window.End),
		seconds(d.BlockSeconds)+" blocks", count(int64(d.Pairs), "matched pair", "matched pairs"),
		seconds(d.BurnInSeconds), whole(h.Kept), whole(h.Read), source)
}

// resultTable is the published table: measure, both arms, difference, interval.
func resultTable(doc Document, rows []shownRow) []block {
	t := columns("Measure", "", "", "", "")
	t.head[1] = sentence("Control ({})", name(doc.Arms.Control))
	t.head[2] = sentence("Treatment ({})", name(doc.Arms.Treatment))
	t.head[3] = words("Difference")
	t.head[4] = words(doc.level() + " interval")
	t.right = []bool{false, true, true, true, true}
	var notes footnotes
	for _, r := range rows {
		difference, interval := effectCells(doc, r)
		t.row(
			words(r.Title+notes.marks(r.Warnings)),
			words(r.level(r.Control, r.Absolute, r.Treatment)),
			words(r.level(r.Treatment, r.Absolute, r.Control)),
			difference, interval,
		)
	}
	blocks := []block{tabular(t)}
	if len(notes) > 0 {
		blocks = append(blocks, bullets(notes.items()))
	}
	return blocks
}

// effectCells prints difference and interval of a row: points first where the metric has them, then the percent, then the ratio
// of the levels where it would puzzle a reader.
func effectCells(doc Document, r shownRow) (difference, interval text) {
	if r.Verdict == stats.VerdictNotMeasurable && r.Control == nil && r.Treatment == nil {
		if doc.Simulated {
			return words("not measurable"), words(notKnown)
		}
		return words("not measurable from this log"), words(notKnown)
	}
	effect := r.Relative
	percent, percentInterval := r.relative(effect)
	if r.Verdict == stats.VerdictNone && effect.Estimate != nil {
		percent += ", not detected"
	}
	var points, pointsInterval text
	if r.points {
		p, i := r.absolute(r.Absolute)
		points, pointsInterval = words(p), words(i)
	}
	var note text
	if n := r.ratioNote(effect, r.RatioOfLevels); n != "" {
		note = aside("(" + n + ")")
	}
	return lines(points, words(percent), note), lines(pointsInterval, words(percentInterval))
}

// footnotes are the warning codes explained below a table, in the order of their marks.
type footnotes []string

// marks returns the marks of a row's warnings, in order and with commas, as two of them in a row would read as a number above
// nine; codes that are new get the next mark.
func (f *footnotes) marks(codes []string) string {
	var at []int
	for _, c := range codes {
		i := slices.Index(*f, c)
		if i < 0 {
			i = len(*f)
			*f = append(*f, c)
		}
		at = append(at, i)
	}
	slices.Sort(at)
	var marks []string
	for _, i := range at {
		marks = append(marks, superscript(i+1))
	}
	return strings.Join(marks, ",")
}

func (f footnotes) items() []text {
	var items []text
	for i, c := range f {
		items = append(items, sentence("{} {}", superscript(i+1), warningWords(c)))
	}
	return items
}

func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var out []rune
	for _, d := range strconv.Itoa(n) {
		out = append(out, digits[d-'0'])
	}
	return string(out)
}

// count prints a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return whole(n) + " " + many
}

func total(counts []Count) int64 {
	var n int64
	for _, c := range counts {
		n += c.N
	}
	return n
}
