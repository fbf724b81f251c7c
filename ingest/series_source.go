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
	m, err := s.metric(metric)
	if err != nil {
		return nil, err
	}
	y, n := s.sums.of[m.counts+countY], s.sums.of[m.counts+countN]
	for i, f := range s.sums.fragments {
		if n[i] > 0 && p.part.has(f) {
			model, column := s.place(f.cell)
			out = append(out, stats.Sum{Model: model, Column: column, N: n[i], Y: y[i]})
		}
	}
	return out, nil
}

// quantile returns what is known of the source's quantile.
func (p *partSource) quantile(quantity string) (*seriesMetric, error) {
	m, err := p.series.metric(p.metric)
	if err == nil && (m.column == "" || m.quantity != quantity) {
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
	s := p.series
	// The slots of a cell: its bins, then the values up to 0 and the infinite ones.
	const slotZero, slotInf, slots = allBins, allBins + 1, allBins + 2
	counts := make([]int64, len(s.kept)*slots)
	of := s.outside.of[m.counts:][:countsOfQuantile]
	for i, f := range s.outside.fragments {
		if p.part.has(f) {
			cell := counts[int(f.cell)*slots:][:slots]
			cell[binBelow] += of[countBelow][i]
			cell[binAbove] += of[countAbove][i]
			cell[slotZero] += of[countZero][i]
			cell[slotInf] += of[countInfinite][i]
		}
	}
	first, end := m.near.between(p.part.from, p.part.to)
	for i := first; i < end; i++ {
		if f := m.near.fragments[i]; p.part.has(f) {
			counts[int(f.cell)*slots+int(m.near.bins[i])]++
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
func (p *partSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	m, err := p.quantile(quantity)
	if err != nil {
		return nil, err
	}
	s := p.series
	wanted := make([]bool, len(s.models)*allBins)
	var outside []string
	for _, b := range bins {
		wanted[b.Model*allBins+int(b.Bin)] = true
		cells := fmt.Sprintf("cell >= %d AND cell < %d AND %s", b.Model*s.width(), (b.Model+1)*s.width(), m.column)
		switch b.Bin {
		case binBelow:
			outside = append(outside, fmt.Sprintf("%s < %d", cells, m.lo[b.Model]))
		case binAbove:
			outside = append(outside, fmt.Sprintf("%s > %d", cells, m.hi[b.Model]))
		}
	}
	near := &m.near
	first, end := near.between(p.part.from, p.part.to)
	out := make([]stats.Value, 0, (end-first)/4)
	for i := first; i < end; i++ {
		model := int(near.models[i])
		if wanted[model*allBins+int(near.bins[i])] && p.part.has(near.fragments[i]) {
			column := int(near.fragments[i].cell) - model*s.width()
			out = append(out, stats.Value{Model: model, Column: column, Value: near.values[i], N: 1})
		}
	}
	if len(outside) == 0 {
		return out, nil
	}
	s.asking.Lock()
	defer s.asking.Unlock()
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
