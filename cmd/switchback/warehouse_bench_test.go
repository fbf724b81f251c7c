package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse/clustertest"
	"switchback/stats"
)

// Environment of TestBenchCluster.
const (
	benchRows     = "SWITCHBACK_BENCH_ROWS"     // about how many rows; none: it is skipped
	benchPriority = "SWITCHBACK_BENCH_PRIORITY" // of the kernel's round-robin class, under which servers and program are measured
)

// TestBenchCluster measures the report of the same rows in DuckDB, in two ClickHouse servers and in one, stage by stage, and
// holds the results of all three against each other. It prints Markdown.
func TestBenchCluster(t *testing.T) {
	requests, err := strconv.Atoi(os.Getenv(benchRows))
	if err != nil {
		t.Skip("set " + benchRows + " to a number of rows (make bench-cluster)")
	}
	dir := t.TempDir()
	b := bench{t: t, dir: dir, shards: clustertest.Start(t)}
	inDuckDB := filepath.Join(dir, "duckdb")
	b.child(false, "run", "--requests", fmt.Sprint(requests), "--out", inDuckDB)
	b.fill(requests)
	local := b.child(true, "analyze", "--out", inDuckDB)
	b.source(inDuckDB, local.seconds)
	two := b.ask("requests_all")
	b.shards.Threads(t, 2)
	one := b.ask("whole")
	want := b.results(inDuckDB)
	for _, table := range []string{"requests_all", "whole"} {
		if diff := cmp.Diff(want, b.results(filepath.Join(dir, table))); diff != "" {
			t.Errorf("results (-DuckDB +%s):\n%.2000s", table, diff)
		}
	}
	b.print(two, one, local)
}

type bench struct {
	t      *testing.T
	dir    string
	shards *clustertest.Shards
	rows   int64
}

// measured is what a run cost, by stage.
type measured struct {
	seconds, servers map[string]float64 // that passed, and of the servers' processors
	all              float64
	program          float64 // processor time, user and system
	programMB        int64
	serverMB         [2]int64 // peak
	questions        int
}

