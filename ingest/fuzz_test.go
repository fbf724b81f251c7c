package ingest

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"switchback/experiment"
)

// readAll reads bytes with a format into memory and checks what must hold of any input.
func readAll(t testing.TB, f format, data []byte) (rows []experiment.Request, rejects []rejected) {
	var attempts []experiment.Attempt
	sink := newRowSink("fuzz", newClock(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)),
		func(b *experiment.Batch) error {
			for _, r := range b.Requests { // their texts are gone when this returns
				for _, c := range requestColumns() {
					if c.text != nil {
						*c.text(&r) = strings.Clone(*c.text(&r))
					}
				}
				rows = append(rows, r)
			}
			for _, a := range b.Attempts {
				a.RequestID = strings.Clone(a.RequestID)
				attempts = append(attempts, a)
			}
			return nil
		},
		func(r rejected) error { rejects = append(rejects, r); return nil })
	unknown, err := f.read(bytes.NewReader(data), 0, sink)
	if err != nil {
		return rows, rejects
	}
	if int64(len(rows)) != sink.tally.rows || int64(len(rejects)) != sink.tally.rejects {
		t.Errorf("%d rows and %d rejects handed on, %d and %d counted", len(rows), len(rejects), sink.tally.rows, sink.tally.rejects)
	}
	for _, r := range rows {
		checkSane(t, &r)
	}
	for _, a := range attempts {
		if a.RequestID == "" || a.N < 1 || !utf8.ValidString(a.Provider+a.ErrorType) || a.Latency.Value < 0 || int64(a.Latency.Value) >= decimalLimit {
			t.Errorf("attempt %+v", a)
		}
	}
	for _, r := range rejects {
		if r.reason == "" || utf8.RuneCountInString(r.text) > 200*4 || strings.ContainsFunc(r.text, func(c rune) bool { return c < ' ' }) {
			t.Errorf("reject %+v", r)
		}
	}
	if len(unknown) > maxUnknown {
		t.Errorf("%d unknown columns are kept", len(unknown))
	}
	return rows, rejects
}

// checkSane checks what every loaded row has: ids and a time, valid text, no value that a table cannot hold.
func checkSane(t testing.TB, r *experiment.Request) {
	if r.RequestID == "" || r.SourceRowID == "" || r.Source == "" || r.TS == 0 || r.Model == "" && r.Status != experiment.StatusError || !knownStatus(r.Status) || !knownCostSource(r.CostSource) {
		t.Errorf("incomplete row %+v", r)
	}
	for _, c := range requestColumns() {
		if c.text != nil {
			if !utf8.ValidString(*c.text(r)) {
				t.Errorf("%s is no valid text: %q", c.name, *c.text(r))
			}
			continue
		}
		v, known := c.number(r)
		if known && (c.kind == kindMillis && (v < 0 || v >= decimalLimit) || (c.kind == kindInt || c.kind == kindBigint) && (v < 0 || v > 2*maxTokens+2*maxTokens)) {
			t.Errorf("%s = %d", c.name, v)
		}
	}
}

func samples(f *testing.F) [][]byte {
	files, err := filepath.Glob(filepath.Join(formatSamples, "*"))
	if err != nil {
		f.Fatal(err)
	}
	var out [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, text)
		for i, line := range bytes.Split(text, []byte("\n")) { // fuzzing short inputs finds more
			if i < 3 && bytes.HasPrefix(line, []byte("{\"")) {
				out = append(out, line)
			}
		}
	}
	return out
}

func readers() []format {
	return slices.DeleteFunc(formats(), func(f format) bool { return f.parquet })
}

