package warehouse

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"switchback/ingest/rules"
	"switchback/stats"
)

// source returns the rows of a part as stats.Analyze asks for them, for one metric.
func (s *Series) source(metric string, p part) stats.Source { return &partSource{s, metric, p} }

type partSource struct {
	series *Series
	id     string
	part   part
}

var _ stats.Source = (*partSource)(nil)

// partKey names what was counted of one metric in one way.
type partKey struct {
	metric, way int
}

// counted are the counts that every part of a quantile metric in one way is made of.
type counted struct {
	lo, hi []int32 // bins around the quantile, by model of the window
	bins   []numbered
	values map[stats.ModelBin][]numbered // by model of the window and clipped bin, as far as they were asked for
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

// cell returns a cell's model, in the numbers of the summaries, and column. ok is false for models without a kept row.
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
	for _, c := range s.ratios[p.part.way] {
		y, n := c.values[1+2*place], c.values[2+2*place]
		if model, column, ok := s.place(c.cell); ok && n > 0 && p.part.has(c.fragment) {
			out = append(out, stats.Sum{Model: model, Column: column, N: n, Y: y})
		}
	}
	return out, nil
}

// counts returns what was counted of the metric, asking for it the first time.
func (p *partSource) counts(ctx context.Context, quantity string) (*counted, rules.Measure, error) {
	s := p.series
	i := s.metric(p.id)
	if i < 0 || s.metrics[i].Quantity != quantity || quantity == "" {
		return nil, rules.Measure{}, fmt.Errorf("series of blocks: %s is not a quantile of %q", p.id, quantity)
	}
	m, key := s.metrics[i], partKey{i, p.part.way}
	if found, ok := s.parts[key]; ok {
		return found, m, nil
	}
	c, err := s.count(ctx, m, p.part.way)
	if err != nil {
		return nil, m, err
	}
	s.parts[key] = c
	return c, m, nil
}

// count counts by fragment and clipped bin, and fetches the values of the bins that parts are likely to touch.
func (s *Series) count(ctx context.Context, m rules.Measure, way int) (*counted, error) {
	c := &counted{values: map[stats.ModelBin][]numbered{}}
	var err error
	if c.lo, c.hi, err = s.windows(ctx, m); err != nil {
		return nil, err
	}
	if c.bins, err = s.askNumbers(ctx, c, m, way, nil); err != nil {
		return nil, err
	}
	return c, s.fetch(ctx, c, m, way, s.likely(c, m, way))
}

// windows takes, for each model, the bins between two quantiles around the wanted one, from the arm where they lie farther
// out. Any window gives the same answers: what lies outside is asked for when it is touched.
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
		hi[i/2] = max(hi[i/2], int32(min(max(2, last), int64(stats.BinInf)-2)))
	}
	for i := range lo {
		lo[i] = min(lo[i], max(2, hi[i]))
		hi[i] = max(lo[i], hi[i])
	}
	return lo, hi, nil
}

// numbersRequest counts rows by fragment and clipped bin, or by fragment and value inside some clipped bins.
func (s *Series) numbersRequest(c *counted, m rules.Measure, way int, bins []stats.ModelBin) (request, error) {
	value, err := s.rows.quantity(m.Quantity)
	if err != nil {
		return request{}, err
	}
	what := [ways]string{" by minutes since the switch", " by client"}[way]
	r, key := s.request(way, "histogram of "+m.ID+what), nameClipped
	if bins != nil {
		r.name, key = "values of "+m.ID+what+" inside the touched bins", nameValue
		pairs := make([]string, len(bins))
		for i, b := range bins {
			pairs[i] = fmt.Sprintf("(%d, %d)", b.Model, b.Bin)
		}
		r.where = append(r.where, fmt.Sprintf("(toInt64(intDiv(%s, %d)), toInt64(ifNull(%s, 0))) IN (%s)", nameCell, s.rows.layout.width(), nameClipped, strings.Join(pairs, ", ")))
	}
	r.value = value
	r.where = append(r.where, nameValue+" IS NOT NULL")
	r.selects, r.groupBy = append(r.selects, number(key), number("count()")), append(r.groupBy, key)
	for i := range r.places {
		if cell := r.places[i].cell; cell >= 0 {
			model, _ := s.rows.layout.place(int(cell))
			r.places[i].lo, r.places[i].hi = c.lo[model], c.hi[model]
		}
	}
	return r, nil
}

func (s *Series) askNumbers(ctx context.Context, c *counted, m rules.Measure, way int, bins []stats.ModelBin) ([]numbered, error) {
	r, err := s.numbersRequest(c, m, way, bins)
	if err != nil {
		return nil, err
	}
	return ask(ctx, s.rows.survey, r, func(scan func(...any) error) (n numbered, err error) {
		return n, scan(&n.cell, &n.step, &n.client, &n.born, &n.number, &n.n)
	})
}

