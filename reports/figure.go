package reports

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"switchback/stats"
)

// figureWidth is 800 CSS pixels, the width of a README column.
const figureWidth = 600 // points

// Colours after Okabe and Ito 2008, told apart with the common kinds of colour blindness and readable on white.
var (
	ink    = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	faint  = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	rule   = color.NRGBA{0xd8, 0xd8, 0xd8, 0xff}
	blue   = color.NRGBA{0x00, 0x5f, 0x9e, 0xff}
	red    = color.NRGBA{0xc8, 0x4b, 0x00, 0xff}
	grey   = color.NRGBA{0x6b, 0x6b, 0x6b, 0xff}
	purple = color.NRGBA{0x9a, 0x4c, 0x7f, 0xff}
	green  = color.NRGBA{0x00, 0x80, 0x5f, 0xff}
	shade  = color.NRGBA{0xec, 0xec, 0xec, 0xff}
	paper  = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// fontOf returns a sans-serif font; Liberation Sans has the widths of Arial and Helvetica, which viewers without it use.
func fontOf(size float64, weight font.Weight) plotfont.Font {
	return plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: vg.Points(size)}
}

// lettering returns a text style.
func lettering(size float64, c color.Color, x draw.XAlignment, y draw.YAlignment) plottext.Style {
	return plottext.Style{Color: c, Font: fontOf(size, font.WeightNormal), XAlign: x, YAlign: y, Handler: textHandler()}
}

// newPlot returns an empty plot in the report's style: sans-serif, opaque white, thin axes.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = paper
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = fontOf(9, font.WeightNormal)
		axis.Label.TextStyle.Color = faint
		axis.Tick.Label.Font = fontOf(9, font.WeightNormal)
		axis.Tick.Label.Color = ink
		axis.Label.TextStyle.Handler, axis.Tick.Label.Handler = textHandler(), textHandler()
		axis.LineStyle = line(faint, 0.5)
		axis.Tick.LineStyle = line(faint, 0.5)
		axis.Tick.Length = 3
	}
	return p
}

func line(c color.Color, width float64) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(width)}
}

func dashed(c color.Color, width float64) draw.LineStyle {
	s := line(c, width)
	s.Dashes = []vg.Length{3, 2}
	return s
}

// mark is how a verdict is drawn: told apart by colour and by shape.
type mark struct {
	words string
	glyph draw.GlyphStyle
}

func markOf(verdict string) mark {
	glyph := func(c color.Color, d draw.GlyphDrawer) draw.GlyphStyle {
		return draw.GlyphStyle{Color: c, Radius: 4, Shape: d}
	}
	switch verdict {
	case stats.VerdictBetter:
		return mark{"detected better", glyph(blue, draw.CircleGlyph{})}
	case stats.VerdictWorse:
		return mark{"detected worse", glyph(red, draw.PyramidGlyph{})}
	case stats.VerdictHigher, stats.VerdictLower:
		return mark{"detected, neither good nor bad", glyph(purple, draw.BoxGlyph{})}
	}
	return mark{"not detected", glyph(grey, openCircle{})}
}

// openCircle is a ring that hides what lies under it.
type openCircle struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (openCircle) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: sty.Color, Radius: sty.Radius, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: paper, Radius: sty.Radius * 0.62, Shape: draw.CircleGlyph{}}, at)
}

// armMarks returns how the two arms are drawn: told apart by colour and by shape.
func armMarks(arms Arms) (control, treatment mark) {
	control = mark{clip(clean(arms.Control), 30) + " (control)", draw.GlyphStyle{Color: grey, Radius: 2.6, Shape: draw.BoxGlyph{}}}
	treatment = mark{clip(clean(arms.Treatment), 30) + " (treatment)", draw.GlyphStyle{Color: green, Radius: 3, Shape: draw.CircleGlyph{}}}
	return control, treatment
}

