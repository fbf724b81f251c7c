package warehouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"switchback/ingest"
	"switchback/ingest/rules"
	"switchback/stats"
)

// Summaries answers the questions of stats.Analyze about the rows that the analysis keeps. It implements stats.Source.
// Every answer is asked of the cluster once.
type Summaries struct {
	rows   *Rows
	models []string // with a kept row, sorted
	number []int    // of the window's models among these, −1 for none

	mu   sync.Mutex // guards what follows
	sums map[string][]stats.Sum
	bins map[string][]stats.Bin // in the numbers of the window's models
}

var _ stats.Source = (*Summaries)(nil)

// Summaries asks for the sums of all metrics that are ratios of sums.
func (r *Rows) Summaries(ctx context.Context) (*Summaries, error) {
	s := &Summaries{rows: r, bins: map[string][]stats.Bin{}}
	if err := s.askSums(ctx); err != nil {
		return nil, err
	}
	kept := make([]bool, len(r.layout.models))
	for _, sum := range s.sums["requests"] {
		kept[sum.Model] = true
	}
	s.number = make([]int, len(kept))
	for i, has := range kept {
		s.number[i] = -1
		if has {
			s.number[i] = len(s.models)
			s.models = append(s.models, r.layout.models[i])
		}
	}
	for id, sums := range s.sums {
		for i := range sums {
			sums[i].Model = s.number[sums[i].Model]
		}
		s.sums[id] = sums
	}
	return s, nil
}

// Models returns the models with at least one kept row, sorted.
func (s *Summaries) Models(context.Context) ([]string, error) { return slices.Clone(s.models), nil }

// keptInCells is the condition that a row is in some cell and the analysis keeps it. The window is a condition of every query.
func (r *Rows) keptInCells() []string {
	d := r.dialect()
	return []string{nameCell + " >= 0", "NOT " + d.Column("in_burn_in"), rules.NoCacheHit(d)}
}

// sumMeasures are the metrics that are ratios of sums, with the number of requests first.
func (r *Rows) sumMeasures() []rules.Measure {
	d := r.dialect()
	ms := []rules.Measure{{ID: "requests", Y: d.Count("", ""), N: d.Count("", "")}}
	for _, m := range rules.Measures(d) {
		if m.N != "" {
			ms = append(ms, m)
		}
	}
	return ms
}

func (r *Rows) sumsRequest() request {
	selects := []string{"toInt64(" + nameCell + ")"}
	for _, m := range r.sumMeasures() {
		selects = append(selects, number(m.Y), number(m.N))
	}
	return request{name: "sums by cell", selects: selects, where: r.keptInCells(), groupBy: []string{nameCell}, places: r.layout.places()}
}

func (s *Summaries) askSums(ctx context.Context) error {
	ms := s.rows.sumMeasures()
	s.sums = map[string][]stats.Sum{}
	if len(s.rows.models) == 0 {
		return nil
	}
	found, err := ask(ctx, s.rows.survey, s.rows.sumsRequest(), func(scan func(...any) error) ([]int64, error) {
		values := make([]int64, 1+2*len(ms))
		targets := make([]any, len(values))
		for i := range values {
			targets[i] = &values[i]
		}
		return values, scan(targets...)
	})
	if err != nil {
		return err
	}
	totals := map[int64][]int64{}
	for _, values := range found {
		if sum := totals[values[0]]; sum == nil {
			totals[values[0]] = values
		} else {
			for i := 1; i < len(sum); i++ {
				sum[i] += values[i]
			}
		}
	}
	for _, cell := range sortedKeys(totals) {
		model, column := s.rows.layout.place(int(cell))
		for i, m := range ms {
			if y, n := totals[cell][1+2*i], totals[cell][2+2*i]; n > 0 {
				s.sums[m.ID] = append(s.sums[m.ID], stats.Sum{Model: model, Column: column, N: n, Y: y})
			}
		}
	}
	return nil
}

// Sums implements stats.Source.
func (s *Summaries) Sums(ctx context.Context, metric string) ([]stats.Sum, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.sums[metric]; ok {
		return found, nil
	}
	var found []stats.Sum
	var err error
	switch {
	case len(s.models) == 0:
	case metric == ingest.FixedMix:
		found, err = s.askStrata(ctx, s.rows.mixRequest())
	case metric == rules.ProviderSwitches:
		found, err = s.askSwitches(ctx)
	case !slices.ContainsFunc(s.rows.sumMeasures(), func(m rules.Measure) bool { return m.ID == metric }):
		err = fmt.Errorf("sums of %s: no such metric", metric)
	}
	if err != nil {
		return nil, err
	}
	s.sums[metric] = found
	return found, nil
}

