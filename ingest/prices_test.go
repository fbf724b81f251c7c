package ingest

import (
	"path/filepath"
	"strings"
	"testing"

	"switchback/experiment/prices"
)

const testPrices = `provider,model,usd_per_mtok_input,usd_per_mtok_output,usd_per_mtok_cache_read
deepinfra,z-ai/glm-4.7,0.4,1.75,0.08
`

func TestCostsFromThePriceBook(t *testing.T) {
	book, err := prices.Read(strings.NewReader(testPrices), "prices.csv")
	if err != nil {
		t.Fatal(err)
	}
	text := `{"request_id":"a","ts":"2026-11-03T08:59:58Z","model":"z-ai/glm-4.7","provider":"deepinfra","input_tokens":5120,"cached_tokens":4096,"output_tokens":310}
{"request_id":"b","ts":"2026-11-03T08:59:59Z","model":"z-ai/glm-4.7","provider":"deepinfra","input_tokens":5120,"output_tokens":310}
{"request_id":"c","ts":"2026-11-03T09:00:00Z","model":"z-ai/glm-4.7","provider":"nobody","input_tokens":5120,"cached_tokens":0,"output_tokens":310}
{"request_id":"d","ts":"2026-11-03T09:00:01Z","model":"z-ai/glm-4.7","provider":"deepinfra","input_tokens":5120,"cached_tokens":4096,"output_tokens":310,"cost_usd":0.127978,"cost_source":"billed"}
`
	s := openTemp(t)
	o := loadOptions()
	o.Prices = book
	report, err := LoadFiles(t.Context(), s, []string{writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), []byte(text))}, o)
	if err != nil {
		t.Fatal(err)
	}
	// 1,024 tokens at $0.40, 4,096 cached at $0.08 and 310 at $1.75 a million.
	got := scalar(t, s, "SELECT string_agg(concat_ws(' ', request_id, coalesce(cost_usd::VARCHAR, 'unknown'), cost_source), ', ' ORDER BY ts) FROM requests")
	if want := "a 0.001279780 book, b unknown, c unknown, d 0.127978000 billed"; got != want {
		t.Errorf("costs: %s, want %s", got, want)
	}
	warnings := strings.Join(report.Files[0].Warnings, "; ")
	if !strings.Contains(warnings, "priced from the price book") || !strings.Contains(warnings, "100 times those of the price book") {
		t.Errorf("warnings: %s", warnings)
	}
}

// Rows of Parquet, which DuckDB prices in SQL, get the costs that the same rows get as text.
func TestParquetIsPricedAsText(t *testing.T) {
	book, err := prices.Read(strings.NewReader(`provider,model,usd_per_mtok_input,usd_per_mtok_output,usd_per_mtok_cache_read,usd_per_mtok_cache_write,valid_from
deepinfra,z-ai/glm-4.7,0.4,1.75,0.08,0.55,
deepinfra,z-ai/glm-4.7,0.333333,1.234567,,,2026-11-04
`), "prices.csv")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const query = `SELECT 'r' || i AS request_id, TIMESTAMP '2026-11-03 23:00:00' + i * INTERVAL 1 MINUTE AS ts, 'z-ai/glm-4.7' AS model,
		CASE WHEN i % 7 = 0 THEN 'nobody' WHEN i % 11 <> 0 THEN 'deepinfra' END AS provider, 100 + i * 37 AS input_tokens,
		CASE WHEN i % 5 <> 0 THEN i * 29 END AS cached_tokens, CASE WHEN i % 3 = 0 THEN i END AS cache_write_tokens, i * 13 AS output_tokens,
		CASE WHEN i % 4 = 0 THEN CAST(i * 0.000001234 AS DECIMAL(18,9)) END AS cost_usd, CASE WHEN i % 4 = 0 THEN 'billed' END AS cost_source FROM range(1, 120) t(i)`
	o := loadOptions()
	o.Prices = book
	var tables, warnings []string
	for _, name := range []string{"rows.parquet", "rows.csv"} {
		s := openTemp(t)
		path := filepath.Join(dir, name)
		if _, err := s.db.Exec("COPY (" + query + ") TO " + quote(path)); err != nil {
			t.Fatal(err)
		}
		report, err := LoadFiles(t.Context(), s, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		var costs string
		err = s.db.QueryRow("SELECT string_agg(concat_ws(' ', request_id, cost_usd, cost_source), ', ' ORDER BY ts) FROM requests").Scan(&costs)
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, costs)
		warnings = append(warnings, strings.Join(report.Files[0].Warnings, "\n"))
	}
	if strings.Count(tables[1], "book") < 20 || tables[0] != tables[1] {
		t.Errorf("Parquet: %s\ntext: %s", tables[0], tables[1])
	}
	if !strings.Contains(warnings[1], "priced from the price book") || warnings[0] != warnings[1] {
		t.Errorf("Parquet warns %q, text %q", warnings[0], warnings[1])
	}
}
