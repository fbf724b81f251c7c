package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// Every sample of a format is recognised by its beginning, and what is read of it is what a load reads.
func TestInspectReadsEveryFormat(t *testing.T) {
	ctx := context.Background()
	samples, err := filepath.Glob("testdata/formats/*")
	if err != nil || len(samples) < 10 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, path := range samples {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		o := loadOptions()
		o.DryRun = true
		want, loadErr := LoadFiles(ctx, nil, []string{path}, o)
		heads, faults, err := Inspect(ctx, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		if (loadErr != nil) != (len(faults) > 0) {
			t.Errorf("%s: load %v, inspect %v", path, loadErr, faults)
			continue
		}
		if loadErr != nil {
			continue
		}
		got, file := heads[0], want.Files[0]
		if !got.Whole || got.Format != file.Format || got.Rows != file.Rows || got.Rejects != file.Rejects || !slices.Equal(got.Unread, file.Unread) || !got.From.Equal(file.From) || !got.To.Equal(file.To) {
			t.Errorf("%s: inspected %+v, loaded %+v", path, got, file)
		}
	}
}

// Of a long file the beginning is read, of each kind; the record at the cut is no fault.
func TestInspectReadsBeginnings(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	rows := someRequests(20_000, 5)
	plain := jsonl(t, rows)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a.jsonl": plain, "b.jsonl.gz": packed.Bytes()} {
		heads, faults, err := Inspect(ctx, []string{writeFile(t, filepath.Join(dir, name), content)}, loadOptions())
		if err != nil || len(faults) > 0 {
			t.Fatalf("%s: %v %v", name, faults, err)
		}
		if h := heads[0]; h.Whole || h.Rows < 1000 || h.Rows >= 20_000 || h.Rejects > 0 || h.Size != int64(len(content)) {
			t.Errorf("%s: %+v", name, h)
		}
	}
	s := openTemp(t)
	loadLog(t, s, rows)
	columns := filepath.Join(dir, "c.parquet")
	if err := s.WriteParquet(ctx, columns); err != nil {
		t.Fatal(err)
	}
	heads, faults, err := Inspect(ctx, []string{columns}, loadOptions())
	if err != nil || len(faults) > 0 || heads[0].Rows != 20_000 {
		t.Errorf("parquet: %+v %v %v", heads, faults, err)
	}
}

