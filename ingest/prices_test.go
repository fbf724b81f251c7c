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
