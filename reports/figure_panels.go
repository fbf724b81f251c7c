package reports

import (
	"image/color"
	"time"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one plot of a figure that stacks several.
type panel struct {
	title string
	plot  *plot.Plot
}

const (
	panelHeight = 118.0 // points, title and axis included
	stackMargin = 52.0  // heading and legend
)

// stackHeight returns the height of a figure of n panels.
func stackHeight(n int) float64 { return stackMargin + float64(n)*panelHeight }

// drawStack draws panels below each other, their axes aligned, with one legend at the foot.
func drawStack(c draw.Canvas, heading string, panels []panel, marks []mark) {
	c = titled(c, heading)
	legend(c, c.Min.X+8, c.Min.Y+12, marks)
	area := draw.Crop(c, 8, -10, 24, 0)
	var plots [][]*plot.Plot
	for _, p := range panels {
		plots = append(plots, []*plot.Plot{p.plot})
	}
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadTop: 15, PadY: 22}
	caption := lettering(9, ink, draw.XLeft, draw.YBottom)
	caption.Font.Weight = font.WeightBold
	for i, row := range plot.Align(plots, tiles, area) {
		panels[i].plot.Draw(row[0])
		c.FillText(caption, vg.Point{X: c.Min.X + 8, Y: row[0].Max.Y + 4}, panels[i].title)
	}
}

// plotFunc is a plotter made of a function.
type plotFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements plot.Plotter.
func (f plotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// gridlines draws a faint line at each mark of the vertical axis.
func gridlines(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(line(rule, 0.5), c.Min.X, y(t.Value), c.Max.X, y(t.Value))
	}
}

// rectangle fills a rectangle, cut to the canvas.
func rectangle(c draw.Canvas, fill color.Color, x0, y0, x1, y1 vg.Length) {
	x0, x1 = max(x0, c.Min.X), min(x1, c.Max.X)
	y0, y1 = max(y0, c.Min.Y), min(y1, c.Max.Y)
	if x0 >= x1 || y0 >= y1 {
		return
	}
	c.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// hours returns a time as hours since start.
func hours(start, t time.Time) float64 { return t.Sub(start).Hours() }

// dayTicks marks an axis of hours since start at midnights, UTC.
type dayTicks struct{ start time.Time }

// Ticks returns a mark for each midnight, labelled so that labels do not touch.
func (d dayTicks) Ticks(lo, hi float64) []plot.Tick {
	const most = 8
	every := 1 + int((hi-lo)/24)/(most+1)
	var ticks []plot.Tick
	first := d.start.UTC().Truncate(24 * time.Hour)
	for i, t := 0, first; hours(d.start, t) <= hi+1e-9; i, t = i+1, t.AddDate(0, 0, 1) {
		if x := hours(d.start, t); x >= lo-1e-9 {
			tick := plot.Tick{Value: x}
			if i%every == 0 {
				tick.Label = t.Format("Jan 2")
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// extent is a range that grows with what it must hold.
type extent struct {
	lo, hi float64
	any    bool
}

func (s *extent) hold(x float64) {
	if !s.any {
		s.lo, s.hi, s.any = x, x, true
		return
	}
	s.lo, s.hi = min(s.lo, x), max(s.hi, x)
}

// roomy returns the range with a twelfth of room at both ends.
func (s extent) roomy() (lo, hi float64) {
	room := (s.hi - s.lo) / 12
	if room == 0 {
		room = max(s.hi, -s.hi) / 10
	}
	if room == 0 {
		room = 1
	}
	return s.lo - room, s.hi + room
}
