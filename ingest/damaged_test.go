package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"switchback/experiment"
)

// arrowSamples are small valid files of Arrow: streams and files, compressed and not, with every way to hold text.
func arrowSamples(t testing.TB) map[string][]byte {
	t.Helper()
	var ours bytes.Buffer
	w := NewArrowWriter(&ours)
	if err := errors.Join(w.Write(&experiment.Batch{Requests: someRequests(3, 1)}), w.Close()); err != nil {
		t.Fatal(err)
	}
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	metadata := arrow.NewMetadata([]string{"origin", "note"}, []string{"a test", ""})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "request_id", Type: arrow.BinaryTypes.String, Metadata: metadata},
		{Name: "ts", Type: arrow.FixedWidthTypes.Timestamp_ms},
		{Name: "model", Type: words, Nullable: true},
		{Name: "provider", Type: arrow.BinaryTypes.StringView, Nullable: true},
		{Name: "status", Type: arrow.Null, Nullable: true},
		{Name: "ttft_ms", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "streamed", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "k", Type: arrow.BinaryTypes.LargeString})), Nullable: true},
	}, &metadata)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	const rows = `{"request_id":"a","ts":"2026-11-03 08:59:58","model":"m","provider":"a provider of more than twelve letters","ttft_ms":20.5,"streamed":true,"tags":[{"k":"x"}]}
{"request_id":"b","ts":"2026-11-03 08:59:59","model":null,"provider":"p","ttft_ms":null,"streamed":null,"tags":null}
{"request_id":"c","ts":"2026-11-03 09:00:00","model":"n","provider":null,"ttft_ms":1e3,"streamed":false,"tags":[]}`
	for row := range bytes.Lines([]byte(rows)) {
		if err := b.UnmarshalJSON(row); err != nil {
			t.Fatal(err)
		}
	}
	record := b.NewRecord()
	defer record.Release()
	var stream, compressed bytes.Buffer
	file := new(seekBuffer)
	streamWriter, packedWriter := ipc.NewWriter(&stream, ipc.WithSchema(schema)), ipc.NewWriter(&compressed, ipc.WithSchema(schema), ipc.WithLZ4())
	fileWriter, err := ipc.NewFileWriter(file, ipc.WithSchema(schema), ipc.WithZstd())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []interface {
		Write(arrow.Record) error
		Close() error
	}{streamWriter, packedWriter, fileWriter} {
		if err := errors.Join(w.Write(record), w.Write(record), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return map[string][]byte{"ours": ours.Bytes(), "stream": stream.Bytes(), "lz4": compressed.Bytes(), "file": file.Bytes()}
}

// seekBuffer is what ipc.NewFileWriter asks for.
type seekBuffer struct{ bytes.Buffer }

func (s *seekBuffer) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("not needed")
	}
	return int64(s.Len()), nil
}

// FuzzArrow reads any bytes as Arrow.
func FuzzArrow(f *testing.F) {
	for _, data := range arrowSamples(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, arrowFormat(t), data) })
}

func arrowFormat(t testing.TB) format {
	for _, f := range formats() {
		if f.recognises([][]byte{[]byte(arrowMagic)}) {
			return f
		}
	}
	t.Fatal("no format")
	return format{}
}

// Every cut and many a damaged byte of small files of Arrow: rows, rejects or a refusal, and never a panic or gigabytes. Of
// a file that lacks its end nothing counts.
func TestDamagedArrow(t *testing.T) {
	f := arrowFormat(t)
	read := func(data []byte) (int64, error) {
		sink := newRowSink("damaged", newClock(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)), func(*experiment.Batch) error { return nil }, func(rejected) error { return nil })
		_, err := f.read(bytes.NewReader(data), 0, sink)
		if err != nil && !errors.Is(err, ErrInput) {
			t.Errorf("%v is no refusal", err)
		}
		return sink.tally.rows, err
	}
	for name, data := range arrowSamples(t) {
		if rows, err := read(data); err != nil || rows != map[string]int64{"ours": 3, "stream": 4, "lz4": 4, "file": 4}[name] {
			t.Fatalf("%s: %d rows, %v", name, rows, err)
		}
		taken := 0
		for cut := 0; cut < len(data); cut += 1 + len(data)/250 {
			if _, err := read(data[:cut]); err == nil {
				taken++
			}
		}
		if taken > 5 || name == "file" && taken > 0 { // a stream may end behind any of its messages
			t.Errorf("%s: %d of its beginnings are taken for the whole", name, taken)
		}
		refused := 0
		for at := 0; at < len(data); at += 1 + len(data)/200 {
			for _, flip := range []byte{0x80, 0xff} {
				hurt := bytes.Clone(data)
				hurt[at] ^= flip
				if _, err := read(hurt); err != nil {
					refused++
				}
			}
		}
		t.Logf("%s: %d bytes, %d damaged copies refused", name, len(data), refused)
	}
}

