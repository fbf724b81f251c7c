package reports

import "gonum.org/v1/plot/vg/draw"

// maxColumns is the widest table that stays readable on GitHub and on a phone.
const maxColumns = 7

// page is a composed report: what it says, before it is written as Markdown or HTML.
type page struct {
	title  text
	blocks []block
}

// blockKind says what a block of a page is.
type blockKind int

const (
	headingBlock blockKind = iota
	paragraphBlock
	noticeBlock // a paragraph that stands out
	listBlock
	tableBlock
	figureBlock
	codeBlock
	foldBlock // blocks behind a summary line that a reader opens
)

// block is one part of a page; kind says which fields count.
type block struct {
	kind   blockKind
	text   text    // heading, paragraph, notice, fold: its summary
	items  []text  // list
	table  table   // table
	figure figure  // figure
	code   string  // code
	inside []block // fold
}

// table is a table with at most maxColumns columns.
type table struct {
	head  []text
	right []bool // columns set flush right
	rows  [][]text
}

// figure is a drawing with a name and with words for those who do not see it.
type figure struct {
	name   string // file name without its ending
	alt    string
	width  float64 // points
	height float64
	draw   func(draw.Canvas)
}

func (p *page) add(blocks ...block) { p.blocks = append(p.blocks, blocks...) }

func heading(s string) block        { return block{kind: headingBlock, text: words(s)} }
func paragraph(t text) block        { return block{kind: paragraphBlock, text: t} }
func notice(t text) block           { return block{kind: noticeBlock, text: t} }
func bullets(items []text) block    { return block{kind: listBlock, items: items} }
func tabular(t table) block         { return block{kind: tableBlock, table: t} }
func drawing(f figure) block        { return block{kind: figureBlock, figure: f} }
func fold(t text, b ...block) block { return block{kind: foldBlock, text: t, inside: b} }

// columns makes an empty table; a heading that starts with ">" is set flush right.
func columns(headings ...string) table {
	t := table{}
	for _, h := range headings {
		right := h != "" && h[0] == '>'
		if right {
			h = h[1:]
		}
		t.head = append(t.head, words(h))
		t.right = append(t.right, right)
	}
	return t
}

func (t *table) row(cells ...text) { t.rows = append(t.rows, cells) }

// figures returns the figures of the blocks, those inside folds too.
func figures(blocks []block) []figure {
	var all []figure
	for _, b := range blocks {
		if b.kind == figureBlock {
			all = append(all, b.figure)
		}
		all = append(all, figures(b.inside)...)
	}
	return all
}
