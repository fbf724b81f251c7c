package reports

import (
	"slices"

	"switchback/stats"
)

// everyLook shows the intervals that stay valid when an unfinished experiment is read again and again, beside those meant to be
// read once. It is left out when there are none.
func everyLook(doc Document) []block {
	if !hasSequential(doc) {
		return nil
	}
	level := doc.level()
	t := columns("Measure", ">Effect", ">"+level+" interval, read once", ">"+level+" interval, valid at every look", "At this look")
	for _, r := range published(doc) {
		if r.Sequential.Lo == nil || r.Sequential.Hi == nil {
			continue
		}
		estimate, once := r.relative(r.Relative)
		always := stats.Effect{Estimate: r.Relative.Estimate, Lo: r.Sequential.Lo, Hi: r.Sequential.Hi}
		_, every := r.relative(always)
		reading := words("not detected yet")
		if *always.Lo > 0 || *always.Hi < 0 {
			reading = bold("detected")
		}
		t.row(words(r.Title), words(estimate), words(once), words(every), reading)
	}
	return []block{
		heading("Read every night"),
		paragraph(words("Whoever looks at an unfinished experiment several times should go by the wider intervals: they hold at every look so far together.")),
		tabular(t),
	}
}

func hasSequential(doc Document) bool {
	return slices.ContainsFunc(published(doc), func(r shownRow) bool { return r.Sequential.Lo != nil && r.Sequential.Hi != nil })
}

// otherIntervals sets the headline's interval beside other kinds, for those who compare methods.
func otherIntervals(doc Document) []block {
	var kinds []string
	for _, r := range published(doc) {
		for kind := range r.Others {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	var tables []block
	const perTable = maxColumns - 2
	for group := range slices.Chunk(kinds, perTable) {
		headings := []string{"Measure", ">" + doc.Method.Interval}
		for _, kind := range group {
			headings = append(headings, ">"+oneLine(kind))
		}
		t := columns(headings...)
		for _, r := range published(doc) {
			cells := []text{words(r.Title), words(ends(stats.Bounds{Lo: r.Relative.Lo, Hi: r.Relative.Hi}))}
			for _, kind := range group {
				cells = append(cells, words(ends(r.Others[kind])))
			}
			t.row(cells...)
		}
		tables = append(tables, tabular(t))
	}
	return []block{fold(words("Other kinds of "+doc.level()+" intervals, from the same replicates"), tables...)}
}
