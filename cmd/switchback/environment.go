package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// otherVariables are those with this program's prefix that are no flags: who asks a warehouse, what deploy/nightly.sh reads,
// and what the tests and benchmarks do. A name that ends in _ stands for all that begin so.
func otherVariables() []string {
	names := []string{warehouseUser, warehousePassword}
	for _, name := range []string{
		"TRIES", "PAUSE",
		"SLOW", "CLUSTER", "CHDB", "PYTHON", "PEERS", "BENCH_", "TEST_", "STEP", "FILE", "ROWS",
		"LOOK", "LOOK_AT", "WORLDS", "FIT", "INTERFERENCE", "REDRAW", "SCENARIO",
	} {
		names = append(names, envPrefix+name)
	}
	return names
}

// strangeVariables returns a warning for every variable that has this program's prefix and that nothing reads: most likely it is
// a flag's, misspelt, and the flag has its default.
func strangeVariables(environ []string, root *cobra.Command) []string {
	others := otherVariables()
	var known []string
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, envName(f.Name)) })
	}
	known = append(known, warehouseUser, warehousePassword)
	slices.Sort(known)
	known = slices.Compact(known)
	var warnings []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || slices.ContainsFunc(others, func(other string) bool {
			return name == other || strings.HasSuffix(other, "_") && strings.HasPrefix(name, other)
		}) {
			continue
		}
		text := fmt.Sprintf("nothing reads the environment variable %s", name)
		if near := nearest(strings.TrimPrefix(name, envPrefix), withoutPrefix(known)); near != "" {
			text += "; did you mean " + envPrefix + near + "?"
		}
		warnings = append(warnings, text)
	}
	slices.Sort(warnings)
	return warnings
}

func withoutPrefix(names []string) []string {
	var short []string
	for _, name := range names {
		short = append(short, strings.TrimPrefix(name, envPrefix))
	}
	return short
}

// warnOfEnvironment tells of strange variables, unless a command is quiet or has no log.
func (p *process) warnOfEnvironment(cmd *cobra.Command) {
	var s settings
	var err error
	if s.quiet, err = cmd.Flags().GetBool("quiet"); err != nil {
		return
	}
	s.logJSON, _ = cmd.Flags().GetBool("log-json") // it stands beside quiet
	for _, text := range strangeVariables(p.environ, cmd.Root()) {
		newLogger(p.stderr, &s).Warn(text)
	}
}
