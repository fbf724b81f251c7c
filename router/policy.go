package router

import (
	"fmt"
	"strings"
)

// policy turns what is believed of a model's endpoints into shares and an order of tries.
type policy interface {
	// sized says whether the answer depends on the size of the request.
	sized() bool
	// decide fills the shares (summing to 1) and what retries follow. r is read only, but for its scratch space.
	decide(r *Router, class int, t *table)
}

// policies by name, in the order in which they are listed.
var policies = [...]struct {
	name string
	policy
}{
	{"price", pricePolicy{}},
	{"routing-cost", costPolicy{}},
}

// Policies lists the names of all policies.
func Policies() []string {
	names := make([]string, len(policies))
	for i := range policies {
		names[i] = policies[i].name
	}
	return names
}

func policyNamed(name string) (policy, error) {
	for i := range policies {
		if policies[i].name == name {
			return policies[i].policy, nil
		}
	}
	return nil, fmt.Errorf("use policy %q: unknown (known: %s)", name, strings.Join(Policies(), ", "))
}