// fetch asks for the values of bins.
func (s *Series) fetch(ctx context.Context, c *counted, m rules.Measure, way int, bins []stats.ModelBin) error {
	var missing []stats.ModelBin
	for _, b := range bins {
		if _, ok := c.values[b]; !ok {
			missing = append(missing, b)
			c.values[b] = nil
		}
	}
	if len(missing) == 0 {
		return nil
	}
	found, err := s.askNumbers(ctx, c, m, way, missing)
	if err != nil {
		return err
	}
	d := s.rows.dialect()
	for _, v := range found {
		model, _ := s.rows.layout.place(int(v.cell))
		at := stats.ModelBin{Model: model, Bin: clip(d.BinOf(v.number), c.lo[model], c.hi[model])}
		c.values[at] = append(c.values[at], v)
	}
	return nil
}

// clip is nameClipped of a bin.
func clip(bin, lo, hi int32) int32 {
	switch {
	case bin < 1 || bin == stats.BinInf:
		return bin
	case bin < lo:
		return lo - 1
	case bin > hi:
		return hi + 1
	}
	return bin
}

// likely guesses the bins that parts will touch: those of each arm's quantile in each step, or without each client, when one
// of the pairs is left out. A bin that is not guessed costs a query more.
func (s *Series) likely(c *counted, m rules.Measure, way int) []stats.ModelBin {
	parts := int64(1)
	for _, b := range c.bins {
		parts = max(parts, b.step+1, b.client+1)
	}
	pairs := s.rows.layout.width() / 2
	touched := map[stats.ModelBin]bool{}
	type arm struct{ model, role int }
	guess := func(has func(fragment) bool) {
		counts := map[arm][]map[int64]int64{} // by pair, then all
		for _, b := range c.bins {
			if !has(b.fragment) {
				continue
			}
			model, column := s.rows.layout.place(int(b.cell))
			at := arm{model, column % 2}
			if counts[at] == nil {
				counts[at] = make([]map[int64]int64, pairs+1)
				for i := range counts[at] {
					counts[at][i] = map[int64]int64{}
				}
			}
			counts[at][column/2][b.number] += b.n
			counts[at][pairs][b.number] += b.n
		}
		for at, of := range counts {
			for out := range of {
				left := map[int64]int64{}
				for bin, n := range of[pairs] {
					if out < pairs {
						n -= of[out][bin]
					}
					left[bin] = n
				}
				if bin, _ := locate(left, m.PerMille); bin != int64(stats.BinZero) && bin != int64(stats.BinInf) {
					touched[stats.ModelBin{Model: at.model, Bin: int32(bin)}] = true
				}
			}
		}
	}
	for i := range parts {
		guess(func(f fragment) bool {
			return way == byTime && f.step == i || way == byOrigin && (i == 0 || f.client != i)
		})
	}
	if way == byTime {
		guess(func(fragment) bool { return true })
	} else {
		guess(func(f fragment) bool { return f.born == 1 })
	}
	bins := make([]stats.ModelBin, 0, len(touched))
	for b := range touched {
		bins = append(bins, b)
	}
	slices.SortFunc(bins, func(a, b stats.ModelBin) int {
		return slices.Compare([]int{a.Model, int(a.Bin)}, []int{b.Model, int(b.Bin)})
	})
	return bins
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
	counts := map[[2]int64]int64{} // by cell and bin
	for _, b := range c.bins {
		if p.part.has(b.fragment) {
			counts[[2]int64{b.cell, b.number}] += b.n
		}
	}
	out := make([]stats.Bin, 0, len(counts))
	for at, n := range counts {
		if model, column, ok := s.place(at[0]); ok {
			out = append(out, stats.Bin{Model: model, Column: column, Bin: int32(at[1]), N: n})
		}
	}
	slices.SortFunc(out, func(a, b stats.Bin) int {
		return slices.Compare([]int{a.Model, a.Column, int(a.Bin)}, []int{b.Model, b.Column, int(b.Bin)})
	})
	return out, nil
}

// Values implements stats.Source.
func (p *partSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	s := p.series
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := p.counts(ctx, quantity)
	if err != nil {
		return nil, err
	}
	wanted := make([]stats.ModelBin, len(bins))
	for i, b := range bins {
		wanted[i] = stats.ModelBin{Model: slices.Index(s.summaries.number, b.Model), Bin: b.Bin}
	}
	if err := s.fetch(ctx, c, m, p.part.way, wanted); err != nil {
		return nil, err
	}
	var out []stats.Value
	for _, b := range wanted {
		for _, v := range c.values[b] {
			if p.part.has(v.fragment) {
				model, column, _ := s.place(v.cell)
				out = append(out, stats.Value{Model: model, Column: column, Value: v.number, N: v.n})
			}
		}
	}
	return out, nil
}
