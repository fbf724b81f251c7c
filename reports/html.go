package reports

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
)

//go:embed page.html
var pageTemplate string

// htmlBlock is a block of a page as the template sees it.
type htmlBlock struct {
	Kind   string
	Text   text
	Items  []text
	Head   []htmlCell
	Rows   [][]htmlCell
	Alt    string
	Image  template.URL // data URL of a figure
	Code   string
	Inside []htmlBlock
}

// htmlCell is a table cell.
type htmlCell struct {
	Text  text
	Right bool
}

// writeHTML returns a page as one self-contained HTML file: styles and figures inside, no script, nothing to load.
func writeHTML(p page) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{"set": func(s span) string { return setAs(s.Style) }}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the page template: %w", err)
	}
	blocks, err := htmlBlocks(p.blocks)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		Title  text
		Blocks []htmlBlock
	}{p.title, blocks})
	if err != nil {
		return nil, fmt.Errorf("render report.html: %w", err)
	}
	return out.Bytes(), nil
}

// setAs names a style for the template.
func setAs(s style) string {
	return map[style]string{plain: "plain", strong: "strong", code: "code", small: "small", breakLine: "break"}[s]
}

func htmlBlocks(blocks []block) ([]htmlBlock, error) {
	kinds := map[blockKind]string{
		headingBlock: "heading", paragraphBlock: "paragraph", noticeBlock: "notice", listBlock: "list",
		tableBlock: "table", figureBlock: "figure", codeBlock: "code", foldBlock: "fold",
	}
	var out []htmlBlock
	for _, b := range blocks {
		h := htmlBlock{Kind: kinds[b.kind], Text: b.text, Items: b.items, Code: b.code}
		switch b.kind {
		case tableBlock:
			h.Head = htmlRow(b.table, b.table.head)
			for _, r := range b.table.rows {
				h.Rows = append(h.Rows, htmlRow(b.table, r))
			}
		case figureBlock:
			svg, err := b.figure.svg()
			if err != nil {
				return nil, err
			}
			h.Alt = b.figure.alt
			h.Image = template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)) // our own drawing
		case foldBlock:
			inside, err := htmlBlocks(b.inside)
			if err != nil {
				return nil, err
			}
			h.Inside = inside
		}
		out = append(out, h)
	}
	return out, nil
}

func htmlRow(t table, cells []text) []htmlCell {
	row := make([]htmlCell, len(cells))
	for i, c := range cells {
		row[i] = htmlCell{c, t.right[i]}
	}
	return row
}
