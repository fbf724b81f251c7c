//go:build ignore

// Gen derives modelsdev.csv.zst of this folder from a table of models.dev. NOTICE.md holds the command.
//
//	go run ./experiment/prices/data/gen.go PROVIDER_PRICES.csv REPAIRS.csv VALID_FROM CHANGES.csv OUT.csv.zst
package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

func main() {
	if len(os.Args) != 6 {
		fail("usage: gen PROVIDER_PRICES.csv REPAIRS.csv VALID_FROM CHANGES.csv OUT.csv.zst")
	}
	records, column := table(os.Args[1])
	whole := repairs(os.Args[2])
	validFrom, target := os.Args[3], os.Args[5]

	var out bytes.Buffer
	w := csv.NewWriter(&out)
	prices := []string{"usd_per_mtok_input", "usd_per_mtok_output", "usd_per_mtok_cache_read", "usd_per_mtok_cache_write"}
	check(w.Write(append(append([]string{"provider", "model"}, prices...), "valid_from")))
	dropped := map[string]int{}
	kept := 0
	for _, r := range records {
		cell := func(name string) string { return r[column[name]] }
		provider, model := cell("provider"), cell("model_id")
		if id, ok := whole[cutKey(cell, model)]; ok {
			model = id
			delete(whole, cutKey(cell, cell("model_id")))
		}
		row := []string{provider, model}
		for _, p := range prices {
			row = append(row, price(cell(p)))
		}
		switch {
		case row[2] == "" || row[3] == "":
			dropped["no price"]++
			continue
		case strings.Contains(provider, "-plan"):
			dropped["a subscription's nominal price"]++
			continue
		case row[2] == "0" && row[3] == "0" && !strings.HasSuffix(model, ":free"):
			dropped["price 0: a subscription or a free tier, not a price per token"]++
			continue
		}
		for i := 4; i <= 5; i++ { // a cache price of 0 is a filler: tokens would be free
			if row[i] == "0" {
				row[i] = ""
			}
		}
		if provider == "google" { // this list's name for it; other lists call Vertex AI so
			row[0] = "google-ai-studio"
		}
		check(w.Write(append(row, validFrom)))
		kept++
	}
	if len(whole) > 0 {
		fail(fmt.Sprint("repairs without a row: ", whole))
	}
	changes, _ := table(os.Args[4])
	check(w.WriteAll(changes))
	w.Flush()
	check(w.Error())

	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	check(err)
	packed := z.EncodeAll(out.Bytes(), nil)
	check(os.WriteFile(target, packed, 0o644))
	fmt.Printf("%s: %d prices kept, dropped %v, %d bytes, %d packed\n", target, kept, dropped, out.Len(), len(packed))
}

// repairs returns the whole model ids of rows whose id the table cut short.
func repairs(path string) map[string]string {
	records, column := table(path)
	whole := map[string]string{}
	for _, r := range records {
		cell := func(name string) string { return r[column[name]] }
		whole[cutKey(cell, cell("cut_id"))] = cell("model_id")
	}
	return whole
}

// cutKey tells rows with the same cut id apart.
func cutKey(cell func(string) string, cutID string) string {
	key := []string{cell("provider"), cutID, cell("context_tokens")}
	for _, p := range []string{"usd_per_mtok_input", "usd_per_mtok_output", "usd_per_mtok_cache_read"} {
		key = append(key, price(cell(p)))
	}
	return strings.Join(key, "|")
}

// table reads a CSV file: its rows, and where each column is.
func table(path string) (rows [][]string, column map[string]int) {
	in, err := os.Open(path)
	check(err)
	records, err := csv.NewReader(in).ReadAll()
	check(err)
	column = map[string]int{}
	for i, name := range records[0] {
		column[name] = i
	}
	return records[1:], column
}

// price rounds a price to six decimals, which takes away what binary fractions left behind ("0.30000000000000004").
func price(s string) string {
	if s == "" {
		return ""
	}
	x, err := strconv.ParseFloat(s, 64)
	check(err)
	s = strconv.FormatFloat(x, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
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