// FuzzReaders reads any bytes with any format.
func FuzzReaders(f *testing.F) {
	for i, text := range samples(f) {
		f.Add(uint8(i), text) // read as what it is and as another format
	}
	f.Add(uint8(0), []byte("request_id,ts,model\n\"a\"\"b,2026-11-03T00:00:00Z,m\n\xff\x00,,"))
	f.Add(uint8(1), []byte(`{"request_id":"\ud800","ts":"2026-11-03T00:00:00Z","model":"m","cost_usd":1e400,"input_tokens":9223372036854775808}`))
	f.Add(uint8(1), []byte(strings.Repeat(`{"a":[`, 2000)))
	f.Add(uint8(1), []byte(`{"request_id":"a","ts":"2026-11-03T00:00:00Z","model":"m","attempt_list":[{"attempt":0,"latency_ms":1e400,"provider":"\ud800"},{"http_status":429}]}`))
	f.Add(uint8(0), []byte("request_id,ts,model,attempt_list\na,2026-11-03T00:00:00Z,m,\"[{\"\"error_type\"\":\"\"\xff\"\"}]\"\n"))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		all := readers()
		readAll(t, all[int(which)%len(all)], data)
		lines, _, _, err := sniff(bytes.NewReader(data), sampleBytes)
		if err != nil || len(lines) == 0 {
			return
		}
		if found, err := recognise(FormatAuto, lines); err == nil && !found.parquet {
			readAll(t, found, data)
		}
	})
}

// FuzzJSON compares the scanner with encoding/json: both must agree on what is one JSON object.
func FuzzJSON(f *testing.F) {
	for _, text := range samples(f) {
		f.Add(text)
	}
	for _, text := range []string{`{}`, `{"a":1}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":"\u12"}`, `{"a":"\x"}`, `{"a":1,}`, `{"a" 1}`, `[]`, `{"a":tru}`, "{\"a\":\"\x01\"}", `{"a":{"b":[1,{"c":null}]}} `, `{"a":1}x`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s jsonScanner
		mine := s.open(data)
		if mine {
			for first := true; ; first = false {
				if _, _, _, ok := s.member(first); !ok {
					break
				}
			}
			mine = s.done()
		}
		tree, treeOK := parseJSON(data)
		if object := treeOK && tree.kind == jsonNested && !tree.array; object != mine {
			t.Errorf("scanner says %v, tree says %v", mine, object)
		}
		trimmed := bytes.TrimLeft(data, " \t\r\n")
		theirs := json.Valid(data) && len(trimmed) > 0 && trimmed[0] == '{'
		if mine != theirs && !(theirs && nesting(data) > maxJSONDepth) {
			t.Errorf("scanner says %v, encoding/json says %v", mine, theirs)
		}
	})
}

// FuzzCanonicalJSON reads lines together, where each is compared with what the ones before looked like, and one by one.
func FuzzCanonicalJSON(f *testing.F) {
	const a, b = `{"request_id":"a","ts":"2026-11-03T00:00:00Z","model":"m","cost_usd":0.25,"x":1}`, `{"request_id": "b", "ts": "2026-11-03T00:00:00Z", "cost_usd": 1, "model": "m"}`
	for _, lines := range []string{
		a + "\n" + b + "\n" + a, b + "\n" + b + "\n" + a,
		a + "\n" + strings.Replace(a, `,"ts"`, `"ts"`, 1), a + "\n" + strings.Replace(a, `{"request_id":"a",`, `{,`, 1), a + "\n{" + a[len(`{"request_id":"a",`):],
		a + "\n" + strings.Replace(a, `"m"`, `"m\u00e9"`, 1) + "\n" + strings.Replace(a, "0.25", "025", 1) + "\n" + strings.Replace(a, "0.25", "-2.5e-1", 1),
		a + "\n" + strings.Replace(a, `"x":1`, `"x":1,"x":2,"model":"n"`, 1) + "\n" + a[:len(a)-1] + "," + "\n" + a[:40],
	} {
		f.Add([]byte(lines))
	}
	parse := func(lines ...[]byte) (rows []experiment.Request, reasons []string) {
		sink := newRowSink("fuzz", newClock(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)), nil, nil).forParser()
		chunk := newLogChunk()
		for i, line := range lines {
			chunk.add(int64(i), "", line)
		}
		newCanonicalJSON(sink).parse(chunk)
		for _, r := range chunk.rejects {
			reasons = append(reasons, r.reason+": "+r.text)
		}
		return chunk.batch.Requests, reasons
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := bytes.Split(data, []byte("\n"))
		rows, reasons := parse(lines...)
		var alone []experiment.Request
		var aloneReasons []string
		for _, line := range lines {
			row, reject := parse(line)
			alone, aloneReasons = append(alone, row...), append(aloneReasons, reject...)
			read := len(reject) == 0 || !strings.HasPrefix(reject[0], reasonNotJSON)
			object := json.Valid(line) && bytes.HasPrefix(bytes.TrimLeft(line, " \t\r"), []byte("{"))
			if read != object && nesting(line) <= maxJSONDepth {
				t.Errorf("%q is an object: %v", line, object)
			}
		}
		if !slices.Equal(rows, alone) || !slices.Equal(reasons, aloneReasons) {
			t.Errorf("together %v %q, one by one %v %q", rows, reasons, alone, aloneReasons)
		}
	})
}

