package reports

import (
	"fmt"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"switchback/stats"
)

// money shows what speed cost: model by model, hour by hour, and against the cheapest eligible endpoint.
func money(doc Document) []block {
	var blocks []block
	if f, ok := costSpeedFigure(doc); ok {
		blocks = append(blocks, paragraph(words("What the treatment cost against what it brought, one point for each model; the numbers stand in the tables by model.")), drawing(f))
	}
	if len(doc.Spend) > 0 {
		blocks = append(blocks,
			paragraph(words("What the logged requests of each hour cost, burn-in included:")),
			drawing(spendFigure(doc)), tabular(spendTable(doc)),
			fold(words(fmt.Sprintf("All %d hours", len(doc.Spend))), tabular(hourTable(doc))))
	}
	blocks = append(blocks, dearer(doc)...)
	if len(blocks) == 0 {
		return nil
	}
	return append([]block{heading("Cost")}, blocks...)
}

// speedPoint is one model's effects on cost and on speed.
type speedPoint struct {
	label       string
	cost, speed stats.Effect
}

// costSpeedFigure sets the relative effect on cost against that on speed. It is left out without model rows that have both.
func costSpeedFigure(doc Document) (figure, bool) {
	costID, speedID := "cost_per_1k_requests", "throughput_p50"
	rows := newRowIndex(doc)
	var points []speedPoint
	for _, model := range doc.models() {
		cost, okCost := rows.of(model, costID)
		speed, okSpeed := rows.of(model, speedID)
		if c, s := cost.Relative, speed.Relative; okCost && okSpeed && c.Estimate != nil && s.Estimate != nil {
			points = append(points, speedPoint{model, c, s})
		}
	}
	if len(points) == 0 {
		return figure{}, false
	}
	overall := speedPoint{}
	cost, okCost := doc.overall(costID)
	speed, okSpeed := doc.overall(speedID)
	if okCost && okSpeed {
		overall = speedPoint{"all models", cost.Relative, speed.Relative}
	}
	return figure{
		name: "cost-speed", width: figureWidth, height: 330,
		alt: fmt.Sprintf("Relative effect on cost per 1K requests (across) against relative effect on throughput p50 (upwards), one point for each of %s and one for all together. The tables by model hold the same numbers.",
			count(int64(len(points)), "model", "models")),
		draw: func(c draw.Canvas) { drawCostSpeed(c, points, overall) },
	}, true
}

func drawCostSpeed(c draw.Canvas, points []speedPoint, overall speedPoint) {
	c = titled(c, "Cost against speed, model by model")
	p := newPlot()
	var costs, speeds []stats.Effect
	for _, pt := range append(append([]speedPoint{}, points...), overall) {
		costs, speeds = append(costs, pt.cost), append(speeds, pt.speed)
	}
	p.X.Min, p.X.Max = cappedRange(costs)
	p.Y.Min, p.Y.Max = cappedRange(speeds)
	p.X.Tick.Marker, p.Y.Tick.Marker = percentTicks{4}, percentTicks{3}
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Label.Text, p.Y.Label.Text = "Cost per 1K requests", "Throughput p50"
	oneModel := "one model"
	if len(points) <= manyModels {
		oneModel += ", with its intervals"
	}
	model := mark{oneModel, draw.GlyphStyle{Color: blue, Radius: 3, Shape: draw.CircleGlyph{}}}
	all := mark{"all models together", draw.GlyphStyle{Color: red, Radius: 4.5, Shape: draw.BoxGlyph{}}}
	p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		gridlines(c, p)
		x, y := p.Transforms(&c)
		c.StrokeLine2(line(ink, 0.8), x(0), c.Min.Y, x(0), c.Max.Y)
		c.StrokeLine2(line(ink, 0.8), c.Min.X, y(0), c.Max.X, y(0))
		quadrants(c, x(0), y(0))
		faintBlue := blue
		faintBlue.A = 0x50
		for _, pt := range points {
			if len(points) <= manyModels {
				drawCross(c, x, y, p, pt, line(faintBlue, 0.7))
			}
			at := vg.Point{X: x(*pt.cost.Estimate), Y: y(*pt.speed.Estimate)}
			if !c.Contains(at) {
				continue
			}
			c.DrawGlyphNoClip(model.glyph, at)
			if len(points) <= 10 {
				label := pt.label[strings.LastIndexByte(pt.label, '/')+1:]
				c.FillText(lettering(7.5, ink, draw.XLeft, draw.YBottom), at.Add(vg.Point{X: 4, Y: 2}), clip(clean(label), 24))
			}
		}
		if overall.cost.Estimate != nil && overall.speed.Estimate != nil {
			drawCross(c, x, y, p, overall, line(red, 1.6))
			c.DrawGlyph(all.glyph, vg.Point{X: x(*overall.cost.Estimate), Y: y(*overall.speed.Estimate)})
		}
	}))
	p.Draw(draw.Crop(c, 8, -14, 24, -2))
	legend(c, c.Min.X+8, c.Min.Y+12, []mark{model, all})
}

