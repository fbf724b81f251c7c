package market

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

//go:embed data/*.csv data/*.zst
var files embed.FS

//go:embed data/NOTICE.md
var notice string

// Notice returns origin and licence of the embedded data, as Markdown.
func Notice() string { return notice }

// row is one line of an embedded table.
type row struct {
	file   string
	line   int // line 1 is the header
	column map[string]int
	cells  []string
}

// readTable reads an embedded CSV file with a header, decompressed when its name ends in .zst.
func readTable(name string) ([]row, error) {
	content, err := files.ReadFile("data/" + name)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".zst") {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		defer z.Close()
		if content, err = z.DecodeAll(content, nil); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	records, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	column := map[string]int{}
	for i, c := range records[0] {
		column[c] = i
	}
	rows := make([]row, 0, len(records)-1)
	for i, cells := range records[1:] {
		rows = append(rows, row{file: name, line: i + 2, column: column, cells: cells})
	}
	return rows, nil
}

// at says where the row is, for errors.
func (r row) at() string { return fmt.Sprintf("%s:%d", r.file, r.line) }

// cell returns the text in a column.
func (r row) cell(column string) string { return r.cells[r.column[column]] }

// number returns the number in a column; an empty cell is 0.
func (r row) number(column string) (float64, error) {
	text := r.cell(column)
	if text == "" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x < 0 {
		return 0, fmt.Errorf("%s: %q is not a number of at least 0", column, text)
	}
	return x, nil
}