// fill puts the rows of the built-in experiment on both shards, every other one on each, and all of them on the first.
func (b *bench) fill(requests int) {
	c := defaultConfig()
	plan, err := c.plan()
	if err != nil {
		b.t.Fatal(err)
	}
	b.shards.Create(b.t, "requests", nil)
	var held []experiment.Request
	flush := func() {
		b.shards.Insert(b.t, "requests", held)
		b.rows += int64(len(held))
		held = held[:0]
	}
	drive := experiment.DriveConfig{Plan: plan, Seed: c.Seed, LogRequests: requests}
	if _, err = experiment.Drive(b.t.Context(), drive, func(batch *experiment.Batch) error {
		if held = append(held, batch.Requests...); len(held) >= 400_000 {
			flush()
		}
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	flush()
	b.shards.Exec(b.t, 0, "CREATE TABLE gateway.whole AS gateway.requests ENGINE = MergeTree PARTITION BY intDiv(ts_us, 86400000000) ORDER BY (model, ts_us)")
	b.shards.Exec(b.t, 0, "INSERT INTO gateway.whole SELECT * FROM gateway.requests_all")
}

// command is one of the program, measured ones under the priority.
func (b *bench) command(prioritised bool, args ...string) *exec.Cmd {
	if p := os.Getenv(benchPriority); p != "" && prioritised {
		args = append([]string{"chrt", "--rr", p, "switchback"}, args...)
	} else {
		args = append([]string{"switchback"}, args...)
	}
	child := exec.CommandContext(b.t.Context(), args[0], args[1:]...)
	child.Env = append(os.Environ(), warehouseUser+"=default", warehousePassword+"="+clustertest.Password)
	return child
}

// child runs a command and takes its stages from its run record.
func (b *bench) child(prioritised bool, args ...string) measured {
	child := b.command(prioritised, args...)
	if told, err := child.CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %v\n%s", args, err, told)
	}
	return b.usage(child, args[len(args)-1])
}

func (b *bench) usage(child *exec.Cmd, out string) measured {
	m := measured{seconds: map[string]float64{}, servers: map[string]float64{}, program: (child.ProcessState.UserTime() + child.ProcessState.SystemTime()).Seconds()}
	records, err := filepath.Glob(filepath.Join(out, "runs", "*.json"))
	if err != nil || len(records) == 0 {
		b.t.Fatal("no run record", err)
	}
	slices.Sort(records)
	text, err := os.ReadFile(records[len(records)-1])
	if err != nil {
		b.t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		b.t.Fatal(err)
	}
	for _, s := range r.Stages {
		m.seconds[s.Name] += s.Seconds
	}
	m.all, m.programMB = r.Ended.Sub(r.Started).Seconds(), r.PeakRSSBytes>>20
	return m
}

// source divides the stage analyse of a DuckDB file into what the source is asked and the statistics.
func (b *bench) source(out string, seconds map[string]float64) {
	ctx := b.t.Context()
	store, err := ingest.Open(ctx, filepath.Join(out, "switchback.duckdb"), ingest.DefaultOptions())
	if err != nil {
		b.t.Fatal(err)
	}
	defer store.Close()
	c := defaultConfig()
	plan, err := c.plan()
	if err != nil {
		b.t.Fatal(err)
	}
	w := ingest.Window{Arms: plan.Arms}
	w.Since, w.Until = plan.Window()
	found, err := store.Summaries(ctx, w)
	if err != nil {
		b.t.Fatal(err)
	}
	defer found.Close()
	pairs, _, err := store.Pairs(ctx, w)
	if err != nil {
		b.t.Fatal(err)
	}
	source, options := &timedSource{Source: found, seconds: seconds}, c.analysis()
	options.Days = c.days(plan)
	if _, err := stats.Analyze(ctx, source, append(ingest.StatsMetrics(), ingest.CheckMetrics(c.featured())...), pairs, options); err != nil {
		b.t.Fatal(err)
	}
	seconds[kindStatistics] = seconds["analyse"] - seconds[kindSums] - seconds[kindHistograms] - seconds[kindValues]
	seconds[kindSums] += seconds["summarise"]
	seconds[kindHealth], seconds[kindSeries] = seconds["data health"]+seconds["apply plan"], seconds["series"]
}

// timedSource measures what it is asked.
type timedSource struct {
	stats.Source
	seconds map[string]float64
}

func (s *timedSource) since(kind string, start time.Time) {
	s.seconds[kind] += time.Since(start).Seconds()
}

func (s *timedSource) Sums(ctx context.Context, metric string) ([]stats.Sum, error) {
	defer s.since(kindSums, time.Now())
	return s.Source.Sums(ctx, metric)
}

func (s *timedSource) Histogram(ctx context.Context, quantity string) ([]stats.Bin, error) {
	defer s.since(kindHistograms, time.Now())
	return s.Source.Histogram(ctx, quantity)
}

func (s *timedSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	defer s.since(kindValues, time.Now())
	return s.Source.Values(ctx, quantity, bins)
}

// What a report asks, in the order of the page.
const (
	kindSurvey     = "survey: rows by model, ids that stand twice"
	kindHealth     = "data health and the schedule: rows by block"
	kindSums       = "summaries and sums, provider switches among them"
	kindHistograms = "histograms"
	kindValues     = "values inside the touched bins"
	kindStatistics = "statistics in the program, 10,000 replicates"
	kindSeries     = "series: blocks, minutes since the switch, clients"
	kindViews      = "blocks and providers of the views, spend"
)

func kinds() []string {
	return []string{kindSurvey, kindHealth, kindSums, kindHistograms, kindValues, kindStatistics, kindSeries, kindViews}
}

func kindOf(question string) string {
	has := func(part string) bool { return strings.Contains(question, part) }
	switch {
	case has("rows by model"), has("repeated"), has("unreadable"), has("table "), has("columns"):
		return kindSurvey
	case has("rows by block"):
		return kindHealth
	case has("block and provider"), has("spend"), has("dearer"):
		return kindViews
	case has("minutes since"), has("clients"), has("by block, values"):
		return kindSeries
	case has("sums"), has("provider switches"):
		return kindSums
	case has("histogram"):
		return kindHistograms
	}
	return kindValues
}

var questionOf = regexp.MustCompile(`(ask warehouse|warehouse answered) question=(?:"([^"]*)"|(\S+))`)

// ask reports a table of the cluster, and measures every question.
func (b *bench) ask(table string) measured {
	text := strings.Replace(experimentText, "analysis = { replicates = 300 }\n", "", 1) +
		fmt.Sprintf("[logs]\nwarehouse = %q\ntable = %q\nts_unit = \"us\"\nmax_time = \"1h\"\nmax_memory = \"8GB\"\n[logs.columns]\n", b.shards.Address(0), table)
	for name, sql := range clustertest.Mapping() {
		text += fmt.Sprintf("%s = %q\n", name, sql)
	}
	config, out := filepath.Join(b.dir, table+".toml"), filepath.Join(b.dir, table)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.prioritise(os.Getpid()) // or the clock is read late
	for i := range 2 {
		pid := b.shards.Process(i).Pid
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o644); err != nil { // the peak of memory begins anew
			b.t.Log(err)
		}
		b.prioritise(pid)
	}
	child := b.command(true, "run", "--verbose", "--config", config, "--date", "2026-11-08", "--out", out)
	stderr, err := child.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.t.Fatal(err)
	}
	seconds, servers, questions := map[string]float64{}, map[string]float64{}, 0
	var told strings.Builder
	var asked time.Time
	var before float64
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		m := questionOf.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
		case m[1] == "ask warehouse":
			asked, before = time.Now(), b.processors()
			questions++
		default:
			kind := kindOf(m[2] + m[3])
			s, p := time.Since(asked).Seconds(), b.processors()-before
			seconds[kind] += s
			servers[kind] += p
			b.t.Logf("%s: %.1f s passed, %.1f s of the servers' processors: %s", table, s, p, m[2]+m[3])
		}
	}
	if err := child.Wait(); err != nil {
		b.t.Fatalf("%v\n%s", err, &told)
	}
	r := b.usage(child, out)
	inAnalysis := 0.0
	for _, kind := range []string{kindHistograms, kindValues, kindSums} {
		inAnalysis += seconds[kind]
	}
	seconds[kindStatistics] = r.seconds["analyse"] + r.seconds["summarise"] - inAnalysis
	seconds[kindSeries] = r.seconds["series"] - seconds[kindViews]
	r.seconds, r.servers, r.questions = seconds, servers, questions
	for i := range 2 {
		r.serverMB[i] = b.peak(i)
	}
	return r
}

