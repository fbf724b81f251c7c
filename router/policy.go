package router

import (
	"fmt"
	"slices"
	"strings"
)

// policy turns what is believed of a model's endpoints into shares and an order of tries.
type policy interface {
	// kinds says which kinds of request the policy treats differently: each has a table.
	kinds(c *Config) kinds
	// fill answers for the eligible endpoints; shares sum to 1, none for the others. It reads the snapshot, writes the table and reports
	// whether it changed.
	fill(r *Router, k kind, eligible Set, t *table) bool
}

// kinds are the differences between requests that a policy looks at.
type kinds struct {
	sizes bool // their size classes
	tools bool // whether they have tools
}

// kind is one kind of request: 0 and false where the policy does not look.
type kind struct {
	class int
	tools bool
}

// single is the part of a policy that treats every kind of request alike.
type single struct{}

func (single) kinds(*Config) kinds { return kinds{} }

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
	name     string
	policy   policy
	strict   bool // its tables are orders, not shares
	guarded  bool // breaker, Retry-After and cap rule over it
	believes bool // it looks at what is believed of the endpoints
	kinds    kinds
	tables   [2][]table // without and with tools, by size class
}

func newDeck(r *Router, p policy) *deck {
	d := &deck{policy: p, kinds: p.kinds(&r.cfg)}
	switch p := p.(type) {
	case sortPolicy:
		d.strict, d.believes = true, p.by == SortThroughput || p.by == SortLatency
	case orderPolicy:
		d.strict = true
	case costPolicy:
		d.guarded, d.believes = true, true
	case oraclePolicy:
		d.believes = true
	}
	classes := 1
	if d.kinds.sizes {
		classes = len(r.sizes)
	}
	for i := range d.tables {
		if i == 0 || d.kinds.tools {
			d.tables[i] = make([]table, classes)
		}
		for c := range d.tables[i] {
			d.tables[i][c] = newTable(r.rank)
		}
	}
	return d
}

// kind is the kind of a request.
func (d *deck) kind(t *telemetry, inputTokens int, tools bool) kind {
	k := kind{tools: tools && d.kinds.tools}
	if d.kinds.sizes {
		k.class = t.class(inputTokens)
	}
	return k
}

// table is the deck's table for a kind of request.
func (d *deck) table(k kind) *table {
	if k.tools {
		return &d.tables[1][k.class]
	}
	return &d.tables[0][k.class]
}