// The rejects of a Parquet file are those that a load finds, once its beginning has one.
func TestInspectCountsRejectsOfParquet(t *testing.T) {
	s := openTemp(t)
	for name, c := range map[string]struct {
		broken        string // SQL of the rows without a readable time
		rows, rejects int64
	}{
		"few":   {"row < 2", 3, 2},
		"all":   {"true", 3, 3},
		"many":  {"row = 5 OR row > 19_000", headRows * 2, 1000},
		"later": {"row > 19_000", headRows * 2, 0},
	} {
		path := filepath.Join(t.TempDir(), name+".parquet")
		_, err := s.db.Exec(fmt.Sprintf("COPY (SELECT 'r' || row AS request_id, CASE WHEN %s THEN 'noon' ELSE '2026-11-03 00:00:01' END AS ts, 'm' AS model FROM range(%d) AS log(row)) TO %s (FORMAT parquet)", c.broken, c.rows, quote(path)))
		if err != nil {
			t.Fatal(err)
		}
		heads, faults, err := Inspect(t.Context(), []string{path}, loadOptions())
		if err != nil || len(faults) > 0 {
			t.Fatalf("%s: %v, %v", name, faults, err)
		}
		if h := heads[0]; h.Rows != c.rows-c.rejects || h.Rejects != c.rejects || (c.rejects > 0) != (len(h.Examples) == 1) {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// Every fault is told, not only the first.
func TestInspectTellsEveryFault(t *testing.T) {
	dir := t.TempDir()
	good := writeFile(t, filepath.Join(dir, "good.jsonl"), jsonl(t, someRequests(10, 1)))
	text := writeFile(t, filepath.Join(dir, "text.csv"), []byte("a,b\n1,2\n"))
	bad := writeFile(t, filepath.Join(dir, "bad.csv"), []byte("request_id,ts,model\nr1,noon,m\n"))
	empty := writeFile(t, filepath.Join(dir, "empty.jsonl"), nil)
	cut := writeFile(t, filepath.Join(dir, "cut.gz"), []byte{0x1f, 0x8b, 8, 0})
	heads, faults, err := Inspect(context.Background(), []string{good, filepath.Join(dir, "none-*"), filepath.Join(dir, "absent"), text, bad, empty, cut, good}, loadOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(heads) != 3 || heads[0].Path != good || heads[0].Rows != 10 || heads[1].Path != bad || heads[1].Rows != 0 || heads[1].Rejects != 1 || heads[2].Path != empty || heads[2].Format != "" {
		t.Errorf("heads: %+v", heads)
	}
	told := fmt.Sprint(errors.Join(faults...))
	for _, want := range []string{"none-*: no file matches", "absent: no such file", "text.csv: no known log format", "cut.gz: "} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told:\n%s", want, told)
		}
	}
	for _, fault := range faults {
		if !errors.Is(fault, ErrInput) {
			t.Errorf("%v does not wrap ErrInput", fault)
		}
	}
	if len(faults) != 4 {
		t.Errorf("%d faults:\n%s", len(faults), told)
	}
}

// The value that cannot be read is shown, whatever the kind of file; so is what a load was left without.
func TestUnreadValuesAreShown(t *testing.T) {
	dir := t.TempDir()
	columns := filepath.Join(dir, "c.parquet")
	if _, err := openTemp(t).db.Exec("COPY (SELECT 'a' AS request_id, '16/11/2026 00:01' AS ts, 'm' AS model FROM range(3)) TO " + quote(columns) + " (FORMAT parquet)"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		columns: `ts: unreadable in line 1, "request_id=a, ts=16/11/2026 00:01, model=m"`,
		writeFile(t, filepath.Join(dir, "a.csv"), []byte("request_id,ts,model\na,16/11/2026 00:01,m\n")):                                                                                                      `ts: unreadable in line 2, "16/11/2026 00:01"`,
		writeFile(t, filepath.Join(dir, "a.jsonl"), []byte(`{"request_id":"a","ts":"16\/11\/2026","model":"m"}`)):                                                                                             `ts: unreadable in line 1, "16/11/2026"`,
		writeFile(t, filepath.Join(dir, "b.jsonl"), []byte(`{"request_id":"a","ts":1793696398,"model":"m"}`)):                                                                                                 `ts: a number, not RFC 3339 in line 1, "1793696398"`,
		writeFile(t, filepath.Join(dir, "h.jsonl"), []byte(`{"request_id":"h","request_created_at":"3 Nov","response_status":200,"request_model":"m","delay_ms":9,"prompt_tokens":1,"completion_tokens":1}`)): `ts: unreadable in line 1, "3 Nov"`,
	} {
		heads, faults, err := Inspect(t.Context(), []string{path}, loadOptions())
		if err != nil || len(faults) > 0 || len(heads) != 1 || heads[0].Rows != 0 || len(heads[0].Examples) != 1 || heads[0].Examples[0].String() != want {
			t.Errorf("%s: %+v, %v, %v; want %s", path, heads, faults, err, want)
			continue
		}
		if hint := Accepted(heads[0].Examples[0].Reason); !strings.Contains(hint, "2026-11-02T03:00:00Z") {
			t.Errorf("%s: hint %q", path, hint)
		}
		s := openTemp(t)
		for _, status := range []string{FileLoaded, FileReplaced} { // it is read again, as nothing of it is there
			f := mustLoad(t, s, path).Files[0]
			if f.Status != status || len(f.Examples) != 1 || !strings.HasSuffix(f.Examples[0].String(), want) {
				t.Errorf("%s: %s, %+v; want %s, %s", path, f.Status, f.Examples, status, want)
			}
		}
	}
}
