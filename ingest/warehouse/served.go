package warehouse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"switchback/ingest"
	"switchback/ingest/rules"
	"switchback/stats"
)

// served are the kept rows of the two arms by block and provider, whether or not their block has a partner. What a report
// says of providers and what the views by_block and by_provider show are sums of them.
type served struct {
	rows   *Rows
	sums   map[fragmentOfBlock][]int64            // number of rows, then Y and N of each of shownRatios
	bins   map[string]map[fragmentOfBlock]numbers // by quantity
	values map[string]map[fragmentOfBlock]numbers // by quantity, in the bins that touched names
}

// fragmentOfBlock are the rows of a block that one provider served; "" is an unknown one.
type fragmentOfBlock struct {
	block    int
	provider string
}

// numbers are counts of rows by bin or value.
type numbers map[int64]int64

// group is a sum of fragments.
type group struct {
	role     int    // of the arm; -1 when block is one
	provider string // "" when block is one
	block    int    // -1 when it is a provider in an arm
	paired   bool   // only blocks with a partner
}

// shownRatios are the metrics of the views that are ratios of sums.
func (r *Rows) shownRatios() []rules.Measure {
	var ms []rules.Measure
	for _, c := range rules.ShownColumns() {
		m, _ := rules.MeasureNamed(r.dialect(), c.Metric)
		if m.N != "" && !slices.ContainsFunc(ms, func(o rules.Measure) bool { return o.ID == m.ID }) {
			ms = append(ms, m)
		}
	}
	return ms
}

// shownQuantities are the quantities that the views take quantiles of, with their quantiles.
func (r *Rows) shownQuantities() (names []string, perMilles map[string][]int) {
	perMilles = map[string][]int{}
	for _, c := range rules.ShownColumns() {
		if m, _ := rules.MeasureNamed(r.dialect(), c.Metric); m.Kind == stats.Quantile {
			if perMilles[m.Quantity] == nil {
				names = append(names, m.Quantity)
			}
			perMilles[m.Quantity] = append(perMilles[m.Quantity], m.PerMille)
		}
	}
	return names, perMilles
}

// keptOfArms is the condition that the analysis keeps a row of one of the two arms, whether or not its block has a partner.
func (r *Rows) keptOfArms() []string { return append(r.keptRows(), "place_role >= 0") }

// servedRequest asks for the sums of fragments.
func (r *Rows) servedRequest() request {
	q := request{
		name: "sums by block and provider", selects: []string{"toInt64(" + nameBlock + ")", nameProvider, number("count()")},
		where: r.keptOfArms(), groupBy: []string{nameBlock, nameProvider}, places: r.layout.places(),
	}
	for _, m := range r.shownRatios() {
		q.selects = append(q.selects, number(m.Y), number(m.N))
	}
	return q
}

// servedNumbersRequest asks for the bins of a quantity in fragments, or for the values inside some bins of blocks and of
// providers in arms.
func (r *Rows) servedNumbersRequest(quantity, value string, touched []groupBin) request {
	q := request{
		name: "histogram of " + quantity + " by block and provider", where: append(r.keptOfArms(), nameValue+" IS NOT NULL"), places: r.layout.places(), value: value,
	}
	key := nameBin
	if touched != nil {
		q.name, key = "values of "+quantity+" by block and provider inside the touched bins", nameValue
		q.where = append(q.where, insideTouched(touched))
	}
	q.selects = []string{"toInt64(" + nameBlock + ")", nameProvider, number(key), number("count()")}
	q.groupBy = []string{nameBlock, nameProvider, key}
	return q
}

// groupBin is a bin that a quantile of a group lies in.
type groupBin struct {
	group
	bin int64
}

