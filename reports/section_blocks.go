package reports

import (
	"fmt"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"switchback/stats"
)

// byBlock shows which arm ran when, and what each pair of blocks measured.
func byBlock(doc Document) []block {
	if len(doc.Blocks) == 0 {
		return nil
	}
	blocks := []block{heading("Block by block"), drawing(timelineFigure(doc)),
		fold(words(fmt.Sprintf("All %d blocks", len(doc.Blocks))), tabular(blockTable(doc)))}
	pairs := pairsOf(doc)
	measures := doc.featured(func(id string) bool { return anyBlockValue(doc, id) })
	if len(pairs) == 0 || len(measures) == 0 {
		return blocks
	}
	blocks = append(blocks,
		paragraph(words("Each pair of points joined by a line is one matched pair, all models together, burn-in dropped. "+
			"The intervals of this report come from how much these pairs disagree.")),
		drawing(pairsFigure(doc, pairs, measures)))
	for _, m := range measures {
		blocks = append(blocks, fold(words(m.Title+" by pair"), tabular(pairTable(doc, pairs, m))))
	}
	return blocks
}

func blockTable(doc Document) table {
	t := columns("Block", "Pair", "Arm", "Starts (UTC)", "Burn-in ends", "Ends", ">Rows kept of all")
	for _, b := range doc.Blocks {
		label := name(b.BlockID)
		if b.Model != "" {
			label = sentence("{} {}", label, name(b.Model))
		}
		rows := words(whole(b.Rows-b.BurnInRows) + " of " + whole(b.Rows))
		if b.Rows == 0 {
			rows = bold("no rows")
		}
		t.row(label, name(b.PairID), name(b.Arm), words(minuteOf(b.Starts)), words(b.BurnInEnds.UTC().Format("15:04")), words(b.Ends.UTC().Format("15:04")), rows)
	}
	return t
}

// blockPair is a matched pair; a missing half is nil.
type blockPair struct{ control, treatment *BlockPoint }

// first returns the half that came first.
func (p blockPair) first() *BlockPoint {
	switch {
	case p.control == nil:
		return p.treatment
	case p.treatment == nil || p.control.Starts.Before(p.treatment.Starts):
		return p.control
	}
	return p.treatment
}

// pairsOf returns the pairs of the common schedule in the order of time. Schedules of single models have none here.
func pairsOf(doc Document) []blockPair {
	byID := map[string]*blockPair{}
	for i := range doc.Blocks {
		b := &doc.Blocks[i]
		if b.Model != "" {
			return nil
		}
		if byID[b.PairID] == nil {
			byID[b.PairID] = &blockPair{}
		}
		if b.Arm == doc.Arms.Treatment {
			byID[b.PairID].treatment = b
		} else {
			byID[b.PairID].control = b
		}
	}
	var pairs []blockPair
	for _, p := range byID {
		pairs = append(pairs, *p)
	}
	sort.Slice(pairs, func(i, j int) bool {
		a, b := pairs[i].first(), pairs[j].first()
		if !a.Starts.Equal(b.Starts) {
			return a.Starts.Before(b.Starts)
		}
		return a.PairID < b.PairID
	})
	return pairs
}

// value returns a metric's value in a block, nil when unknown.
func (b *BlockPoint) value(id string) *float64 {
	if b == nil {
		return nil
	}
	for _, v := range b.Values {
		if v.Metric == id {
			return v.Value
		}
	}
	return nil
}

func anyBlockValue(doc Document, id string) bool {
	for i := range doc.Blocks {
		if doc.Blocks[i].value(id) != nil {
			return true
		}
	}
	return false
}

func pairTable(doc Document, pairs []blockPair, m measure) table {
	t := columns("Pair", "Starts (UTC)", "First", ">Control", ">Treatment", ">Treatment to control")
	for _, p := range pairs {
		c, tr := p.control.value(m.ID), p.treatment.value(m.ID)
		change := notKnown
		if c != nil && tr != nil && *c > 0 {
			change = m.change(*tr / *c - 1, 1)
		}
		t.row(name(p.first().PairID), words(minuteOf(p.first().Starts)), name(p.first().Arm),
			words(m.level(c, stats.Effect{}, tr)), words(m.level(tr, stats.Effect{}, c)), words(change))
	}
	return t
}

func pairsFigure(doc Document, pairs []blockPair, measures []measure) figure {
	var titles []text
	for _, m := range measures {
		titles = append(titles, words(m.Title))
	}
	return figure{
		name: "blocks", width: figureWidth, height: stackHeight(len(measures)),
		alt: fmt.Sprintf("%s in each block over time, the two blocks of a pair joined by a line: %s and %s. The folded tables hold the same numbers.",
			series(titles), clean(doc.Arms.Control), clean(doc.Arms.Treatment)),
		draw: func(c draw.Canvas) {
			control, treatment := armMarks(doc.Arms)
			var panels []panel
			for _, m := range measures {
				panels = append(panels, panel{m.Title, pairsPlot(doc, pairs, m, control, treatment)})
			}
			drawStack(c, "Every matched pair of blocks", panels, []mark{control, treatment})
		},
	}
}

func pairsPlot(doc Document, pairs []blockPair, m measure, control, treatment mark) *plot.Plot {
	p := newPlot()
	var y extent
	for _, pair := range pairs {
		for _, v := range []*float64{pair.control.value(m.ID), pair.treatment.value(m.ID)} {
			if v != nil {
				y.hold(*v)
			}
		}
	}
	p.Y.Min, p.Y.Max = y.roomy()
	if y.lo >= 0 {
		p.Y.Min = max(p.Y.Min, 0)
	}
	p.Y.Tick.Marker = measureTicks{m, 2}
	p.X.Min, p.X.Max = 0, hours(doc.Window.Start, doc.Window.End)
	p.X.Tick.Marker = dayTicks{doc.Window.Start}
	p.X.Padding, p.Y.Padding = 0, 0
	p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		gridlines(c, p)
		x, y := p.Transforms(&c)
		at := func(b *BlockPoint, v float64) vg.Point {
			return vg.Point{X: x(hours(doc.Window.Start, b.BurnInEnds.Add(b.Ends.Sub(b.BurnInEnds)/2))), Y: y(v)}
		}
		for _, pair := range pairs {
			vc, vt := pair.control.value(m.ID), pair.treatment.value(m.ID)
			if vc != nil && vt != nil {
				a, b := at(pair.control, *vc), at(pair.treatment, *vt)
				c.StrokeLine2(line(faint, 0.7), a.X, a.Y, b.X, b.Y)
			}
			if vc != nil {
				c.DrawGlyphNoClip(control.glyph, at(pair.control, *vc))
			}
			if vt != nil {
				c.DrawGlyphNoClip(treatment.glyph, at(pair.treatment, *vt))
			}
		}
	}))
	return p
}
