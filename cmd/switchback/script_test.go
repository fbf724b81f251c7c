package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"switchback/ingest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"switchback": main})
}

// TestScripts runs every script under testdata/script. Beside testscript's own commands they have
//
//	exits CODE COMMAND …   the command ends with this exit code
//	holdlock DIR           takes the lock of an output folder until the script ends
//	opendb FILE            keeps a DuckDB file open in another process (this one) until the script ends
//	waitfor PATTERN        waits until a file matches
//	terminated PATTERN COMMAND …   SIGTERM, once a file matches, ends the command within 5 s with exit code 130
//
// and the files of testdata/world, copied to the script's folder.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			return os.CopyFS(env.WorkDir, os.DirFS("testdata/world"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"holdlock":   holdLock,
			"opendb":     openDB,
			"waitfor":    waitFor,
			"terminated": terminated,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND …")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func holdLock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: holdlock DIR")
	}
	out := outDir{ts.MkAbs(args[0])}
	ts.Check(out.create())
	release, err := out.lock(holder{PID: os.Getpid(), Host: "elsewhere", Start: time.Date(2026, 11, 9, 3, 0, 0, 0, time.UTC)})
	ts.Check(err)
	ts.Defer(func() { ts.Check(release()) })
}

func openDB(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: opendb FILE")
	}
	store, err := ingest.Open(context.Background(), ts.MkAbs(args[0]), ingest.DefaultOptions())
	ts.Check(err)
	ts.Defer(func() { ts.Check(store.Close()) })
}

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor PATTERN")
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found, err := filepath.Glob(ts.MkAbs(args[0])); err != nil || len(found) > 0 {
			ts.Check(err)
			return
		}
	}
	ts.Fatalf("no file matches %s", args[0])
}

func terminated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminated PATTERN COMMAND …")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ts.Check(cmd.Start())
	waitFor(ts, false, args[:1])
	ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	sent := time.Now()
	cmd.Wait() //nolint:errcheck // the exit code tells
	if took := time.Since(sent); took > 5*time.Second {
		ts.Fatalf("it took %s to end", took)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stdout.Len() > 0 || !strings.Contains(stderr.String(), "switchback: error: interrupted\nswitchback: hint: ") {
		ts.Fatalf("exit code %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
}
