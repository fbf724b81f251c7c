package main

import (
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"switchback/ingest"
)

// The forms of a query's result.

func writeRowsCSV(w io.Writer, rows *ingest.Rows) error {
	out := csv.NewWriter(w)
	if err := out.Write(rows.Columns); err != nil {
		return err
	}
	for rows.Next() {
		if err := out.Write(textsOf(rows, fullPrecision)); err != nil {
			return err
		}
	}
	out.Flush()
	return errors.Join(rows.Err(), out.Error())
}

// rowsAtATime is how many rows of a table are looked at before they are written: they decide how wide its columns are.
const rowsAtATime = 1000

// writeRowsTable writes some rows at a time, so that a large result takes no memory. Columns never get narrower.
func writeRowsTable(w io.Writer, rows *ingest.Rows) error {
	right := make([]bool, len(rows.Types))
	for i, typ := range rows.Types {
		right[i] = isNumber(typ)
	}
	columns := aligned(right)
	header, more := rows.Columns, true
	for more {
		t := table.NewWriter()
		t.SetStyle(plainTable())
		widen := func(cells []string) table.Row {
			cells = harmless(cells)
			for i, cell := range cells {
				columns[i].WidthMin = max(columns[i].WidthMin, text.LongestLineLen(cell))
			}
			return rowOf(cells)
		}
		if header != nil {
			t.AppendHeader(widen(header))
		}
		for n := 0; n < rowsAtATime && more; n++ {
			if more = rows.Next(); more {
				t.AppendRow(widen(textsOf(rows, shownDigits)))
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if t.Length() == 0 && header == nil {
			break
		}
		t.SetColumnConfigs(columns)
		if _, err := fmt.Fprintln(w, rendered(t)); err != nil {
			return err
		}
		header = nil
	}
	return nil
}

// writeRowsMarkdown writes row by row, so that a large result takes no memory.
func writeRowsMarkdown(w io.Writer, rows *ingest.Rows) error {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "\n", "<br>")
	line := func(cells []string) error {
		for i, cell := range harmless(cells) {
			cells[i] = escape.Replace(cell)
		}
		_, err := fmt.Fprintln(w, "| "+strings.Join(cells, " | ")+" |")
		return err
	}
	if err := line(slices.Clone(rows.Columns)); err != nil {
		return err
	}
	var marks strings.Builder
	for _, typ := range rows.Types {
		if isNumber(typ) {
			marks.WriteString("| ---:")
		} else {
			marks.WriteString("|:--- ")
		}
	}
	if _, err := fmt.Fprintln(w, marks.String()+"|"); err != nil {
		return err
	}
	for rows.Next() {
		if err := line(textsOf(rows, shownDigits)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// harmless takes out of cells what a terminal would obey, or leave out, instead of show.
func harmless(cells []string) []string {
	shown := make([]string, len(cells))
	for i, cell := range cells {
		shown[i] = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
				return unicode.ReplacementChar
			}
			return r
		}, cell)
	}
	return shown
}

// isNumber reports whether a DuckDB type is set flush right.
func isNumber(typ string) bool {
	return strings.HasSuffix(typ, "INT") || strings.HasSuffix(typ, "INTEGER") || strings.HasPrefix(typ, "DECIMAL") || typ == "DOUBLE" || typ == "FLOAT"
}

// writeRowsJSON writes a list of objects whose keys stand in the order of the columns.
func writeRowsJSON(w io.Writer, rows *ingest.Rows) error {
	separator := "[\n"
	for rows.Next() {
		var line strings.Builder
		for i, v := range rows.Values() {
			key, err := json.Marshal(rows.Columns[i])
			if err != nil {
				return err
			}
			value, err := json.Marshal(jsonValue(v, rows.Types[i]))
			if err != nil {
				return fmt.Errorf("column %s: %w", rows.Columns[i], err)
			}
			if i > 0 {
				line.WriteString(", ")
			}
			line.WriteString(string(key) + ": " + string(value))
		}
		if _, err := fmt.Fprintf(w, "%s  {%s}", separator, line.String()); err != nil {
			return err
		}
		separator = ",\n"
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if separator == "[\n" {
		separator = "["
	} else {
		separator = "\n"
	}
	_, err := fmt.Fprintln(w, separator+"]")
	return err
}

// Digits of a number with a fraction: as many as it takes to read the same number again, or as people read.
const (
	fullPrecision = -1
	shownDigits   = 6
)

// jsonValue is a value as JSON writes it: exact decimals as numbers, what is not finite as null.
func jsonValue(v any, typ string) any {
	switch v := v.(type) {
	case nil, bool, int64:
		return v
	case ingest.Decimal:
		return json.Number(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = jsonValue(item, "")
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, field := range v {
			fields[name] = jsonValue(field, "")
		}
		return fields
	}
	return textOf(v, typ, fullPrecision)
}

func textsOf(rows *ingest.Rows, digits int) []string {
	texts := make([]string, len(rows.Columns))
	for i, v := range rows.Values() {
		texts[i] = textOf(v, rows.Types[i], digits)
	}
	return texts
}

// textOf is a value as text; unknown is empty. Floating-point numbers are rounded to so many digits, the exact decimals of
// the tables are not.
func textOf(v any, typ string, digits int) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', digits, 64)
	case []byte:
		return hex.EncodeToString(v)
	case time.Time:
		if typ == "DATE" {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	case []any, map[string]any:
		if text, err := json.Marshal(jsonValue(v, typ)); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}