func nesting(data []byte) int {
	depth, deepest := 0, 0
	for _, c := range data {
		switch c {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// FuzzCSV compares the reader of records with encoding/csv on everything that the latter accepts.
func FuzzCSV(f *testing.F) {
	for _, text := range samples(f) {
		f.Add(text)
	}
	f.Add([]byte("a,\"b\nc\",d\r\n\"x\"\"y\",,\n\"open"))
	f.Fuzz(func(t *testing.T, data []byte) {
		theirs, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil || bytes.Contains(data, []byte("\r")) { // encoding/csv rewrites CRLF inside fields
			return
		}
		r := csvReader{lines: newLineReader(bytes.NewReader(data))}
		for i := 0; ; i++ {
			record, err := r.next()
			if errors.Is(err, io.EOF) {
				if i != len(theirs) {
					t.Errorf("%d records, encoding/csv has %d", i, len(theirs))
				}
				return
			}
			if err != nil || record.reason != "" || i >= len(theirs) {
				t.Fatalf("record %d: %v %q", i, err, record.reason)
			}
			var mine []string
			for _, field := range record.fields {
				mine = append(mine, string(field))
			}
			if !slices.Equal(mine, theirs[i]) {
				t.Errorf("record %d is %q, encoding/csv has %q", i, mine, theirs[i])
			}
		}
	})
}

// TestHostileInput gives every reader what no log should hold.
func TestHostileInput(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 5<<20)
	good := `{"request_id":"a","ts":"2026-11-03T00:00:00Z","model":"m"}`
	for name, data := range map[string][]byte{
		"5 MB line":         append(append([]byte(`{"request_id":"`), long...), `","ts":"2026-11-03T00:00:00Z","model":"m"}`...),
		"5 MB of nothing":   long,
		"deep nesting":      []byte(strings.Repeat(`{"a":`, 1<<17)),
		"deep arrays":       []byte(`{"a":` + strings.Repeat("[", 1<<17)),
		"NUL bytes":         []byte("{\"request_id\":\"a\x00\",\"ts\":\"\x00\"}\n\x00\x00\x00"),
		"bad UTF-8":         []byte("{\"request_id\":\"\xff\xfe\",\"ts\":\"2026-11-03T00:00:00Z\",\"model\":\"\xc3\"}"),
		"BOM and CRLF":      []byte("\xef\xbb\xbf" + good + "\r\n" + good + "\r\n"),
		"numbers out of it": []byte(`{"request_id":"a","ts":"2026-11-03T00:00:00Z","model":"m","total_ms":1e400,"input_tokens":9223372036854775808,"output_tokens":-9e99,"cost_usd":1e-400}`),
		"many keys":         []byte("{" + strings.Repeat(`"k":1,`, 1<<14) + `"z":1}`),
		"one quote":         []byte("request_id,ts,model\n\"" + strings.Repeat("a,b\n", 1<<16)),
	} {
		for _, f := range readers() {
			start := time.Now()
			readAll(t, f, data)
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("%s with %s took %s", name, f.name, d)
			}
		}
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(good + "\n"))
	w.Close()
	s := openTemp(t)
	for cut := range z.Len() {
		path := writeFile(t, filepath.Join(t.TempDir(), "cut.gz"), z.Bytes()[:cut])
		LoadFiles(t.Context(), s, []string{path}, loadOptions()) //nolint:errcheck // must not load, panic or hang
	}
	if got := scalar(t, s, "SELECT count(*) FROM requests"); got != "0" {
		t.Errorf("%s rows of cut files", got)
	}
}
