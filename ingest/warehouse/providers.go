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

// Providers returns what each provider did in each arm, by name and arm. The table has one row for a request, so attempts
// are unknown.
func (r *Rows) Providers(ctx context.Context) ([]ingest.ProviderSeries, error) {
	s, err := r.askServed(ctx)
	if err != nil {
		return nil, err
	}
	cost, _ := rules.MeasureNamed(r.dialect(), "cost_per_1m_tokens")
	place, sums := s.ratio(cost.ID), s.sumsOf()
	ttft, throughput := s.quantile("ttft", 500), s.quantile("throughput", 500)
	var out []ingest.ProviderSeries
	for g, of := range sums {
		if g.block >= 0 || g.paired {
			continue
		}
		p := ingest.ProviderSeries{Provider: g.provider, Arm: r.armOf(g.role), Requests: of[0]}
		if nano, tokens := of[place], of[place+1]; tokens > 0 {
			v := float64(nano) / float64(tokens) * cost.Scale
			p.USDPerMTokens = &v
		}
		p.TTFTp50, p.ThroughputP50 = scaled(ttft, g, rules.MicrosToMillis), scaled(throughput, g, rules.MilliToUnit)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b ingest.ProviderSeries) int {
		return slices.Compare([]string{a.Provider, a.Arm}, []string{b.Provider, b.Arm})
	})
	return out, nil
}

func scaled(values map[group]int64, g group, scale float64) *float64 {
	v, ok := values[g]
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
