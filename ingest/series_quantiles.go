package ingest

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/marcboeker/go-duckdb"

	"switchback/stats"
)

// Bins of the values that the sources of a Series answer with: one below the rows that were fetched, some among them,
// one above.
const (
	binBelow   = 0
	fetchBins  = 16
	binAbove   = fetchBins + 1
	sampleRows = 500_000 // that the window of fetched values is found from
)

// quantileRows is what a Series knows of a quantile: the rows near it one by one, the others as counts.
type quantileRows struct {
	lo, hi []int64 // by model, of the fetched values; any choice gives the same answers
	counts [2]outsideCounts
	near   nearRows
}

// outsideCounts counts the rows outside lo … hi, in one way of counting.
type outsideCounts struct {
	fragments                    []fragment
	zero, below, above, infinite []int64
}

// nearRows are the rows with a positive finite value in lo … hi.
type nearRows struct {
	fragments []fragment
	values    []int64
	bins      []uint8
}

// readQuantiles finds a window of values around each quantile, counts the rows outside of it and fetches those inside.
func (s *Series) readQuantiles(ctx context.Context) error {
	for i := range s.metrics {
		m := &s.metrics[i]
		if m.column == "" {
			continue
		}
		m.values = &quantileRows{lo: make([]int64, len(s.models)), hi: make([]int64, len(s.models))}
		for _, do := range []func(context.Context, *seriesMetric) error{s.findWindow, s.countOutside, s.fetchNear} {
			if err := do(ctx, m); err != nil {
				return fmt.Errorf("%s: %w", m.id, err)
			}
		}
	}
	return nil
}

// findWindow takes, for each model, the values between two quantiles around the wanted one, from the arm where they lie
// farther out. Where a part's quantile lies outside, its source asks again: the window saves time and decides nothing.
func (s *Series) findWindow(ctx context.Context, m *seriesMetric) error {
	q := float64(m.perMille) / 1000
	half := 0.2 * math.Sqrt(q*(1-q))
	every := max(1, s.rows/sampleRows)
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf(`SELECT cell // %d AS model, quantile_disc(%[2]s, %.4[3]f), quantile_disc(%[2]s, %.4[4]f)
		FROM temp.since WHERE kept AND %[2]s IS NOT NULL AND rowid %% %[5]d = 0 GROUP BY model, cell %% 2 ORDER BY ALL`,
		s.width(), m.column, max(0, q-half), min(1, q+half), every))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var model int
		var lo, hi int64
		if err := rows.Scan(&model, &lo, &hi); err != nil {
			return err
		}
		lo, hi = max(1, lo), min(max(1, hi), stats.Inf-1)
		if w := m.values; w.hi[model] == 0 {
			w.lo[model], w.hi[model] = lo, hi
		} else {
			w.lo[model], w.hi[model] = min(lo, w.lo[model]), max(hi, w.hi[model])
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "CREATE OR REPLACE TEMP TABLE around (model INTEGER, lo BIGINT, hi BIGINT)"); err != nil {
		return err
	}
	var values []string
	for model := range s.models {
		values = append(values, fmt.Sprintf("(%d, %d, %d)", model, m.values.lo[model], m.values.hi[model]))
	}
	if len(values) == 0 {
		return nil
	}
	_, err = s.conn.ExecContext(ctx, "INSERT INTO around VALUES "+strings.Join(values, ", "))
	return err
}

func (s *Series) around() string {
	return fmt.Sprintf(" FROM temp.since JOIN temp.around a ON a.model = cell // %d", s.width())
}

// countOutside counts the values outside the window.
func (s *Series) countOutside(ctx context.Context, m *seriesMetric) error {
	for way, keys := range [2]string{
		countedByTime:   "SELECT cell, step, 0, kept, false, %s%s WHERE %s IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
		countedByOrigin: "SELECT cell, 0, client, true, born, %s%s WHERE kept AND %s IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
	} {
		counted := fmt.Sprintf(`count(*) FILTER (%[1]s <= 0), count(*) FILTER (%[1]s > 0 AND %[1]s < a.lo),
			count(*) FILTER (%[1]s > a.hi AND %[1]s < %[2]d), count(*) FILTER (%[1]s = %[2]d)`, m.column, stats.Inf)
		rows, err := s.conn.QueryContext(ctx, fmt.Sprintf(keys, counted, s.around(), m.column))
		if err != nil {
			return err
		}
		c := &m.values.counts[way]
		_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
			var f fragment
			var zero, below, above, infinite int64
			err := scan(&f.cell, &f.step, &f.client, &f.kept, &f.born, &zero, &below, &above, &infinite)
			c.fragments = append(c.fragments, f)
			c.zero, c.below = append(c.zero, zero), append(c.below, below)
			c.above, c.infinite = append(c.above, above), append(c.infinite, infinite)
			return struct{}{}, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fetchNear fetches the rows inside the window, in the order of the table, which does not matter.
func (s *Series) fetchNear(ctx context.Context, m *seriesMetric) error {
	query := fmt.Sprintf("SELECT cell, step, client, CAST(kept AS UTINYINT) + 2 * CAST(born AS UTINYINT) AS flags, %[1]s AS value%[2]s WHERE %[1]s BETWEEN a.lo AND a.hi",
		m.column, s.around())
	return s.conn.Raw(func(driverConn any) error {
		arrowConn, err := duckdb.NewArrowFromConn(driverConn.(driver.Conn))
		if err != nil {
			return err
		}
		reader, err := arrowConn.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer reader.Release()
		for reader.Next() {
			if err := m.values.add(reader.Record(), s.width()); err != nil {
				return err
			}
		}
		return reader.Err()
	})
}

// add takes over a record of fetched rows.
func (q *quantileRows) add(r arrow.Record, width int) error {
	cells, ok1 := r.Column(0).(*array.Int32)
	steps, ok2 := r.Column(1).(*array.Uint16)
	clients, ok3 := r.Column(2).(*array.Uint8)
	values, ok5 := r.Column(4).(*array.Int64)
	if !ok1 || !ok2 || !ok3 || !ok5 {
		return fmt.Errorf("rows around a quantile come as %s", r.Schema())
	}
	for i := range int(r.NumRows()) {
		flags, err := smallInt(r.Column(3), i)
		if err != nil {
			return err
		}
		cell, value := cells.Value(i), values.Value(i)
		q.near.fragments = append(q.near.fragments, fragment{
			cell: cell, step: steps.Value(i), client: clients.Value(i), kept: flags&1 != 0, born: flags&2 != 0,
		})
		q.near.values = append(q.near.values, value)
		q.near.bins = append(q.near.bins, binBetween(value, q.lo[int(cell)/width], q.hi[int(cell)/width]))
	}
	return nil
}

// smallInt reads an unsigned number whose width DuckDB chose.
func smallInt(a arrow.Array, i int) (uint64, error) {
	switch a := a.(type) {
	case *array.Uint8:
		return uint64(a.Value(i)), nil
	case *array.Uint16:
		return uint64(a.Value(i)), nil
	case *array.Uint32:
		return uint64(a.Value(i)), nil
	case *array.Int32:
		return uint64(a.Value(i)), nil
	}
	return 0, fmt.Errorf("flags come as %s", a.DataType())
}

// binBetween numbers a value in lo … hi from 1 to fetchBins. A larger value never has a smaller bin.
func binBetween(value, lo, hi int64) uint8 {
	share := float64(value-lo) / (float64(hi-lo) + 1)
	return 1 + uint8(min(fetchBins-1, int(share*fetchBins)))
}
