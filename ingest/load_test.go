package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"switchback/experiment"
)

// jsonl writes requests as canonical JSON lines.
func jsonl(tb testing.TB, requests []experiment.Request) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := NewJSONLWriter(&b)
	if err := w.Write(&experiment.Batch{Requests: requests}); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func writeFile(tb testing.TB, path string, content []byte) string {
	tb.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

func loadOptions() LoadOptions {
	o := DefaultLoadOptions()
	o.Now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	return o
}

// mustLoad loads files and fails the test on an error.
func mustLoad(tb testing.TB, s *Store, paths ...string) LoadReport {
	tb.Helper()
	report, err := LoadFiles(context.Background(), s, paths, loadOptions())
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

// table is the content of `requests` without what depends on loads.
func table(tb testing.TB, s *Store) string {
	tb.Helper()
	var values []string
	for _, c := range requestColumns() {
		values = append(values, "coalesce("+c.name+"::VARCHAR, 'NULL')")
	}
	return scalar(tb, s, "SELECT concat(count(*), ' ', md5(coalesce(string_agg(row, '|' ORDER BY row), ''))) FROM (SELECT concat_ws(',', "+
		strings.Join(values, ", ")+") AS row FROM requests)")
}

func TestJSONLRoundTrip(t *testing.T) {
	requests := someRequests(3000, 4)
	direct := openTemp(t)
	load(t, direct, requests)
	viaFile := openTemp(t)
	report := mustLoad(t, viaFile, writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), jsonl(t, requests)))
	if f := report.Files[0]; f.Rows != 3000 || f.Rejects != 0 || len(f.Unknown) != 0 {
		t.Errorf("report: %+v", f)
	}
	if a, b := table(t, direct), table(t, viaFile); a != b {
		t.Errorf("rows through a file differ: %s, %s", a, b)
	}
}

func TestCompressedFiles(t *testing.T) {
	plain := jsonl(t, someRequests(500, 5))
	var gz, zst bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write(plain)
	z.Close()
	e, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	e.Write(plain)
	e.Close()
	dir := t.TempDir()
	var want string
	for name, content := range map[string][]byte{"a.jsonl": plain, "b.jsonl.gz": gz.Bytes(), "it's; DROP TABLE requests --é.zst": zst.Bytes()} {
		s := openTemp(t)
		mustLoad(t, s, writeFile(t, filepath.Join(dir, name), content))
		if want == "" {
			want = table(t, s)
		}
		if got := table(t, s); got != want || !strings.HasPrefix(got, "500 ") {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	s := openTemp(t)
	report, err := LoadFiles(context.Background(), s, []string{writeFile(t, filepath.Join(dir, "cut.gz"), gz.Bytes()[:gz.Len()/2])}, loadOptions())
	if err != nil || !report.CutShort || report.Files[0].Status != FileRefused {
		t.Errorf("cut gzip: %+v, %v", report, err)
	}
	if got := scalar(t, s, "SELECT count(*) FROM requests"); got != "0" {
		t.Errorf("%s rows of a cut file", got)
	}
}

func TestExactlyOnce(t *testing.T) {
	requests := someRequests(1000, 6)
	dir := t.TempDir()
	path := filepath.Join(dir, "log.jsonl")
	s := openTemp(t)
	status := func(paths ...string) string {
		t.Helper()
		var out []string
		for _, f := range mustLoad(t, s, paths...).Files {
			out = append(out, fmt.Sprint(f.Status, " ", f.Rows))
		}
		return strings.Join(out, ", ")
	}
	check := func(got, want string, rows int) {
		t.Helper()
		if got != want {
			t.Errorf("load: %s, want %s", got, want)
		}
		if n := scalar(t, s, "SELECT count(*) || ' ' || count(DISTINCT request_id) FROM requests"); n != fmt.Sprintf("%d %d", rows, rows) {
			t.Errorf("after %s the table has %s rows and ids, want %d", want, n, rows)
		}
	}
	writeFile(t, path, jsonl(t, requests[:600]))
	check(status(path), "loaded 600", 600)
	check(status(path), "unchanged 0", 600)
	copied := writeFile(t, filepath.Join(dir, "copy.jsonl"), jsonl(t, requests[:600]))
	check(status(copied), "unchanged 0", 600)
	writeFile(t, path, jsonl(t, requests[:800]))
	check(status(path), "grown 200", 800)
	check(status(path), "unchanged 0", 800)
	writeFile(t, path, jsonl(t, requests[100:700]))
	check(status(path), "replaced 600", 600)
	// An overlapping export: what both hold stands once.
	other := writeFile(t, filepath.Join(dir, "other.jsonl"), jsonl(t, requests[500:1000]))
	report := mustLoad(t, s, other)
	if f := report.Files[0]; f.Rows != 500 || f.Duplicates != 200 || f.Conflicts != 0 {
		t.Errorf("overlap: %+v", f)
	}
	check("", "", 900)
}

// overlappingExports loads two files that share the middle of their 900 requests.
func overlappingExports(t *testing.T) (requests []request, s *Store, a, b string) {
	t.Helper()
	requests = someRequests(900, 14)
	dir := t.TempDir()
	a = writeFile(t, filepath.Join(dir, "a.jsonl"), jsonl(t, requests[:600]))
	b = writeFile(t, filepath.Join(dir, "b.jsonl"), jsonl(t, requests[300:]))
	s = openTemp(t)
	mustLoad(t, s, a, b)
	return requests, s, a, b
}

// Two exports overlap; then the one whose copies stayed shrinks. The other one still has the rows.
func TestNoRowIsLostWithAFileThatShrinks(t *testing.T) {
	requests, s, a, b := overlappingExports(t)
	writeFile(t, b, jsonl(t, requests[500:]))
	statuses := ""
	for _, f := range mustLoad(t, s, a, b).Files {
		statuses += f.Status + " "
	}
	if got := scalar(t, s, "SELECT count(*) || ' ' || count(DISTINCT request_id) FROM requests"); got != "900 900" || statuses != "replaced replaced " {
		t.Errorf("%s rows and ids after %s", got, statuses)
	}
	for _, f := range mustLoad(t, s, a, b).Files {
		if f.Status != FileUnchanged {
			t.Errorf("the next night: %+v", f)
		}
	}
}

func TestLateRows(t *testing.T) {
	requests := someRequests(700, 15) // a week, 100 a day
	dir := t.TempDir()
	s := openTemp(t)
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "a.jsonl"), jsonl(t, requests[150:300])))
	f := mustLoad(t, s, writeFile(t, filepath.Join(dir, "b.jsonl"), jsonl(t, append(requests[:150:150], requests[300:310]...)))).Files[0]
	if f.Late != 150 || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "belong to 2026-11-02, 2026-11-03") {
		t.Errorf("report: %+v", f)
	}
}

