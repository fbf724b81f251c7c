package main

import (
	"strings"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/router"
)

// knownNames gathers the names that other packages define.
func knownNames() known {
	names := known{policies: router.Policies(), formats: append([]string{ingest.FormatAuto}, ingest.Formats()...)}
	for _, s := range experiment.Scenarios() {
		names.scenarios = append(names.scenarios, s.Name)
	}
	return names
}

// formatNames lists the log formats for the help.
func formatNames() string { return strings.Join(knownNames().formats, ", ") }
