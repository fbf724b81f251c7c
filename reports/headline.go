package reports

// Headline is what a report says first, as plain text for a terminal.
type Headline struct {
	Title   string
	Banners []string // what a reader must know before the numbers
	Verdict string
	Head    []string   // of the published table
	Right   []bool     // columns set flush right
	Rows    [][]string // cells may hold several lines
	Notes   []string   // what the marks in the rows mean
}

// HeadlineOf returns the first screen of the report of doc, without its figure.
func HeadlineOf(doc Document) Headline {
	rows := published(doc)
	h := Headline{Title: title(doc).String(), Verdict: verdict(doc, rows).String()}
	for _, b := range banners(doc) {
		h.Banners = append(h.Banners, b.text.String())
	}
	for _, b := range resultTable(doc, rows) {
		for _, item := range b.items {
			h.Notes = append(h.Notes, item.String())
		}
		if b.kind != tableBlock {
			continue
		}
		h.Head, h.Right = unstyled(b.table.head), b.table.right
		for _, r := range b.table.rows {
			h.Rows = append(h.Rows, unstyled(r))
		}
	}
	return h
}

// unstyled returns cells without their styles, line breaks kept.
func unstyled(cells []text) []string {
	out := make([]string, len(cells))
	for i, cell := range cells {
		for _, s := range cell {
			if s.Style == breakLine {
				out[i] += "\n"
			}
			out[i] += s.Text
		}
	}
	return out
}
