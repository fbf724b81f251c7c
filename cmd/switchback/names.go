package main

import (
	"switchback/experiment"
	"switchback/router"
)

// knownNames gathers the names that other packages define.
func knownNames() known {
	names := known{policies: router.Policies(), formats: []string{"auto", "canonical"}}
	for _, s := range experiment.Scenarios() {
		names.scenarios = append(names.scenarios, s.Name)
	}
	return names
}