// processors is the processor time of both servers so far, user and system, in seconds.
func (b *bench) processors() float64 {
	const ticks = 100 // per second, on every Linux that Go runs on
	sum := 0.0
	for i := range 2 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.shards.Process(i).Pid))
		if err != nil {
			b.t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		for _, f := range fields[11:13] {
			n, err := strconv.ParseFloat(f, 64)
			if err != nil {
				b.t.Fatal(err)
			}
			sum += n / ticks
		}
	}
	return sum
}

// peak is the most memory that a server held, in MB.
func (b *bench) peak(i int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.shards.Process(i).Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	var kb int64
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.t.Fatal(err)
	}
	return kb / 1024
}

// prioritise gives a process the priority of what is measured.
func (b *bench) prioritise(pid int) {
	p := os.Getenv(benchPriority)
	if p == "" {
		return
	}
	if told, err := exec.Command("chrt", "--all-tasks", "--rr", "--pid", p, fmt.Sprint(pid)).CombinedOutput(); err != nil {
		b.t.Fatalf("%v: %s", err, told)
	}
}

func (b *bench) results(out string) string {
	code, stdout, stderr := asked(b.t, "", "query", "--out", out, "--format", "csv", "SELECT * EXCLUDE (run_id) FROM results ORDER BY ALL")
	if code != 0 {
		b.t.Fatal(stderr)
	}
	return stdout
}

// print writes the table of docs/cluster.md.
func (b *bench) print(two, one, local measured) {
	m := float64(b.rows) / 1e6
	fmt.Printf("%.1f million rows, %d questions\n\n", m, two.questions)
	fmt.Println("| | two shards, s | their processors, s | one server, s | its processors, s | DuckDB, s |\n|---|---:|---:|---:|---:|---:|")
	number := func(v float64) string {
		if v == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f", v)
	}
	all := [2]float64{}
	for _, k := range kinds() {
		fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", k, number(two.seconds[k]), number(two.servers[k]), number(one.seconds[k]), number(one.servers[k]), number(local.seconds[k]))
		all[0] += two.servers[k]
		all[1] += one.servers[k]
	}
	fmt.Printf("| all | %.0f | %.0f | %.0f | %.0f | %.0f |\n", two.all, all[0], one.all, all[1], local.all)
	fmt.Printf("| processors of the program | %.0f | | %.0f | | %.0f |\n", two.program, one.program, local.program)
	fmt.Printf("| servers, s for 1 M rows | | %.1f | | %.1f | |\n", all[0]/m, all[1]/m)
	fmt.Printf("| peak memory of the program, MB | %d | | %d | | %d |\n", two.programMB, one.programMB, local.programMB)
	fmt.Printf("| peak memory of the servers, MB | | %d, %d | | %d | |\n", two.serverMB[0], two.serverMB[1], one.serverMB[0])
}
