package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Power says how small an effect an experiment of some length detects, measure by measure.
type Power struct {
	Source      string     `json:"source"` // of the spread, in words
	Power       float64    `json:"power"`  // chance of detecting an effect of the given size
	Confidence  float64    `json:"confidence"`
	PairsPerDay int        `json:"pairs_per_day"`
	Days        []int      `json:"days"`
	Effect      float64    `json:"effect"` // whose detection DaysNeeded is about, a fraction
	Rows        []PowerRow `json:"metrics"`
	Note        string     `json:"note,omitempty"` // what to know of the spread, a sentence or more
}

// PowerRow is one measure of Power. nil is unknown.
type PowerRow struct {
	ID         string     `json:"id"`
	PairSD     *float64   `json:"pair_sd_log"` // standard deviation of the log effects of pairs
	Pairs      int        `json:"pilot_pairs"` // that the standard deviation is from
	Smallest   []*float64 `json:"smallest"`    // relative effect upward that is detected, for each of Days
	DaysNeeded *int       `json:"days_needed"` // nil too when no experiment of any length is enough
}

// PowerTable is Power as a table of texts.
type PowerTable struct {
	Head  []string
	Right []bool // columns set flush right
	Rows  [][]string
}

// Table returns what people read of a power analysis.
func (p Power) Table() PowerTable {
	t := PowerTable{Head: []string{"Measure", "Pair SD, log"}, Right: []bool{false, true}}
	for _, d := range p.Days {
		t.Head = append(t.Head, count(int64(d), "day", "days"))
		t.Right = append(t.Right, true)
	}
	t.Head, t.Right = append(t.Head, "Days for "+signed(100*p.Effect, visible(100*p.Effect, 0))+"%"), append(t.Right, true)
	for _, r := range p.Rows {
		cells := []string{measureOf(r.ID, "").Title, opt(r.PairSD, func(sd float64) string { return fixed(sd, decimals(sd, 2, 3)) })}
		for _, s := range r.Smallest {
			cells = append(cells, opt(s, func(x float64) string { return fixed(100*x, 1) + "%" }))
		}
		t.Rows = append(t.Rows, append(cells, opt(r.DaysNeeded, func(n int) string { return whole(int64(n)) })))
	}
	return t
}

// Sentence says what the numbers of the table mean.
func (p Power) Sentence() string {
	return fmt.Sprintf("Smallest effect that is detected with %s power at %s confidence, by length; %d pairs a day. Spread from %s.",
		percentOf(p.Power), percentOf(p.Confidence), p.PairsPerDay, p.Source)
}

// EncodePower writes a power analysis as JSON.
func EncodePower(p Power) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encode power: %w", err)
	}
	return b.Bytes(), nil
}

// PowerMarkdown writes a power analysis as a sentence and a table.
func PowerMarkdown(p Power) []byte {
	var t table
	shown := p.Table()
	for i, h := range shown.Head {
		t.head, t.right = append(t.head, words(h)), append(t.right, shown.Right[i])
	}
	for _, r := range shown.Rows {
		var cells []text
		for _, c := range r {
			cells = append(cells, words(c))
		}
		t.row(cells...)
	}
	pg := page{title: words("What an experiment can detect"), blocks: []block{paragraph(words(p.Sentence())), tabular(t)}}
	if p.Note != "" {
		pg.blocks = append(pg.blocks, paragraph(words(p.Note)))
	}
	return writeMarkdown(pg)
}

// PowerFigure draws the smallest detectable effects as SVG.
func PowerFigure(p Power) ([]byte, error) {
	return figure{
		name: "power", width: figureWidth, height: 84 + 18*float64(len(p.Rows)),
		alt:  fmt.Sprintf("Smallest detectable effect of each measure for experiments of %s; the table holds the same numbers.", daysText(p.Days)),
		draw: func(c draw.Canvas) { drawPower(c, p) },
	}.svg()
}

func daysText(days []int) string {
	var items []text
	for _, d := range days {
		items = append(items, words(count(int64(d), "day", "days")))
	}
	return series(items).String()
}

// powerMarks tells lengths apart by colour and shape.
func powerMarks(days []int) []mark {
	looks := []struct {
		colour color.Color
		shape  draw.GlyphDrawer
	}{{grey, openCircle{}}, {blue, draw.CircleGlyph{}}, {green, draw.BoxGlyph{}}, {purple, draw.PyramidGlyph{}}, {red, draw.CrossGlyph{}}}
	var marks []mark
	for i, d := range days {
		look := looks[i%len(looks)]
		marks = append(marks, mark{count(int64(d), "day", "days"), draw.GlyphStyle{Color: look.colour, Radius: 3.4, Shape: look.shape}})
	}
	return marks
}

// drawPower draws a row for each measure with one mark for each length.
func drawPower(c draw.Canvas, p Power) {
	c = titled(c, "Smallest effect detected with "+percentOf(p.Power)+" power")
	label := lettering(9, ink, draw.XRight, draw.YCenter)
	names, most := vg.Length(40), 0.01
	for _, r := range p.Rows {
		names = max(names, label.Width(measureOf(r.ID, "").Title))
		for _, s := range r.Smallest {
			if s != nil {
				most = max(most, *s)
			}
		}
	}
	const top, bottom = 6, 46
	left, right := c.Min.X+8+names+10, c.Max.X-16
	low, high := c.Min.Y+bottom, c.Max.Y-top
	x := func(effect float64) vg.Length { return left + (right-left)*vg.Length(effect/(1.03*most)) }
	tick := lettering(8, ink, draw.XCenter, draw.YTop)
	for _, t := range roundTicks(0, most, 5, func(x, step float64) string { return fixed(100*x, decimals(100*step, 1, 0)) + "%" }) {
		c.StrokeLine2(line(rule, 0.5), x(t.Value), low, x(t.Value), high)
		c.FillText(tick, vg.Point{X: x(t.Value), Y: low - 4}, t.Label)
	}
	c.StrokeLine2(line(faint, 0.5), left, low, right, low)
	marks := powerMarks(p.Days)
	step := (high - low) / vg.Length(max(1, len(p.Rows)))
	for i, r := range p.Rows {
		y := high - step*(vg.Length(i)+0.5)
		beside(c, label, vg.Point{X: left - 10, Y: y}, measureOf(r.ID, "").Title)
		for d, s := range r.Smallest {
			if s != nil {
				c.DrawGlyphNoClip(marks[d].glyph, vg.Point{X: x(*s), Y: y})
			}
		}
	}
	legend(c, c.Min.X+8, c.Min.Y+14, marks)
}
