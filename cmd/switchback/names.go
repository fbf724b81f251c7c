package main

// knownNames gathers the names that other packages define.
func knownNames() known {
	return known{policies: []string{"price", "routing-cost"}, scenarios: nil, formats: []string{"auto", "canonical"}}
}