// legend draws marks with their words in one row, from the left.
func legend(c draw.Canvas, x, y vg.Length, marks []mark) {
	sty := lettering(9, ink, draw.XLeft, draw.YCenter)
	for _, m := range marks {
		c.DrawGlyphNoClip(m.glyph, vg.Point{X: x + 4, Y: y})
		beside(c, sty, vg.Point{X: x + 13, Y: y}, m.words)
		x += 13 + sty.Width(m.words) + 16
	}
}

// beside draws words whose middle is level with a mark. Centred text of this font sits a little low by its metrics.
func beside(c draw.Canvas, sty plottext.Style, at vg.Point, words string) {
	at.Y += sty.Font.Size / 8
	c.FillText(sty, at, words)
}

// titled paints the whole canvas, so that the figure reads on dark pages too, writes the title, and returns the room below it.
func titled(c draw.Canvas, title string) draw.Canvas {
	c.SetColor(paper)
	c.Fill(c.Path())
	sty := lettering(11, ink, draw.XLeft, draw.YTop)
	sty.Font.Weight = font.WeightBold
	c.FillText(sty, vg.Point{X: c.Min.X + 8, Y: c.Max.Y - 6}, clipTo(sty.Width, title, c.Max.X-c.Min.X-16))
	return draw.Crop(c, 0, 0, 0, -24)
}

// percentTicks marks a percent axis whose values are fractions, in about so many parts.
type percentTicks struct{ parts int }

// Ticks returns labelled marks at round percentages.
func (t percentTicks) Ticks(lo, hi float64) []plot.Tick {
	return roundTicks(lo, hi, t.parts, func(x, step float64) string { return signed(100*x, decimals(100*step, 1, 0)) + "%" })
}

// measureTicks marks an axis of a measure's levels.
type measureTicks struct {
	measure
	parts int
}

// Ticks returns labelled marks at round levels.
func (t measureTicks) Ticks(lo, hi float64) []plot.Tick {
	scale := t.scale()
	ticks := roundTicks(lo*scale, hi*scale, t.parts, func(x, step float64) string {
		d := decimals(step, 1, 0)
		if d > 0 {
			d = t.money(d, step)
		}
		return t.withUnit(fixed(x, d))
	})
	for i := range ticks {
		ticks[i].Value /= scale
	}
	return ticks
}

// roundTicks returns marks at the multiples of a round step.
func roundTicks(lo, hi float64, parts int, label func(x, step float64) string) []plot.Tick {
	var ticks []plot.Tick
	step := roundStep(hi-lo, parts)
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+1e-9*step; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label(k*step, step)})
	}
	return ticks
}

// roundStep returns a step of 1, 2 or 5 times a power of ten that divides a span into at least so many parts, and fewer than 2.5 times as many.
func roundStep(span float64, parts int) float64 {
	if span <= 0 || parts < 1 {
		return 1
	}
	target := span / float64(parts)
	base := math.Pow(10, math.Floor(math.Log10(target)+1e-9))
	for _, f := range []float64{5, 2} {
		if f*base <= target*(1+1e-9) {
			return f * base
		}
	}
	return base
}

// svg renders a figure as SVG.
func (f figure) svg() ([]byte, error) {
	canvas := vgsvg.New(vg.Length(f.width), vg.Length(f.height))
	f.draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("render %s.svg: %w", f.name, err)
	}
	// Viewers without the Liberation fonts get one of the same widths; readers that do not see get the words.
	b := bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	return bytes.Replace(b, []byte("<svg "), []byte(`<svg role="img" aria-label="`+html.EscapeString(f.alt)+`" `), 1), nil
}

// pngDPI makes a figure 1600 pixels wide, sharp at twice the width of its place.
const pngDPI = 192

// png renders a figure as PNG.
func (f figure) png() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(f.width), vg.Length(f.height)), vgimg.UseDPI(pngDPI))
	f.draw(draw.New(boxing{canvas}))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil, fmt.Errorf("render %s.png: %w", f.name, err)
	}
	return out.Bytes(), nil
}
