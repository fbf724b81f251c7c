package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"switchback/ingest/rules"
	"switchback/stats"
)

// rowPart are some rows of a Series.
type rowPart struct {
	fragmentOf []int32 // by row: index of its fragment, −1 for rows outside all
	values     map[string]*numbers
}

// Places of the columns that readRows asks for. Those of the sums follow, then those of the quantities.
const (
	rowPlace = iota
	rowTime
	rowClient
	rowKept
	rowBorn
	rowSums
)

// readRows reads the rows of the window's blocks, burn-in included.
func (s *Series) readRows(ctx context.Context) error {
	d := rules.DuckDBRows{}
	query := "SELECT " + placeOf + ", epoch_us(r.ts), hash(r.client_id), NOT r.in_burn_in, " + rules.Born(d)
	types := []arrow.Type{arrow.UINT64, arrow.INT64, arrow.UINT64, arrow.BOOL, arrow.BOOL}
	sums := 0
	var names []string
	for i := range s.metrics {
		if m := &s.metrics[i]; m.Kind != stats.Quantile {
			m.counts = 1 + sums
			sums += 2
			query += fmt.Sprintf(", CAST(coalesce(%s, 0) AS BIGINT), CAST(coalesce(%s, 0) AS BIGINT)", m.Y, m.N)
			types = append(types, arrow.INT64, arrow.INT64)
		} else if !slices.Contains(names, m.Quantity) {
			names = append(names, m.Quantity)
		}
	}
	known := len(types)
	for _, q := range quantitiesBy(servingTime) {
		if slices.Contains(names, q.name) {
			query += ", " + q.value + " AS " + q.name
			types = append(types, arrow.INT64)
		}
	}
	var all int
	if err := s.store.db.QueryRowContext(ctx, "SELECT count(*) FROM requests r WHERE "+s.window.inside()).Scan(&all); err != nil {
		return err
	}
	from, err := s.store.fromRequests(ctx)
	if err != nil {
		return err
	}
	s.counts = make([][]int64, 1+sums)
	index := map[fragment]int32{}
	var mu sync.Mutex
	err = s.store.eachSlice(ctx, s.columns.plan, all, func(ctx context.Context, slice string) error {
		return s.store.queryRecords(ctx, query+from+"WHERE "+s.inBlocks()+slice, types, known, func(fetched []records) error {
			part, err := s.readPart(fetched, sums, known)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			s.join(part, index)
			return nil
		})
	})
	for i, f := range s.fragments {
		if f.kept {
			s.kept[f.cell] += s.counts[0][i]
		}
	}
	return err
}

// inBlocks is the condition that a row counts in some part.
func (s *Series) inBlocks() string {
	return s.window.inside() + " AND r.in_burn_in IS NOT NULL AND " + rules.NoCacheHit(rules.DuckDB{})
}

// fragmentCounts are the fragments of rows, in order of appearance.
type fragmentCounts struct {
	fragments []fragment
	counts    [][]int64 // by count and fragment: the rows, then the sums Y and N of ratios
}

// of returns the place of a fragment, a new one for one that index does not have yet.
func (c *fragmentCounts) of(f fragment, index map[fragment]int32) int32 {
	at, ok := index[f]
	if !ok {
		at = int32(len(c.fragments))
		index[f] = at
		c.fragments = append(c.fragments, f)
		for i := range c.counts {
			c.counts[i] = append(c.counts[i], 0)
		}
	}
	return at
}

// partialRows are some rows with fragments of their own.
type partialRows struct {
	rowPart
	fragmentCounts
}

// readPart reads rows whose columns from known on are quantities.
func (s *Series) readPart(fetched []records, sums, known int) (partialRows, error) {
	rows := 0
	for _, r := range fetched {
		rows += int(r.NumRows())
	}
	p := partialRows{rowPart: rowPart{fragmentOf: make([]int32, rows), values: map[string]*numbers{}}, fragmentCounts: fragmentCounts{counts: make([][]int64, 1+sums)}}
	index := map[fragment]int32{}
	step := int64(s.step) * time.Minute.Microseconds()
	last, cell, starts := uint64(0), -1, int64(0)
	first := 0 // row of the records at hand
	for n, r := range fetched {
		places, times, clients := r.uint64s(rowPlace), r.int64s(rowTime), r.uint64s(rowClient)
		kept, born := r.bools(rowKept), r.bools(rowBorn)
		own := p.fragmentOf[first:][:len(places)]
		for i, place := range places {
			if place != last || n+i == 0 { // rows of a cell tend to stand together
				of, ok := s.cells[place]
				last, cell = place, -1
				if ok {
					cell, starts = of, s.columns.plan.Blocks[s.blockOf[of]].Starts.UnixMicro()
				}
			}
			if cell < 0 {
				own[i] = -1
				continue
			}
			at := (times[i] - starts) / step
			if times[i] < starts || at >= manySteps {
				return p, fmt.Errorf("a row of %s lies outside its block, which begins at %s", instant(times[i]), instant(starts))
			}
			f := fragment{cell: int32(cell), step: uint16(at), client: s.clientOf[clients[i]], kept: kept.Value(i), born: born.Value(i)}
			k := p.of(f, index)
			own[i] = k
			p.counts[0][k]++
		}
		for c := range sums {
			counts := p.counts[1+c]
			for i, v := range r.int64s(rowSums + c) {
				if own[i] >= 0 {
					counts[own[i]] += v
				}
			}
		}
		first += len(places)
	}
	p.readQuantities(fetched, known)
	return p, nil
}

// readQuantities reads the columns from first on.
func (p *rowPart) readQuantities(fetched []records, first int) {
	if len(fetched) == 0 {
		return
	}
	for c := first; c < int(fetched[0].NumCols()); c++ {
		n := newNumbers(len(p.fragmentOf))
		row := 0
		for _, r := range fetched {
			n.readFrom(row, r.Column(c).(*array.Int64))
			row += int(r.NumRows())
		}
		p.values[fetched[0].ColumnName(c)] = n
	}
}

// join adds rows to those of the series, and their fragments, of which index has the places, to its.
func (s *Series) join(p partialRows, index map[fragment]int32) {
	places := make([]int32, len(p.fragments))
	for i, f := range p.fragments {
		at := s.of(f, index)
		places[i] = at
		for c := range s.counts {
			s.counts[c][at] += p.counts[c][i]
		}
	}
	for i, f := range p.fragmentOf {
		if f >= 0 {
			p.fragmentOf[i] = places[f]
		}
	}
	s.rows = append(s.rows, p.rowPart)
}

func instant(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339) }

func (s *Series) place(cell int32) (model, column int) {
	p := s.places[cell]
	return int(p.model), int(p.column)
}

// metric finds a metric of the series.
func (s *Series) metric(id string) (*seriesMetric, error) {
	for i := range s.metrics {
		if s.metrics[i].ID == id {
			return &s.metrics[i], nil
		}
	}
	return nil, fmt.Errorf("series of blocks: %q is not among its metrics", id)
}

// Has tells whether the series can be asked about a metric.
func (s *Series) Has(id string) bool {
	_, err := s.metric(id)
	return err == nil
}
