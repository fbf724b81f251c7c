package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// prints runs one command line and returns what it prints to stdout.
func prints(t *testing.T, want int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(context.Background(), args, nil, &stdout, &stderr, nil, time.Now); code != want {
		t.Fatalf("switchback %s: exit code %d, want %d: %s", strings.Join(args, " "), code, want, &stderr)
	}
	return stdout.String()
}

// Every example that query --list shows runs, on a file with a report and on one that holds rows alone, in every format.
func TestQueryExamplesRun(t *testing.T) {
	dir, world := t.TempDir(), "testdata/world"
	reported, loaded := filepath.Join(dir, "reported"), filepath.Join(dir, "loaded")
	prints(t, exitDone, "run", "--config", filepath.Join(world, "logs.toml"), "--out", reported, "--date", "2026-11-03", "--quiet")
	prints(t, exitDone, "ingest", "--out", loaded, "--quiet", filepath.Join(world, "log-1.csv"))
	for _, out := range []string{reported, loaded} {
		listed := prints(t, exitDone, "query", "--out", out, "--list")
		for i, e := range queryExamples() {
			if !strings.Contains(listed, e.sql) {
				t.Errorf("--list does not show %s", e.sql)
			}
			format := queryFormats()[i%len(queryFormats())]
			if got := prints(t, exitDone, "query", "--out", out, "--format", format, e.sql); got == "" {
				t.Errorf("%s gives nothing", e.sql)
			}
		}
	}
}
