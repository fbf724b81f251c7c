package reports

import (
	"fmt"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"switchback/stats"
)

// manyProviders is how many providers the figure shows; the table folds away from there.
const manyProviders = 25

// byProvider shows where the requests went in each arm, and what they met there.
func byProvider(doc Document) []block {
	if len(doc.Providers) == 0 {
		return nil
	}
	rows := append([]ProviderRow{}, doc.Providers...)
	sort.SliceStable(rows, func(i, j int) bool {
		a, b := largerShare(rows[i]), largerShare(rows[j])
		if a != b {
			return a > b
		}
		return rows[i].Provider < rows[j].Provider
	})
	blocks := []block{
		heading("By provider"),
		paragraph(sentence("Each cell reads {} → {}. These are plain numbers over all models, without intervals: they show where the traffic went, not what the switch did.",
			name(doc.Arms.Control), name(doc.Arms.Treatment))),
		drawing(sharesFigure(doc, rows[:min(len(rows), manyProviders)], len(rows))),
	}
	t := tabular(providerTable(rows))
	if len(rows) > manyProviders {
		return append(blocks, fold(words(fmt.Sprintf("All %d providers", len(rows))), t))
	}
	return append(blocks, t)
}

func largerShare(r ProviderRow) float64 {
	larger := 0.0
	for _, s := range []*float64{r.Control.Share, r.Treatment.Share} {
		if s != nil {
			larger = max(larger, *s)
		}
	}
	return larger
}

func providerTable(rows []ProviderRow) table {
	t := columns("Provider", ">Share of requests", ">USD per 1M tokens", ">TTFT p50, ms", ">Throughput p50, tok/s", ">429s per attempt", ">Errors per attempt")
	arrow := func(m measure, control, treatment *float64) text {
		return words(m.level(control, stats.Effect{}, treatment) + " → " + m.level(treatment, stats.Effect{}, control))
	}
	fraction, bare := measure{kind: unitShare}, measure{kind: unitOther}
	for _, r := range rows {
		t.row(name(r.Provider),
			arrow(fraction, r.Control.Share, r.Treatment.Share),
			arrow(measureOf("cost_per_1m_tokens", ""), r.Control.USDPerMTokens, r.Treatment.USDPerMTokens),
			arrow(bare, r.Control.TTFTp50, r.Treatment.TTFTp50),
			arrow(bare, r.Control.ThroughputP50, r.Treatment.ThroughputP50),
			arrow(fraction, r.Control.Rate429, r.Treatment.Rate429),
			arrow(fraction, r.Control.ErrorRate, r.Treatment.ErrorRate))
	}
	return t
}

// sharesFigure draws each provider's share of the requests in both arms, joined by a line.
func sharesFigure(doc Document, rows []ProviderRow, all int) figure {
	title := "Share of requests by provider"
	if all > len(rows) {
		title = fmt.Sprintf("Share of requests, the %d largest of %d providers", len(rows), all)
	}
	return figure{
		name: "providers", width: figureWidth, height: 74 + 15*float64(len(rows)),
		alt: fmt.Sprintf("%s in %s and in %s; the table below holds the same numbers.", title, clean(doc.Arms.Control), clean(doc.Arms.Treatment)),
		draw: func(c draw.Canvas) {
			c = titled(c, title)
			control, treatment := armMarks(doc.Arms)
			p := newPlot()
			var ticks plot.ConstantTicks
			most := 0.0
			for i, r := range rows {
				ticks = append(ticks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: clip(clean(r.Provider), 34)})
				most = max(most, largerShare(r))
			}
			p.Y.Min, p.Y.Max = -0.6, float64(len(rows))-0.4
			p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.Width = ticks, 0, 0
			p.X.Min, p.X.Max = 0, max(most*1.05, 0.01)
			p.X.Tick.Marker = measureTicks{measure{kind: unitShare}, 4}
			p.X.Padding = 0
			p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) { drawShares(c, p, rows, control, treatment) }))
			p.Draw(draw.Crop(c, 8, -16, 24, -4))
			legend(c, c.Min.X+8, c.Min.Y+12, []mark{control, treatment})
		},
	}
}

func drawShares(c draw.Canvas, p *plot.Plot, rows []ProviderRow, control, treatment mark) {
	x, y := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(line(rule, 0.5), x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
	}
	for i, r := range rows {
		level := y(float64(len(rows) - 1 - i))
		a, b := r.Control.Share, r.Treatment.Share
		if a != nil && b != nil {
			c.StrokeLine2(line(faint, 1), x(*a), level, x(*b), level)
		}
		if a != nil {
			c.DrawGlyphNoClip(control.glyph, vg.Point{X: x(*a), Y: level})
		}
		if b != nil {
			c.DrawGlyphNoClip(treatment.glyph, vg.Point{X: x(*b), Y: level})
		}
	}
}
