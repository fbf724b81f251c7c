package ingest

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"switchback/experiment"
)

// attemptTable is the content of `attempts` without what depends on loads.
func attemptTable(tb testing.TB, s *Store) string {
	tb.Helper()
	return scalar(tb, s, `SELECT concat(count(*), ' ', md5(coalesce(string_agg(row, '|' ORDER BY row), ''))) FROM (SELECT concat_ws(',', request_id, attempt,
		coalesce(provider, '-'), coalesce(start_ms::VARCHAR, '-'), coalesce(latency_ms::VARCHAR, '-'), coalesce(http_status::VARCHAR, '-'), coalesce(error_type, '-'), coalesce(cost_usd::VARCHAR, '-')) AS row FROM attempts)`)
}

// logWriters are the writers of the canonical format that write to a stream.
func logWriters() map[string]func(io.Writer) interface {
	Write(*experiment.Batch) error
	Close() error
} {
	type logWriter = interface {
		Write(*experiment.Batch) error
		Close() error
	}
	return map[string]func(io.Writer) logWriter{
		"log.jsonl": func(w io.Writer) logWriter { return NewJSONLWriter(w) },
		"log.csv":   func(w io.Writer) logWriter { return NewCSVWriter(w) },
		"log.arrow": func(w io.Writer) logWriter { return NewArrowWriter(w) },
	}
}

// TestCanonicalLogsCarryAttempts: what a drive loads and what its log loads are the same rows in both tables.
func TestCanonicalLogsCarryAttempts(t *testing.T) {
	requests := someRequests(20_000, 5) // more than a record
	attempts := attemptsOf(requests)
	attempts[0].ErrorType, attempts[0].Provider = "it's a \"trap\", \n[{", "é,\u2028" // what must be quoted
	attempts[1].Cost = experiment.Some(experiment.NanoUSD(-1_000_000_001))
	attempts[2].Start, attempts[2].HTTPStatus = experiment.Opt[experiment.Micros]{}, experiment.Opt[int32]{}
	direct := openTemp(t)
	l, err := direct.NewLoader(t.Context(), LoadInfo{File: DriveFile, Format: SourceDrive, Now: someStart})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(&experiment.Batch{Requests: requests, Attempts: attempts}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, create := range logWriters() {
		var log bytes.Buffer
		w := create(&log)
		for rest, left := requests, (triesOf{attempts}); len(rest) > 0; rest = rest[min(777, len(rest)):] {
			var b experiment.Batch
			for _, r := range rest[:min(777, len(rest))] {
				b.Requests = append(b.Requests, r)
				b.Attempts = append(b.Attempts, left.next(r.RequestID)...)
			}
			if err := w.Write(&b); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), log.Bytes())
	}
	if err := direct.WriteParquet(t.Context(), filepath.Join(dir, "log.parquet")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"log.jsonl", "log.csv", "log.arrow", "log.parquet"} {
		s := openTemp(t)
		f := mustLoad(t, s, filepath.Join(dir, name)).Files[0]
		if f.Rows != 20_000 || f.Rejects != 0 || len(f.Unknown) != 0 {
			t.Errorf("%s: %+v", name, f)
		}
		if a, b := table(t, direct), table(t, s); a != b {
			t.Errorf("%s: requests are %s, the drive's %s", name, b, a)
		}
		if a, b := attemptTable(t, direct), attemptTable(t, s); a != b || strings.HasPrefix(a, "0 ") {
			t.Errorf("%s: attempts are %s, the drive's %s", name, b, a)
		}
	}
}

