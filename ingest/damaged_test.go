package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// A Parquet file that cannot be read to its end is refused by name and nothing of it stays, the other file is loaded. When
// it is not known what is wrong, the load fails.
func TestDamagedParquet(t *testing.T) {
	dir := t.TempDir()
	maker := openTemp(t)
	load(t, maker, someRequests(40, 1))
	whole := filepath.Join(dir, "whole.parquet")
	if err := maker.WriteParquet(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	frame := bytes.Index(data, []byte{0x28, 0xb5, 0x2f, 0xfd}) // the first compressed page
	hurt := bytes.Clone(data)
	copy(hurt[frame+6:], "\xff\xff\xff\xff")
	text := writeFile(t, filepath.Join(dir, "text.jsonl"), jsonl(t, someRequests(1, 2)))
	for name, c := range map[string]struct {
		data   []byte
		damage string // that another reader tells
		want   string
	}{
		"page":   {hurt, "", "damaged: "},
		"cut":    {data[:len(data)/2], "", "damaged: "},
		"footer": {append(bytes.Clone(data[:len(data)-8]), "\xff\xff\xff\x7fPAR1"...), "", "damaged: "},
		"other":  {data, "its reader crashes", "damaged: its reader crashes"},
	} {
		s := openTemp(t)
		path := writeFile(t, filepath.Join(dir, name+".parquet"), c.data)
		o := loadOptions()
		if c.damage != "" {
			o.ReadParquet = func(context.Context, string) (string, error) { return c.damage, nil }
		}
		report, err := LoadFiles(t.Context(), s, []string{path, text}, o)
		if !errors.Is(err, ErrInput) || !strings.HasPrefix(err.Error(), "load "+path+": "+c.want) || strings.Contains(err.Error(), "\n") || Hint(err) != damagedHint {
			t.Errorf("%s: %v", name, err)
		}
		if report.Files[0].Status != FileRefused || report.Files[1].Status != FileLoaded || scalar(t, s, "SELECT count(*) FROM requests") != "1" {
			t.Errorf("%s: %+v", name, report.Files)
		}
	}
	o := loadOptions()
	o.ReadParquet = func(context.Context, string) (string, error) { return "", errors.New("no memory") }
	if _, err := LoadFiles(t.Context(), openTemp(t), []string{whole}, o); err == nil || errors.Is(err, ErrInput) || !strings.HasSuffix(err.Error(), "whole.parquet: no memory") {
		t.Errorf("a reader that fails: %v", err)
	}
}
