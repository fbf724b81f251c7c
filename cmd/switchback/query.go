package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"switchback/ingest"
)

// queryCommand runs read-only SQL on the DuckDB file.
func (p *process) queryCommand() command {
	var s settings
	var format string
	fs := pflag.NewFlagSet("query", pflag.ContinueOnError)
	s.configFlag(fs)
	s.outputFlags(fs)
	fs.StringVar(&format, "format", "table", "table, markdown, csv or json, a `word`")
	s.logFlags(fs)
	return command{
		use:   "query SQL",
		short: "Run read-only SQL on the DuckDB file",
		long: "Tables: requests, attempts, blocks, loads, rejects, results, diagnostics, runs.\n" +
			"csv and json have full precision and leave unknown values empty (null).",
		example: "  switchback query \"SELECT metric, estimate, lo, hi FROM results WHERE scope = 'overall' AND estimand = 'relative'\"\n" +
			"  switchback query --format csv 'FROM requests LIMIT 10'",
		args:  cobra.ExactArgs(1),
		flags: fs,
		run: func(ctx context.Context, args []string) error {
			if err := checkWords("format", format, []string{"table", "markdown", "csv", "json"}); err != nil {
				return err
			}
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			options := c.storeOptions()
			options.ReadOnly = true
			store, err := openFilled(ctx, outDir{c.Out}.database(), options)
			if err != nil {
				return err
			}
			return errors.Join(runQuery(ctx, store, args[0], format, p.stdout), store.Close())
		},
	}
}

func runQuery(ctx context.Context, store *ingest.Store, sql, format string, w io.Writer) error {
	rows, err := store.Query(ctx, sql)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return usageError("the file is opened for reading only", "%w", err)
	}
	defer rows.Close() //nolint:errcheck // only read
	buffered := bufio.NewWriter(w)
	switch format {
	case "csv":
		err = writeRowsCSV(buffered, rows)
	case "json":
		err = writeRowsJSON(buffered, rows)
	default:
		err = writeRowsTable(buffered, rows, format)
	}
	return errors.Join(err, buffered.Flush())
}

func writeRowsCSV(w io.Writer, rows *ingest.Rows) error {
	out := csv.NewWriter(w)
	if err := out.Write(rows.Columns); err != nil {
		return err
	}
	for rows.Next() {
		if err := out.Write(textsOf(rows)); err != nil {
			return err
		}
	}
	out.Flush()
	return errors.Join(rows.Err(), out.Error())
}

func writeRowsTable(w io.Writer, rows *ingest.Rows, format string) error {
	t := table.NewWriter()
	t.SetStyle(plainTable())
	t.AppendHeader(rowOf(rows.Columns))
	right := make([]bool, len(rows.Types))
	for i, typ := range rows.Types {
		right[i] = isNumber(typ)
	}
	t.SetColumnConfigs(aligned(right))
	for rows.Next() {
		t.AppendRow(rowOf(textsOf(rows)))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	text := rendered(t)
	if format == "markdown" {
		text = t.RenderMarkdown()
	}
	_, err := fmt.Fprintln(w, text)
	return err
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
	}
	return textOf(v, typ)
}

func textsOf(rows *ingest.Rows) []string {
	texts := make([]string, len(rows.Columns))
	for i, v := range rows.Values() {
		texts[i] = textOf(v, rows.Types[i])
	}
	return texts
}

// textOf is a value as text, in full precision; unknown is empty.
func textOf(v any, typ string) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return hex.EncodeToString(v)
	case time.Time:
		if typ == "DATE" {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}
