// Command switchback plans, drives, loads, analyses and reports switchback experiments on LLM provider routers.
//
// The way of a run: main builds a process and the command tree, a command reads its settings (settings.go) and the
// configuration (config.go), opens the output folder (outdir.go) under its lock, and calls the one forward pass
// (pipeline.go): plan → drive or load → summaries → estimates → document → report. The run record (record.go) is
// written from the first second to the last; the report folder is built aside and swapped in (publish.go).
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p := &process{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ(), now: time.Now}
	p.self, _ = os.Executable() // without it all is done in this process
	os.Exit(p.execute(ctx))
}

// process is what surrounds a command: its streams, environment and clock. Nothing below this package reads them.
type process struct {
	args    []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string // as os.Environ gives it
	now     func() time.Time
	self    string // file of this program, "" when it is not to be started
}

// run executes one command line in this process alone and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string, now func() time.Time) int {
	p := &process{args: args, stdin: stdin, stdout: stdout, stderr: stderr, environ: environ, now: now}
	return p.execute(ctx)
}

// getenv returns the value of an environment variable, "" for one that is not set.
func (p *process) getenv(name string) string {
	for _, variable := range p.environ {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}
