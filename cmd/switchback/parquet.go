package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"switchback/ingest"
)

// readerCommand reads a Parquet file to its end and prints what is wrong with it, nothing when it is whole. It is how a load
// starts this program for a file, and no command of users.
func (p *process) readerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "read-parquet FILE",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			damage, err := ingest.ReadParquet(cmd.Context(), args[0])
			if err == nil {
				_, err = fmt.Fprint(p.stdout, damage)
			}
			return err
		},
	}
}

// readParquet is ingest.ReadParquet in a process of its own, which a damaged file may end as it likes: DuckDB's reader does
// not look where some lengths lead. Without a program to start it reads in this one.
func (p *process) readParquet(ctx context.Context, path string) (damage string, err error) {
	if p.self == "" {
		return ingest.ReadParquet(ctx, path)
	}
	var stdout, stderr bytes.Buffer
	reader := exec.CommandContext(ctx, p.self, "read-parquet", "--", path)
	reader.Args[0] = "switchback" // whatever the file's name
	reader.Env, reader.Stdout, reader.Stderr = p.environ, &stdout, &stderr
	err = reader.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &ended) && crashed(ended.Sys().(syscall.WaitStatus)):
		return "its reader crashes", nil
	}
	return "", fmt.Errorf("read %s: %w: %s", path, err, strings.TrimSpace(stderr.String()))
}

// crashed tells a process that its own fault ended, by a signal or by Go's runtime, from one that was ended or gave up.
func crashed(status syscall.WaitStatus) bool {
	faults := []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGABRT, syscall.SIGFPE, syscall.SIGILL}
	const goCrash = 2 // of a process whose panic nobody recovered
	return status.Signaled() && slices.Contains(faults, status.Signal()) || status.Exited() && status.ExitStatus() == goCrash
}
