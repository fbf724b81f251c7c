//go:build ignore

// Gen derives the embedded files of this folder from the published traces. NOTICE.md holds the command.
//
//	go run ./experiment/workload/data/gen.go servegen ARRIVALS.csv.gz TOKENS.csv.gz OUT.csv.zst
//	go run ./experiment/workload/data/gen.go azure TRACE.csv OUT.csv.zst
//	go run ./experiment/workload/data/gen.go mooncake TRACE.jsonl LINES OUT.csv.zst
//	go run ./experiment/workload/data/gen.go sessions TRACE.jsonl OUT.csv
//	go run ./experiment/workload/data/gen.go copy IN OUT.zst
//	go run ./experiment/workload/data/gen.go week DAILY.csv OUT.csv
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

func main() {
	if len(os.Args) < 2 {
		fail("a kind and its files are needed")
	}
	args := os.Args[2:]
	switch kind := os.Args[1]; {
	case kind == "servegen" && len(args) == 3:
		servegen(args[0], args[1], args[2])
	case kind == "azure" && len(args) == 2:
		azure(args[0], args[1])
	case kind == "mooncake" && len(args) == 3:
		mooncake(args[0], args[1], args[2])
	case kind == "sessions" && len(args) == 2:
		sessions(args[0], args[1])
	case kind == "copy" && len(args) == 2:
		write(args[1], read(args[0]))
	case kind == "week" && len(args) == 2:
		week(args[0], args[1])
	default:
		fail("unknown kind or wrong number of files")
	}
}

// servegen turns the long tables of one trace into one line for each client and field, with one cell for each
// window; an empty cell is a window without requests.
func servegen(arrivals, tokens, out string) {
	const window, tokenWindow = 600, 21600
	rows := table(arrivals)
	last := 0
	for _, r := range rows {
		last = max(last, integer(r["t_s"]))
	}
	days := last/86400 + 1
	series := map[string][]string{}
	set := func(client, field string, n, i int, value string) {
		key := fmt.Sprintf("%05d,%s", integer(client), field)
		if series[key] == nil {
			series[key] = make([]string, n)
		}
		series[key][i] = value
	}
	known := map[string]bool{}
	for _, r := range rows {
		known[r["client"]] = true
		i, n := integer(r["t_s"])/window, days*86400/window
		requests := math.Round(float(r["rate_rps"]) * window)
		set(r["client"], "1 requests", n, i, strconv.Itoa(int(requests)))
		set(r["client"], "2 cv", n, i, strconv.FormatFloat(float(r["cv"]), 'g', 3, 64))
		switch r["dist"] {
		case "Gamma": // its shape is 1/cv², so nothing else is needed
		case "Weibull":
			set(r["client"], "3 weibull_k", n, i, strconv.FormatFloat(float(r["shape"]), 'g', 3, 64))
		default:
			fail("unknown law of inter-arrival times " + r["dist"])
		}
	}
	stats := []string{"mean", "p5", "p25", "p50", "p75", "p90", "p95", "p99"}
	for _, r := range table(tokens) {
		if !known[r["client"]] {
			continue // token counts of a client without arrivals
		}
		field := map[string]string{"input_tokens": "input", "output_tokens": "output", "reason_ratio": "reason"}[r["field"]]
		for k, stat := range stats {
			name := fmt.Sprintf("%s %s_%s", map[string]string{"input": "4", "output": "5", "reason": "6"}[field]+strconv.Itoa(k), field, stat)
			set(r["client"], name, days*86400/tokenWindow, integer(r["t_s"])/tokenWindow, r[stat])
		}
	}
	keys := make([]string, 0, len(series))
	for k := range series {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var b bytes.Buffer
	for _, k := range keys {
		client, field, _ := strings.Cut(k, ",")
		_, field, _ = strings.Cut(field, " ") // the number only sorts
		fmt.Fprintf(&b, "%d,%s,%s\n", integer(client), field, strings.Join(series[k], ","))
	}
	write(out, b.Bytes())
}

// week keeps seven days in a row: of all such weeks the one whose ratio of the busiest to the quietest day is the median, the first of equal ones.
func week(in, out string) {
	rows := table(in)
	type stretch struct {
		first int
		ratio float64
	}
	var weeks []stretch
	for first := range len(rows) - 6 {
		least, most := math.Inf(1), 0.0
		for _, r := range rows[first:][:7] {
			least, most = min(least, float(r["requests"])), max(most, float(r["requests"]))
		}
		weeks = append(weeks, stretch{first, most / least})
	}
	slices.SortStableFunc(weeks, func(a, b stretch) int { return cmp.Compare(a.ratio, b.ratio) })
	var b bytes.Buffer
	b.WriteString("day,requests\n")
	for _, r := range rows[weeks[len(weeks)/2].first:][:7] {
		fmt.Fprintf(&b, "%s,%s\n", r["day"], r["requests"])
	}
	check(os.WriteFile(out, b.Bytes(), 0o644))
}

// azure keeps the time since the request before, in microseconds, and both token counts.
func azure(in, out string) {
	var b bytes.Buffer
	b.WriteString("gap_us,input_tokens,output_tokens\n")
	var before time.Time
	for i, r := range table(in) {
		at, err := time.Parse("2006-01-02 15:04:05.9999999", r["TIMESTAMP"])
		check(err)
		at = at.Truncate(time.Microsecond)
		if i == 0 {
			before = at
		}
		fmt.Fprintf(&b, "%d,%s,%s\n", at.Sub(before).Microseconds(), r["ContextTokens"], r["GeneratedTokens"])
		before = at
	}
	write(out, b.Bytes())
}

// request is one line of the Mooncake trace.
type request struct {
	Timestamp    int   `json:"timestamp"` // ms
	InputLength  int   `json:"input_length"`
	OutputLength int   `json:"output_length"`
	HashIDs      []int `json:"hash_ids"` // one for each 512 tokens; equal ids mean an equal prefix up to there
}

func requests(path string) []request {
	var rs []request
	scan := bufio.NewScanner(bytes.NewReader(read(path)))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var r request
		check(json.Unmarshal(scan.Bytes(), &r))
		rs = append(rs, r)
	}
	check(scan.Err())
	return rs
}