// TestAttemptLists: what a list may look like, in text and in Parquet. A list that cannot be read leaves a quality bit,
// and one attempt that served is not kept.
func TestAttemptLists(t *testing.T) {
	lines := []string{
		`{"request_id":"a","ts":"2026-11-03T09:00:00Z","model":"m","attempt_list":[{"provider":"x","http_status":429,"latency_ms":12.5},{"http_status":200}]}`,
		`{"request_id":"b","ts":"2026-11-03T09:00:01Z","model":"m","attempt_list":[{"attempt":2,"error_type":"timeout","cost_usd":"0.000000001","color":"red"}]}`,
		`{"request_id":"c","ts":"2026-11-03T09:00:02Z","model":"m","attempt_list":[{"http_status":200,"provider":"x"}]}`,
		`{"request_id":"d","ts":"2026-11-03T09:00:03Z","model":"m","attempt_list":[]}`,
		`{"request_id":"e","ts":"2026-11-03T09:00:04Z","model":"m","attempt_list":null}`,
		`{"request_id":"f","model":"m","attempt_list":[{"http_status":500}]}`, // a reject
		`{"request_id":"g","ts":"2026-11-03T09:00:05Z","model":"m"}`,          // has none of the reject's
		`{"attempt_list":[{"http_status":503}],"request_id":"h","ts":"2026-11-03T09:00:06Z","model":"m"}`,
	}
	const want = "a 1 x - 12.500 429 - -, a 2 - - - 200 - -, b 2 - - - - timeout 0.000000001, h 1 - - - 503 - -"
	const query = `SELECT string_agg(concat_ws(' ', request_id, attempt, coalesce(provider, '-'), coalesce(start_ms::VARCHAR, '-'), coalesce(latency_ms::VARCHAR, '-'),
		coalesce(http_status::VARCHAR, '-'), coalesce(error_type, '-'), coalesce(cost_usd::VARCHAR, '-')), ', ' ORDER BY request_id, attempt) FROM attempts`
	dir := t.TempDir()
	log := writeFile(t, filepath.Join(dir, "log.jsonl"), []byte(strings.Join(lines, "\n")))
	maker := openTemp(t)
	read := "FROM read_json(" + quote(log) + ", format = 'newline_delimited', columns = {request_id: 'VARCHAR', ts: 'VARCHAR', model: 'VARCHAR', attempt_list: '%s'})"
	for name, typ := range map[string]string{"text": "VARCHAR", "nested": "STRUCT(provider VARCHAR, http_status BIGINT, latency_ms DOUBLE, attempt BIGINT, error_type VARCHAR, cost_usd VARCHAR, color VARCHAR)[]"} {
		_, err := maker.db.ExecContext(context.Background(), "COPY (SELECT * "+strings.ReplaceAll(read, "%s", typ)+") TO "+quote(filepath.Join(dir, name+".parquet"))+" (FORMAT parquet)")
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"log.jsonl", "text.parquet", "nested.parquet"} {
		s := openTemp(t)
		o := loadOptions()
		o.MaxRejects = "1"
		if _, err := LoadFiles(t.Context(), s, []string{filepath.Join(dir, name)}, o); err != nil {
			t.Fatal(err)
		}
		if got := scalar(t, s, query); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		if got := scalar(t, s, "SELECT count(*) FROM requests WHERE quality <> 0"); got != "0" {
			t.Errorf("%s: %s rows with a quality bit", name, got)
		}
	}
	for _, bad := range []string{`"[{"`, `7`, `{"http_status":500}`, `[7]`, `[{"http_status":"many"}]`, `[{"latency_ms":-3}]`, `[{"attempt":0}]`, `[{"provider":{}}]`} {
		s := openTemp(t)
		mustLoad(t, s, writeFile(t, filepath.Join(dir, "bad.jsonl"), []byte(`{"request_id":"a","ts":"2026-11-03T09:00:00Z","model":"m","attempt_list":`+bad+`}`)))
		if got := scalar(t, s, "SELECT quality FROM requests"); got != "128" {
			t.Errorf("%s: quality %s, want the bit of a bad value (%d)", bad, got, experiment.QualityBadValue)
		}
	}
}

// TestDoubledRowsKeepOneListOfAttempts: the attempts of a record that stands twice in a file count once.
func TestDoubledRowsKeepOneListOfAttempts(t *testing.T) {
	const line = `{"request_id":"a","ts":"2026-11-03T09:00:00Z","model":"m","attempt_list":[{"http_status":429},{"http_status":200}]}`
	s := openTemp(t)
	dir := t.TempDir()
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "one.jsonl"), []byte(line+"\n"+line)))
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "two.jsonl"), []byte(line+"\n"+line+"\n\n")))
	if got := scalar(t, s, "SELECT concat((SELECT count(*) FROM requests), ' ', (SELECT count(*) FROM attempts), ' ', (SELECT count(DISTINCT attempt) FROM attempts))"); got != "1 2 2" {
		t.Errorf("requests, attempts and their numbers are %s, want 1 2 2", got)
	}
}
