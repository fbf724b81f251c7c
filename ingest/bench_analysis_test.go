package ingest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"switchback/stats"
)

// BenchmarkAnalysis is the analysis of a loaded file: a week of blocks, 30 models, two arms; p50 and p95 of all latency metrics,
// sums for the rest, checks over all models, 10,000 replicates. It reports the seconds of the stages, the part of the analysis
// that is resampling and asks the store nothing, processor time, and the most memory of a process that does nothing else. 24 M
// rows, which take a while to make, only with SWITCHBACK_SLOW=1.
func BenchmarkAnalysis(b *testing.B) {
	for _, rows := range []int{1_000_000, 24_000_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			if rows > 1_000_000 && os.Getenv("SWITCHBACK_SLOW") == "" {
				b.Skip("a file of 24 M rows: set SWITCHBACK_SLOW=1")
			}
			path := filepath.Join(b.TempDir(), "week.duckdb")
			inProcess(b, "make", path, rows)
			sums := map[string]float64{}
			for b.Loop() {
				for unit, value := range inProcess(b, "analyse", path, rows) {
					sums[unit] += value
				}
			}
			for unit, sum := range sums {
				b.ReportMetric(sum/float64(b.N), unit)
			}
			b.ReportMetric(0, "ns/op") // most of it is the start of a process
		})
	}
}

// inProcess does a step of BenchmarkAnalysis in a process of its own, and returns what that measured.
func inProcess(b *testing.B, step, path string, rows int) map[string]float64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestAnalysisStep$", "-test.v", "-test.timeout=1h")
	cmd.Env = append(os.Environ(), "SWITCHBACK_STEP="+step, "SWITCHBACK_FILE="+path, "SWITCHBACK_ROWS="+strconv.Itoa(rows))
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v\n%s", step, err, out)
	}
	found := map[string]float64{}
	for _, m := range regexp.MustCompile(`measured ([0-9.]+) (\S+)`).FindAllSubmatch(out, -1) {
		found[string(m[2])], err = strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			b.Fatal(err)
		}
	}
	return found
}

// TestAnalysisStep is a step of BenchmarkAnalysis.
func TestAnalysisStep(t *testing.T) {
	path := os.Getenv("SWITCHBACK_FILE")
	rows, _ := strconv.Atoi(os.Getenv("SWITCHBACK_ROWS"))
	switch os.Getenv("SWITCHBACK_STEP") {
	case "make":
		makeWeek(t, path, rows)
	case "analyse":
		analyseWeek(t, path)
	default:
		t.Skip("a part of BenchmarkAnalysis")
	}
}

