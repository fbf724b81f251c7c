package ingest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"switchback/experiment"
)

// Each benchmark of a load does the same with DuckDB alone in the same iteration, and reports the ratio of the
// two times: both see the same machine. Rows have all columns of `requests`. DuckDB alone fills a table of the same types as
// anyone would make it, so how to store each column is its own choice; ours has that said (see sqlTable.compression), but also
// hashes the file, checks every row, looks for duplicates and would keep rejects.

const benchRows = 500_000

// benchFile writes rows of the benchmarks in a format and returns its path.
func benchFile(b testing.TB, name string, rows int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	requests := someRequests(rows, 1)
	for i := range requests {
		requests[i].Source = FormatCanonical
	}
	switch filepath.Ext(name) {
	case ".jsonl":
		w := NewJSONLWriter(f)
		if err := w.Write(&experiment.Batch{Requests: requests}); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	case ".csv":
		writeCSV(b, f, requests)
	case ".parquet":
		s := openTemp(b)
		load(b, s, requests)
		if _, err := s.db.Exec("DELETE FROM attempts"); err != nil { // the other files have none either
			b.Fatal(err)
		}
		if err := s.WriteParquet(context.Background(), path); err != nil {
			b.Fatal(err)
		}
	}
	return path
}

func writeCSV(b testing.TB, f *os.File, requests []experiment.Request) {
	w := bufio.NewWriterSize(f, 1<<20)
	cols := requestColumns()
	var line []byte
	for i, c := range cols {
		line = append(append(line, c.name...), ",\n"[min(i/(len(cols)-1), 1)])
	}
	w.Write(line)
	for i := range requests {
		line = line[:0]
		for k, c := range cols {
			if c.text != nil {
				line = append(line, *c.text(&requests[i])...)
			} else if v, known := c.number(&requests[i]); known {
				line = appendNumber(line, c.kind, v)
			}
			line = append(line, ",\n"[min(k/(len(cols)-1), 1)])
		}
		w.Write(line)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
}

// typedColumns are the canonical columns and types, as DuckDB's readers take them.
func typedColumns() string {
	var out []string
	for _, c := range requestColumns() {
		out = append(out, c.name+": '"+c.kind.sqlType()+"'")
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func typedTable(name string) string {
	var out []string
	for _, c := range requestColumns() {
		out = append(out, c.name+" "+c.kind.sqlType())
	}
	return "CREATE TABLE " + name + " (" + strings.Join(out, ", ") + ")"
}

// compare times ours and DuckDB's way on fresh files and reports rows/s and the ratio.
func compare(b *testing.B, ours func(s *Store), theirs func(s *Store) string) {
	var mine, alone, mineCPU, aloneCPU time.Duration
	n := 0
	for b.Loop() {
		a, d := openTemp(b), openTemp(b)
		start, cpu := time.Now(), cpuTime(b)
		ours(a)
		mine += time.Since(start)
		mineCPU += cpuTime(b) - cpu
		statement := theirs(d)
		start, cpu = time.Now(), cpuTime(b)
		if _, err := d.db.ExecContext(context.Background(), statement); err != nil {
			b.Fatal(err)
		}
		alone += time.Since(start)
		aloneCPU += cpuTime(b) - cpu
		n++
	}
	b.ReportMetric(float64(n*benchRows)/mine.Seconds(), "rows/s")
	b.ReportMetric(float64(n*benchRows)/alone.Seconds(), "duckdb-rows/s")
	b.ReportMetric(mine.Seconds()/alone.Seconds(), "ratio")
	b.ReportMetric(mineCPU.Seconds()/aloneCPU.Seconds(), "cpu-ratio") // hardly depends on what else the machine does
}

// cpuTime is the processor time of all threads of this process.
func cpuTime(tb testing.TB) time.Duration {
	u := usage(tb)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMiB is the most memory that this process had so far.
func peakMiB(tb testing.TB) float64 {
	u := usage(tb)
	return float64(u.Maxrss) / 1024
}

func usage(tb testing.TB) (u syscall.Rusage) {
	tb.Helper()
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return u
}

func BenchmarkArrowToTable(b *testing.B) {
	requests := someRequests(benchRows, 1)
	source := filepath.Join(b.TempDir(), "source.duckdb")
	s, err := Open(context.Background(), source, DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	load(b, s, requests)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	compare(b, func(s *Store) {
		l, err := s.NewLoader(context.Background(), LoadInfo{File: DriveFile, Format: SourceDrive, Now: someStart})
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < len(requests); i += 4000 {
			if err := l.Write(&experiment.Batch{Requests: requests[i:min(i+4000, len(requests))]}); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := l.Commit(); err != nil {
			b.Fatal(err)
		}
	}, func(d *Store) string {
		if _, err := d.db.ExecContext(context.Background(), "ATTACH "+quote(source)+" AS source (READ_ONLY)"); err != nil {
			b.Fatal(err)
		}
		return "CREATE TABLE copied AS SELECT * FROM source.requests"
	})
}

// loadBench compares LoadFiles with DuckDB's own reader on one file.
func loadBench(b *testing.B, name string) {
	path := benchFile(b, name, benchRows)
	compare(b, func(s *Store) { mustLoad(b, s, path) }, func(d *Store) string {
		if _, err := d.db.ExecContext(context.Background(), typedTable("alone")); err != nil {
			b.Fatal(err)
		}
		return insertAlone(path)
	})
}

// insertAlone lets DuckDB read the columns of the table `alone` from a file.
func insertAlone(path string) string {
	from := map[string]string{
		".jsonl":   "read_json(%s, columns = " + typedColumns() + ", format = 'newline_delimited')",
		".csv":     "read_csv(%s, columns = " + typedColumns() + ", header = true)",
		".parquet": "read_parquet(%s)",
	}[filepath.Ext(path)]
	return "INSERT INTO alone SELECT " + requestNames() + " FROM " + fmt.Sprintf(from, quote(path))
}

func requestNames() string {
	var names []string
	for _, c := range requestColumns() {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func BenchmarkJSONLToTable(b *testing.B) { loadBench(b, "log.jsonl") }

func BenchmarkCSVToTable(b *testing.B) { loadBench(b, "log.csv") }

func BenchmarkParquetToTable(b *testing.B) { loadBench(b, "log.parquet") }

// What the benchmarks compare ends in the same rows.
func TestBenchmarksLoadTheSame(t *testing.T) {
	for _, name := range []string{"log.jsonl", "log.csv", "log.parquet"} {
		path := benchFile(t, name, 5000)
		s := openTemp(t)
		mustLoad(t, s, path)
		for _, statement := range []string{typedTable("alone"), insertAlone(path)} {
			if _, err := s.db.Exec(statement); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		const hash = "SELECT concat(count(*), ' ', sum(hash(%s))) FROM %s"
		ours, alone := scalar(t, s, fmt.Sprintf(hash, requestNames(), "requests")), scalar(t, s, fmt.Sprintf(hash, requestNames(), "alone"))
		if ours != alone || !strings.HasPrefix(ours, "5000 ") {
			t.Errorf("%s: ours %s, DuckDB alone %s", name, ours, alone)
		}
	}
}

// BenchmarkSummaries asks everything that an analysis asks of the rows of a week.
func BenchmarkSummaries(b *testing.B) {
	ctx := context.Background()
	s := openTemp(b)
	load(b, s, someRequests(benchRows, 1))
	if _, err := s.ApplyPlan(ctx, weekPlan(b)); err != nil {
		b.Fatal(err)
	}
	w := Window{Arms: testArms}
	for b.Loop() {
		sum, err := s.Summaries(ctx, w)
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range StatsMetrics() {
			if m.Quantity == "" {
				if _, err := sum.Sums(ctx, m.ID); err != nil {
					b.Fatal(err)
				}
			}
		}
		for _, q := range quantities() {
			if _, err := sum.Histogram(ctx, q.name); err != nil {
				b.Fatal(err)
			}
		}
		if err := sum.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*benchRows)/b.Elapsed().Seconds(), "rows/s")
}
