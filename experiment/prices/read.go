package prices

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Read reads a price book from a CSV file with a header line. The name is used in errors.
//
// Columns, in any order: provider (a slug, any name of the alias table, or "*" for every provider), model,
// usd_per_mtok_input and usd_per_mtok_output are required; usd_per_mtok_cache_read and usd_per_mtok_cache_write may
// be absent or empty (unknown: such tokens cost as other input), as may valid_from (YYYY-MM-DD, UTC; empty = since
// ever). Other columns are ignored. Prices are US dollars per million tokens, from 0 (free) to 1e6, and are kept to
// six decimals. A price holds until the next valid_from of the same provider and model.
//
// A file whose first character is "{" or "[" is read as the JSON of a published list, told by its shape: models.dev
// (api.json), genai-prices (data.json), OpenRouter (/api/v1/models) or LiteLLM
// (model_prices_and_context_window.json), each in its own unit. Models without a price per token, with a price that
// "varies" (-1) or depends on the hour are left out; a price that steps up for long prompts is taken at its base.
func Read(r io.Reader, name string) (*Book, error) {
	names, err := loadNames()
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReader(r)
	if mark, _ := buffered.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = buffered.Discard(len(byteOrderMark)) // they are in the buffer
	}
	start, _ := buffered.Peek(64)
	start = bytes.TrimLeft(start, " \t\r\n")

	var entries []Entry
	if len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		if entries, err = readPublished(buffered); err != nil {
			return nil, fmt.Errorf("read prices %s: %w", name, err)
		}
	} else if entries, err = readCSV(buffered, name); err != nil {
		return nil, err
	}
	for i := range entries {
		if e := &entries[i]; e.Provider != AnyProvider {
			e.Provider, e.Model = names.offer(e.Provider, e.Model)
		}
	}
	if err := checkTwice(entries); err != nil {
		return nil, fmt.Errorf("read prices %s: %w", name, err)
	}
	return newBook(entries, names), nil
}

// byteOrderMark may stand before the header of a CSV file.
const byteOrderMark = "\ufeff"

// checkTwice refuses two different prices for the same provider, model and day.
func checkTwice(entries []Entry) error {
	type line struct {
		provider, model string
		from            int64
	}
	seen := map[line]Price{}
	for _, e := range entries {
		k := line{e.Provider, plain(e.Model), e.ValidFrom.Unix()}
		if p, ok := seen[k]; ok && p != e.Price {
			return fmt.Errorf("two prices for %s %s from the same day on", e.Provider, e.Model)
		}
		seen[k] = e.Price
	}
	return nil
}

func readCSV(r io.Reader, name string) ([]Entry, error) {
	records := csv.NewReader(r)
	records.ReuseRecord = true
	header, err := records.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read prices %s: the file is empty", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read prices %s: %w", name, err)
	}
	at := map[string]int{}
	for i, column := range header {
		at[column] = i
	}
	for _, column := range []string{"provider", "model", "usd_per_mtok_input", "usd_per_mtok_output"} {
		if _, ok := at[column]; !ok {
			return nil, fmt.Errorf("read prices %s:1: no column %s", name, column)
		}
	}
	var entries []Entry
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read prices %s: %w", name, err)
		}
		line, _ := records.FieldPos(0)
		e, err := parseEntry(func(column string) string {
			if i, ok := at[column]; ok {
				return strings.TrimSpace(record[i])
			}
			return ""
		})
		if err != nil {
			return nil, fmt.Errorf("read prices %s:%d: %w", name, line, err)
		}
		entries = append(entries, e)
	}
}

func parseEntry(cell func(column string) string) (Entry, error) {
	e := Entry{Provider: cell("provider"), Model: cell("model")}
	if e.Provider == "" || e.Model == "" {
		return e, errors.New("provider or model is empty")
	}
	if from := cell("valid_from"); from != "" {
		t, err := time.Parse(time.DateOnly, from)
		if err != nil {
			return e, fmt.Errorf("valid_from: %q is not YYYY-MM-DD", from)
		}
		e.ValidFrom = t
	}
	for _, field := range []struct {
		column string
		rate   *Rate
		known  *bool
	}{
		{"usd_per_mtok_input", &e.Price.Input, nil},
		{"usd_per_mtok_output", &e.Price.Output, nil},
		{"usd_per_mtok_cache_read", &e.Price.CacheRead, &e.Price.CacheReadKnown},
		{"usd_per_mtok_cache_write", &e.Price.CacheWrite, &e.Price.CacheWriteKnown},
	} {
		text := cell(field.column)
		if text == "" && field.known != nil {
			continue
		}
		usd, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return e, fmt.Errorf("%s: %q is not a number", field.column, text)
		}
		if *field.rate, err = PerMillion(usd); err != nil {
			return e, fmt.Errorf("%s: %w", field.column, err)
		}
		if field.known != nil {
			*field.known = true
		}
	}
	return e, nil
}
