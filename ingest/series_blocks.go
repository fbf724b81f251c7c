package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/stats"
)

// BlockSeries is one block of a window with what was measured in it.
type BlockSeries struct {
	experiment.Block
	Rows   int64      // all rows
	BurnIn int64      // of Rows
	Values []*float64 // of the kept rows, all models together, by metric as asked; nil is unknown
}

// Blocks returns the window's blocks in the order of the schedule. Metrics that are not those of the series are unknown.
func (s *Series) Blocks(ctx context.Context, metrics []string) ([]BlockSeries, error) {
	out := make([]BlockSeries, len(s.columns.plan.Blocks))
	for i, b := range s.columns.plan.Blocks {
		out[i] = BlockSeries{Block: b, Values: make([]*float64, len(metrics))}
	}
	if err := s.countBlocks(ctx, out); err != nil {
		return nil, fmt.Errorf("rows of blocks: %w", err)
	}
	for _, m := range s.metrics {
		column := slices.Index(metrics, m.ID)
		if column < 0 {
			continue
		}
		values := make([]*float64, len(out))
		if m.Kind == stats.Quantile {
			s.quantilesOfBlocks(m, values)
		} else {
			s.ratiosOfBlocks(m, values)
		}
		for i, v := range values {
			out[i].Values[column] = v
		}
	}
	return out, nil
}

// countBlocks counts all rows, also those without a model.
func (s *Series) countBlocks(ctx context.Context, out []BlockSeries) error {
	rows, err := s.store.db.QueryContext(ctx, fmt.Sprintf(`SELECT %s, r.block_id, count(*), count(*) FILTER (r.in_burn_in) FROM requests r
		WHERE r.block_id IS NOT NULL AND %s GROUP BY ALL`, strings.ReplaceAll(scheduleOf(s.columns.plan), "r.model", "coalesce(r.model, '')"), s.window.inside()))
	if err != nil {
		return err
	}
	type counts struct{ rows, burnIn int64 }
	found := map[blockKey]counts{}
	_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
		var k blockKey
		var n counts
		err := scan(&k.model, &k.id, &n.rows, &n.burnIn)
		found[k] = n
		return struct{}{}, err
	})
	for i, b := range out {
		n := found[blockKey{b.Model, b.ID}]
		out[i].Rows, out[i].BurnIn = n.rows, n.burnIn
	}
	return err
}

// ratiosOfBlocks divides the sums over all models.
func (s *Series) ratiosOfBlocks(m seriesMetric, values []*float64) {
	y, n := make([]int64, len(values)), make([]int64, len(values))
	for i, f := range s.fragments {
		if f.kept {
			y[s.blockOf[f.cell]] += s.counts[m.counts][i]
			n[s.blockOf[f.cell]] += s.counts[m.counts+1][i]
		}
	}
	for i := range values {
		if n[i] > 0 {
			v := float64(y[i]) / float64(n[i]) * m.Scale
			values[i] = &v
		}
	}
}

// quantilesOfBlocks takes quantiles of the kept rows over all models, ranks in whole numbers.
func (s *Series) quantilesOfBlocks(m seriesMetric, values []*float64) {
	starts := make([]int, len(values)+1) // of each block's values, and the end
	each := func(do func(block int, value int64)) {
		for i := range s.rows {
			of := s.rows[i].values[m.Quantity]
			for row, f := range s.rows[i].fragmentOf {
				if f >= 0 && s.fragments[f].kept {
					if v, known := of.at(row); known {
						do(s.blockOf[s.fragments[f].cell], v)
					}
				}
			}
		}
	}
	each(func(block int, _ int64) { starts[block+1]++ })
	for block := range values {
		starts[block+1] += starts[block]
	}
	byBlock, next := make([]int64, starts[len(values)]), slices.Clone(starts)
	each(func(block int, value int64) {
		byBlock[next[block]] = value
		next[block]++
	})
	parallel(s.store.threads, len(values), func(block int) {
		own := byBlock[starts[block]:starts[block+1]]
		if len(own) == 0 {
			return
		}
		if value := s.bins.ranked(own, max(1, (m.PerMille*len(own)+999)/1000)); value < stats.Inf {
			v := float64(value) * m.Scale
			values[block] = &v
		}
	})
}

// busyRows is the typical number of rows of a step from which a step without any is a gap.
const busyRows = 20

// Gaps returns the minutes without any row in blocks that are otherwise busy, whole steps only, and the id of the block
// with most of them.
func (s *Series) Gaps() (minutes int, block string) {
	return FindGaps(s.columns.plan, s.window, s.step, func(add func(block, step int, rows int64)) {
		for i, f := range s.fragments {
			add(s.blockOf[f.cell], int(f.step), s.counts[0][i])
		}
	})
}

// FindGaps is Series.Gaps of the rows that each tells: how many there are in a step (of so many minutes) of a block, by its
// index in the plan.
func FindGaps(plan experiment.Plan, w Window, step int, each func(add func(block, step int, rows int64))) (minutes int, block string) {
	rows := make([][]int64, len(plan.Blocks))
	for i, b := range plan.Blocks {
		ends := b.Ends
		if until := w.Until; !until.IsZero() && until.Before(ends) {
			ends = until
		}
		if w.Since.After(b.Starts) {
			continue // its steps do not all lie in the window
		}
		rows[i] = make([]int64, max(0, int(ends.Sub(b.Starts)/time.Minute)/step))
	}
	each(func(block, step int, n int64) {
		if steps := rows[block]; step < len(steps) {
			steps[step] += n
		}
	})
	most := 0
	for i, steps := range rows {
		sorted := slices.Sorted(slices.Values(steps))
		if len(sorted) == 0 || sorted[len(sorted)/2] < busyRows {
			continue
		}
		empty, _ := slices.BinarySearch(sorted, 1)
		minutes += empty * step
		if empty > most {
			most, block = empty, plan.Blocks[i].ID
		}
	}
	return minutes, block
}
