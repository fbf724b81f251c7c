// Package statstest offers an in-memory stats.Source for tests, made from raw rows.
package statstest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"switchback/stats"
)

// Row is one kept request.
type Row struct {
	Model  string
	Pair   int                 // from 0
	Arm    int                 // 0 control, 1 treatment
	Values map[string]int64    // by quantity; stats.Inf for a failed request
	Sums   map[string][2]int64 // by metric id: what the row adds to N and Y
}

// Source is an in-memory stats.Source. It is not safe for use while values are added.
type Source struct {
	models []string
	values map[string]map[cell][]int64
	sums   map[string]map[cell]stats.Sum
}

type cell struct{ model, column, stratum int }

// New returns a source of the given models without rows. Models are indexed in the order given, which must be sorted.
func New(models ...string) *Source {
	return &Source{models: models, values: map[string]map[cell][]int64{}, sums: map[string]map[cell]stats.Sum{}}
}

// FromRows returns a source that holds rows. It also counts them as "requests".
func FromRows(rows []Row) *Source {
	var models []string
	for _, r := range rows {
		models = append(models, r.Model)
	}
	slices.Sort(models)
	s := New(slices.Compact(models)...)
	for _, r := range rows {
		m, _ := slices.BinarySearch(s.models, r.Model)
		s.AddSum("requests", m, r.Pair, r.Arm, 1, 1)
		for quantity, v := range r.Values {
			s.AddValues(quantity, m, r.Pair, r.Arm, v)
		}
		for metric, ny := range r.Sums {
			s.AddSum(metric, m, r.Pair, r.Arm, ny[0], ny[1])
		}
	}
	return s
}

// AddValues adds rows with the given values of a quantity.
func (s *Source) AddValues(quantity string, model, pair, arm int, values ...int64) {
	if s.values[quantity] == nil {
		s.values[quantity] = map[cell][]int64{}
	}
	c := cell{model, 2*pair + arm, 0}
	s.values[quantity][c] = append(s.values[quantity][c], values...)
}

// AddSum adds to the totals of a metric.
func (s *Source) AddSum(metric string, model, pair, arm int, n, y int64) {
	s.AddStratum(metric, model, pair, arm, 0, n, y)
}

// AddStratum adds to the totals of a metric in a stratum.
func (s *Source) AddStratum(metric string, model, pair, arm, stratum int, n, y int64) {
	if s.sums[metric] == nil {
		s.sums[metric] = map[cell]stats.Sum{}
	}
	c := cell{model, 2*pair + arm, stratum}
	sum := s.sums[metric][c]
	s.sums[metric][c] = stats.Sum{Model: model, Column: c.column, Stratum: stratum, N: sum.N + n, Y: sum.Y + y}
}

// Bin returns the bin of a value: 256 to the octave, the top bits of its float32 pattern.
func Bin(value int64) int32 {
	switch {
	case value <= 0:
		return stats.BinZero
	case value == stats.Inf:
		return stats.BinInf
	}
	return int32(math.Float32bits(float32(value)) >> 15)
}

// Models implements stats.Source.
func (s *Source) Models(context.Context) ([]string, error) { return s.models, nil }

// Sums implements stats.Source.
func (s *Source) Sums(_ context.Context, metric string) ([]stats.Sum, error) {
	var out []stats.Sum
	for _, sum := range s.sums[metric] {
		out = append(out, sum)
	}
	slices.SortFunc(out, func(a, b stats.Sum) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Stratum, b.Stratum))
	})
	return out, nil
}

// Histogram implements stats.Source.
func (s *Source) Histogram(_ context.Context, quantity string) ([]stats.Bin, error) {
	var out []stats.Bin
	for c, values := range s.values[quantity] {
		counts := map[int32]int64{}
		for _, v := range values {
			counts[Bin(v)]++
		}
		for b, n := range counts {
			out = append(out, stats.Bin{Model: c.model, Column: c.column, Bin: b, N: n})
		}
	}
	return out, nil
}

// Values implements stats.Source.
func (s *Source) Values(_ context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	wanted := map[stats.ModelBin]bool{}
	for _, b := range bins {
		if wanted[b] {
			return nil, fmt.Errorf("values of %s: bin %d of model %d asked twice", quantity, b.Bin, b.Model)
		}
		wanted[b] = true
	}
	var out []stats.Value
	for c, values := range s.values[quantity] {
		counts := map[int64]int64{}
		for _, v := range values {
			if wanted[stats.ModelBin{Model: c.model, Bin: Bin(v)}] {
				counts[v]++
			}
		}
		for v, n := range counts {
			out = append(out, stats.Value{Model: c.model, Column: c.column, Value: v, N: n})
		}
	}
	return out, nil
}
