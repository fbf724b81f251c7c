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
		column := slices.Index(metrics, m.id)
		if column < 0 {
			continue
		}
		values := make([]*float64, len(out))
		if m.kind == stats.Quantile {
			if err := s.quantilesOfBlocks(ctx, m, values); err != nil {
				return nil, fmt.Errorf("%s of blocks: %w", m.id, err)
			}
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
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf(`SELECT %s, r.block_id, count(*), count(*) FILTER (r.in_burn_in) FROM requests r
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
	for i, f := range s.sums.fragments {
		if f.kept {
			y[s.blockOf[f.cell]] += s.sums.of[m.counts+countY][i]
			n[s.blockOf[f.cell]] += s.sums.of[m.counts+countN][i]
		}
	}
	for i := range values {
		if n[i] > 0 {
			v := float64(y[i]) / float64(n[i]) * m.scale
			values[i] = &v
		}
	}
}

// quantilesOfBlocks takes quantiles over all models. A decimal share makes DuckDB find the rank in whole numbers.
func (s *Series) quantilesOfBlocks(ctx context.Context, m seriesMetric, values []*float64) error {
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf(`SELECT p.block, quantile_disc(%[1]s, 0.%03[2]d) FROM temp.since JOIN
		(SELECT DISTINCT cell, block FROM temp.places) p USING (cell) WHERE kept AND %[1]s IS NOT NULL GROUP BY p.block`, m.column, m.perMille))
	if err != nil {
		return err
	}
	_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
		var block int
		var value int64
		err := scan(&block, &value)
		if err == nil && value < stats.Inf {
			v := float64(value) * m.scale
			values[block] = &v
		}
		return struct{}{}, err
	})
	return err
}

// busyRows is the typical number of rows of a step from which a step without any is a gap.
const busyRows = 20

// Gaps returns the minutes without any row in blocks that are otherwise busy, whole steps only, and the id of the block
// with most of them.
func (s *Series) Gaps() (minutes int, block string) {
	return FindGaps(s.columns.plan, s.window, s.step, func(add func(block, step int, rows int64)) {
		for i, f := range s.sums.fragments {
			add(s.blockOf[f.cell], int(f.step), s.sums.of[0][i])
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
