package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manCommand writes a manual page for every command.
func (p *process) manCommand() command {
	return command{
		use:     "man DIR",
		short:   "Write manual pages",
		long:    "Writes switchback.1 and one page for every command into a folder.",
		example: "  switchback man /usr/local/share/man/man1",
		args:    cobra.ExactArgs(1),
		flags:   pflag.NewFlagSet("man", pflag.ContinueOnError),
		run: func(_ context.Context, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write manual: %w", err)
			}
			var started bool
			root := p.root(&started)
			root.DisableAutoGenTag = true
			// A fixed date: the same program writes the same pages.
			header := &doc.GenManHeader{Title: "SWITCHBACK", Section: "1", Source: "switchback", Date: &time.Time{}}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write manual: %w", err)
			}
			return nil
		},
	}
}
