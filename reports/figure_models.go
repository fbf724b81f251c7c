package reports

import (
	"fmt"
	"sort"

	"golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"switchback/stats"
)

// modelsFigure shows the featured measures model by model, the models sorted by the effect on the first measure.
func modelsFigure(doc Document, rows rowIndex, models []string) (figure, bool) {
	has := func(id string) bool {
		for _, model := range models {
			if e, ok := rows.of(model, id); ok && e.Relative.Estimate != nil {
				return true
			}
		}
		return false
	}
	measures := doc.featured(has)
	if len(measures) == 0 {
		return figure{}, false
	}
	sorted := append([]string{}, models...)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := modelEffect(doc, rows, sorted[i], measures[0].ID), modelEffect(doc, rows, sorted[j], measures[0].ID)
		switch {
		case a == nil || b == nil:
			return a != nil
		default:
			return *a < *b
		}
	})
	rowHeight, size := 15.0, 8.5
	if len(models) > manyModels {
		rowHeight, size = 10, 7
	}
	var titles []text
	for _, m := range measures {
		titles = append(titles, words(m.Title))
	}
	return figure{
		name: "models", width: figureWidth, height: 92 + rowHeight*float64(len(models)),
		alt: fmt.Sprintf("Relative effects with %s intervals on %s in each of %s; the tables by model hold the same numbers.",
			doc.level(), series(titles), count(int64(len(models)), "model", "models")),
		draw: func(c draw.Canvas) { drawModels(c, doc, rows, sorted, measures, size) },
	}, true
}

func modelEffect(doc Document, rows rowIndex, model, id string) *float64 {
	e, _ := rows.of(model, id)
	return e.Relative.Estimate
}

// drawModels draws one forest plot for each measure beside each other, the model names on the left.
func drawModels(c draw.Canvas, doc Document, rows rowIndex, models []string, measures []measure, size float64) {
	c = titled(c, "Relative effects and "+doc.level()+" intervals, model by model")
	label := lettering(size, ink, draw.XRight, draw.YCenter)
	names := vg.Length(40)
	for _, model := range models {
		names = max(names, label.Width(clip(clean(model), 40)))
	}
	const gap, top, bottom = 12, 18, 44
	left := c.Min.X + 8 + names + 8
	width := (c.Max.X - 10 - left - gap*vg.Length(len(measures)-1)) / vg.Length(len(measures))
	low, high := c.Min.Y+bottom, c.Max.Y-top
	step := (high - low) / vg.Length(len(models))
	level := func(i int) vg.Length { return high - step*(vg.Length(i)+0.5) }
	for i, model := range models {
		beside(c, label, vg.Point{X: left - 8, Y: level(i)}, clip(clean(model), 40))
	}
	seen := []effectLine{}
	free := c.Min.X // where the next label of an axis may begin, also beside the panel before
	for k, m := range measures {
		x0 := left + vg.Length(k)*(width+gap)
		var effects []stats.Effect
		for _, model := range models {
			e, _ := rows.of(model, m.ID)
			effects = append(effects, e.Relative)
		}
		lo, hi := cappedRange(effects)
		x := func(v float64) vg.Length { return x0 + width*vg.Length((v-lo)/(hi-lo)) }
		caption := lettering(8.5, ink, draw.XLeft, draw.YBottom)
		caption.Font.Weight = font.WeightBold
		c.FillText(caption, vg.Point{X: x0, Y: high + 4}, clipTo(caption.Width, m.Title, width+gap-4))
		tick := lettering(7.5, ink, draw.XCenter, draw.YTop)
		for _, t := range (percentTicks{2}).Ticks(lo, hi) {
			c.StrokeLine2(line(rule, 0.5), x(t.Value), low, x(t.Value), high)
			if half := tick.Width(t.Label) / 2; x(t.Value)-half > free {
				c.FillText(tick, vg.Point{X: x(t.Value), Y: low - 3}, t.Label)
				free = x(t.Value) + half + 5
			}
		}
		c.StrokeLine2(line(faint, 0.5), x0, low, x0+width, low)
		c.StrokeLine2(line(ink, 0.8), x(0), low, x(0), high)
		for i, model := range models {
			e, ok := rows.of(model, m.ID)
			effect := e.Relative
			if !ok || effect.Estimate == nil {
				continue
			}
			r := effectLine{effect: effect, verdict: e.Verdict}
			seen = append(seen, r)
			glyph := markOf(e.Verdict).glyph
			glyph.Radius = 2.6
			drawLevel(c, x, level(i), lo, hi, r, glyph)
		}
	}
	legend(c, c.Min.X+8, c.Min.Y+12, marksOf(seen))
}

// clipTo cuts a string until it is no wider than room.
func clipTo(width func(string) vg.Length, s string, room vg.Length) string {
	for n := len([]rune(s)); n > 3 && width(s) > room; n-- {
		s = clip(s, n)
	}
	return s
}
