package warehouse

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"switchback/ingest/rules"
	"switchback/stats"
)

// partSource answers stats.Analyze about a part of the rows, for one metric.
type partSource struct {
	series *Series
	id     string
	has    func(fragment) bool
}

var _ stats.Source = (*partSource)(nil)

// counted are the counts that every part of a quantile metric is made of.
type counted struct {
	lo, hi []int32              // window of bins around the quantile, by model of the window
	bins   []numbered           // by cell and clipped bin, which is their order
	values map[touch][]numbered // as far as they were asked for
}

// numbered is the number of rows of a fragment with a bin or a value.
type numbered struct {
	fragment
	number, n int64
}

// Models returns every model of the window, also those without a row in the part.
func (p *partSource) Models(ctx context.Context) ([]string, error) {
	return p.series.summaries.Models(ctx)
}

// place returns a cell's model, in the numbers of the summaries, and column. ok is false for models without a kept row.
func (s *Series) place(cell int64) (model, column int, ok bool) {
	model, column = s.rows.layout.place(int(cell))
	model = s.summaries.number[model]
	return model, column, model >= 0
}

// Sums implements stats.Source. Where models are weighed by traffic, the traffic is that of all kept rows.
func (p *partSource) Sums(_ context.Context, metric string) ([]stats.Sum, error) {
	s := p.series
	if metric == "requests" {
		return s.kept, nil
	}
	place := slices.IndexFunc(s.ratioMetrics(), func(m rules.Measure) bool { return m.ID == metric })
	if place < 0 {
		return nil, fmt.Errorf("series of blocks: %q is not among its ratios", metric)
	}
	var out []stats.Sum
	for _, c := range s.ratios {
		y, n := c.values[1+2*place], c.values[2+2*place]
		if model, column, ok := s.place(c.cell); ok && n > 0 && p.has(c.fragment) {
			out = append(out, stats.Sum{Model: model, Column: column, N: n, Y: y})
		}
	}
	return out, nil
}

// Histogram implements stats.Source.
func (p *partSource) Histogram(ctx context.Context, quantity string) ([]stats.Bin, error) {
	s := p.series
	s.mu.Lock()
	defer s.mu.Unlock()
	c, _, err := p.counts(ctx, quantity)
	if err != nil {
		return nil, err
	}
	var out []stats.Bin
	for i := 0; i < len(c.bins); {
		first, n := c.bins[i], int64(0)
		for ; i < len(c.bins) && c.bins[i].cell == first.cell && c.bins[i].number == first.number; i++ {
			if p.has(c.bins[i].fragment) {
				n += c.bins[i].n
			}
		}
		if model, column, ok := s.place(first.cell); ok && n > 0 {
			out = append(out, stats.Bin{Model: model, Column: column, Bin: int32(first.number), N: n})
		}
	}
	return out, nil
}

// Values implements stats.Source. What Fetch did not ask for is asked for here.
func (p *partSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	s := p.series
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := p.counts(ctx, quantity)
	if err != nil {
		return nil, err
	}
	wanted := map[touch]bool{}
	p.touches(c, bins, wanted)
	if err := s.fetch(ctx, c, m, wanted); err != nil {
		return nil, err
	}
	var out []stats.Value
	for _, t := range sortedTouches(wanted) {
		for _, v := range c.values[t] {
			if p.has(v.fragment) {
				model, column, _ := s.place(v.cell)
				out = append(out, stats.Value{Model: model, Column: column, Value: v.number, N: v.n})
			}
		}
	}
	return out, nil
}

// touches adds the slices of the part that have rows in some bins.
func (p *partSource) touches(c *counted, bins []stats.ModelBin, to map[touch]bool) {
	inside := map[stats.ModelBin]bool{}
	for _, b := range bins {
		inside[b] = true
	}
	for _, b := range c.bins {
		model, _, ok := p.series.place(b.cell)
		if ok && p.has(b.fragment) && inside[stats.ModelBin{Model: model, Bin: int32(b.number)}] {
			of, _ := p.series.rows.layout.place(int(b.cell))
			to[touch{of, b.slice, b.number}] = true
		}
	}
}

// counts returns what was counted of the metric, asking for it the first time.
func (p *partSource) counts(ctx context.Context, quantity string) (*counted, rules.Measure, error) {
	s := p.series
	i := s.metric(p.id)
	if i < 0 || s.metrics[i].Quantity != quantity || quantity == "" {
		return nil, rules.Measure{}, fmt.Errorf("series of blocks: %s is not a quantile of %q", p.id, quantity)
	}
	m := s.metrics[i]
	if found, ok := s.counted[i]; ok {
		return found, m, nil
	}
	c := &counted{values: map[touch][]numbered{}}
	var err error
	if c.lo, c.hi, err = s.windows(ctx, m); err != nil {
		return nil, m, err
	}
	r, err := s.histogramRequest(c, m)
	if err != nil {
		return nil, m, err
	}
	c.bins, err = ask(ctx, s.rows.survey, r, func(scan func(...any) error) (n numbered, err error) {
		return n, scan(&n.cell, &n.number, &n.slice, &n.n)
	})
	if err != nil {
		return nil, m, err
	}
	slices.SortFunc(c.bins, func(a, b numbered) int { return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(a.number, b.number)) })
	s.counted[i] = c
	return c, m, nil
}