func TestDuplicatesInAFile(t *testing.T) {
	r := someRequests(2, 7)
	r[0].Source, r[1].Source = "", "" // rows of a log
	poor, rich, later := r[0], r[0], r[0]
	poor.Total, poor.Cost, poor.CostSource = experiment.Opt[experiment.Micros]{}, experiment.Opt[experiment.NanoUSD]{}, ""
	rich.Total = experiment.Some[experiment.Micros](1_000_000)
	later.Total = experiment.Some[experiment.Micros](2_000_000)
	reused := r[1] // the id of another request
	reused.RequestID, reused.SourceRowID = r[0].RequestID, r[0].RequestID
	s := openTemp(t)
	path := writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), jsonl(t, []experiment.Request{rich, later, poor, reused}))
	report := mustLoad(t, s, path)
	if f := report.Files[0]; f.Rows != 4 || f.Duplicates != 2 || f.Conflicts != 2 {
		t.Errorf("report: %+v", f)
	}
	if got := scalar(t, s, "SELECT string_agg(total_ms, ' ' ORDER BY ts) FROM requests"); !strings.HasPrefix(got, "2000.000 ") {
		t.Errorf("kept %s, want the later of the complete ones and the reused id", got)
	}
	h, err := s.Health(context.Background(), Window{})
	if err != nil || h.Conflicts != 2 || h.ReusedIDs != 1 {
		t.Errorf("health: %d conflicts, %d reused ids, %v", h.Conflicts, h.ReusedIDs, err)
	}
}

