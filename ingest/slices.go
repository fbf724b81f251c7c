package ingest

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"switchback/experiment"
)

// rowsAtATime is how many rows a query may hand over: DuckDB keeps all of them, outside the memory that it is given.
const rowsAtATime = 1_000_000

// eachSlice calls do with conditions on rows r, beginning with AND, that cut the time of a plan into slices, about as many
// as keep each below rowsAtATime, several at a time. Every row fulfils one of them. Where rows lie more or less in order of
// time, DuckDB reads only those of the slice.
func (s *Store) eachSlice(ctx context.Context, plan experiment.Plan, rows int, do func(ctx context.Context, condition string) error) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(s.threads)
	parts := 1 + rows/rowsAtATime
	starts, ends := plan.Window()
	step := ends.Sub(starts) / time.Duration(parts)
	for i := range parts {
		condition := ""
		if i > 0 {
			condition += " AND r.ts >= " + timestamp(starts.Add(time.Duration(i)*step))
		}
		if i < parts-1 {
			condition += " AND r.ts < " + timestamp(starts.Add(time.Duration(i+1)*step))
		}
		work.Go(func() error { return do(ctx, condition) })
	}
	return work.Wait()
}
