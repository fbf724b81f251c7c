package reports

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// comparison sets this report beside another one.
func comparison(doc Document) []block {
	c := doc.Comparison
	if c == nil || len(c.Rows) == 0 {
		return nil
	}
	blocks := []block{
		heading("Against another report"),
		paragraph(sentence("There: experiment {}, {}, {} against {}, seed {}, {} intervals. "+
			"The two reports may share requests, so “moved” has no interval of its own.",
			name(c.Experiment), clean(c.ReportDate), name(c.Arms.Treatment), name(c.Arms.Control), fmt.Sprint(c.Seed), percentOf(c.Confidence))),
		drawing(compareFigure(doc, c)),
		tabular(compareTable(doc, c)),
	}
	if len(c.Different) > 0 {
		var items []text
		for _, d := range c.Different {
			items = append(items, words(oneLine(d)))
		}
		blocks = append(blocks, paragraph(words("What else differs between the two:")), bullets(items))
	}
	return blocks
}

func compareTable(doc Document, c *Comparison) table {
	t := columns("Measure", ">Here", ">"+doc.level()+" interval", ">There", ">"+percentOf(c.Confidence)+" interval", ">Moved")
	for _, r := range c.Rows {
		m := measureOf(r.Metric, "")
		here, hereInterval := m.relative(r.Here)
		there, thereInterval := m.relative(r.There)
		moved := notKnown
		if r.Here.Estimate != nil && r.There.Estimate != nil {
			x := 100 * (*r.Here.Estimate - *r.There.Estimate)
			moved = signed(x, relativeDecimals(r.Here)) + " pt"
		}
		t.row(words(m.Title), verdictText(here, r.Verdict), words(hereInterval), verdictText(there, r.VerdictThere), words(thereInterval), words(moved))
	}
	return t
}

// verdictText sets a detected effect in bold.
func verdictText(s, verdict string) text {
	if detected(verdict) {
		return bold(s)
	}
	return words(s)
}

func compareFigure(doc Document, c *Comparison) figure {
	var rows []ComparisonRow
	for _, r := range c.Rows {
		if r.Here.Estimate != nil || r.There.Estimate != nil {
			rows = append(rows, r)
		}
	}
	return figure{
		name: "compare", width: figureWidth, height: 74 + 24*float64(max(len(rows), 1)),
		alt:  fmt.Sprintf("Relative effects with their intervals in this report and in that of %s, %s; the table below holds the same numbers.", clean(c.Experiment), clean(c.ReportDate)),
		draw: func(cv draw.Canvas) { drawComparison(cv, doc, c, rows) },
	}
}

func drawComparison(c draw.Canvas, doc Document, other *Comparison, rows []ComparisonRow) {
	c = titled(c, "Relative effects here and there")
	here := mark{"here: " + clip(clean(doc.Experiment), 28) + ", " + doc.ReportDate, draw.GlyphStyle{Color: blue, Radius: 3, Shape: draw.CircleGlyph{}}}
	there := mark{"there: " + clip(clean(other.Experiment), 28) + ", " + clip(clean(other.ReportDate), 12), draw.GlyphStyle{Color: grey, Radius: 2.8, Shape: draw.BoxGlyph{}}}
	p := newPlot()
	var ticks plot.ConstantTicks
	var lines []effectLine
	for i, r := range rows {
		ticks = append(ticks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: measureOf(r.Metric, "").Title})
		lines = append(lines, effectLine{effect: r.Here}, effectLine{effect: r.There})
	}
	p.Y.Min, p.Y.Max = -0.6, float64(len(rows))-0.4
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Width = ticks, 0, 0
	p.X.Min, p.X.Max = effectRange(lines)
	p.X.Tick.Marker, p.X.Padding = percentTicks{4}, 0
	p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			c.StrokeLine2(line(rule, 0.5), x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
		c.StrokeLine2(line(ink, 1), x(0), c.Min.Y, x(0), c.Max.Y)
		for i, r := range rows {
			level := float64(len(rows) - 1 - i)
			drawLevel(c, x, y(level+.17), p.X.Min, p.X.Max, effectLine{effect: r.Here}, here.glyph)
			drawLevel(c, x, y(level-.17), p.X.Min, p.X.Max, effectLine{effect: r.There}, there.glyph)
		}
	}))
	p.Draw(draw.Crop(c, 6, -16, 24, -4))
	legend(c, c.Min.X+8, c.Min.Y+12, []mark{here, there})
}

