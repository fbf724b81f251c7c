//go:build ignore

// Gen derives the embedded files of this folder from the published tables. NOTICE.md holds the commands.
//
//	go run ./experiment/market/data/gen.go copy IN.csv OUT.csv.zst
//	go run ./experiment/market/data/gen.go tails LLMPERF_REQUESTS.csv OUT.csv
package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

func main() {
	if len(os.Args) != 4 {
		fail("usage: gen copy|tails IN OUT")
	}
	switch in, out := os.Args[2], os.Args[3]; os.Args[1] {
	case "copy":
		content, err := os.ReadFile(in)
		check(err)
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
		check(err)
		packed := z.EncodeAll(content, nil)
		check(os.WriteFile(out, packed, 0o644))
		fmt.Printf("%s: %d bytes, %d packed\n", out, len(content), len(packed))
	case "tails":
		tails(in, out)
	default:
		fail("unknown kind " + os.Args[1])
	}
}

// group is all requests to one provider's size of the model.
type group struct {
	requests, limited, short, failed int
	ttft, total, rate                []float64
}

// tails counts requests and errors, and takes quantiles (inverse empirical distribution) over the requests without
// an error, for each provider and model size.
func tails(in, out string) {
	f, err := os.Open(in)
	check(err)
	records, err := csv.NewReader(f).ReadAll()
	check(err)
	column := map[string]int{}
	for i, name := range records[0] {
		column[name] = i
	}
	groups := map[[2]string]*group{}
	var keys [][2]string
	for _, r := range records[1:] {
		cell := func(name string) string { return r[column[name]] }
		k := [2]string{cell("provider"), cell("model_size")}
		g := groups[k]
		if g == nil {
			g = &group{}
			groups[k] = g
			keys = append(keys, k)
		}
		g.requests++
		switch cell("error_code") {
		case "":
			g.ttft = append(g.ttft, 1000*float(cell("ttft_s")))
			g.total = append(g.total, 1000*float(cell("end_to_end_latency_s")))
			g.rate = append(g.rate, float(cell("output_tok_per_s")))
		case "429":
			g.limited++
		case "-100":
			g.short++
		default:
			g.failed++
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var b bytes.Buffer
	b.WriteString("provider,model_size,requests,rate_limited,too_short,failed," +
		"ttft_p50_ms,ttft_p95_ms,ttft_p99_ms,total_p50_ms,total_p95_ms,total_p99_ms,throughput_p5,throughput_p50,throughput_p95\n")
	for _, k := range keys {
		g := groups[k]
		fmt.Fprintf(&b, "%s,%s,%d,%d,%d,%d", k[0], k[1], g.requests, g.limited, g.short, g.failed)
		for _, p := range []float64{.5, .95, .99} {
			fmt.Fprintf(&b, ",%s", short(quantile(g.ttft, p), 1))
		}
		for _, p := range []float64{.5, .95, .99} {
			fmt.Fprintf(&b, ",%s", short(quantile(g.total, p), 1))
		}
		for _, p := range []float64{.05, .5, .95} {
			fmt.Fprintf(&b, ",%s", short(quantile(g.rate, p), 3))
		}
		b.WriteByte('\n')
	}
	check(os.WriteFile(out, b.Bytes(), 0o644))
	fmt.Printf("%s: %d rows\n", out, len(keys))
}

func quantile(x []float64, p float64) float64 {
	slices.Sort(x)
	return x[int(math.Ceil(p*float64(len(x))))-1]
}

// short writes a number with the given decimals at most.
func short(x float64, decimals int) string {
	scale := math.Pow10(decimals)
	return strconv.FormatFloat(math.Round(x*scale)/scale, 'f', -1, 64)
}

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
