package warehouse

import (
	"context"
	"slices"
	"strings"

	"switchback/ingest"
	"switchback/ingest/rules"
)

// Dearer returns how many kept requests were served by an endpoint dearer than the cheapest eligible one, by model and arm.
// It is empty, and nothing is asked, unless the mapping says what the cheapest one would have charged.
func (r *Rows) Dearer(ctx context.Context) ([]ingest.DearerCount, error) {
	if len(r.models) == 0 || !r.knowsCheapest() {
		return nil, nil
	}
	found, err := ask(ctx, r.survey, r.dearerRequest(), func(scan func(...any) error) (c ingest.DearerCount, err error) {
		var role int64
		err = scan(&c.Model, &role, &c.Requests, &c.Dearer, &c.ExtraNanoUSD, &c.CostNanoUSD)
		if err == nil {
			c.Model, c.Arm = r.layout.name(c.Model), []string{r.plan.Arms.Control, r.plan.Arms.Treatment}[role]
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	type key struct{ model, arm string }
	sums := map[key]ingest.DearerCount{}
	for _, c := range found { // several spellings of a model, and rows taken of several
		k := key{c.Model, c.Arm}
		s := sums[k]
		sums[k] = ingest.DearerCount{
			Model: c.Model, Arm: c.Arm, Requests: s.Requests + c.Requests, Dearer: s.Dearer + c.Dearer,
			ExtraNanoUSD: s.ExtraNanoUSD + c.ExtraNanoUSD, CostNanoUSD: s.CostNanoUSD + c.CostNanoUSD,
		}
	}
	var out []ingest.DearerCount
	for _, c := range sums {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b ingest.DearerCount) int {
		if c := strings.Compare(a.Model, b.Model); c != 0 {
			return c
		}
		return strings.Compare(a.Arm, b.Arm)
	})
	return out, nil
}

// knowsCheapest reports whether the mapping has the column that Dearer needs.
func (r *Rows) knowsCheapest() bool {
	return slices.ContainsFunc(r.warehouse.table.readings, func(x reading) bool { return x.column.name == columnCheapest && x.expr != "" })
}

func (r *Rows) dearerRequest() request {
	d := r.dialect()
	sums := rules.DearerOf(d)
	return request{
		name:    "requests served dearer than needed",
		selects: []string{namePlace, "toInt64(place_role) AS sb_role", number(sums.Requests), number(sums.Dearer), number(sums.Extra), number(sums.Cost)},
		where:   append(r.keptRows(), "place_role >= 0", d.Column(columnCheapest)+" IS NOT NULL", d.Column("cost_usd")+" IS NOT NULL", namePlace+" <> ''"),
		groupBy: []string{namePlace, "sb_role"}, places: r.layout.places(),
	}
}
