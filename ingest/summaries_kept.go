package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"switchback/stats"
)

// keptRows are the quantities of the kept rows, in order of their cell.
type keptRows struct {
	starts []int // of each cell's rows, and the end
	values map[string]*numbers
	bins   *bins
}

// readKept reads the rows that the sums counted.
func (s *Summaries) readKept(ctx context.Context) (keptRows, error) {
	cells := len(s.models) * s.width()
	k := keptRows{starts: make([]int, cells+1), values: map[string]*numbers{}, bins: newBins()}
	for _, sum := range s.sums[requests] {
		k.starts[sum.Model*s.width()+sum.Column+1] = int(sum.N)
	}
	for cell := range cells {
		k.starts[cell+1] += k.starts[cell]
	}
	rows := k.starts[cells]
	types := []arrow.Type{arrow.UINT64}
	query := "SELECT " + placeOf
	list := quantitiesBy(servingTime)
	for _, q := range list {
		k.values[q.name] = newNumbers(rows)
		types = append(types, arrow.INT64)
		query += ", " + q.value
	}
	if rows == 0 {
		return k, nil
	}
	from, err := s.store.fromRequests(ctx)
	if err != nil {
		return k, err
	}
	free := freePlaces{next: slices.Clone(k.starts[:cells]), ends: k.starts[1:]}
	err = s.store.eachSlice(ctx, s.columns.plan, rows, func(ctx context.Context, slice string) error {
		return s.store.queryRecords(ctx, query+from+"WHERE "+s.window.kept()+slice, types, 1, func(fetched []records) error {
			for _, r := range fetched {
				places := s.take(&free, r.uint64s(0))
				for i, q := range list {
					k.values[q.name].read(r.Column(i+1).(*array.Int64), places)
				}
			}
			return nil
		})
	})
	if err == nil && free.wrong() {
		err = errors.New("rows came or went while they were read")
	}
	return k, err
}

// freePlaces deals out the places of the rows of cells.
type freePlaces struct {
	mu         sync.Mutex
	next, ends []int // by cell
	full       bool  // a cell has more rows than places
}

// take returns the places of rows by the hashes of their cells, −1 for rows in none.
func (s *Summaries) take(free *freePlaces, hashes []uint64) []int {
	places := make([]int, len(hashes))
	free.mu.Lock()
	defer free.mu.Unlock()
	last, cell := s.cellOf(0)
	for i, hash := range hashes {
		if hash != last { // rows of a cell tend to stand together
			last, cell = s.cellOf(hash)
		}
		places[i] = -1
		if cell < 0 {
			continue
		}
		if place := free.next[cell]; place < free.ends[cell] {
			places[i] = place
		} else {
			free.full = true
		}
		free.next[cell]++
	}
	return places
}

// cellOf returns the cell with a hash, −1 for none, and the hash.
func (s *Summaries) cellOf(hash uint64) (of uint64, cell int) {
	cell, ok := s.cells[hash]
	if !ok {
		cell = -1
	}
	return hash, cell
}

// wrong tells whether the rows were not as many as the places.
func (f *freePlaces) wrong() bool { return f.full || !slices.Equal(f.next, f.ends) }

// Histogram counts the kept rows per cell and bin of a quantity.
func (s *Summaries) Histogram(_ context.Context, quantity string) ([]stats.Bin, error) {
	values, ok := s.kept.values[quantity]
	if !ok {
		return nil, fmt.Errorf("histogram of %s: no such quantity", quantity)
	}
	byModel := make([][]stats.Bin, len(s.models))
	parallel(s.store.threads, len(s.models), func(model int) {
		counts := newBinCounts(s.kept.bins)
		for column := range s.width() {
			cell := model*s.width() + column
			for row := s.kept.starts[cell]; row < s.kept.starts[cell+1]; row++ {
				if v, known := values.at(row); known {
					counts.add(v)
				}
			}
			byModel[model] = counts.take(byModel[model], model, column)
		}
	})
	return slices.Concat(byModel...), nil
}

// binCounts counts values by bin.
type binCounts struct {
	*bins
	counts []int64 // by slot
	lo, hi int     // the slots in use, half-open
}

func newBinCounts(b *bins) binCounts {
	return binCounts{bins: b, counts: make([]int64, b.slots())}
}

func (c *binCounts) add(v int64) {
	slot := c.slot(v)
	if c.hi == 0 {
		c.lo = slot
	}
	c.lo, c.hi = min(c.lo, slot), max(c.hi, slot+1)
	c.counts[slot]++
}

// take appends the counts to those of other cells, and begins anew.
func (c *binCounts) take(to []stats.Bin, model, column int) []stats.Bin {
	for slot := c.lo; slot < c.hi; slot++ {
		if n := c.counts[slot]; n > 0 {
			to = append(to, stats.Bin{Model: model, Column: column, Bin: c.binAt(slot), N: n})
			c.counts[slot] = 0
		}
	}
	c.lo, c.hi = 0, 0
	return to
}

// Values returns the exact values of the kept rows per cell, inside the named bins. Equal ones stand as often as they
// occur: to microseconds they seldom are.
func (s *Summaries) Values(_ context.Context, quantity string, wanted []stats.ModelBin) ([]stats.Value, error) {
	values, ok := s.kept.values[quantity]
	if !ok {
		return nil, fmt.Errorf("values of %s: no such quantity", quantity)
	}
	slots := s.kept.bins.slots()
	in := make([]bool, len(s.models)*slots)
	for _, b := range wanted {
		slot, ok := s.kept.bins.slotOf(b.Bin)
		if !ok || b.Model < 0 || b.Model >= len(s.models) {
			return nil, fmt.Errorf("values of %s: no bin %d of model %d", quantity, b.Bin, b.Model)
		}
		in[b.Model*slots+slot] = true
	}
	rows := make([][]int, len(s.models))
	ends := make([]int, len(s.models)+1)
	parallel(s.store.threads, len(s.models), func(model int) {
		of := in[model*slots:][:slots]
		for row := s.kept.starts[model*s.width()]; row < s.kept.starts[(model+1)*s.width()]; row++ {
			if v, known := values.at(row); known && of[s.kept.bins.slot(v)] {
				rows[model] = append(rows[model], row)
			}
		}
	})
	for model, of := range rows {
		ends[model+1] = ends[model] + len(of)
	}
	out := make([]stats.Value, ends[len(rows)])
	parallel(s.store.threads, len(s.models), func(model int) {
		column, to := 0, out[ends[model]:]
		for i, row := range rows[model] {
			for row >= s.kept.starts[model*s.width()+column+1] {
				column++
			}
			v, _ := values.at(row)
			to[i] = stats.Value{Model: model, Column: column, Value: v, N: 1}
		}
	})
	return out, nil
}
