package reports

import (
	"fmt"
	"image/color"
	"sort"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// timelineRow is one line of the timeline: a day, or a model that has a schedule of its own.
type timelineRow struct {
	label  string
	start  time.Time // left end
	blocks []BlockPoint
}

var (
	controlFill   = color.NRGBA{0xc4, 0xc4, 0xc4, 0xff}
	treatmentFill = color.NRGBA{0x8f, 0xcd, 0xb8, 0xff}
)

// timelineFigure shows which arm ran when, with the burn-in hatched and blocks without rows left open.
func timelineFigure(doc Document) figure {
	rows, width := timelineRows(doc)
	rowHeight := 15.0
	if len(rows) > 40 {
		rowHeight = 10
	}
	missing := 0
	for _, b := range doc.Blocks {
		if b.Rows == 0 {
			missing++
		}
	}
	f := figure{
		name: "timeline", width: figureWidth, height: 78 + rowHeight*float64(len(rows)),
		alt: fmt.Sprintf("Timeline of %s: which of the arms %s and %s ran when, burn-in hatched; %s without rows. The table of blocks holds the same.",
			count(int64(len(doc.Blocks)), "block", "blocks"), clean(doc.Arms.Control), clean(doc.Arms.Treatment), count(int64(missing), "block", "blocks")),
	}
	f.draw = func(c draw.Canvas) { drawTimeline(c, doc, rows, width) }
	return f
}

// timelineRows returns a row for each day, or for each model with a schedule of its own, and the length of a row in hours.
func timelineRows(doc Document) ([]timelineRow, float64) {
	byKey := map[string]*timelineRow{}
	var keys []string
	rowOf := func(key, label string, start time.Time) *timelineRow {
		if byKey[key] == nil {
			byKey[key] = &timelineRow{label: label, start: start}
			keys = append(keys, key)
		}
		return byKey[key]
	}
	first := doc.Window.Start.UTC()
	for _, b := range doc.Blocks {
		if b.Model != "" {
			r := rowOf(b.Model, clip(clean(b.Model), 34), first)
			r.blocks = append(r.blocks, b)
			continue
		}
		for d := b.Starts.UTC().Truncate(24 * time.Hour); d.Before(b.Ends); d = d.AddDate(0, 0, 1) {
			r := rowOf(day(d), d.Format("Mon Jan 2"), d)
			r.blocks = append(r.blocks, b)
		}
	}
	sort.Strings(keys)
	var rows []timelineRow
	for _, k := range keys {
		rows = append(rows, *byKey[k])
	}
	if doc.Design.PerModel {
		return rows, doc.Window.End.Sub(doc.Window.Start).Hours()
	}
	return rows, 24
}

func drawTimeline(c draw.Canvas, doc Document, rows []timelineRow, width float64) {
	c = titled(c, "Which arm ran when (UTC)")
	p := newPlot()
	p.X.Min, p.X.Max = 0, width
	p.X.Tick.Marker = hourTicks{}
	if doc.Design.PerModel {
		p.X.Tick.Marker = dayTicks{doc.Window.Start}
	}
	p.X.Padding, p.Y.Padding = 0, 4
	p.Y.Min, p.Y.Max = -0.5, float64(len(rows))-0.5
	p.Y.Width, p.Y.Tick.Length = 0, 0
	if len(rows) > 40 {
		p.Y.Tick.Label.Font.Size = 7
	}
	var ticks plot.ConstantTicks
	for i, r := range rows {
		ticks = append(ticks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: r.label})
	}
	p.Y.Tick.Marker = ticks
	p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		for i, r := range rows {
			level := float64(len(rows) - 1 - i)
			for _, b := range r.blocks {
				drawBlock(c, b, doc.Arms, func(t time.Time) vg.Length { return x(clamp(hours(r.start, t), 0, width)) }, y(level-.4), y(level+.4))
			}
		}
	}))
	p.Draw(draw.Crop(c, 8, -14, 24, -2))
	box := func(c color.Color, d draw.GlyphDrawer) draw.GlyphStyle {
		return draw.GlyphStyle{Color: c, Radius: 4, Shape: d}
	}
	legend(c, c.Min.X+8, c.Min.Y+12, []mark{
		{"C: " + clip(clean(doc.Arms.Control), 24), box(controlFill, draw.BoxGlyph{})},
		{"T: " + clip(clean(doc.Arms.Treatment), 24), box(treatmentFill, draw.BoxGlyph{})},
		{"burn-in, dropped", box(ink, hatchGlyph{})},
		{"no rows", box(red, draw.SquareGlyph{})},
	})
}

// drawBlock draws one block from its start to its end, the burn-in hatched, the arm's letter in the middle.
func drawBlock(c draw.Canvas, b BlockPoint, arms Arms, x func(time.Time) vg.Length, bottom, top vg.Length) {
	x0, x1 := x(b.Starts)+0.4, x(b.Ends)-0.4
	if x1 <= x0 {
		return
	}
	letter, fill := "C", controlFill
	if b.Arm == arms.Treatment {
		letter, fill = "T", treatmentFill
	}
	if b.Rows == 0 {
		c.StrokeLines(line(red, 0.8), []vg.Point{{X: x0, Y: bottom}, {X: x1, Y: bottom}, {X: x1, Y: top}, {X: x0, Y: top}, {X: x0, Y: bottom}})
	} else {
		rectangle(c, fill, x0, bottom, x1, top)
		hatch(c, x0, bottom, min(x(b.BurnInEnds), x1), top)
	}
	size := 8.0
	if top-bottom < 9 {
		size = 6
	}
	if x1-x0 > vg.Length(size) {
		beside(c, lettering(size, ink, draw.XCenter, draw.YCenter), vg.Point{X: (max(x(b.BurnInEnds), x0) + x1) / 2, Y: (bottom + top) / 2}, letter)
	}
}

// hatch whitens a rectangle and draws slanted lines over it.
func hatch(c draw.Canvas, x0, y0, x1, y1 vg.Length) {
	if x1 <= x0 {
		return
	}
	rectangle(c, color.NRGBA{0xff, 0xff, 0xff, 0xa0}, x0, y0, x1, y1)
	h := y1 - y0
	for x := x0 - h; x < x1; x += 4 {
		from, to := vg.Point{X: x, Y: y0}, vg.Point{X: x + h, Y: y1}
		if from.X < x0 {
			from = vg.Point{X: x0, Y: y0 + x0 - x}
		}
		if to.X > x1 {
			to = vg.Point{X: x1, Y: y0 + x1 - x}
		}
		c.StrokeLine2(line(faint, 0.4), from.X, from.Y, to.X, to.Y)
	}
}

// hatchGlyph is a hatched box for legends.
type hatchGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (hatchGlyph) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	draw.SquareGlyph{}.DrawGlyph(c, draw.GlyphStyle{Color: faint, Radius: sty.Radius}, at)
	r := sty.Radius
	for _, d := range []vg.Length{-r, 0, r} {
		c.StrokeLine2(line(faint, 0.4), at.X+max(-r, -r+d), at.Y+max(-r, -r-d), at.X+min(r, r+d), at.Y+min(r, r-d))
	}
}

// hourTicks marks a day's axis every three hours.
type hourTicks struct{}

// Ticks returns a mark every three hours, every sixth labelled.
func (hourTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for h := 0; float64(h) <= hi; h += 3 {
		ticks = append(ticks, plot.Tick{Value: float64(h), Label: fmt.Sprintf("%02d:00", h)})
	}
	return ticks
}