// nights shows how the estimates moved from report to report.
func nights(doc Document) []block {
	dates := historyDates(doc)
	measures := doc.featured(func(id string) bool { return historyHas(doc, id) })
	if len(dates) < 2 || len(measures) == 0 {
		return nil
	}
	var titles []text
	for _, m := range measures {
		titles = append(titles, words(m.Title))
	}
	f := figure{
		name: "history", width: figureWidth, height: stackHeight(len(measures)),
		alt: fmt.Sprintf("Relative effect on %s with its interval, report by report from %s to %s; the table below holds the same numbers.",
			series(titles), dates[0], dates[len(dates)-1]),
		draw: func(c draw.Canvas) {
			var panels []panel
			for _, m := range measures {
				panels = append(panels, panel{m.Title, historyPlot(doc, m, dates)})
			}
			drawStack(c, "How the estimates moved, report by report", panels, historyMarks())
		},
	}
	return []block{heading("Night by night"), drawing(f), tabular(historyTable(doc, measures, dates))}
}

func historyMarks() []mark {
	return []mark{
		{"final", draw.GlyphStyle{Color: blue, Radius: 3, Shape: draw.CircleGlyph{}}},
		{"provisional", draw.GlyphStyle{Color: blue, Radius: 3.2, Shape: openCircle{}}},
		{"incomplete", draw.GlyphStyle{Color: red, Radius: 3.2, Shape: draw.PyramidGlyph{}}},
	}
}

// historyDates returns the report dates of the history, each once, sorted.
func historyDates(doc Document) []string {
	var dates []string
	for _, h := range doc.History {
		dates = append(dates, h.ReportDate)
	}
	slices.Sort(dates)
	return slices.Compact(dates)
}

func historyHas(doc Document, id string) bool {
	for _, h := range doc.History {
		if h.Metric == id && h.Relative.Estimate != nil {
			return true
		}
	}
	return false
}

func historyAt(doc Document, date, id string) (HistoryPoint, bool) {
	for _, h := range doc.History {
		if h.ReportDate == date && h.Metric == id {
			return h, true
		}
	}
	return HistoryPoint{}, false
}

func historyTable(doc Document, measures []measure, dates []string) table {
	headings := []string{"Report"}
	for _, m := range measures {
		headings = append(headings, ">"+m.Title)
	}
	t := columns(append(headings, ">Pairs", "State")...)
	for _, date := range dates {
		row := []text{words(date)}
		pairs, state := 0, "final"
		for _, m := range measures {
			h, ok := historyAt(doc, date, m.ID)
			if !ok {
				row = append(row, words(notKnown))
				continue
			}
			pairs, state = max(pairs, h.Pairs), historyState(h)
			estimate, interval := compact(h.Relative)
			row = append(row, lines(words(estimate), words(interval)))
		}
		t.row(append(row, number(pairs), words(state))...)
	}
	return t
}

func historyState(h HistoryPoint) string {
	switch {
	case h.Incomplete && h.Provisional:
		return "provisional, incomplete"
	case h.Incomplete:
		return "incomplete"
	case h.Provisional:
		return "provisional"
	}
	return "final"
}

// historyPlot has one place for each report; places too close to be labelled share a label.
func historyPlot(doc Document, m measure, dates []string) *plot.Plot {
	p := newPlot()
	const most = 10
	every := (len(dates) + most - 1) / most
	var ticks plot.ConstantTicks
	var lines []effectLine
	for i, date := range dates {
		tick := plot.Tick{Value: float64(i)}
		if i%every == 0 {
			tick.Label = date[len("2026-"):]
		}
		ticks = append(ticks, tick)
		if h, ok := historyAt(doc, date, m.ID); ok {
			lines = append(lines, effectLine{effect: h.Relative})
		}
	}
	p.X.Min, p.X.Max = -0.5, math.Max(float64(len(dates))-0.5, 0.5)
	p.X.Tick.Marker, p.X.Padding, p.Y.Padding = ticks, 0, 0
	p.Y.Min, p.Y.Max = effectRange(lines)
	p.Y.Tick.Marker = percentTicks{2}
	marks := historyMarks()
	p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		gridlines(c, p)
		x, y := p.Transforms(&c)
		c.StrokeLine2(line(ink, 0.8), c.Min.X, y(0), c.Max.X, y(0))
		var path []vg.Point
		for i, date := range dates {
			if h, ok := historyAt(doc, date, m.ID); ok && h.Relative.Estimate != nil {
				path = append(path, vg.Point{X: x(float64(i)), Y: y(clamp(*h.Relative.Estimate, p.Y.Min, p.Y.Max))})
			}
		}
		c.StrokeLines(line(faint, 0.6), path)
		for i, date := range dates {
			h, ok := historyAt(doc, date, m.ID)
			if !ok {
				continue
			}
			glyph := marks[0].glyph
			switch {
			case h.Incomplete:
				glyph = marks[2].glyph
			case h.Provisional:
				glyph = marks[1].glyph
			}
			drawUpright(c, x(float64(i)), y, p.Y.Min, p.Y.Max, h.Relative, glyph)
		}
	}))
	return p
}
