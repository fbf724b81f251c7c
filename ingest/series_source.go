package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"switchback/stats"
)

// Source returns the rows of a part as stats.Analyze asks for them, for one metric. Models and columns are the same for
// every part, those of Pairs. Where models are weighed by traffic, the traffic is that of all kept rows.
func (s *Series) Source(metric string, p Part) stats.Source {
	return &partSource{series: s, metric: metric, part: p}
}

type partSource struct {
	series *Series
	metric string
	part   Part
}

var _ stats.Source = (*partSource)(nil)

// Models returns every model of the window, also those without a row in the part.
func (p *partSource) Models(context.Context) ([]string, error) {
	return slices.Clone(p.series.models), nil
}

// Sums implements stats.Source.
func (p *partSource) Sums(_ context.Context, metric string) ([]stats.Sum, error) {
	s := p.series
	var out []stats.Sum
	if metric == "requests" {
		for cell, n := range s.kept {
			model, column := s.place(int32(cell))
			out = append(out, stats.Sum{Model: model, Column: column, N: n, Y: n})
		}
		return out, nil
	}
	at, err := s.metric(metric)
	if err != nil {
		return nil, err
	}
	sums := s.sums[p.part.way]
	for i, f := range sums.fragments {
		if p.part.has(f) && sums.n[at][i] > 0 {
			model, column := s.place(f.cell)
			out = append(out, stats.Sum{Model: model, Column: column, N: sums.n[at][i], Y: sums.y[at][i]})
		}
	}
	return out, nil
}

// values returns what is known of the source's quantile.
func (p *partSource) values(quantity string) (*seriesMetric, error) {
	at, err := p.series.metric(p.metric)
	if err != nil {
		return nil, err
	}
	if m := &p.series.metrics[at]; m.values != nil && m.quantity == quantity {
		return m, nil
	}
	return nil, fmt.Errorf("series of blocks: %s is not a quantile of %q", p.metric, quantity)
}

// Histogram implements stats.Source.
func (p *partSource) Histogram(_ context.Context, quantity string) ([]stats.Bin, error) {
	m, err := p.values(quantity)
	if err != nil {
		return nil, err
	}
	s := p.series
	const slots = binAbove + 1 + 2 // BinZero and BinInf stand after the others
	counts := make([]int64, len(s.kept)*slots)
	outside := m.values.counts[p.part.way]
	for i, f := range outside.fragments {
		if !p.part.has(f) {
			continue
		}
		of := counts[int(f.cell)*slots:][:slots]
		of[binBelow] += outside.below[i]
		of[binAbove] += outside.above[i]
		of[slots-2] += outside.zero[i]
		of[slots-1] += outside.infinite[i]
	}
	near := m.values.near
	for i, f := range near.fragments {
		if p.part.has(f) {
			counts[int(f.cell)*slots+int(near.bins[i])]++
		}
	}
	var out []stats.Bin
	for i, n := range counts {
		if n == 0 {
			continue
		}
		bin := int32(i % slots)
		switch bin {
		case slots - 2:
			bin = stats.BinZero
		case slots - 1:
			bin = stats.BinInf
		}
		model, column := s.place(int32(i / slots))
		out = append(out, stats.Bin{Model: model, Column: column, Bin: bin, N: n})
	}
	return out, nil
}

// Values implements stats.Source.
func (p *partSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	m, err := p.values(quantity)
	if err != nil {
		return nil, err
	}
	s := p.series
	wanted := make([]bool, len(s.models)*(binAbove+1))
	var outside []string
	for _, b := range bins {
		wanted[b.Model*(binAbove+1)+int(b.Bin)] = true
		first, last := b.Model*s.width(), (b.Model+1)*s.width()
		switch b.Bin {
		case binBelow:
			outside = append(outside, fmt.Sprintf("cell >= %d AND cell < %d AND %s < %d", first, last, m.column, m.values.lo[b.Model]))
		case binAbove:
			outside = append(outside, fmt.Sprintf("cell >= %d AND cell < %d AND %s > %d", first, last, m.column, m.values.hi[b.Model]))
		}
	}
	var out []stats.Value
	near := m.values.near
	for i, f := range near.fragments {
		model, column := s.place(f.cell)
		if wanted[model*(binAbove+1)+int(near.bins[i])] && p.part.has(f) {
			out = append(out, stats.Value{Model: model, Column: column, Value: near.values[i], N: 1})
		}
	}
	if len(outside) == 0 {
		return out, nil
	}
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf("SELECT cell, %[1]s, count(*) FROM temp.since WHERE %[1]s > 0 AND %[1]s < %[2]d AND %[3]s AND (%[4]s) GROUP BY ALL",
		m.column, stats.Inf, p.part.sql, strings.Join(outside, " OR ")))
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", m.id, err)
	}
	more, err := collect(rows, func(scan func(...any) error) (v stats.Value, err error) {
		var cell int32
		err = scan(&cell, &v.Value, &v.N)
		v.Model, v.Column = s.place(cell)
		return v, err
	})
	return append(out, more...), err
}
