package reports

import (
	"fmt"
	"sort"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"switchback/stats"
)

// sinceSwitch shows how the effect grows after a block begins: once the burn-in is over it should be flat.
func sinceSwitch(doc Document) []block {
	measures := doc.featured(func(id string) bool { return len(sincePoints(doc, id)) > 0 })
	if len(measures) == 0 {
		return nil
	}
	var titles []text
	for _, m := range measures {
		titles = append(titles, words(m.Title))
	}
	f := figure{
		name: "since-switch", width: figureWidth, height: stackHeight(len(measures)),
		alt: fmt.Sprintf("Relative effect on %s by minutes since the block began, with %s intervals; the burn-in is shaded. The table below holds the same numbers.",
			series(titles), doc.level()),
		draw: func(c draw.Canvas) {
			var panels []panel
			for _, m := range measures {
				panels = append(panels, panel{m.Title, sincePlot(doc, m)})
			}
			drawStack(c, "Relative effect by minutes since the block began", panels, []mark{
				{"effect in these minutes", draw.GlyphStyle{Color: blue, Radius: 3, Shape: draw.CircleGlyph{}}},
				{"headline estimate (dashed)", draw.GlyphStyle{Color: ink, Radius: 4, Shape: dashGlyph{}}},
				{"burn-in, dropped", draw.GlyphStyle{Color: shade, Radius: 4, Shape: draw.BoxGlyph{}}},
			})
		},
	}
	return []block{
		heading("Since the switch"),
		paragraph(words("An effect that still moves after the burn-in means that one arm's queues, caches or back-offs reach into the other's minutes: " +
			"the estimate is then mostly smaller than the effect of switching for good. These intervals come from leaving out one pair after the other.")),
		drawing(f),
		tabular(sinceTable(doc, measures)),
	}
}

// sincePoints returns a metric's points in the order of time.
func sincePoints(doc Document, id string) []SinceSwitchPoint {
	var points []SinceSwitchPoint
	for _, p := range doc.SinceSwitch {
		if p.Metric == id {
			points = append(points, p)
		}
	}
	sort.SliceStable(points, func(i, j int) bool { return points[i].FromMinute < points[j].FromMinute })
	return points
}

func sinceTable(doc Document, measures []measure) table {
	headings := []string{"Minutes"}
	type key struct{ from, to float64 }
	cells := map[key]map[string]stats.Effect{}
	burnIn := map[key]bool{}
	var keys []key
	for _, m := range measures {
		headings = append(headings, ">"+m.Title)
		for _, p := range sincePoints(doc, m.ID) {
			k := key{p.FromMinute, p.ToMinute}
			if cells[k] == nil {
				cells[k] = map[string]stats.Effect{}
				keys = append(keys, k)
			}
			cells[k][m.ID] = p.Relative
			burnIn[k] = p.InBurnIn
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].from != keys[j].from {
			return keys[i].from < keys[j].from
		}
		return keys[i].to < keys[j].to
	})
	t := columns(headings...)
	for _, k := range keys {
		label := minutes(k.from) + " to " + minutes(k.to)
		if burnIn[k] {
			label += ", burn-in"
		}
		row := []text{words(label)}
		for _, m := range measures {
			estimate, interval := compact(cells[k][m.ID])
			row = append(row, lines(words(estimate), words(interval)))
		}
		t.row(row...)
	}
	return t
}

func minutes(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func sincePlot(doc Document, m measure) *plot.Plot {
	points := sincePoints(doc, m.ID)
	p := newPlot()
	var effects []stats.Effect
	last := 0.0
	for _, pt := range points {
		effects = append(effects, pt.Relative)
		last = max(last, pt.ToMinute)
	}
	overall, _ := doc.overall(m.ID)
	headline := overall.Relative
	if headline.Estimate != nil {
		effects = append(effects, stats.Effect{Estimate: headline.Estimate})
	}
	p.Y.Min, p.Y.Max = cappedRange(effects)
	p.Y.Tick.Marker = percentTicks{2}
	p.X.Min, p.X.Max = 0, last
	p.X.Tick.Marker = minuteTicks{}
	p.X.Padding, p.Y.Padding = 0, 0
	p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		for _, pt := range points {
			if pt.InBurnIn {
				rectangle(c, shade, x(pt.FromMinute), c.Min.Y, x(pt.ToMinute), c.Max.Y)
			}
		}
		gridlines(c, p)
		c.StrokeLine2(line(ink, 0.8), c.Min.X, y(0), c.Max.X, y(0))
		if e := headline.Estimate; e != nil && *e <= p.Y.Max {
			c.StrokeLine2(dashed(ink, 0.8), c.Min.X, y(*e), c.Max.X, y(*e))
		}
		for _, pt := range points {
			drawUpright(c, x((pt.FromMinute+pt.ToMinute)/2), y, p.Y.Min, p.Y.Max, pt.Relative, draw.GlyphStyle{Color: blue, Radius: 3, Shape: draw.CircleGlyph{}})
		}
	}))
	return p
}

// drawUpright draws an estimate with its interval standing upright; what lies beyond the axis ends in an arrow.
func drawUpright(c draw.Canvas, at vg.Length, y func(float64) vg.Length, lo, hi float64, e stats.Effect, glyph draw.GlyphStyle) {
	if e.Lo != nil && e.Hi != nil {
		sty, from, to := line(glyph.Color, 1.2), y(clamp(*e.Lo, lo, hi)), y(clamp(*e.Hi, lo, hi))
		c.StrokeLine2(sty, at, from, at, to)
		if *e.Lo < lo {
			c.StrokeLines(sty, []vg.Point{{X: at - 2, Y: from + 3}, {X: at, Y: from}, {X: at + 2, Y: from + 3}})
		}
		if *e.Hi > hi {
			c.StrokeLines(sty, []vg.Point{{X: at - 2, Y: to - 3}, {X: at, Y: to}, {X: at + 2, Y: to - 3}})
		}
	}
	if e.Estimate != nil && *e.Estimate >= lo && *e.Estimate <= hi {
		c.DrawGlyphNoClip(glyph, vg.Point{X: at, Y: y(*e.Estimate)})
	}
}

// minuteTicks marks an axis of minutes.
type minuteTicks struct{}

// Ticks returns marks every 5, 10, 30 or 60 minutes, whichever gives no more than 13.
func (minuteTicks) Ticks(lo, hi float64) []plot.Tick {
	every := 60.0
	for _, e := range []float64{5, 10, 30, 60, 120, 240} {
		every = e
		if hi/e <= 12 {
			break
		}
	}
	var ticks []plot.Tick
	for m := 0.0; m <= hi+1e-9; m += every {
		ticks = append(ticks, plot.Tick{Value: m, Label: minutes(m) + " min"})
	}
	return ticks
}

// dashGlyph is a short dashed line for legends.
type dashGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (dashGlyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(dashed(sty.Color, 0.8), at.X-sty.Radius-1, at.Y, at.X+sty.Radius+1, at.Y)
}
