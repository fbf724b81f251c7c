package reports

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// coverageFigure shows for each measure how often the headline interval held the truth.
func coverageFigure(v Validation) figure {
	return figure{
		name: "coverage", width: figureWidth, height: 78 + 18*float64(len(v.Metrics)),
		alt: fmt.Sprintf("Share of %d simulated experiments whose %s interval holds the true effect, for each measure, with 95%% intervals; the table above holds the same numbers.",
			v.Experiments, percentOf(v.Confidence)),
		draw: func(c draw.Canvas) { drawCoverage(c, v) },
	}
}

func drawCoverage(c draw.Canvas, v Validation) {
	c = titled(c, "How often the "+v.Interval+" "+percentOf(v.Confidence)+" interval holds the true effect")
	label := lettering(9, ink, draw.XRight, draw.YCenter)
	names := vg.Length(40)
	lo := 0.85
	for _, m := range v.Metrics {
		names = max(names, label.Width(measureOf(m.ID, "").Title))
		if s := m.Intervals[0].Covers; s.Lo != nil {
			lo = min(lo, *s.Lo-0.01)
		}
	}
	const top, bottom = 6, 42
	left, right := c.Min.X+8+names+10, c.Max.X-16
	low, high := c.Min.Y+bottom, c.Max.Y-top
	x := func(share float64) vg.Length { return left + (right-left)*vg.Length((share-lo)/(1-lo)) }
	c.FillPolygon(shade, []vg.Point{{X: x(aimCoverLo), Y: low}, {X: x(aimCoverHi), Y: low}, {X: x(aimCoverHi), Y: high}, {X: x(aimCoverLo), Y: high}})
	tick := lettering(8, ink, draw.XCenter, draw.YTop)
	for _, t := range roundTicks(lo, 1, 5, func(x, step float64) string { return fixed(100*x, decimals(100*step, 1, 0)) + "%" }) {
		c.StrokeLine2(line(rule, 0.5), x(t.Value), low, x(t.Value), high)
		c.FillText(tick, vg.Point{X: x(t.Value), Y: low - 4}, t.Label)
	}
	c.StrokeLine2(line(faint, 0.5), left, low, right, low)
	c.StrokeLine2(line(ink, 0.8), x(v.Confidence), low, x(v.Confidence), high)
	step := (high - low) / vg.Length(len(v.Metrics))
	inside, outside := mark{"agrees with 93% to 97% (shaded)", markOf("better").glyph}, mark{"outside", markOf("worse").glyph}
	for i, m := range v.Metrics {
		y := high - step*(vg.Length(i)+0.5)
		beside(c, label, vg.Point{X: left - 10, Y: y}, measureOf(m.ID, "").Title)
		s := m.Intervals[0].Covers
		if s.Share == nil {
			continue
		}
		glyph := inside.glyph
		if s.outside(aimCoverLo, aimCoverHi) {
			glyph = outside.glyph
		}
		glyph.Radius = 3
		c.StrokeLine2(draw.LineStyle{Color: glyph.Color, Width: 1.4}, x(*s.Lo), y, x(*s.Hi), y)
		c.DrawGlyphNoClip(glyph, vg.Point{X: x(*s.Share), Y: y})
	}
	legend(c, c.Min.X+8, c.Min.Y+12, []mark{inside, outside})
}