// Fetch asks for the values that analyses of parts are going to ask for, in one query for each metric. touched tells which
// bins the analysis of a part touches, by its index.
func (s *Series) Fetch(ctx context.Context, parts []stats.Source, touched func(part int) ([]stats.ModelBin, error)) error {
	wanted := make([]map[touch]bool, len(s.metrics))
	for i, part := range parts {
		p, ok := part.(*partSource)
		if !ok || p.series != s {
			return fmt.Errorf("series of blocks: part %d is of another series", i)
		}
		k := s.metric(p.id)
		if k < 0 || s.metrics[k].Kind != stats.Quantile {
			continue
		}
		bins, err := touched(i)
		if err != nil {
			return err
		}
		s.mu.Lock()
		c, _, err := p.counts(ctx, s.metrics[k].Quantity)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if wanted[k] == nil {
			wanted[k] = map[touch]bool{}
		}
		p.touches(c, bins, wanted[k])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, of := range wanted {
		if of == nil {
			continue
		}
		if err := s.fetch(ctx, s.counted[k], s.metrics[k], of); err != nil {
			return err
		}
	}
	return nil
}

// fetch asks for the values of what is wanted and not there yet.
func (s *Series) fetch(ctx context.Context, c *counted, m rules.Measure, wanted map[touch]bool) error {
	asked := map[touch]bool{}
	for t := range wanted {
		if _, ok := c.values[t]; !ok {
			asked[t] = true
		}
	}
	missing := sortedTouches(asked)
	if len(missing) == 0 {
		return nil
	}
	r, err := s.valuesRequest(c, m, missing)
	if err != nil {
		return err
	}
	type row struct{ cell, step, origin, number, n int64 }
	found, err := ask(ctx, s.rows.survey, r, func(scan func(...any) error) (v row, err error) {
		return v, scan(&v.cell, &v.step, &v.origin, &v.number, &v.n)
	})
	if err != nil {
		return err
	}
	for _, t := range missing {
		c.values[t] = nil
	}
	d := s.rows.dialect()
	for _, v := range found {
		model, _ := s.rows.layout.place(int(v.cell))
		bin := int64(clip(d.BinOf(v.number), c.lo[model], c.hi[model]))
		for i, slice := range [2]int64{v.step, v.origin} { // the row is here for one of them, or both
			at := touch{model, slice, bin}
			if asked[at] && (i == 0 || slice < 0) {
				c.values[at] = append(c.values[at], numbered{fragment{v.cell, slice}, v.number, v.n})
			}
		}
	}
	return nil
}

func sortedTouches(of map[touch]bool) []touch {
	list := make([]touch, 0, len(of))
	for t := range of {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b touch) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.slice, b.slice), cmp.Compare(a.bin, b.bin))
	})
	return list
}

// windows takes, for each model, the bins between two quantiles around the wanted one, from the arm where they lie farther
// out. Bins outside are counted several at a time. Any window gives the same answers.
func (s *Series) windows(ctx context.Context, m rules.Measure) (lo, hi []int32, err error) {
	s.summaries.mu.Lock()
	found, err := s.summaries.histogram(ctx, m.Quantity)
	s.summaries.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	models := len(s.rows.layout.models)
	lo, hi = slices.Repeat([]int32{math.MaxInt32}, models), make([]int32, models)
	arms := make([]map[int64]int64, 2*models)
	for _, b := range found {
		at := 2*b.Model + b.Column%2
		if arms[at] == nil {
			arms[at] = map[int64]int64{}
		}
		arms[at][int64(b.Bin)] += b.N
	}
	q := float64(m.PerMille) / 1000
	half := 0.2 * math.Sqrt(q*(1-q))
	for i, bins := range arms {
		if bins == nil {
			continue
		}
		first, _ := locate(bins, max(0, int(1000*(q-half))))
		last, _ := locate(bins, min(1000, int(1000*(q+half))))
		lo[i/2] = min(lo[i/2], int32(max(2, first)))
		hi[i/2] = max(hi[i/2], int32(min(max(2, last), int64(stats.BinInf)-2*coarse)))
	}
	for i := range lo {
		lo[i] = min(lo[i], max(2, hi[i]))
		hi[i] = max(lo[i], hi[i])
	}
	return lo, hi, nil
}
