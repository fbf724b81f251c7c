package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"switchback/stats"
)

// Source returns the rows of a part as stats.Analyze asks for them, for one metric. Models and columns are the same for
// every part, those of Pairs. Where models are weighed by traffic, the traffic is that of all kept rows.
func (s *Series) Source(metric string, p Part) stats.Source {
	source := &partSource{series: s, metric: metric, part: p}
	source.in = sync.OnceValue(func() []bool {
		in := make([]bool, len(s.fragments))
		for i, f := range s.fragments {
			in[i] = p.has(f)
		}
		return in
	})
	return source
}

type partSource struct {
	series *Series
	metric string
	part   Part
	in     func() []bool // by fragment
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
	if metric == requests {
		for cell, n := range s.kept {
			model, column := s.place(int32(cell))
			out = append(out, stats.Sum{Model: model, Column: column, N: n, Y: n})
		}
		return out, nil
	}
	m, err := s.metric(metric)
	if err != nil {
		return nil, err
	}
	y, n := make([]int64, len(s.kept)), make([]int64, len(s.kept))
	for i, in := range p.in() {
		if in {
			cell := s.fragments[i].cell
			y[cell] += s.counts[m.counts][i]
			n[cell] += s.counts[m.counts+1][i]
		}
	}
	for cell := range n {
		if n[cell] > 0 {
			model, column := s.place(int32(cell))
			out = append(out, stats.Sum{Model: model, Column: column, N: n[cell], Y: y[cell]})
		}
	}
	return out, nil
}

// quantile returns what is known of the source's quantile.
func (p *partSource) quantile(quantity string) (*seriesMetric, error) {
	m, err := p.series.metric(p.metric)
	if err == nil && (m.Kind != stats.Quantile || m.Quantity != quantity) {
		err = fmt.Errorf("series of blocks: %s is not a quantile of %q", p.metric, quantity)
	}
	return m, err
}

// Histogram implements stats.Source.
func (p *partSource) Histogram(_ context.Context, quantity string) ([]stats.Bin, error) {
	m, err := p.quantile(quantity)
	if err != nil {
		return nil, err
	}
	s, in := p.series, p.in()
	// The slots of a cell: its bins, then the values up to 0 and the infinite ones.
	const slotZero, slotInf, slots = allBins, allBins + 1, allBins + 2
	counts := make([]int64, len(s.kept)*slots)
	for i, f := range s.fragments {
		if in[i] {
			cell := counts[int(f.cell)*slots:][:slots]
			cell[binBelow] += m.outside.below[i]
			cell[binAbove] += m.outside.above[i]
			cell[slotZero] += m.outside.zero[i]
			cell[slotInf] += m.outside.infinite[i]
		}
	}
	for model := range s.models {
		first, end := m.near.between(model, p.part.from, p.part.to)
		for i := first; i < end; i++ {
			if f := m.near.fragments[i]; in[f] {
				counts[int(s.fragments[f].cell)*slots+int(m.near.bins[i])]++
			}
		}
	}
	var out []stats.Bin
	for i, n := range counts {
		if n == 0 {
			continue
		}
		bin := int32(i % slots)
		switch bin {
		case slotZero:
			bin = stats.BinZero
		case slotInf:
			bin = stats.BinInf
		}
		model, column := s.place(int32(i / slots))
		out = append(out, stats.Bin{Model: model, Column: column, Bin: bin, N: n})
	}
	return out, nil
}

// Values implements stats.Source.
func (p *partSource) Values(_ context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	m, err := p.quantile(quantity)
	if err != nil {
		return nil, err
	}
	s, in := p.series, p.in()
	wanted := make([]bool, len(s.models)*allBins)
	outside := false
	for _, b := range bins {
		wanted[b.Model*allBins+int(b.Bin)] = true
		outside = outside || b.Bin == binBelow || b.Bin == binAbove
	}
	rows := 0
	for model := range s.models {
		first, end := m.near.between(model, p.part.from, p.part.to)
		rows += end - first
	}
	out := make([]stats.Value, 0, rows/4)
	for model := range s.models {
		of := wanted[model*allBins:][:allBins]
		first, end := m.near.between(model, p.part.from, p.part.to)
		for i, bin := range m.near.bins[first:end] {
			if !of[bin] {
				continue
			}
			if f := m.near.fragments[first+i]; in[f] {
				_, column := s.place(s.fragments[f].cell)
				out = append(out, stats.Value{Model: model, Column: column, Value: m.near.values[first+i], N: 1})
			}
		}
	}
	if outside {
		out = p.valuesOutside(m, wanted, out)
	}
	return out, nil
}

// valuesOutside appends the values outside the windows of the models of which they are wanted.
func (p *partSource) valuesOutside(m *seriesMetric, wanted []bool, out []stats.Value) []stats.Value {
	s, in := p.series, p.in()
	for i := range s.rows {
		values := s.rows[i].values[m.Quantity]
		for row, f := range s.rows[i].fragmentOf {
			if f < 0 || !in[f] {
				continue
			}
			v, known := values.at(row)
			if !known || v <= 0 || v == stats.Inf {
				continue
			}
			model, column := s.place(s.fragments[f].cell)
			if v < m.lo[model] && wanted[model*allBins+binBelow] || v > m.hi[model] && wanted[model*allBins+binAbove] {
				out = append(out, stats.Value{Model: model, Column: column, Value: v, N: 1})
			}
		}
	}
	return out
}
