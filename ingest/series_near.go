package ingest

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/marcboeker/go-duckdb"
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
		query := fmt.Sprintf("SELECT cell, step, client, CAST(CASE WHEN kept THEN 1 ELSE 0 END + CASE WHEN born THEN 2 ELSE 0 END AS UTINYINT) AS flags, %s AS value%s WHERE %[1]s BETWEEN a.lo%[3]d AND a.hi%[3]d",
			m.column, s.around(), quantiles)
		quantiles++
		err := s.conn.Raw(func(driverConn any) error {
			arrowConn, err := duckdb.NewArrowFromConn(driverConn.(driver.Conn))
			if err != nil {
				return err
			}
			reader, err := arrowConn.QueryContext(ctx, query)
			if err != nil {
				return err
			}
			defer reader.Release()
			m.near, err = readNear(reader, m, s.width())
			return err
		})
		if err != nil {
			return fmt.Errorf("rows around %s: %w", m.id, err)
		}
	}
	return nil
}

// nearRecord is a record of fetched rows.
type nearRecord struct {
	cells   *array.Int32
	steps   *array.Uint16
	clients *array.Uint8
	flags   *array.Uint8
	values  *array.Int64
}

func nearRecordOf(r arrow.Record) (nearRecord, error) {
	var n nearRecord
	var ok [5]bool
	n.cells, ok[0] = r.Column(0).(*array.Int32)
	n.steps, ok[1] = r.Column(1).(*array.Uint16)
	n.clients, ok[2] = r.Column(2).(*array.Uint8)
	n.flags, ok[3] = r.Column(3).(*array.Uint8)
	n.values, ok[4] = r.Column(4).(*array.Int64)
	if ok != [5]bool{true, true, true, true, true} {
		return n, fmt.Errorf("they come as %s", r.Schema())
	}
	return n, nil
}

// readNear sorts the fetched rows by step. In which order they come does not matter.
func readNear(reader array.RecordReader, m *seriesMetric, width int) (nearRows, error) {
	var records []nearRecord
	defer func() {
		for _, r := range records {
			for _, a := range []arrow.Array{r.cells, r.steps, r.clients, r.flags, r.values} {
				a.Release()
			}
		}
	}()
	rows := 0
	var perStep []int
	for reader.Next() {
		r, err := nearRecordOf(reader.Record())
		if err != nil {
			return nearRows{}, err
		}
		for _, a := range []arrow.Array{r.cells, r.steps, r.clients, r.flags, r.values} {
			a.Retain()
		}
		records = append(records, r)
		rows += r.values.Len()
		for _, step := range r.steps.Uint16Values() {
			for int(step) >= len(perStep) {
				perStep = append(perStep, 0)
			}
			perStep[step]++
		}
	}
	if err := reader.Err(); err != nil {
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
	for _, r := range records {
		cells, steps, clients, flags := r.cells.Int32Values(), r.steps.Uint16Values(), r.clients.Uint8Values(), r.flags.Uint8Values()
		for i, value := range r.values.Int64Values() {
			at, model := next[steps[i]], cells[i]/int32(width)
			next[steps[i]]++
			n.fragments[at] = fragment{cell: cells[i], step: steps[i], client: clients[i], kept: flags[i]&1 != 0, born: flags[i]&2 != 0}
			n.models[at], n.values[at], n.bins[at] = model, value, binBetween(value, m.lo[model], m.hi[model])
		}
	}
	return n, nil
}

// binBetween numbers a value in lo … hi from 1 to fetchBins. A larger value never has a smaller bin.
func binBetween(value, lo, hi int64) uint8 {
	share := float64(value-lo) / (float64(hi-lo) + 1)
	return 1 + uint8(min(fetchBins-1, int(share*fetchBins)))
}
