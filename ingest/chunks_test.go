package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
)

// brokenLog is a log of many chunks with the ids of its rows and the lines of its rejects, in order.
type brokenLog struct {
	text    bytes.Buffer
	line    int64 // of what comes next
	ids     []string
	rejects []rejected
	unread  map[string]UnreadField
}

func (l *brokenLog) add(text string) (line int64) {
	line = l.line + 1
	l.text.WriteString(text)
	l.line += int64(strings.Count(text, "\n"))
	return line
}

func (l *brokenLog) row(id, text string) {
	l.add(text)
	l.ids = append(l.ids, id)
}

func (l *brokenLog) reject(reason, text string) {
	line, _, _ := strings.Cut(text, "\n")
	l.rejects = append(l.rejects, rejected{file: "log", line: l.add(text), reason: reason, text: rejectText([]byte(strings.TrimSuffix(line, "\r")))})
}

// unreadable notes a value of the next row.
func (l *brokenLog) unreadable(column, text string) {
	u, known := l.unread[column]
	if !known {
		u = UnreadField{Column: column, Line: l.line + 1, Text: text}
	}
	u.N++
	l.unread[column] = u
}

func brokenJSON(n int, rng *rand.Rand) *brokenLog {
	l := &brokenLog{unread: map[string]UnreadField{}}
	for i := range n {
		id := fmt.Sprint("r", i)
		switch rng.IntN(12) {
		case 0:
			l.reject(reasonNotJSON, id+strings.Repeat("{", rng.IntN(40))+"\n")
		case 1:
			l.reject(reasonBadTime, `{"request_id":"`+id+`","ts":"yesterday","model":"m","reasoning_tokens":"of no row"}`+"\r\n")
		case 2:
			l.add(strings.Repeat(" \n", rng.IntN(3)))
		case 3: // other order, spaces, escapes, a key that no line before had
			l.row(id, fmt.Sprintf("{ \"model\" : \"m\\u00e9\", \"note%d\":{\"a\":[1]}, \"request_id\": \"\\u0072%s\", \"ts\":\"2026-11-03T00:00:00Z\" }\n", i, id[1:]))
		case 4:
			value := fmt.Sprintf("%d.5", i)
			l.unreadable("output_tokens", value)
			if i > n/2 {
				l.unreadable("ttft_ms", "{"+value+"}")
				value += `,"ttft_ms":"{` + value + `}"`
			}
			l.row(id, fmt.Sprintf(`{"request_id":"%s","ts":"2026-11-03T00:00:00Z","model":"m","output_tokens":%s}`+"\n", id, value))
		default:
			l.row(id, fmt.Sprintf(`{"request_id":"%s","ts":"2026-11-03T00:00:%02dZ","model":"m","prompt":"%s","input_tokens":%d,"cost_usd":0.%09d}`+"\n",
				id, i%60, strings.Repeat("x", rng.IntN(300)), i, i))
		}
	}
	return l
}

func brokenCSV(n int, rng *rand.Rand) *brokenLog {
	l := &brokenLog{unread: map[string]UnreadField{}}
	l.add("request_id,ts,model,note,input_tokens\n")
	swapped := false
	for i := range n {
		id := fmt.Sprint("r", i)
		row := func(note string) string {
			if swapped {
				return fmt.Sprintf("2026-11-03T00:00:00Z,%s,m,%d\n", id, i)
			}
			return fmt.Sprintf("%s,2026-11-03T00:00:00Z,m,%s,%d\n", id, note, i)
		}
		switch k := rng.IntN(200); {
		case k == 0:
			swapped = !swapped
			l.add(map[bool]string{true: "ts,request_id,model,input_tokens\n", false: "request_id,ts,model,note,input_tokens\n"}[swapped])
		case k < 20:
			l.reject(reasonFields, id+",request_id\n")
		case k < 40 && !swapped:
			l.row(id, row(`"a,`+strings.Repeat("\nr1,2026-11-03T00:00:00Z,m,,7", rng.IntN(4))+` ""b"""`))
		case k < 60 && !swapped:
			l.row(id, row(`a"b`)) // no quoted field
		case k < 80:
			l.add("\n")
		case k < 100 && !swapped:
			l.unreadable("input_tokens", id)
			l.row(id, fmt.Sprintf("%s,2026-11-03T00:00:00Z,m,,%s\n", id, id))
		case k < 110 && !swapped:
			l.reject(reasonBadTime, id+",yesterday,m,,of no row\n")
		default:
			l.row(id, row(strings.Repeat("x", rng.IntN(200))))
		}
	}
	l.reject(reasonQuote, "\"open,\n")
	l.row("last", map[bool]string{true: "2026-11-03T00:00:00Z,last,m,1\n", false: "last,2026-11-03T00:00:00Z,m,,1\n"}[swapped])
	return l
}

