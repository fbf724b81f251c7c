package rules

// Dearer are sums over requests that were served and of which it is known what they would have cost at the cheapest
// endpoint that was eligible. Money is in nano-dollars.
type Dearer struct {
	Requests string
	Dearer   string // of Requests: cost more
	Extra    string // what these cost more
	Cost     string // what Requests cost
}

// DearerOf defines them.
func DearerOf(d Dialect) Dearer {
	cost, cheapest := d.Column("cost_usd"), d.Column("cheapest_cost_usd")
	extra := "(" + cost + " - " + cheapest + ")"
	return Dearer{
		Requests: d.Count(extra, ""),
		Dearer:   d.Count("", extra+" > 0"),
		Extra:    d.SumNanos(extra, extra+" > 0"),
		Cost:     d.SumNanos(cost, extra+" IS NOT NULL"),
	}
}
