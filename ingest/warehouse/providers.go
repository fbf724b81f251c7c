package warehouse

import (
	"context"
	"slices"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/rules"
)

// keptRows is the condition that the analysis keeps a row, whether or not its block has a partner.
func (r *Rows) keptRows() []string {
	d := r.dialect()
	return []string{"NOT " + d.Column("in_burn_in"), rules.NoCacheHit(d)}
}

// providerGroup names an arm and a provider.
const providerGroup = "concat(toString(place_role), " + nameProvider + ")"

// Providers returns what each provider did in each arm, by name and arm. The table has one row for a request, so attempts
// are unknown.
func (r *Rows) Providers(ctx context.Context) ([]ingest.ProviderSeries, error) {
	if len(r.models) == 0 {
		return nil, nil
	}
	d := r.dialect()
	var cost rules.Measure
	for _, m := range rules.Measures(d) {
		if m.ID == "cost_per_1m_tokens" {
			cost = m
		}
	}
	type row struct {
		group                  string
		requests, nano, tokens int64
	}
	found, err := ask(ctx, r.survey, r.providersRequest(cost), func(scan func(...any) error) (f row, err error) {
		return f, scan(&f.group, &f.requests, &f.nano, &f.tokens)
	})
	if err != nil {
		return nil, err
	}
	sums := map[string]row{}
	for _, f := range found {
		s := sums[f.group]
		sums[f.group] = row{f.group, s.requests + f.requests, s.nano + f.nano, s.tokens + f.tokens}
	}
	medians := map[string]map[string]int64{}
	for _, quantity := range providerQuantities() {
		value, err := r.quantity(quantity)
		if err != nil {
			return nil, err
		}
		if medians[quantity], err = r.quantiles(ctx, quantity+" by provider", providerGroup, ofServed(value), 500, nil); err != nil {
			return nil, err
		}
	}
	arms := []string{r.plan.Arms.Control, r.plan.Arms.Treatment}
	var out []ingest.ProviderSeries
	for _, group := range sortedNames(sums) {
		s := sums[group]
		p := ingest.ProviderSeries{Provider: group[1:], Arm: arms[group[0]-'0'], Requests: s.requests}
		if s.tokens > 0 {
			v := float64(s.nano) / float64(s.tokens) * cost.Scale
			p.USDPerMTokens = &v
		}
		p.TTFTp50, p.ThroughputP50 = scaled(medians["ttft"], group, rules.MicrosToMillis), scaled(medians["throughput"], group, rules.MilliToUnit)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b ingest.ProviderSeries) int {
		return slices.Compare([]string{a.Provider, a.Arm}, []string{b.Provider, b.Arm})
	})
	return out, nil
}

// served is the condition that a provider served a row in one of the two arms.
func served() []string {
	return []string{rules.ClickHouseName("provider") + " IS NOT NULL", "place_role >= 0"}
}

// ofServed is a value of such rows.
func ofServed(value string) string {
	return "if(" + strings.Join(served(), " AND ") + ", " + value + ", NULL)"
}

func providerQuantities() []string { return []string{"ttft", "throughput"} }

func (r *Rows) providersRequest(cost rules.Measure) request {
	return request{
		name:    "requests by provider",
		selects: []string{providerGroup + " AS sb_group", number("count()"), number(cost.Y), number(cost.N)},
		where:   append(r.keptRows(), served()...), groupBy: []string{"sb_group"}, places: r.layout.places(),
	}
}

func scaled(values map[string]int64, group string, scale float64) *float64 {
	v, ok := values[group]
	if !ok {
		return nil
	}
	x := float64(v) * scale
	return &x
}

// Spend returns the spend of the window by hour and arm, in order of time, burn-in included.
func (r *Rows) Spend(ctx context.Context) ([]ingest.HourSpend, error) {
	if len(r.models) == 0 {
		return nil, nil
	}
	type key struct{ hour, role int64 }
	type row struct {
		key
		nano, priced, requests int64
	}
	found, err := ask(ctx, r.survey, r.spendRequest(), func(scan func(...any) error) (f row, err error) {
		return f, scan(&f.hour, &f.role, &f.nano, &f.priced, &f.requests)
	})
	if err != nil {
		return nil, err
	}
	sums := map[key]row{}
	for _, f := range found {
		s := sums[f.key]
		sums[f.key] = row{f.key, s.nano + f.nano, s.priced + f.priced, s.requests + f.requests}
	}
	arms := []string{r.plan.Arms.Control, r.plan.Arms.Treatment}
	var out []ingest.HourSpend
	for k, s := range sums {
		h := ingest.HourSpend{Hour: time.Unix(k.hour*3600, 0).UTC(), Arm: arms[k.role], Requests: s.requests}
		if s.priced > 0 {
			usd := float64(s.nano) * 1e-9
			h.USD = &usd
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b ingest.HourSpend) int {
		if c := a.Hour.Compare(b.Hour); c != 0 {
			return c
		}
		return strings.Compare(a.Arm, b.Arm)
	})
	return out, nil
}

func (r *Rows) spendRequest() request {
	d := r.dialect()
	return request{
		name: "spend by hour",
		selects: []string{
			"intDiv(" + number(nameTime) + ", 3600000000) AS sb_hour", "toInt64(place_role) AS sb_role",
			number(d.SumNanos(d.Column("cost_usd"), "")), number(d.Count(d.Column("cost_usd"), "")), number("count()"),
		},
		where: []string{"place_role >= 0"}, groupBy: []string{"sb_hour", "sb_role"}, places: r.layout.places(),
	}
}

// Labels counts the rows of the blocks of a grid by the arm that they are labelled with.
func (w *Warehouse) Labels(ctx context.Context, grid experiment.Plan, window ingest.Window) ([]ingest.LabelCount, error) {
	s, err := w.surveyOf(ctx, window)
	if err != nil || len(s.models) == 0 {
		return nil, err
	}
	r := s.under(grid, window)
	blocks := r.layout.columns.Plan().Blocks
	return ask(ctx, r.survey, r.labelsRequest(), func(scan func(...any) error) (c ingest.LabelCount, err error) {
		var block int64
		err = scan(&block, &c.Arm, &c.Rows)
		if err == nil {
			c.Model, c.BlockID = blocks[block].Model, blocks[block].ID
		}
		return c, err
	})
}

func (r *Rows) labelsRequest() request {
	arm := rules.ClickHouseName("arm")
	return request{
		name:    "arm labels by block",
		selects: []string{"toInt64(" + nameBlock + ")", "ifNull(" + arm + ", '') AS sb_label", number("count()")},
		where:   []string{arm + " IS NOT NULL"}, groupBy: []string{nameBlock, "sb_label"}, places: r.layout.places(),
	}
}