func TestRejects(t *testing.T) {
	good := `{"request_id":"a","ts":"2026-11-03T08:59:58.250Z","model":"m"}`
	lines := []string{
		good,
		`{"request_id":"b","ts":"2026-11-03T08:59:58.250Z","model":"m"`,
		`not json`, `[1,2]`, ``,
		`{"ts":"2026-11-03T08:59:58.250Z","model":"m"}`,
		`{"request_id":"c","model":"m"}`,
		`{"request_id":"d","ts":"yesterday","model":"m"}`,
		`{"request_id":"e","ts":1793696398,"model":"m"}`,
		`{"request_id":"f","ts":"2014-12-31T23:59:59Z","model":"m"}`,
		`{"request_id":"g","ts":"2026-12-03T00:00:00Z","model":"m"}`,
		`{"request_id":"h","ts":"2026-11-03T08:59:58Z"}`,
		"{\"request_id\":\"\x1b[31m\",\"ts\":\"x\",\"model\":\"m\"}",
		`{"request_id":"i","ts":"2026-11-03T08:59:58Z","model":"m","ttft_ms":-5,"total_ms":"1e400","n_429":1.5,"status":"weird","input_tokens":"12","output_tokens":-1,"is_byok":"True","extra":[{}]}`,
	}
	path := writeFile(t, filepath.Join(t.TempDir(), "bad.jsonl"), []byte(strings.Join(lines, "\n")))
	s := openTemp(t)
	f := mustLoad(t, s, path).Files[0]
	want := []Count{
		{reasonNotJSON, 4}, {reasonTimeRange, 2}, {reasonNoModel, 1}, {reasonNoID, 1}, {reasonNumberTime, 1}, {reasonNoTime, 1}, {reasonBadTime, 1},
	}
	if diff := gocmp.Diff(want, f.Reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	examples := []Reject{
		{reasonNotJSON, 2, lines[1]}, {reasonTimeRange, 10, "2014-12-31T23:59:59Z"}, {reasonNoModel, 12, lines[11]}, {reasonNoID, 6, lines[5]},
		{reasonNumberTime, 9, "1793696398"}, {reasonNoTime, 7, lines[6]}, {reasonBadTime, 8, "yesterday"},
	}
	if diff := gocmp.Diff(examples, f.Examples); diff != "" {
		t.Errorf("examples (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"extra"}, f.Unknown); diff != "" {
		t.Errorf("unknown columns (-want +got):\n%s", diff)
	}
	if got := scalar(t, s, "SELECT string_agg(line || ' ' || reason, ', ' ORDER BY line) FROM rejects WHERE line IN (2, 10) AND file = ?", path); got != "2 not a JSON object, 10 timestamp out of range" {
		t.Errorf("rejects: %s", got)
	}
	if got := scalar(t, s, "SELECT text FROM rejects WHERE line = 13"); strings.Contains(got, "\x1b") || !strings.Contains(got, `\x1b[31m`) {
		t.Errorf("text of a reject: %q", got)
	}
	got := scalar(t, s, "SELECT concat_ws(' ', ttft_ms IS NULL, total_ms IS NULL, n_429 IS NULL, status IS NULL, input_tokens, output_tokens IS NULL, is_byok, quality) FROM requests WHERE request_id = 'i'")
	if want := fmt.Sprintf("true true true true 12 true true %d", experiment.QualityNegativeTime|experiment.QualityBadValue); got != want {
		t.Errorf("odd values: %s, want %s", got, want)
	}
}

func TestCanonicalCSV(t *testing.T) {
	text := "\xef\xbb\xbfmodel,ts,request_id,total_ms,extra,session_id\r\n" +
		"m,2026-11-03 08:59:58.250,a,12.5,1,\"s,1\"\r\n" +
		"\"m \"\"x\"\"\",2026-11-03T09:00:00Z,b,,2,\"two\r\nlines\"\r\n" +
		"m,2026-11-03T09:00:01Z,c,1\r\n" +
		"m,2026-11-03T09:00:02Z,d,N/A,3,\"open\r\n" +
		"m,2026-11-03T09:00:03Z,e,None,4,\r\n" +
		"model,ts,request_id,total_ms,extra,session_id,n_429\r\n" +
		"m,2026-11-03T09:00:04Z,f,7,5,,2"
	s := openTemp(t)
	f := mustLoad(t, s, writeFile(t, filepath.Join(t.TempDir(), "log.csv"), []byte(text))).Files[0]
	if f.Rows != 4 || f.Rejects != 2 {
		t.Errorf("report: %+v", f)
	}
	got := scalar(t, s, "SELECT string_agg(concat_ws('|', request_id, model, total_ms, session_id, n_429), ' ' ORDER BY ts) FROM requests")
	if want := "a|m|12.500|s,1 b|m \"x\"|two\nlines e|m f|m|7.000|2"; got != want {
		t.Errorf("rows %q, want %q", got, want)
	}
	if got := scalar(t, s, "SELECT string_agg(line || ' ' || reason, ', ' ORDER BY line) FROM rejects"); got != "5 wrong number of fields, 6 quote is not closed" {
		t.Errorf("rejects: %s", got)
	}
}

func TestInputErrors(t *testing.T) {
	dir := t.TempDir()
	s := openTemp(t)
	for name, c := range map[string]struct {
		path, format, want string
	}{
		"missing":      {filepath.Join(dir, "none.csv"), "auto", "no such file"},
		"no match":     {filepath.Join(dir, "*.none"), "auto", "no file matches"},
		"folder":       {dir, "auto", "a folder, not a file"},
		"unknown":      {writeFile(t, filepath.Join(dir, "a.txt"), []byte("hello\n")), "auto", "no known log format"},
		"utf-16":       {writeFile(t, filepath.Join(dir, "b.csv"), []byte("\xff\xfet\x00s\x00")), "auto", "UTF-16"},
		"forced":       {writeFile(t, filepath.Join(dir, "c.csv"), []byte("a,b\n1,2\n")), "canonical", "not in the format canonical"},
		"wrong format": {filepath.Join(dir, "c.csv"), "nonesuch", "is not one of"},
	} {
		o := loadOptions()
		o.Format = c.format
		_, err := LoadFiles(context.Background(), s, []string{c.path}, o)
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	empty := writeFile(t, filepath.Join(dir, "empty.csv"), nil)
	if f := mustLoad(t, s, empty).Files[0]; f.Status != FileEmpty || len(f.Warnings) != 1 {
		t.Errorf("empty file: %+v", f)
	}
	odd := writeFile(t, filepath.Join(dir, "[x]*.jsonl"), jsonl(t, someRequests(5, 8)))
	if f := mustLoad(t, s, odd).Files[0]; f.Rows != 5 {
		t.Errorf("an existing name wins over a pattern: %+v", f)
	}
}
