package workload

import (
	"embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"
)

//go:embed data/*.csv data/*.zst
var files embed.FS

//go:embed data/NOTICE.md
var notice string

// Notice returns origin and licence of the embedded data, as Markdown.
func Notice() string { return notice }

// traceNames are the traces in the order of [Traces].
func traceNames() []string { return []string{"m-large", "m-mid", "m-small", "deepseek-r1"} }

// Traces returns four real traces of a model service, in this order: "m-large", "m-mid" and "m-small" (14 days
// each) and "deepseek-r1" (one day). They are decoded at every call (about 0.1 s in all), so keep the result.
// Source: ServeGen (Xiang et al., NSDI 2026); data/NOTICE.md says what was derived.
func Traces() ([]Trace, error) {
	names := traceNames()
	traces := make([]Trace, len(names))
	var group errgroup.Group
	for i, name := range names {
		group.Go(func() (err error) {
			if traces[i], err = loadTrace(name); err != nil {
				return fmt.Errorf("load trace %s: %w", name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return traces, nil
}

// loadTrace decodes one embedded trace: lines "client,field,value,value,…" with one value for each window, sorted
// by client; an empty value is a window without requests.
func loadTrace(name string) (Trace, error) {
	text, err := content("servegen-" + name + ".csv.zst")
	if err != nil {
		return Trace{}, err
	}
	t := Trace{Name: name}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if err := t.add(strings.TrimSuffix(line, "\n")); err != nil {
			return Trace{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return t, nil
}

// add puts one line of the file into the trace.
func (t *Trace) add(line string) error {
	id, rest, _ := strings.Cut(line, ",")
	field, cells, found := strings.Cut(rest, ",")
	client, err := strconv.Atoi(id)
	if err != nil || !found {
		return fmt.Errorf("not client,field,values: %.40q", line)
	}
	windows := strings.Count(cells, ",") + 1
	if field == "requests" { // the first line of each client
		t.Windows = windows
		t.Clients = append(t.Clients, Client{
			ID:       client,
			Rate:     make([]float32, windows),
			CV:       make([]float32, windows),
			WeibullK: make([]float32, windows),
		})
	}
	if len(t.Clients) == 0 || t.Clients[len(t.Clients)-1].ID != client {
		return fmt.Errorf("client %d has no requests", client)
	}
	put, err := t.Clients[len(t.Clients)-1].series(field, windows)
	if err != nil {
		return fmt.Errorf("client %d: %w", client, err)
	}
	for i := range windows {
		var cell string
		cell, cells, _ = strings.Cut(cells, ",")
		if cell == "" {
			continue
		}
		x, err := parseCell(cell)
		if err != nil {
			return fmt.Errorf("client %d: %s of window %d: %w", client, field, i, err)
		}
		put(i, x)
	}
	return nil
}

// parseCell is strconv.ParseFloat for few digits, which is what cells have: up to 2²⁴ and 10¹⁰ are exact, so their quotient is rounded once.
func parseCell(cell string) (float32, error) {
	digits, scale, point := uint32(0), float32(1), false
	for i := range len(cell) {
		switch c := cell[i]; {
		case c == '.' && !point:
			point = true
		case c >= '0' && c <= '9' && digits < 1<<24/10 && scale < 1e10:
			digits = 10*digits + uint32(c-'0')
			if point {
				scale *= 10
			}
		default:
			x, err := strconv.ParseFloat(cell, 32)
			return float32(x), err
		}
	}
	if cell == "." {
		return 0, strconv.ErrSyntax
	}
	return float32(digits) / scale, nil
}

// series returns where the values of a field go.
func (c *Client) series(field string, windows int) (func(int, float32), error) {
	switch field {
	case "requests":
		return func(i int, x float32) { c.Rate[i] = x / WindowSeconds }, nil
	case "cv":
		return func(i int, x float32) { c.CV[i] = x }, nil
	case "weibull_k":
		return func(i int, x float32) { c.WeibullK[i] = x }, nil
	}
	kind, stat, _ := strings.Cut(field, "_")
	dst, ok := map[string]*[]Quantiles{"input": &c.Input, "output": &c.Output, "reason": &c.ReasonRatio}[kind]
	if !ok {
		return nil, fmt.Errorf("unknown field %q", field)
	}
	if *dst == nil {
		*dst = make([]Quantiles, windows)
		c.HasTokens = true
	}
	q := *dst
	switch stat {
	case "mean":
		return func(i int, x float32) { q[i].Mean = x }, nil
	case "p5":
		return func(i int, x float32) { q[i].P5 = x }, nil
	case "p25":
		return func(i int, x float32) { q[i].P25 = x }, nil
	case "p50":
		return func(i int, x float32) { q[i].P50 = x }, nil
	case "p75":
		return func(i int, x float32) { q[i].P75 = x }, nil
	case "p90":
		return func(i int, x float32) { q[i].P90 = x }, nil
	case "p95":
		return func(i int, x float32) { q[i].P95 = x }, nil
	case "p99":
		return func(i int, x float32) { q[i].P99 = x }, nil
	}
	return nil, fmt.Errorf("unknown field %q", field)
}

// content returns the content of an embedded file, decompressed when its name ends in .zst.
func content(name string) ([]byte, error) {
	packed, err := files.ReadFile("data/" + name)
	if err != nil || !strings.HasSuffix(name, ".zst") {
		return packed, err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer z.Close()
	text, err := z.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}
