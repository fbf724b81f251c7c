package ingest

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const formatSamples = "testdata/formats"

// goldenColumns are the columns of the right answers that a log can be asked for.
var goldenColumns = []string{
	"request_id", "session_id", "ts", "model", "provider", "attempts", "n_429", "n_retries", "ttft_ms", "caller_ttft_ms", "total_ms",
	"failed_ms", "input_tokens", "cached_tokens", "output_tokens", "cost_usd", "status", "streamed", "is_byok", "tool_call_ok",
}

// scenario is the right answer for one of the nine requests that the samples tell of.
type scenario map[string]string

func scenarios(t *testing.T) map[string]scenario {
	t.Helper()
	f, err := os.Open(filepath.Join(formatSamples, "expected_canonical.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]scenario{}
	for _, rec := range records[1:] {
		s := scenario{}
		for i, name := range records[0] {
			s[strings.TrimSuffix(name, "_utc")] = rec[i]
		}
		out[s["scenario"]] = s
	}
	return out
}

// rowsOf reads the loaded rows as text, with the scenario that each id names.
func rowsOf(t *testing.T, s *Store) map[string]scenario {
	t.Helper()
	rows, err := s.db.QueryContext(context.Background(), `SELECT coalesce(regexp_extract(request_id || source_row_id, 's0\d'), ''), epoch_ms(ts),
		COLUMNS(c -> list_contains(['`+strings.Join(goldenColumns, "','")+`'], c))::VARCHAR FROM requests ORDER BY ts`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]scenario{}
	for rows.Next() {
		values := make([]any, len(names))
		targets := make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		got := scenario{}
		for i, name := range names[2:] {
			if v := values[i+2]; v != nil {
				got[name] = plainNumber(name, fmt.Sprint(v))
			}
		}
		got["ts"] = time.UnixMilli(values[1].(int64)).UTC().Format("2006-01-02T15:04:05.000Z")
		key := fmt.Sprint(values[0])
		if key == "" {
			key = byTime(values[1].(int64))
		}
		if _, twice := out[key]; twice {
			t.Errorf("two rows of %s", key)
		}
		out[key] = got
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// plainNumber drops zeros that a DECIMAL writes and the right answers do not.
func plainNumber(column, text string) string {
	if strings.HasSuffix(column, "_ms") {
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if column == "cost_usd" {
		return strings.TrimSuffix(text, "0") // nine decimals to eight
	}
	return text
}

// byTime names the scenario of a format without ids by its start, to the second or so.
func byTime(millis int64) string {
	starts := []int64{1793696398250, 1793696401650, 1793696406150, 1793696409450, 1793696413250, 1793696417850, 1793696423750, 1793696429250, 1793696434550}
	for i, s := range starts {
		if d := millis - s; d > -1500 && d < 1500 {
			return fmt.Sprintf("s%02d", i+1)
		}
	}
	return fmt.Sprint("at ", millis)
}

// loss is what a format cannot say of some scenarios: the columns, and the value that stands instead ("" is NULL).
type loss struct {
	scenarios string // "s01 s02", or "*"
	columns   string
	instead   string
	why       string
}

// lost finds the loss that explains a difference.
func lost(losses []loss, name, column, got string) (loss, bool) {
	for _, l := range losses {
		if (l.scenarios == "*" || slices.Contains(strings.Fields(l.scenarios), name)) && slices.Contains(strings.Fields(l.columns), column) && (l.instead == got || l.instead == "any") {
			return l, true
		}
	}
	return loss{}, false
}

func TestFormatsAgainstTheRightAnswers(t *testing.T) {
	right := scenarios(t)
	for _, c := range formatCases() {
		t.Run(c.file, func(t *testing.T) {
			s := openTemp(t)
			report := mustLoad(t, s, filepath.Join(formatSamples, c.file))
			f := report.Files[0]
			if f.Format != c.format || f.Rejects != c.rejects || len(f.Unknown) > 0 || len(f.Unread) > 0 {
				t.Errorf("report: %+v", f)
			}
			got := rowsOf(t, s)
			for name, row := range got {
				if _, ok := right[name]; !ok {
					t.Errorf("%s: a row too many: %v", name, row)
				}
			}
			for name, want := range right {
				row, ok := got[name]
				if slices.Contains(strings.Fields(c.absent), name) {
					if ok {
						t.Errorf("%s: %v, want no row", name, row)
					}
					continue
				}
				if !ok {
					t.Errorf("%s: no row", name)
					continue
				}
				for _, column := range goldenColumns {
					if row[column] == want[column] {
						continue
					}
					if _, ok := lost(c.losses, name, column, row[column]); !ok {
						t.Errorf("%s %s = %q, want %q", name, column, row[column], want[column])
					}
				}
			}
		})
	}
}

func TestRefusedFiles(t *testing.T) {
	for file, want := range map[string]string{
		"openrouter_activity_api_daily.json": "daily sums",
		"vllm_metrics.prom":                  "histograms hold no single requests",
		"openrouter_endpoints.json":          "a list of endpoints",
		"aibrix_client_results.jsonl":        "monotonic clock",
	} {
		s := openTemp(t)
		_, err := LoadFiles(context.Background(), s, []string{filepath.Join(formatSamples, file)}, loadOptions())
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