// insideTouched is the condition that a row lies in one of some bins.
func insideTouched(touched []groupBin) string {
	var blocks, providers []string
	for _, t := range touched {
		if t.block >= 0 {
			blocks = append(blocks, fmt.Sprintf("(%d, %d)", t.block, t.bin))
		} else {
			providers = append(providers, fmt.Sprintf("(%d, %s, %d)", t.role, quote(t.provider), t.bin))
		}
	}
	var either []string
	for _, of := range []struct {
		keys string
		list []string
	}{{"toInt64(" + nameBlock + ")", blocks}, {"toInt64(place_role), " + nameProvider, providers}} {
		if len(of.list) > 0 {
			slices.Sort(of.list)
			either = append(either, fmt.Sprintf("(%s, %s) IN (%s)", of.keys, number(nameBin), strings.Join(slices.Compact(of.list), ", ")))
		}
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// askServed asks for everything that served holds, once.
func (r *Rows) askServed(ctx context.Context) (*served, error) {
	if r.served != nil {
		return r.served, nil
	}
	s := &served{rows: r, sums: map[fragmentOfBlock][]int64{}, bins: map[string]map[fragmentOfBlock]numbers{}, values: map[string]map[fragmentOfBlock]numbers{}}
	if len(r.models) == 0 {
		return s, nil
	}
	if err := s.askSums(ctx); err != nil {
		return nil, err
	}
	names, perMilles := r.shownQuantities()
	for _, name := range names {
		value, err := r.quantity(name)
		if err != nil {
			return nil, err
		}
		if s.bins[name], err = s.askNumbers(ctx, r.servedNumbersRequest(name, value, nil)); err != nil {
			return nil, err
		}
		touched := s.touched(name, perMilles[name])
		if len(touched) == 0 {
			continue
		}
		if s.values[name], err = s.askNumbers(ctx, r.servedNumbersRequest(name, value, touched)); err != nil {
			return nil, err
		}
	}
	r.served = s
	return s, nil
}

func (s *served) askSums(ctx context.Context) error {
	type row struct {
		fragmentOfBlock
		values []int64
	}
	n := 1 + 2*len(s.rows.shownRatios())
	found, err := ask(ctx, s.rows.survey, s.rows.servedRequest(), func(scan func(...any) error) (row, error) {
		f := row{values: make([]int64, n)}
		var block int64
		targets := []any{&block, &f.provider}
		for i := range f.values {
			targets = append(targets, &f.values[i])
		}
		err := scan(targets...)
		f.block = int(block)
		return f, err
	})
	for _, f := range found {
		s.sums[f.fragmentOfBlock] = add(s.sums[f.fragmentOfBlock], f.values)
	}
	return err
}

// add adds lists of one length; nil is all zeros.
func add(to, values []int64) []int64 {
	if to == nil {
		return slices.Clone(values)
	}
	for i, v := range values {
		to[i] += v
	}
	return to
}

func (s *served) askNumbers(ctx context.Context, q request) (map[fragmentOfBlock]numbers, error) {
	type row struct {
		fragmentOfBlock
		number, n int64
	}
	found, err := ask(ctx, s.rows.survey, q, func(scan func(...any) error) (f row, err error) {
		var block int64
		err = scan(&block, &f.provider, &f.number, &f.n)
		f.block = int(block)
		return f, err
	})
	out := map[fragmentOfBlock]numbers{}
	for _, f := range found {
		if out[f.fragmentOfBlock] == nil {
			out[f.fragmentOfBlock] = numbers{}
		}
		out[f.fragmentOfBlock][f.number] += f.n
	}
	return out, err
}

// groupsOf lists the groups that a fragment belongs to.
func (s *served) groupsOf(f fragmentOfBlock) []group {
	b := s.rows.layout.columns.Plan().Blocks[f.block]
	_, paired := s.rows.layout.columns.Of(b)
	var of []group
	if paired {
		of = append(of, group{role: -1, block: f.block, paired: true})
	}
	if f.provider == "" {
		return of
	}
	role := int(roleOf(s.rows.plan.Arms, b.Arm))
	of = append(of, group{role: role, provider: f.provider, block: -1})
	if paired {
		of = append(of, group{role: role, provider: f.provider, block: -1, paired: true})
	}
	return of
}

// grouped adds up what fragments have, by group.
func (s *served) grouped(of map[fragmentOfBlock]numbers) map[group]numbers {
	out := map[group]numbers{}
	for f, counts := range of {
		for _, g := range s.groupsOf(f) {
			if out[g] == nil {
				out[g] = numbers{}
			}
			for number, n := range counts {
				out[g][number] += n
			}
		}
	}
	return out
}

// touched finds the bins that the quantiles of all groups lie in. Infinite values are none of the views' quantities.
func (s *served) touched(quantity string, perMilles []int) []groupBin {
	var bins []groupBin
	for g, counts := range s.grouped(s.bins[quantity]) {
		for _, perMille := range perMilles {
			bin, _ := locate(counts, perMille)
			bins = append(bins, groupBin{g, bin})
		}
	}
	return bins
}

// quantile returns a quantile of each group, of type 1.
func (s *served) quantile(quantity string, perMille int) map[group]int64 {
	bins, values, out := s.grouped(s.bins[quantity]), s.grouped(s.values[quantity]), map[group]int64{}
	for g, counts := range bins {
		bin, rank := locate(counts, perMille)
		for _, v := range sortedKeys(values[g]) {
			if int64(rules.ClickHouse{}.BinOf(v)) != bin { // of another group, or another quantile
				continue
			}
			if rank -= values[g][v]; rank <= 0 {
				out[g] = v
				break
			}
		}
	}
	return out
}

// sumsOf adds up the sums of each group.
func (s *served) sumsOf() map[group][]int64 {
	out := map[group][]int64{}
	for f, values := range s.sums {
		for _, g := range s.groupsOf(f) {
			out[g] = add(out[g], values)
		}
	}
	return out
}

// ratio is the place of a ratio's Y among the sums; N follows.
func (s *served) ratio(metric string) int {
	return 1 + 2*slices.IndexFunc(s.rows.shownRatios(), func(m rules.Measure) bool { return m.ID == metric })
}

// Elsewhere returns what the views by_block and by_provider show of the rows.
func (r *Rows) Elsewhere(ctx context.Context) (*ingest.Elsewhere, error) {
	s, err := r.askServed(ctx)
	if err != nil {
		return nil, err
	}
	e := &ingest.Elsewhere{Place: r.warehouse.String(), Plan: r.plan}
	sums, blocks := s.sumsOf(), r.layout.columns.Plan().Blocks
	quantiles := map[string]map[group]int64{}
	for _, c := range rules.ShownColumns() {
		if m, _ := rules.MeasureNamed(r.dialect(), c.Metric); m.Kind == stats.Quantile {
			quantiles[m.ID] = s.quantile(m.Quantity, m.PerMille)
		}
	}
	for _, g := range slices.SortedFunc(maps.Keys(sums), group.compare) {
		if !g.paired {
			continue
		}
		of := ingest.Summary{Requests: sums[g][0]}
		for _, c := range rules.ShownColumns() {
			var f ingest.Fraction
			if values, ok := quantiles[c.Metric]; !ok {
				place := s.ratio(c.Metric)
				f = ingest.Fraction{Y: sums[g][place], N: sums[g][place+1]}
			} else if v, ok := values[g]; ok {
				f = ingest.Fraction{Y: v, N: 1}
			}
			of.Values = append(of.Values, f)
		}
		if g.block >= 0 {
			e.Blocks = append(e.Blocks, ingest.BlockSummary{Model: blocks[g.block].Model, BlockID: blocks[g.block].ID, Summary: of})
		} else {
			e.Providers = append(e.Providers, ingest.ProviderSummary{Arm: r.armOf(g.role), Provider: g.provider, Summary: of})
		}
	}
	return e, nil
}

func (g group) compare(o group) int {
	if c := slices.Compare([]int{g.block, g.role}, []int{o.block, o.role}); c != 0 {
		return c
	}
	return strings.Compare(g.provider, o.provider)
}

func (r *Rows) armOf(role int) string {
	return []string{r.plan.Arms.Control, r.plan.Arms.Treatment}[role]
}
