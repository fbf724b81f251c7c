package ingest

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
)

// Bins of the values that the sources of a Series answer with: one below the rows that were fetched, some among them,
// one above.
const (
	binBelow  = 0
	fetchBins = 16
	binAbove  = fetchBins + 1
	allBins   = binAbove + 1
)

// nearRows are the rows with a value inside the window around a quantile, in order of their step.
type nearRows struct {
	fragments []fragment
	models    []int32
	values    []int64
	bins      []uint8
	starts    []int // of each step's rows, and the end
}

// between returns the range of the rows of some steps.
func (n *nearRows) between(from, to int) (first, end int) {
	last := len(n.starts) - 1
	return n.starts[min(from, last)], n.starts[min(to, last)]
}

// fetchNear fetches the rows around each quantile.
func (s *Series) fetchNear(ctx context.Context) error {
	quantiles := 0
	for i := range s.metrics {
		m := &s.metrics[i]
		if m.column == "" {
			continue
		}
		query := fmt.Sprintf("SELECT cell, step, client, kept, born, %s AS value%s WHERE %[1]s BETWEEN a.lo%[3]d AND a.hi%[3]d", m.column, s.around(), quantiles)
		quantiles++
		var err error
		m.near, err = s.readNear(ctx, query, m)
		if err != nil {
			return fmt.Errorf("rows around %s: %w", m.id, err)
		}
	}
	return nil
}

// readNear sorts the fetched rows by step. In which order they come does not matter.
func (s *Series) readNear(ctx context.Context, query string, m *seriesMetric) (nearRows, error) {
	var fetched []records
	defer func() {
		for _, r := range fetched {
			r.Release()
		}
	}()
	rows := 0
	var perStep []int
	err := queryRecords(ctx, s.conn, query, append(fragmentTypes(), arrow.INT64), func(r records) {
		r.Retain()
		fetched = append(fetched, r)
		rows += int(r.NumRows())
		for _, step := range r.uint16s(1) {
			for int(step) >= len(perStep) {
				perStep = append(perStep, 0)
			}
			perStep[step]++
		}
	})
	if err != nil {
		return nearRows{}, err
	}
	n := nearRows{
		fragments: make([]fragment, rows), models: make([]int32, rows), values: make([]int64, rows), bins: make([]uint8, rows),
		starts: make([]int, len(perStep)+1),
	}
	for i, count := range perStep {
		n.starts[i+1] = n.starts[i] + count
	}
	next := append([]int{}, n.starts...)
	for _, r := range fetched {
		values := r.int64s(len(r.Columns()) - 1)
		for i, f := range r.fragments() {
			at, model := next[f.step], f.cell/int32(s.width())
			next[f.step]++
			n.fragments[at], n.models[at], n.values[at], n.bins[at] = f, model, values[i], binBetween(values[i], m.lo[model], m.hi[model])
		}
	}
	return n, nil
}

// binBetween numbers a value in lo … hi from 1 to fetchBins. A larger value never has a smaller bin.
func binBetween(value, lo, hi int64) uint8 {
	share := float64(value-lo) / (float64(hi-lo) + 1)
	return 1 + uint8(min(fetchBins-1, int(share*fetchBins)))
}