// Chunks are parsed side by side: rows, rejects and counts are those of the lines in their order, at any number of processors.
func TestChunksKeepTheOrderOfTheFile(t *testing.T) {
	for name, log := range map[string]*brokenLog{
		"jsonl": brokenJSON(20_000, rand.New(rand.NewPCG(1, 1))),
		"csv":   brokenCSV(20_000, rand.New(rand.NewPCG(1, 2))),
	} {
		if log.text.Len() < 6*chunkBytes {
			t.Fatalf("%s: only %d bytes", name, log.text.Len())
		}
		read := readCanonicalJSON
		if name == "csv" {
			read = readCanonicalCSV
		}
		var first fileTally
		var firstUnknown, firstMissing []string
		for _, threads := range []int{1, 2, 7} {
			before := runtime.GOMAXPROCS(threads)
			defer runtime.GOMAXPROCS(before)
			var ids []string
			var rejects []rejected
			sink := newRowSink("log", newClock(time.Time{}), func(b *experiment.Batch) error {
				for i := range b.Requests {
					ids = append(ids, strings.Clone(b.Requests[i].RequestID))
				}
				return nil
			}, func(r rejected) error { rejects = append(rejects, r); return nil })
			unknown, err := read(bytes.NewReader(log.text.Bytes()), 0, sink)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ids, log.ids) {
				t.Errorf("%s, %d threads: %d rows, want %d, or another order", name, threads, len(ids), len(log.ids))
			}
			if d := cmp.Diff(log.rejects, rejects, cmp.AllowUnexported(rejected{})); d != "" {
				t.Errorf("%s, %d threads: rejects (-want +got):\n%s", name, threads, d)
			}
			if d := cmp.Diff(log.unread, sink.tally.unread); d != "" {
				t.Errorf("%s, %d threads: unreadable values (-want +got):\n%s", name, threads, d)
			}
			if sink.tally.rows != int64(len(log.ids)) || sink.tally.rejects != int64(len(log.rejects)) || len(unknown) == 0 {
				t.Errorf("%s, %d threads: counts %+v, unknown %q", name, threads, sink.tally, unknown)
			}
			if threads == 1 {
				first, firstUnknown, firstMissing = sink.tally, unknown, sink.missingColumns()
			}
			if d := cmp.Diff(first, sink.tally, cmp.AllowUnexported(fileTally{})); d != "" || !slices.Equal(firstUnknown, unknown) || !slices.Equal(firstMissing, sink.missingColumns()) {
				t.Errorf("%s, %d threads: counts differ from those of one:\n%s", name, threads, d)
			}
		}
	}
}

// A load ends with the first error, of the file or of what takes its rows, and leaves no goroutine behind.
func TestChunksEndWithAnError(t *testing.T) {
	text := brokenJSON(5000, rand.New(rand.NewPCG(1, 3))).text.Bytes()
	broken, full := errors.New("broken disk"), errors.New("disk full")
	before := runtime.NumGoroutine()
	accept := func(*experiment.Batch) error { return nil }
	sink := newRowSink("log", newClock(time.Time{}), accept, func(rejected) error { return nil })
	if _, err := readCanonicalJSON(io.MultiReader(bytes.NewReader(text), iotest.ErrReader(broken)), 0, sink); !errors.Is(err, broken) {
		t.Errorf("of the file: %v", err)
	}
	written := 0
	sink = newRowSink("log", newClock(time.Time{}), func(*experiment.Batch) error { written++; return full }, func(rejected) error { return nil })
	if _, err := readCanonicalJSON(bytes.NewReader(text), 0, sink); !errors.Is(err, full) || written != 1 {
		t.Errorf("of the store: %v after %d batches", err, written)
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) { // the last ones may only just be returning
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// Numbers of plain shape are read without being looked at twice, and mean what they mean in a field of CSV.
func TestNumbersOfJSONLines(t *testing.T) {
	numbers := []string{
		"0", "7", "-1", "-7", "00", "01", "0.5", "-0.5", "00.5", "1.", ".5", "1.0", "12.345", "12.3456", "0.0000000004", "0.0000000005", "1e3", "1E-3", "+1",
		"2147483647", "2147483648", "999999999999999999", "1000000000000000000", "999999999.999999999", "9223372036854775808", "123456789012345678.9", "0.123456789",
		"1e400", "1_000", "0x10", "NaN",
	}
	for _, col := range requestColumns() {
		if col.kind != kindInt && col.kind != kindBigint && col.kind != kindMillis && col.kind != kindMoney {
			continue
		}
		for _, number := range numbers {
			fromCSV, _ := readAll(t, format{read: readCanonicalCSV}, []byte("request_id,ts,model,"+col.name+"\na,2026-11-03T00:00:00Z,m,"+number+"\n"))
			for _, end := range []string{"}", " }", `,"status":""}`} {
				line := `{"request_id":"a","ts":"2026-11-03T00:00:00Z","model":"m","` + col.name + `":` + number + end
				fromJSON, rejects := readAll(t, format{read: readCanonicalJSON}, []byte(line))
				if !json.Valid([]byte(line)) {
					if len(rejects) != 1 {
						t.Errorf("%s: not rejected", line)
					}
					continue
				}
				if d := cmp.Diff(fromCSV, fromJSON); d != "" {
					t.Errorf("%s (-csv +json):\n%s", line, d)
				}
			}
		}
	}
}