// makeWeek fills a file with a week of requests: conversations of three turns some minutes apart, a few of which change
// provider; models by Zipf's law; times with a long tail, in one arm a tenth shorter.
func makeWeek(t *testing.T, path string, rows int) {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, path, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyPlan(ctx, weekPlan(t)); err != nil {
		t.Fatal(err)
	}
	columns := []struct{ name, value string }{
		{"request_id", "'req-' || i"},
		{"session_id", "'conversation-' || talk"},
		{"client_id", "'client-' || CAST(floor(300 * dice(talk, 1) ** 2) AS INTEGER)"},
		{"ts", "make_timestamp(at)"},
		{"model", "'maker/model-' || model"},
		{"provider", "'provider-' || (model % 9 + CAST(floor(3 * dice(CASE WHEN dice(i, 2) < 0.1 THEN i ELSE talk END, 3)) AS INTEGER))"},
		{"arm", "arm"}, {"block_id", "block_id"},
		{"in_burn_in", "make_timestamp(at) < burn_in_ends"},
		{"attempts", "1 + tries"}, {"n_429", "tries"}, {"n_retries", "tries"},
		{"ttft_ms", "round(ttft, 3)"}, {"caller_ttft_ms", "round(ttft + failed, 3)"},
		{"total_ms", "round(ttft + failed + tokens * (8 + 20 * dice(i, 4)), 3)"}, {"failed_ms", "round(failed, 3)"},
		{"input_tokens", "10 * tokens"}, {"cached_tokens", "4 * tokens"}, {"output_tokens", "tokens"},
		{"cost_usd", "round(tokens * 0.000004 * (1 + dice(i, 5)), 9)"},
		{"status", "CASE WHEN dice(i, 6) < 0.01 THEN 'error' WHEN dice(i, 6) < 0.03 THEN 'cancelled' ELSE 'ok' END"},
		{"streamed", "dice(i, 7) < 0.8"}, {"tool_call_ok", "CASE WHEN dice(i, 8) < 0.1 THEN dice(i, 9) < 0.95 END"},
		{"source", "'canonical'"}, {"load_id", "'1'"}, {"quality", "0"},
	}
	names, values := "", ""
	for _, c := range columns {
		names, values = names+", "+c.name, values+", "+c.value
	}
	for _, statement := range []string{
		"CREATE TEMP MACRO dice(x, y) AS hash(x * 31 + y) / 18446744073709551616.0",
		"INSERT INTO loads (load_id, file, format, rows) VALUES ('1', 'week.jsonl', 'canonical', " + strconv.Itoa(rows) + ")",
		fmt.Sprintf(`INSERT INTO requests (%s) SELECT %s FROM (SELECT *, tries * 400 * (1 + dice(i, 12)) AS failed,
				CASE WHEN arm = '%s' THEN 0.9 ELSE 1 END * exp(6.9 + 0.8 * sqrt(-2 * ln(dice(i, 10) + 1e-12)) * cos(6.283185307 * dice(i, 11))) AS ttft
			FROM (SELECT i, i // 3 - i %% 3 * 7000 AS talk, epoch_us(TIMESTAMP '2026-11-02') + i * (604800000000 // %[4]d) AS at,
				CAST(floor(31 ** dice(i // 3 - i %% 3 * 7000, 13)) AS INTEGER) AS model, CAST(20 + floor(600 * dice(i, 14) ** 2) AS BIGINT) AS tokens,
				CASE WHEN dice(i, 15) < 0.06 THEN 1 ELSE 0 END AS tries, i * 56 // %[4]d AS place FROM range(%[4]d) r(i))
			JOIN (SELECT block_id, arm, burn_in_ends, row_number() OVER (ORDER BY starts) - 1 AS place FROM blocks) USING (place))`,
			names[2:], values[2:], testArms.Treatment, rows),
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func analyseWeek(t *testing.T, path string) {
	t.Helper()
	ctx := context.Background()
	o := DefaultOptions()
	o.ReadOnly = true
	s, err := Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	w := Window{Arms: testArms}
	pairs, _, err := s.Pairs(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	sum, err := s.Summaries(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	summarised := time.Now()
	source := &timedSource{Source: sum}
	options := stats.DefaultOptions()
	options.Order = "slot-balanced"
	found, err := stats.Analyze(ctx, source, append(StatsMetrics(), CheckMetrics([]string{"ttft_p50", "throughput_p50"})...), pairs, options)
	if err != nil {
		t.Fatal(err)
	}
	analysed := time.Now()
	if n := len(found.Estimates); n < 18*31 {
		t.Errorf("%d rows of results: the file is not what it should be", n)
	}
	for unit, value := range map[string]float64{
		"summarise-s": summarised.Sub(start).Seconds(), "analyse-s": analysed.Sub(summarised).Seconds(), "all-s": analysed.Sub(start).Seconds(),
		"resampling-s": (analysed.Sub(summarised) - source.asked).Seconds(), "cpu-s": cpuTime(t).Seconds(), "peak-MiB": peakMiB(t),
	} {
		fmt.Printf("measured %.3f %s\n", value, unit)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// timedSource adds up how long its answers take.
type timedSource struct {
	stats.Source
	asked time.Duration
}

func (s *timedSource) since(start time.Time) { s.asked += time.Since(start) }

func (s *timedSource) Sums(ctx context.Context, metric string) ([]stats.Sum, error) {
	defer s.since(time.Now())
	return s.Source.Sums(ctx, metric)
}

func (s *timedSource) Histogram(ctx context.Context, quantity string) ([]stats.Bin, error) {
	defer s.since(time.Now())
	return s.Source.Histogram(ctx, quantity)
}

func (s *timedSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	defer s.since(time.Now())
	return s.Source.Values(ctx, quantity, bins)
}