// Reading that ends because of the disk or of an interrupt says nothing against the file.
func TestFaultsOfTheMachine(t *testing.T) {
	data := arrowSamples(t)["ours"]
	for _, fault := range []error{&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}, context.Canceled} {
		for at := 0; at < len(data); at += 1 + len(data)/50 {
			sink := newRowSink("x", newClock(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)), func(*experiment.Batch) error { return nil }, func(rejected) error { return nil })
			_, err := arrowFormat(t).read(io.MultiReader(bytes.NewReader(data[:at]), iotest.ErrReader(fault)), 0, sink)
			if !errors.Is(err, fault) || errors.Is(err, ErrInput) {
				t.Errorf("after %d bytes: %v becomes %v", at, fault, err)
			}
		}
	}
}

// Types that hold no single values, or none at all where every row has one.
func TestArrowColumnsWithoutValues(t *testing.T) {
	texts := arrow.BinaryTypes.String
	for name, id := range map[string]arrow.DataType{
		"null": arrow.Null, "list<item: utf8, nullable>": arrow.ListOf(texts), "run_end_encoded<run_ends: int32, values: utf8>": arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, texts),
	} {
		var file bytes.Buffer
		schema := arrow.NewSchema([]arrow.Field{{Name: "request_id", Type: id}, {Name: "ts", Type: texts}, {Name: "model", Type: texts}}, nil)
		if err := ipc.NewWriter(&file, ipc.WithSchema(schema)).Close(); err != nil {
			t.Fatal(err)
		}
		_, err := LoadFiles(t.Context(), openTemp(t), []string{writeFile(t, filepath.Join(t.TempDir(), "x.arrow"), file.Bytes())}, loadOptions())
		if !errors.Is(err, ErrInput) || !strings.HasSuffix(err.Error(), "column request_id is "+name+", which is not one value a row") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Damaged copies of a small Parquet file, each beside a whole file of text: rows, rejects or a refusal, after which the store
// takes the other file. Some kinds of damage shut the database that DuckDB reads them in.
func TestDamagedParquet(t *testing.T) {
	copies := 40
	if n, err := strconv.Atoi(os.Getenv("SWITCHBACK_TEST_DAMAGES")); err == nil {
		copies = n
	}
	dir := t.TempDir()
	maker := openTemp(t)
	load(t, maker, someRequests(40, 1))
	whole := filepath.Join(dir, "whole.parquet")
	if err := maker.WriteParquet(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	var files [][]byte // compressed, where damage most often shows, and not
	for _, codec := range []string{"uncompressed", "snappy"} {
		if _, err := maker.db.Exec("COPY (FROM " + quote(whole) + ") TO " + quote(whole+codec) + " (FORMAT parquet, COMPRESSION " + codec + ")"); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{whole, whole + "uncompressed", whole + "snappy", whole + "uncompressed"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	text := writeFile(t, filepath.Join(dir, "text.jsonl"), jsonl(t, someRequests(1, 2)))
	rng := rand.New(rand.NewPCG(3, 1))
	s := openTemp(t)
	refused := 0
	for i := range copies {
		hurt := bytes.Clone(files[i%len(files)])
		switch at := rng.IntN(len(hurt) - 4); i % 5 {
		case 0:
			hurt = hurt[:at]
		case 1:
			copy(hurt[at:], bytes.Repeat([]byte{0xff}, 1+rng.IntN(64)))
		default:
			hurt[at] ^= byte(1 << rng.IntN(8))
		}
		path := writeFile(t, filepath.Join(dir, "hurt.parquet"), hurt)
		if _, err := s.db.Exec("DELETE FROM loads; DELETE FROM requests; DELETE FROM rejects"); err != nil {
			t.Fatalf("copy %d: %v", i, err)
		}
		report, err := LoadFiles(t.Context(), s, []string{path, text}, loadOptions())
		if err != nil && !errors.Is(err, ErrInput) || len(report.Files) != 2 || report.Files[1].Rows != 1 {
			t.Errorf("copy %d: %v, %+v", i, err, report.Files)
		}
		if got := scalar(t, s, "SELECT count(*) FROM requests"); err != nil && got != "1" {
			t.Errorf("copy %d: %s rows although it was refused", i, got)
		}
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("copy %d: %v", i, err)
			}
		}
	}
	if refused < copies/4 {
		t.Errorf("%d of %d damaged copies are refused", refused, copies)
	}
	t.Logf("%d of %d damaged copies refused", refused, copies)
}
