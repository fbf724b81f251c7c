package reports

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"switchback/stats"
)

// effectLine is one row of a forest plot.
type effectLine struct {
	label   string
	effect  stats.Effect
	verdict string
	words   string // beside the row, "" for none
}

// effectsFigure shows the relative effects of the published measures with their intervals. It is left out when there are none.
func effectsFigure(doc Document, rows []shownRow) (figure, bool) {
	var drawn []effectLine
	var said []string
	for _, r := range rows {
		effect := r.Relative
		if effect.Estimate == nil {
			continue
		}
		estimate, interval := r.relative(effect)
		drawn = append(drawn, effectLine{r.Title, effect, r.Verdict, estimate})
		said = append(said, fmt.Sprintf("%s %s (%s)", r.Title, estimate, interval))
	}
	if len(drawn) == 0 {
		return figure{}, false
	}
	f := figure{
		name:   "effects",
		width:  figureWidth,
		height: 74 + 21*float64(len(drawn)),
		alt: fmt.Sprintf("Relative effects of %s against %s with %s intervals, the numbers of the table above: %s.",
			clean(doc.Arms.Treatment), clean(doc.Arms.Control), doc.level(), strings.Join(said, "; ")),
	}
	heading := fmt.Sprintf("%s against %s: relative effects and %s intervals", clip(clean(doc.Arms.Treatment), 30), clip(clean(doc.Arms.Control), 30), doc.level())
	f.draw = func(c draw.Canvas) { drawForest(c, heading, drawn) }
	return f, true
}

// drawForest draws one line for each effect: label, interval, point, words. Zero is marked, and the marks are explained below.
func drawForest(c draw.Canvas, heading string, rows []effectLine) {
	c = titled(c, heading)
	p := newPlot()
	p.X.Min, p.X.Max = effectRange(rows)
	p.X.Tick.Marker = percentTicks{4}
	p.Y.Min, p.Y.Max = -0.6, float64(len(rows))-0.4
	var ticks plot.ConstantTicks
	for i, r := range rows {
		ticks = append(ticks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: clip(r.label, 40)})
	}
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Length = 0
	p.Y.Width = 0
	p.Y.Padding = 4
	p.X.Padding = 0
	p.Add(forest{rows})

	right := vg.Length(10)
	side := lettering(9, ink, draw.XLeft, draw.YCenter)
	for _, r := range rows {
		right = max(right, side.Width(r.words)+14)
	}
	area := draw.Crop(c, 6, -right, 20, -6)
	p.Draw(area)
	data := p.DataCanvas(area)
	_, y := p.Transforms(&data)
	for i, r := range rows {
		side.Color = ink
		if !detected(r.verdict) {
			side.Color = grey
		}
		beside(c, side, vg.Point{X: data.Max.X + 8, Y: y(float64(len(rows) - 1 - i))}, r.words)
	}
	legend(c, data.Min.X, c.Min.Y+10, marksOf(rows))
}

// marksOf returns the marks that occur, in a fixed order.
func marksOf(rows []effectLine) []mark {
	var marks []mark
	for _, v := range []string{stats.VerdictBetter, stats.VerdictWorse, stats.VerdictHigher, stats.VerdictNone} {
		for _, r := range rows {
			if markOf(r.verdict) == markOf(v) {
				marks = append(marks, markOf(v))
				break
			}
		}
	}
	return marks
}

// largestShown is the largest relative effect that an axis reaches; longer intervals end in an arrow.
const largestShown = 3

// effectRange returns an axis that holds zero and all ends, with a little room.
func effectRange(rows []effectLine) (lo, hi float64) {
	for _, r := range rows {
		for _, x := range []*float64{r.effect.Estimate, r.effect.Lo, r.effect.Hi} {
			if x != nil {
				lo, hi = min(lo, max(*x, -1)), max(hi, min(*x, largestShown))
			}
		}
	}
	room := 0.04 * (hi - lo)
	if room == 0 {
		room = 0.01
	}
	return lo - room, hi + room
}

// forest draws the intervals and points of its rows, the first row on top.
type forest struct{ rows []effectLine }

// Plot implements plot.Plotter.
func (f forest) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i := range f.rows {
		level := y(float64(i))
		c.StrokeLine2(line(color.NRGBA{0xef, 0xef, 0xef, 0xff}, 0.5), c.Min.X, level, c.Max.X, level)
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(line(rule, 0.5), x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
	}
	c.StrokeLine2(line(ink, 1), x(0), c.Min.Y, x(0), c.Max.Y)
	for i, r := range f.rows {
		drawLevel(c, x, y(float64(len(f.rows)-1-i)), p.X.Min, p.X.Max, r, markOf(r.verdict).glyph)
	}
}

// drawLevel draws one interval and its point on a horizontal line; what lies beyond the axis ends in an arrow.
func drawLevel(c draw.Canvas, x func(float64) vg.Length, level vg.Length, lo, hi float64, r effectLine, glyph draw.GlyphStyle) {
	if r.effect.Lo != nil && r.effect.Hi != nil {
		from, to := clamp(*r.effect.Lo, lo, hi), clamp(*r.effect.Hi, lo, hi)
		sty := line(glyph.Color, float64(glyph.Radius)*0.45)
		half := glyph.Radius * 0.75
		c.StrokeLine2(sty, x(from), level, x(to), level)
		endOf(c, sty, x(from), level, half, *r.effect.Lo < lo, -1)
		endOf(c, sty, x(to), level, half, *r.effect.Hi > hi, +1)
	}
	if e := r.effect.Estimate; e != nil && *e >= lo && *e <= hi {
		c.DrawGlyphNoClip(glyph, vg.Point{X: x(*e), Y: level})
	}
}

// endOf ends an interval: a bar, or an arrow when the interval goes on beyond the axis.
func endOf(c draw.Canvas, sty draw.LineStyle, x, y, half vg.Length, beyond bool, side vg.Length) {
	if beyond {
		c.StrokeLines(sty, []vg.Point{{X: x - side*4, Y: y + half}, {X: x, Y: y}, {X: x - side*4, Y: y - half}})
		return
	}
	c.StrokeLine2(sty, x, y-half, x, y+half)
}

func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }

// cappedRange returns an axis that holds zero and all estimates, and of the intervals as much as does not squash the rest.
func cappedRange(effects []stats.Effect) (lo, hi float64) {
	for _, e := range effects {
		if e.Estimate != nil {
			lo, hi = min(lo, max(*e.Estimate, -1)), max(hi, min(*e.Estimate, largestShown))
		}
	}
	reach := max(hi-lo, 0.04)
	least, most := lo-reach, hi+reach
	for _, e := range effects {
		if e.Lo != nil && e.Hi != nil {
			lo, hi = min(lo, max(*e.Lo, least)), max(hi, min(*e.Hi, most))
		}
	}
	room := 0.05 * (hi - lo)
	if room == 0 {
		room = 0.01
	}
	return lo - room, hi + room
}