// quadrants names the corners around the point of no difference.
func quadrants(c draw.Canvas, x0, y0 vg.Length) {
	const away = 5
	corner := func(left, top bool, s string) {
		sty := lettering(8, faint, draw.XRight, draw.YBottom)
		at := vg.Point{X: c.Max.X - away, Y: c.Min.Y + away}
		if left {
			sty.XAlign, at.X = draw.XLeft, c.Min.X+away
		}
		if top {
			sty.YAlign, at.Y = draw.YTop, c.Max.Y-away
		}
		room, height := c.Max.X-x0, y0-c.Min.Y
		if left {
			room = x0 - c.Min.X
		}
		if top {
			height = c.Max.Y - y0
		}
		if room > sty.Width(s)+2*away && height > 20 {
			c.FillText(sty, at, s)
		}
	}
	corner(true, true, "cheaper and faster")
	corner(false, true, "dearer and faster")
	corner(true, false, "cheaper and slower")
	corner(false, false, "dearer and slower")
}

// drawCross draws the intervals of both effects through their point, cut at the axes.
func drawCross(c draw.Canvas, x, y func(float64) vg.Length, p *plot.Plot, pt speedPoint, sty draw.LineStyle) {
	cx, cy := x(clamp(*pt.cost.Estimate, p.X.Min, p.X.Max)), y(clamp(*pt.speed.Estimate, p.Y.Min, p.Y.Max))
	if e := pt.cost; e.Lo != nil && e.Hi != nil {
		c.StrokeLine2(sty, x(clamp(*e.Lo, p.X.Min, p.X.Max)), cy, x(clamp(*e.Hi, p.X.Min, p.X.Max)), cy)
	}
	if e := pt.speed; e.Lo != nil && e.Hi != nil {
		c.StrokeLine2(sty, cx, y(clamp(*e.Lo, p.Y.Min, p.Y.Max)), cx, y(clamp(*e.Hi, p.Y.Min, p.Y.Max)))
	}
}

// spendFigure draws a bar for each hour in the colour of its arm; where both arms ran in one hour they share its width.
func spendFigure(doc Document) figure {
	dollars := measureOf("cost_per_1k_requests", "")
	return figure{
		name: "spend", width: figureWidth, height: stackHeight(1) + 20,
		alt: fmt.Sprintf("Spend per hour over time, bars of %s and of %s; the tables below hold the same numbers.", clean(doc.Arms.Control), clean(doc.Arms.Treatment)),
		draw: func(c draw.Canvas) {
			control, treatment := armMarks(doc.Arms)
			treatment.glyph.Shape = draw.BoxGlyph{}
			p := newPlot()
			var most float64
			both := map[time.Time]int{}
			for _, h := range doc.Spend {
				if h.USD != nil {
					most = max(most, *h.USD)
				}
				both[h.Hour]++
			}
			p.Y.Min, p.Y.Max = 0, most*1.06
			if most <= 0 {
				p.Y.Max = 1
			}
			p.Y.Tick.Marker = measureTicks{dollars, 2}
			p.X.Min, p.X.Max = 0, hours(doc.Window.Start, doc.Window.End)
			p.X.Tick.Marker = dayTicks{doc.Window.Start}
			p.X.Padding, p.Y.Padding = 0, 0
			p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
				gridlines(c, p)
				x, y := p.Transforms(&c)
				for _, h := range doc.Spend {
					if h.USD == nil {
						continue
					}
					from, to := hours(doc.Window.Start, h.Hour), hours(doc.Window.Start, h.Hour)+1
					fill := control.glyph.Color
					if h.Arm == doc.Arms.Treatment {
						fill = treatment.glyph.Color
						if both[h.Hour] > 1 {
							from += .5
						}
					} else if both[h.Hour] > 1 {
						to -= .5
					}
					gap := min(0.4, (x(to)-x(from))/8)
					rectangle(c, fill, x(from)+gap, y(0), x(to)-gap, y(*h.USD))
				}
			}))
			drawStack(c, "Spend per hour", []panel{{"USD in each hour (UTC)", p}}, []mark{control, treatment})
		},
	}
}

func spendTable(doc Document) table {
	t := columns("Arm", ">Hours with requests", ">Spend", ">Spend per hour", ">Requests per hour", ">Spend per 1K requests")
	dollars := measureOf("cost_per_1k_requests", "")
	print := func(x float64) text { return words(dollars.level(&x, stats.Effect{}, nil)) }
	for _, arm := range []string{doc.Arms.Control, doc.Arms.Treatment} {
		var usd float64
		var hours, known, requests, paid int64
		for _, h := range doc.Spend {
			if h.Arm != arm || h.Requests == 0 {
				continue
			}
			hours++
			requests += h.Requests
			if h.USD != nil {
				known++
				usd += *h.USD
				paid += h.Requests
			}
		}
		if known == 0 || paid == 0 {
			t.row(name(arm), words(whole(hours)), words(notKnown), words(notKnown), words(notKnown), words(notKnown))
			continue
		}
		t.row(name(arm), words(whole(hours)), print(usd), print(usd/float64(known)), words(whole(requests/hours)), print(1000*usd/float64(paid)))
	}
	return t
}

func hourTable(doc Document) table {
	t := columns("Hour (UTC)", "Arm", ">Spend", ">Requests")
	dollars := measureOf("cost_per_1k_requests", "")
	for _, h := range doc.Spend {
		t.row(words(minuteOf(h.Hour)), name(h.Arm), words(dollars.level(h.USD, stats.Effect{}, nil)), words(whole(h.Requests)))
	}
	return t
}
