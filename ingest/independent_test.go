package ingest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// DuckDB's own readers see the same rows in the same files: an independent path over every column.
func TestLoadedRowsAreWhatDuckDBReads(t *testing.T) {
	ctx := context.Background()
	requests := someRequests(5000, 18)
	dir := t.TempDir()
	text := writeFile(t, filepath.Join(dir, "log.jsonl"), jsonl(t, requests))
	made := openTemp(t)
	load(t, made, requests)
	parquet := filepath.Join(dir, "log.parquet")
	if err := made.WriteParquet(ctx, parquet); err != nil {
		t.Fatal(err)
	}
	for path, reader := range map[string]string{
		text:    "read_json(" + quote(text) + ", columns = " + typedColumns() + ", format = 'newline_delimited')",
		parquet: "read_parquet(" + quote(parquet) + ")",
	} {
		s := openTemp(t)
		mustLoad(t, s, path)
		rows := "SELECT concat_ws(' ', count(*), sum(hash(row)::HUGEINT), sum((row).cost_usd), sum((row).total_ms)) FROM (SELECT {" + everyColumn() + "} AS row FROM "
		loaded, read := scalar(t, s, rows+"requests)"), scalar(t, s, rows+reader+")")
		if loaded != read {
			t.Errorf("%s: table %s, DuckDB reads %s", filepath.Base(path), loaded, read)
		}
	}
}

// everyColumn lists the canonical columns as fields of a struct.
func everyColumn() string {
	var fields []string
	for _, c := range requestColumns() {
		fields = append(fields, "'"+c.name+"': "+c.name)
	}
	return strings.Join(fields, ", ")
}
