package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"switchback/ingest"
)

// versionCommand prints which build this is, and of what it is made.
func (p *process) versionCommand() command {
	return command{
		use:     "version",
		short:   "Print the version of this program and of what it is made of",
		long:    "Prints one line for each: this program, the commit of its source, DuckDB, Go and the platform.",
		example: "  switchback version",
		args:    noArguments,
		flags:   pflag.NewFlagSet("version", pflag.ContinueOnError),
		run: func(ctx context.Context, _ []string) error {
			store, err := ingest.Open(ctx, ingest.InMemory, ingest.DefaultOptions())
			if err != nil {
				return err
			}
			duckdb, err := scalar(ctx, store, "SELECT version()")
			if err := errors.Join(err, store.Close()); err != nil {
				return err
			}
			this := thisProgram()
			source := this.Commit
			switch {
			case source == "":
				source = "unknown"
			case this.Modified:
				source += " (modified)"
			}
			_, err = fmt.Fprintf(p.stdout, "switchback %s\ncommit     %s\nDuckDB     %s\nGo         %s\nplatform   %s\n",
				this.Version, source, strings.TrimPrefix(duckdb, "v"), strings.TrimPrefix(this.Go, "go"), this.Platform)
			return err
		},
	}
}
