package warehouse

import (
	"context"
	"fmt"
	"slices"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/rules"
)

// Gaps returns the minutes without any row in blocks that are otherwise busy, and the id of the block with most of them.
func (s *Series) Gaps() (minutes int, block string) {
	plan := s.rows.layout.columns.Plan()
	return ingest.FindGaps(plan, ingest.Window(s.rows.window), s.step, func(add func(block, step int, rows int64)) {
		of := s.blockOf(plan)
		for _, c := range s.ratios {
			if c.byTime() {
				add(of[c.cell], int(c.slice), c.values[0])
			}
		}
	})
}

// blockOf returns the index in the plan of each cell's block.
func (s *Series) blockOf(plan experiment.Plan) []int {
	l := s.rows.layout
	index := map[[2]string]int{}
	for i, b := range plan.Blocks {
		index[[2]string{b.Model, b.ID}] = i
	}
	of := make([]int, len(s.burnIn))
	for i, model := range l.models {
		for _, b := range plan.ForModel(model) {
			if column, ok := l.columns.Of(b); ok {
				of[i*l.width()+column] = index[[2]string{b.Model, b.ID}]
			}
		}
	}
	return of
}

// Blocks returns the window's blocks in the order of the schedule. Metrics that are not those of the series are unknown.
func (s *Series) Blocks(ctx context.Context, metrics []string) ([]ingest.BlockSeries, error) {
	plan := s.rows.layout.columns.Plan()
	of := s.blockOf(plan)
	out := make([]ingest.BlockSeries, len(plan.Blocks))
	for i, b := range plan.Blocks {
		n := s.rows.blocks[i]
		out[i] = ingest.BlockSeries{Block: b, Rows: n.rows, BurnIn: n.burnIn, Values: make([]*float64, len(metrics))}
	}
	ratio := 0
	for _, m := range s.metrics {
		column, place := slices.Index(metrics, m.ID), ratio
		if m.N != "" {
			ratio++
		}
		if column < 0 {
			continue
		}
		if m.N == "" {
			if err := s.quantilesOfBlocks(ctx, m, of, func(block int, v float64) { out[block].Values[column] = &v }); err != nil {
				return nil, err
			}
			continue
		}
		y, n := make([]int64, len(out)), make([]int64, len(out))
		for _, c := range s.ratios {
			if !c.byTime() {
				y[of[c.cell]] += c.values[1+2*place]
				n[of[c.cell]] += c.values[2+2*place]
			}
		}
		for i := range out {
			if n[i] > 0 {
				v := float64(y[i]) / float64(n[i]) * m.Scale
				out[i].Values[column] = &v
			}
		}
	}
	return out, nil
}

// quantilesOfBlocks takes quantiles over all models. The histogram is that of the summaries.
func (s *Series) quantilesOfBlocks(ctx context.Context, m rules.Measure, of []int, set func(block int, v float64)) error {
	if len(s.summaries.models) == 0 {
		return nil
	}
	value, err := s.rows.quantity(m.Quantity)
	if err != nil {
		return err
	}
	s.summaries.mu.Lock()
	found, err := s.summaries.histogram(ctx, m.Quantity)
	s.summaries.mu.Unlock()
	if err != nil {
		return err
	}
	bins := byGroup{}
	for _, b := range found {
		bins.add(fmt.Sprint(of[b.Model*s.rows.layout.width()+b.Column]), int64(b.Bin), b.N)
	}
	// The condition makes the rows those of the histogram: rows without a cell are in no block value.
	quantiles, err := s.rows.quantiles(ctx, m.ID+" by block", blockGroup, inCells(value), m.PerMille, bins)
	for group, v := range quantiles {
		var block int
		if _, err := fmt.Sscan(group, &block); err != nil {
			return err
		}
		set(block, float64(v)*m.Scale)
	}
	return err
}
