package reports

import (
	"strconv"
	"strings"

	"switchback/stats"
)

// furtherMeasures shows what is measured beyond the published table, and the check rows that repeat a measure under another definition.
func furtherMeasures(doc Document) []block {
	var blocks []block
	if rows := overallRows(doc, false); len(rows) > 0 {
		blocks = append(blocks, heading("Further measures"))
		blocks = append(blocks, resultTable(doc, rows)...)
	}
	if t := checkRows(doc); len(t.rows) > 0 {
		blocks = append(blocks, heading("The same measures, defined otherwise"),
			paragraph(words("A result that changes with the definition deserves a second look. The headline weighs models equally; these rows do not decide anything.")),
			tabular(t))
	}
	return blocks
}

// checkRows sets each check row beside the headline that it repeats.
func checkRows(doc Document) table {
	t := columns("Measure", ">Headline", ">Here", ">"+doc.level()+" interval here")
	for _, e := range doc.Metrics {
		base := baseOf(e.ID)
		if base == e.ID || e.Scope != scopeOverall {
			continue
		}
		m := measureOf(e.ID, e.Unit)
		headline := notKnown
		if main, ok := doc.overall(base); ok {
			headline, _ = m.relative(main.Relative)
		}
		estimate, interval := m.relative(e.Relative)
		t.row(words(m.Title), words(headline), words(estimate), words(interval))
	}
	return t
}

// certainty shows what stands beside the headline intervals: p-values, the other intervals, how much data each row rests on.
func certainty(doc Document) []block {
	t := columns("Measure", ">p", ">p adjusted: Holm, max-t", ">Simultaneous interval", ">Half-sample interval", ">"+otherEstimate(doc), ">Pairs · models")
	for _, published := range []bool{true, false} {
		for _, r := range overallRows(doc, published) {
			if r.Relative.Estimate == nil {
				continue
			}
			adjusted, adjustedInterval := compact(doc.besideHeadline(r.Estimate))
			t.row(words(r.Title), words(probability(r.PValue)), words(adjustedP(r.Estimate)),
				words(ends(r.Simultaneous)), words(ends(r.HalfSample)), lines(words(adjusted), words(adjustedInterval)), words(strconv.Itoa(r.Pairs)+" · "+strconv.Itoa(r.Models)))
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	blocks := []block{heading("How sure"), tabular(t)}
	var notes []text
	if x := largestError(doc); x > 0 {
		notes = append(notes, sentence("Drawing other replicates would move an end of an interval by about {} points (Monte-Carlo standard error, the largest of the rows above).",
			fixed(100*x, visible(100*x, 2))))
	}
	if rows := twoWay(doc); len(rows) > 0 {
		notes = append(notes, append(words("For new models like these, rather than for these very models, the intervals are wider: "), append(series(rows), words(".")...)...))
	}
	if len(notes) > 0 {
		blocks = append(blocks, bullets(notes))
	}
	return blocks
}

// adjustedP prints the p-values adjusted for the measures read together: Holm's, then max-t.
func adjustedP(e stats.Estimate) string {
	if e.PAdjusted == nil && e.PMaxT == nil {
		return notKnown
	}
	return probability(e.PAdjusted) + ", " + probability(e.PMaxT)
}

// ends prints an interval of a relative effect that has no estimate of its own.
func ends(b stats.Bounds) string {
	if b.Lo == nil || b.Hi == nil {
		return notKnown
	}
	d := relativeDecimals(stats.Effect{Lo: b.Lo, Hi: b.Hi})
	return signed(100**b.Lo, d) + "% to " + signed(100**b.Hi, d) + "%"
}

func otherEstimate(doc Document) string {
	if doc.Method.SlotAdjustment {
		return "Without slot adjustment"
	}
	return "Slot-adjusted"
}

// besideHeadline returns the estimate that is not the headline: slot-adjusted or not.
func (doc Document) besideHeadline(e stats.Estimate) stats.Effect {
	switch {
	case !doc.Method.SlotAdjustment:
		return e.SlotAdjusted
	case e.Unadjusted != nil:
		return *e.Unadjusted
	}
	return stats.Effect{}
}

func largestError(doc Document) float64 {
	largest := 0.0
	for _, e := range doc.Metrics {
		if e.Scope == scopeOverall && e.MCError != nil {
			largest = max(largest, *e.MCError)
		}
	}
	return largest
}

func twoWay(doc Document) []text {
	var rows []text
	for _, r := range published(doc) {
		if r.TwoWay.Lo != nil && r.TwoWay.Hi != nil {
			rows = append(rows, words(r.Title+" "+ends(r.TwoWay)))
		}
	}
	return rows
}

// models returns the models that have rows of their own, in the order of the document.
func (doc Document) models() []string {
	var models []string
	seen := map[string]bool{}
	for _, e := range doc.Metrics {
		if model, ok := strings.CutPrefix(e.Scope, scopeModelPrefix); ok && !seen[model] {
			seen[model] = true
			models = append(models, model)
		}
	}
	return models
}