// mooncake keeps the first lines of the trace; runs of rising block ids are written "46-58".
func mooncake(in, lines, out string) {
	var b bytes.Buffer
	b.WriteString("timestamp_ms,input_tokens,output_tokens,blocks\n")
	for _, r := range requests(in)[:integer(lines)] {
		var runs []string
		for i := 0; i < len(r.HashIDs); {
			j := i
			for j+1 < len(r.HashIDs) && r.HashIDs[j+1] == r.HashIDs[j]+1 {
				j++
			}
			run := strconv.Itoa(r.HashIDs[i])
			if j > i {
				run += "-" + strconv.Itoa(r.HashIDs[j])
			}
			runs = append(runs, run)
			i = j + 1
		}
		fmt.Fprintf(&b, "%d,%d,%d,%s\n", r.Timestamp, r.InputLength, r.OutputLength, strings.Join(runs, " "))
	}
	write(out, b.Bytes())
}

// sessions describes the conversations of the whole Mooncake trace. A request belongs to the conversation that used
// the last of its known blocks most recently; the first block, which all prompts may share, doesn't count.
func sessions(in, out string) {
	type session struct{ turns, last, tokens int }
	owner := map[int]*session{}
	seen := map[int]bool{}
	var all []*session
	var gaps, first, added, output []float64
	blocks, hits := 0, 0
	rs := requests(in)
	for _, r := range rs {
		prefix := true
		for _, id := range r.HashIDs {
			blocks++
			if prefix = prefix && seen[id]; prefix {
				hits++
			}
		}
		var s *session
		for i := len(r.HashIDs) - 1; i > 0 && s == nil; i-- {
			s = owner[r.HashIDs[i]]
		}
		if s == nil {
			s = &session{}
			all = append(all, s)
			first = append(first, float64(r.InputLength))
		} else {
			gaps = append(gaps, float64(r.Timestamp-s.last)/1000)
			added = append(added, float64(max(r.InputLength-s.tokens, 0)))
		}
		s.turns, s.last, s.tokens = s.turns+1, r.Timestamp, r.InputLength+r.OutputLength
		output = append(output, float64(r.OutputLength))
		for i, id := range r.HashIDs {
			seen[id] = true
			if i > 0 {
				owner[id] = s
			}
		}
	}
	var turns []float64
	for _, s := range all {
		turns = append(turns, float64(s.turns))
	}
	var b bytes.Buffer
	b.WriteString("quantity,count,mean,p5,p25,p50,p75,p90,p95,p99,max\n")
	describe := func(name string, x []float64) {
		slices.Sort(x)
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		fmt.Fprintf(&b, "%s,%d,%.5g", name, len(x), sum/float64(len(x)))
		for _, p := range []float64{.05, .25, .5, .75, .9, .95, .99, 1} { // inverse empirical distribution
			fmt.Fprintf(&b, ",%g", x[int(math.Ceil(p*float64(len(x))))-1])
		}
		b.WriteByte('\n')
	}
	describe("turns", turns)
	describe("gap_s", gaps)
	describe("first_input_tokens", first)
	describe("added_input_tokens", added)
	describe("output_tokens", output)
	fmt.Fprintf(&b, "block_hit_share,%d,%.5g,,,,,,,,\n", blocks, float64(hits)/float64(blocks))
	check(os.WriteFile(out, b.Bytes(), 0o644))
	fmt.Printf("%s: %d requests, %d conversations\n", out, len(rs), len(all))
}

// table reads a CSV file with a header, gzip or plain, as one map for each row.
func table(path string) []map[string]string {
	var r io.Reader = bytes.NewReader(read(path))
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(r)
		check(err)
		r = z
	}
	records, err := csv.NewReader(r).ReadAll()
	check(err)
	var rows []map[string]string
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func read(path string) []byte {
	b, err := os.ReadFile(path)
	check(err)
	return b
}

func write(path string, content []byte) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	check(err)
	packed := w.EncodeAll(content, nil)
	check(os.WriteFile(path, packed, 0o644))
	fmt.Printf("%s: %d bytes, %d packed\n", path, len(content), len(packed))
}

func integer(s string) int { return int(float(s)) }

func float(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	check(err)
	return x
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "gen:", why)
	os.Exit(1)
}