// mixRequest asks for cost_per_1m_tokens by class of requests.
func (r *Rows) mixRequest() request {
	d := r.dialect()
	class, where := rules.MixClass(d)
	tokens := d.Column("input_tokens") + " + " + d.Column("output_tokens")
	return request{
		name:    "sums by cell and class of tokens",
		selects: []string{"toInt64(" + nameCell + ")", number(class) + " AS sb_class", number(d.Sum(tokens, "")), number(d.SumNanos(d.Column("cost_usd"), ""))},
		where:   append(r.keptInCells(), where), groupBy: []string{nameCell, "sb_class"}, places: r.layout.places(),
	}
}

// askStrata adds up rows of cell, stratum, N and Y.
func (s *Summaries) askStrata(ctx context.Context, requests ...request) ([]stats.Sum, error) {
	type key struct{ cell, stratum int64 }
	type row struct {
		key
		n, y int64
	}
	totals := map[key]row{}
	for _, r := range requests {
		found, err := ask(ctx, s.rows.survey, r, func(scan func(...any) error) (f row, err error) {
			return f, scan(&f.cell, &f.stratum, &f.n, &f.y)
		})
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			sum := totals[f.key]
			totals[f.key] = row{f.key, sum.n + f.n, sum.y + f.y}
		}
	}
	var out []stats.Sum
	for _, t := range totals {
		model, column := s.rows.layout.place(int(t.cell))
		out = append(out, stats.Sum{Model: s.number[model], Column: column, Stratum: int(t.stratum), N: t.n, Y: t.y})
	}
	slices.SortFunc(out, func(a, b stats.Sum) int {
		return slices.Compare([]int{a.Model, a.Column, a.Stratum}, []int{b.Model, b.Column, b.Stratum})
	})
	return out, nil
}

// sessionRowsPerPass bounds the rows whose order the initiator holds in memory at once.
const sessionRowsPerPass = 8_000_000

// askSwitches compares each kept request's provider with that of the session's kept request before it, some sessions at a
// time.
func (s *Summaries) askSwitches(ctx context.Context) ([]stats.Sum, error) {
	passes := int(min(maxPasses, 1+s.rows.rows/sessionRowsPerPass))
	var requests []request
	for pass := range passes {
		requests = append(requests, s.rows.switchesRequest(pass, passes))
	}
	return s.askStrata(ctx, requests...)
}

// switchesRequest gathers the requests of a session in the order of rules.ProviderSwitches, since a row knows nothing of
// others.
func (r *Rows) switchesRequest(pass, passes int) request {
	where := append(r.keptInCells(), rules.ClickHouseName("session_id")+" IS NOT NULL")
	if passes > 1 {
		where = append(where, fmt.Sprintf("%s %% %d = %d", nameSession, passes, pass))
	}
	return request{
		name:    fmt.Sprintf("provider switches, pass %d of %d", pass+1, passes),
		selects: []string{nameSession, "groupArray((" + nameTime + ", " + nameProvider + ", " + nameCell + ")) AS sb_part"},
		where:   where, groupBy: []string{nameSession}, places: r.layout.places(),
		from: `SELECT toInt64(cell), toInt64(0), toInt64(count()), toInt64(countIf(provider <> before))
FROM (
  SELECT tupleElement(seq[i], 3) AS cell, tupleElement(seq[i], 2) AS provider, tupleElement(seq[i - 1], 2) AS before
  FROM (SELECT sb_session, arraySort(groupArrayArray(sb_part)) AS seq FROM %s GROUP BY sb_session)
  ARRAY JOIN arrayEnumerate(seq) AS i
  WHERE i > 1 AND provider <> '' AND before <> ''
)
GROUP BY cell`,
	}
}

// quantity returns the value of a quantity in SQL.
func (r *Rows) quantity(name string) (string, error) {
	for _, q := range rules.Quantities(r.dialect(), rules.Serving(r.dialect())) {
		if q.Name == name {
			return q.Value, nil
		}
	}
	return "", fmt.Errorf("%q is not a quantity", name)
}

