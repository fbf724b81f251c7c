package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"switchback/experiment"
)

func TestArrowAndParquetRoundTrip(t *testing.T) {
	ctx := context.Background()
	requests := someRequests(40_000, 9) // more than two records
	direct := openTemp(t)
	load(t, direct, requests)
	dir := t.TempDir()
	var ipc bytes.Buffer
	w := NewArrowWriter(&ipc)
	if err := w.Write(&experiment.Batch{Requests: requests}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	parquet := filepath.Join(dir, "it's a [log]*.parquet")
	if err := direct.WriteParquet(ctx, parquet); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{writeFile(t, filepath.Join(dir, "log.arrow"), ipc.Bytes()), parquet} {
		s := openTemp(t)
		f := mustLoad(t, s, path).Files[0]
		if f.Rows != 40_000 || f.Rejects != 0 || len(f.Unknown) != 0 {
			t.Errorf("%s: %+v", path, f)
		}
		if a, b := table(t, direct), table(t, s); a != b {
			t.Errorf("%s: rows differ: %s, %s", path, a, b)
		}
		if f := mustLoad(t, s, path).Files[0]; f.Status != FileUnchanged {
			t.Errorf("%s again: %+v", path, f)
		}
	}
}

// Go code checks rows of text, SQL those of Parquet: both must find the same in the same odd rows.
func TestParquetFollowsTheRulesOfText(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	lines := []string{
		`{"request_id":"a","ts":"2026-11-03T08:59:58.250Z","model":"m","ttft_ms":-5,"total_ms":"N/A","n_429":3,"attempts":2,"status":"weird"}`,
		`{"request_id":"b","ts":"2026-11-03T09:00:00Z","model":"m","ttft_ms":10.0005,"caller_ttft_ms":9,"total_ms":8,"status":"ok","output_tokens":0,"cost_usd":0.00127978,"cost_source":"guess"}`,
		`{"request_id":"c","ts":"2026-11-03T09:00:01Z","model":"m","input_tokens":5,"cached_tokens":6,"output_tokens":-1,"n_retries":1.5,"status":"cancelled"}`,
		`{"request_id":"None","ts":"2026-11-03T09:00:02Z","model":"m","failed_ms":"1e400","input_tokens":"9223372036854775808","streamed":"True"}`,
		`{"request_id":"e","ts":"2014-11-03T09:00:02Z","model":"m"}`,
		`{"request_id":"f","ts":"2026-11-03T09:00:02Z"}`,
		`{"ts":"2026-11-03T09:00:02Z","model":"m"}`,
		`{"request_id":"h","model":"m"}`,
		`{"request_id":"i","ts":"someday","model":"m"}`,
		`{"request_id":"j","ts":"2026-11-03T09:00:03Z","status":"error"}`,
	}
	text := writeFile(t, filepath.Join(dir, "odd.jsonl"), []byte(strings.Join(lines, "\n")))
	parquet := filepath.Join(dir, "odd.parquet")
	maker := openTemp(t)
	var columns []string
	for _, c := range requestColumns() {
		columns = append(columns, c.name+": 'VARCHAR'")
	}
	_, err := maker.db.ExecContext(ctx, fmt.Sprintf("SET GLOBAL preserve_insertion_order = true; COPY (SELECT * FROM read_json(%s, columns = {%s}, format = 'newline_delimited')) TO %s (FORMAT parquet)",
		quote(text), strings.Join(columns, ", "), quote(parquet)))
	if err != nil {
		t.Fatal(err)
	}
	const rows = `SELECT string_agg(concat_ws('|', CASE WHEN request_id LIKE 'row-%' THEN 'None' ELSE request_id END, ts, coalesce(model, '-'), coalesce(status, '-'), ttft_ms, '/', caller_ttft_ms, '/', total_ms, '/', failed_ms,
		'/', n_429, '/', n_retries, '/', input_tokens, '/', output_tokens, '/', cost_usd, coalesce(cost_source, '-'), streamed, quality), e'\n' ORDER BY ts, request_id) FROM requests`
	const rejects = "SELECT string_agg(line || ' ' || reason, ', ' ORDER BY line) FROM rejects"
	a, b := openTemp(t), openTemp(t)
	mustLoad(t, a, text)
	mustLoad(t, b, parquet)
	for _, query := range []string{rows, rejects} {
		if want, got := scalar(t, a, query), scalar(t, b, query); got != want {
			t.Errorf("from Parquet:\n%s\nfrom text:\n%s", got, want)
		}
	}
}

func TestDamagedColumns(t *testing.T) {
	dir := t.TempDir()
	s := openTemp(t)
	var ipc bytes.Buffer
	w := NewArrowWriter(&ipc)
	if err := w.Write(&experiment.Batch{Requests: someRequests(100, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"cut.parquet":     []byte("PAR1 and no more"),
		"cut.arrow":       ipc.Bytes()[:ipc.Len()/2],
		"flipped.arrow":   append([]byte("\xff\xff\xff\xff"), bytes.Repeat([]byte{0x7f}, 4000)...),
		"nothing.arrow":   []byte("ARROW1\x00\x00"),
		"too short.arrow": []byte("ARROW1"),
	} {
		_, err := LoadFiles(context.Background(), s, []string{writeFile(t, filepath.Join(dir, name), content)}, loadOptions())
		if !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := scalar(t, s, "SELECT count(*) FROM requests"); got != "0" {
		t.Errorf("%s rows of damaged files", got)
	}
}
