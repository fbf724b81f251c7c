package reports

import (
	"switchback/experiment"
	"switchback/stats"
)

// compose puts the report together: the first screen, then what stands behind it.
func compose(doc Document) page {
	p := page{title: title(doc)}
	p.add(firstScreen(doc)...)
	p.add(everyLook(doc)...)
	p.add(furtherMeasures(doc)...)
	p.add(certainty(doc)...)
	p.add(otherIntervals(doc)...)
	p.add(perModel(doc)...)
	p.add(money(doc)...)
	p.add(byProvider(doc)...)
	p.add(byBlock(doc)...)
	p.add(sinceSwitch(doc)...)
	p.add(comparison(doc)...)
	p.add(nights(doc)...)
	p.add(health(doc)...)
	p.add(checks(doc)...)
	p.add(warnings(doc)...)
	p.add(method(doc)...)
	p.add(glossary(doc)...)
	p.add(provenance(doc)...)
	return p
}

// published returns the measures of the published table, each with its overall row; a measure without a row is not measurable.
func published(doc Document) []shownRow { return overallRows(doc, true) }

// shownRow is one overall row with the way to show it.
type shownRow struct {
	measure
	stats.Estimate
}

func overallRows(doc Document, published bool) []shownRow {
	var rows []shownRow
	for _, m := range experiment.Metrics() {
		if m.Published != published {
			continue
		}
		e, ok := doc.overall(m.ID)
		if !ok {
			if !published {
				continue
			}
			e = stats.Estimate{ID: m.ID, Unit: m.Unit, Scope: scopeOverall, Verdict: stats.VerdictNotMeasurable}
		}
		rows = append(rows, shownRow{measureOf(m.ID, m.Unit), e})
	}
	return rows
}

// level prints the confidence of the intervals: "95%".
func (doc Document) level() string { return percentOf(doc.Method.Confidence) }

func detected(verdict string) bool {
	switch verdict {
	case stats.VerdictBetter, stats.VerdictWorse, stats.VerdictHigher, stats.VerdictLower:
		return true
	}
	return false
}