// Names of a quantity and its bin.
const (
	nameValue   = "sb_value"
	nameBin     = "sb_bin"
	nameClipped = "sb_clipped" // bins outside of the place's window are counted several at a time
)

// histogramRequest counts rows by cell and bin.
func (r *Rows) histogramRequest(quantity, value string) request {
	return request{
		name:    "histogram of " + quantity,
		selects: []string{"toInt64(" + nameCell + ")", number(nameBin), number("count()")},
		where:   append(r.keptInCells(), nameValue+" IS NOT NULL"), groupBy: []string{nameCell, nameBin}, places: r.layout.places(), value: value,
	}
}

// histogram counts the kept rows by cell and bin, with models in the window's numbers.
func (s *Summaries) histogram(ctx context.Context, quantity string) ([]stats.Bin, error) {
	if found, ok := s.bins[quantity]; ok || len(s.models) == 0 {
		return found, nil
	}
	value, err := s.rows.quantity(quantity)
	if err != nil {
		return nil, err
	}
	type key struct{ cell, bin int64 }
	type row struct {
		key
		n int64
	}
	found, err := ask(ctx, s.rows.survey, s.rows.histogramRequest(quantity, value), func(scan func(...any) error) (f row, err error) {
		return f, scan(&f.cell, &f.bin, &f.n)
	})
	if err != nil {
		return nil, err
	}
	totals := map[key]int64{}
	for _, f := range found {
		totals[f.key] += f.n
	}
	bins := make([]stats.Bin, 0, len(totals))
	for k, n := range totals {
		model, column := s.rows.layout.place(int(k.cell))
		bins = append(bins, stats.Bin{Model: model, Column: column, Bin: int32(k.bin), N: n})
	}
	slices.SortFunc(bins, func(a, b stats.Bin) int {
		return slices.Compare([]int{a.Model, a.Column, int(a.Bin)}, []int{b.Model, b.Column, int(b.Bin)})
	})
	s.bins[quantity] = bins
	return bins, nil
}

// Histogram implements stats.Source.
func (s *Summaries) Histogram(ctx context.Context, quantity string) ([]stats.Bin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.histogram(ctx, quantity)
	if err != nil {
		return nil, err
	}
	out := make([]stats.Bin, len(found))
	for i, b := range found {
		b.Model = s.number[b.Model]
		out[i] = b
	}
	return out, nil
}

// valuesRequest counts rows by cell and value inside bins of models, which are named as pairs of numbers.
func (r *Rows) valuesRequest(quantity, value, bins string) request {
	return request{
		name:    "values of " + quantity + " inside the touched bins",
		selects: []string{"toInt64(" + nameCell + ")", number(nameValue), number("count()")},
		where: append(r.keptInCells(), nameValue+" IS NOT NULL",
			fmt.Sprintf("(toInt64(intDiv(%s, %d)), toInt64(ifNull(%s, 0))) IN (%s)", nameCell, r.layout.width(), nameBin, bins)),
		groupBy: []string{nameCell, nameValue}, places: r.layout.places(), value: value,
	}
}

// Values implements stats.Source.
func (s *Summaries) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	value, err := s.rows.quantity(quantity)
	if err != nil || len(bins) == 0 {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := make([]int, len(s.models))
	for from, to := range s.number {
		if to >= 0 {
			of[to] = from
		}
	}
	pairs := make([]string, len(bins))
	for i, b := range bins {
		pairs[i] = fmt.Sprintf("(%d, %d)", of[b.Model], b.Bin)
	}
	found, err := ask(ctx, s.rows.survey, s.rows.valuesRequest(quantity, value, strings.Join(pairs, ", ")), func(scan func(...any) error) (v stats.Value, err error) {
		var cell int64
		err = scan(&cell, &v.Value, &v.N)
		v.Model, v.Column = s.rows.layout.place(int(cell))
		v.Model = s.number[v.Model]
		return v, err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b stats.Value) int {
		return slices.Compare([]int64{int64(a.Model), int64(a.Column), a.Value}, []int64{int64(b.Model), int64(b.Column), b.Value})
	})
	return found, nil
}

func sortedKeys[V any](m map[int64]V) []int64    { return slices.Sorted(maps.Keys(m)) }
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
