package reports

import (
	"fmt"
	"strconv"

	"switchback/stats"
)

// manyModels is the number of models from which the per-model tables are folded away.
const manyModels = 30

// perModel shows the measures model by model: a summary, then one row for each model.
func perModel(doc Document) []block {
	models := doc.models()
	if len(models) == 0 {
		return nil
	}
	rows := newRowIndex(doc)
	measures := modelMeasures(doc, rows, models)
	if len(measures) == 0 {
		return nil
	}
	blocks := []block{
		heading("By model"),
		paragraph(sentence("Relative effects of {} against {} in each model. “Detected” rests on each model's own {} interval; "+
			"with {} models some intervals will exclude zero by chance.", name(doc.Arms.Treatment), name(doc.Arms.Control), doc.level(), strconv.Itoa(len(models)))),
		tabular(modelSummary(doc, rows, models, measures)),
	}
	if f, ok := modelsFigure(doc, rows, models); ok {
		blocks = append(blocks, drawing(f))
	}
	var tables []block
	const perTable = maxColumns - 1
	for start := 0; start < len(measures); start += perTable {
		group := measures[start:min(start+perTable, len(measures))]
		tables = append(tables, tabular(modelTable(doc, rows, models, group)))
	}
	if len(models) > manyModels {
		blocks = append(blocks, fold(words(fmt.Sprintf("All %d models, one row each", len(models))), tables...))
	} else {
		blocks = append(blocks, tables...)
	}
	return append(blocks, paragraph(words("Cells hold the relative effect and its interval in percent; bold marks an interval that excludes zero.")))
}

// rowIndex finds rows by scope and metric id.
type rowIndex map[[2]string]stats.Estimate

func newRowIndex(doc Document) rowIndex {
	index := rowIndex{}
	for _, e := range doc.Metrics {
		index[[2]string{e.Scope, e.ID}] = e
	}
	return index
}

func (index rowIndex) of(model, metric string) (stats.Estimate, bool) {
	e, ok := index[[2]string{scopeModelPrefix + model, metric}]
	return e, ok
}

// modelMeasures returns the measures that at least one model has a row of, in report order.
func modelMeasures(doc Document, rows rowIndex, models []string) []measure {
	var out []measure
	for _, published := range []bool{true, false} {
		for _, r := range overallRows(doc, published) {
			for _, model := range models {
				if e, ok := rows.of(model, r.measure.ID); ok && e.Verdict != stats.VerdictNotMeasurable {
					out = append(out, r.measure)
					break
				}
			}
		}
	}
	return out
}

// modelSummary counts the models by verdict and names the extremes.
func modelSummary(doc Document, rows rowIndex, models []string, measures []measure) table {
	t := columns("Measure", ">Better", ">Worse", ">Not detected", ">Not measurable", "Lowest effect", "Highest effect")
	for _, m := range measures {
		var better, worse, none, unknown int
		var lowest, highest *stats.Estimate
		for _, model := range models {
			e, ok := rows.of(model, m.ID)
			if !ok {
				unknown++
				continue
			}
			switch e.Verdict {
			case stats.VerdictBetter, stats.VerdictHigher:
				better++
			case stats.VerdictWorse, stats.VerdictLower:
				worse++
			case stats.VerdictNone:
				none++
			default:
				unknown++
			}
			if x := e.Relative.Estimate; x != nil {
				if lowest == nil || *x < *lowest.Relative.Estimate {
					lowest = &e
				}
				if highest == nil || *x > *highest.Relative.Estimate {
					highest = &e
				}
			}
		}
		title := m.Title
		if m.Better == 0 {
			title += " (higher, lower)"
		}
		t.row(words(title), number(better), number(worse), number(none), number(unknown), extreme(doc, lowest), extreme(doc, highest))
	}
	return t
}

func number(n int) text { return words(strconv.Itoa(n)) }

func extreme(doc Document, e *stats.Estimate) text {
	if e == nil {
		return words(notKnown)
	}
	effect := e.Relative
	return sentence("{} {}", name(e.Scope[len(scopeModelPrefix):]), signed(100**effect.Estimate, relativeDecimals(effect))+"%")
}

// modelTable has one row for each model and one column for each measure.
func modelTable(doc Document, rows rowIndex, models []string, measures []measure) table {
	headings := []string{"Model"}
	for _, m := range measures {
		headings = append(headings, ">"+m.Title)
	}
	t := columns(headings...)
	for _, model := range models {
		cells := []text{name(model)}
		for _, m := range measures {
			e, ok := rows.of(model, m.ID)
			if !ok {
				cells = append(cells, words(notKnown))
				continue
			}
			cells = append(cells, effectCell(doc, e))
		}
		t.row(cells...)
	}
	return t
}

// effectCell prints a relative effect and its interval, in bold when it was detected.
func effectCell(doc Document, e stats.Estimate) text {
	estimate, interval := compact(e.Relative)
	t := words(estimate)
	if detected(e.Verdict) {
		t = bold(estimate)
	}
	if interval != "" {
		t = append(t, words(" "+interval)...)
	}
	return t
}
