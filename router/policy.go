package router

import (
	"fmt"
	"slices"
	"strings"
)

// policy turns what is believed of a model's endpoints into shares and an order of tries.
type policy interface {
	// variants is how many tables the policy keeps: one per kind of request that it treats differently.
	variants(r *Router) int
	// variant is the table for the request.
	variant(r *Router, inputTokens int, tools bool) int
	// fill answers for the eligible endpoints; shares sum to 1, none for the others. It reads the snapshot and writes the table.
	fill(r *Router, variant int, eligible Set, t *table)
}

// single is the part of a policy that treats every kind of request alike.
type single struct{}

func (single) variants(*Router) int { return 1 }

func (single) variant(*Router, int, bool) int { return 0 }

// policies by name, in the order in which they are listed.
var policies = [...]struct {
	name string
	policy
}{
	{"price", pricePolicy{}},
	{"routing-cost", costPolicy{}},
	{"sort:price", sortPolicy{by: SortPrice}},
	{"sort:throughput", sortPolicy{by: SortThroughput}},
	{"sort:latency", sortPolicy{by: SortLatency}},
	{"sort:exacto", sortPolicy{by: SortExacto}},
	{"order", orderPolicy{}},
	{"p2c-peak-ewma", twoChoices{}},
	{"uniform", uniformPolicy{}},
	{"oracle", oraclePolicy{}},
}

// Policies lists the names of all policies. A list of provider or endpoint slugs may follow order: "order:together,deepinfra/fp8".
func Policies() []string {
	names := make([]string, len(policies))
	for i := range policies {
		names[i] = policies[i].name
	}
	return names
}

// CheckPolicy tells whether Use knows a policy of this name. The error lists those that it knows.
func CheckPolicy(name string) error {
	_, err := policyNamed(name, nil)
	return err
}

// policyNamed finds a policy for the endpoints.
func policyNamed(name string, endpoints []Endpoint) (policy, error) {
	if list, ok := strings.CutPrefix(name, "order:"); ok {
		slugs := strings.Split(list, ",")
		if slices.Contains(slugs, "") {
			return nil, fmt.Errorf("use policy %q: an empty slug in the list", name)
		}
		return newOrderPolicy(slugs, endpoints), nil
	}
	for i := range policies {
		if policies[i].name == name {
			return policies[i].policy, nil
		}
	}
	return nil, fmt.Errorf("use policy %q: unknown (known: %s)", name, strings.Join(Policies(), ", "))
}

// deck is a policy with its tables.
type deck struct {
	name    string
	policy  policy
	strict  bool // its tables are orders, not shares
	guarded bool // breaker, Retry-After and cap rule over it
	tables  []table
}

func newDeck(r *Router, p policy) *deck {
	d := &deck{policy: p, tables: make([]table, p.variants(r))}
	switch p.(type) {
	case sortPolicy, orderPolicy:
		d.strict = true
	case costPolicy:
		d.guarded = true
	}
	for i := range d.tables {
		d.tables[i] = newTable(r.rank)
	}
	return d
}
