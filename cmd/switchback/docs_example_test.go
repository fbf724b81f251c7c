package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The example of the README: docs/example holds the report of the built-in experiment, as the program wrote it.

const exampleFolder = "docs/example"

// exampleFirstScreen is the report from its verdict to the end of its first table, with the figure.
func exampleFirstScreen(t *testing.T) string {
	t.Helper()
	report := readDocument(t, filepath.Join(exampleFolder, "report.md"))
	_, screen, found := strings.Cut(report, "\n\n")
	screen, _, foundEnd := strings.Cut(screen, "\n## ")
	if !found || !foundEnd {
		t.Fatal("the example's report has no first screen")
	}
	return strings.ReplaceAll(strings.TrimSpace(screen), "](effects.svg)", "]("+exampleFolder+"/effects.svg)") + "\n"
}

// TestExampleIsWhatTheProgramPrints runs the built-in experiment and compares its report with the one in docs/example,
// but for the rows that name the build. Times are those of the full run, so it is one of the slow tests.
func TestExampleIsWhatTheProgramPrints(t *testing.T) {
	if os.Getenv("SWITCHBACK_SLOW") == "" {
		t.Skip("the built-in experiment at full size: set SWITCHBACK_SLOW=1")
	}
	platform := "`" + runtime.GOOS + "/" + runtime.GOARCH + "`"
	if !strings.Contains(readDocument(t, filepath.Join(exampleFolder, "report.md")), platform) {
		t.Skip("the example was made on another platform")
	}
	out := t.TempDir()
	var stderr bytes.Buffer
	if code := run(context.Background(), []string{"run", "--out", out, "--quiet"}, nil, io.Discard, &stderr, os.Environ(), time.Now); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	files, err := filepath.Glob(filepath.Join(out, "latest", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name != "report.md" && filepath.Ext(name) != ".svg" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		example := filepath.Join(exampleFolder, name)
		if got, want := withoutBuild(string(text)), withoutBuild(readDocument(t, example)); got != want {
			t.Errorf("%s is out of date; make example writes it anew", example)
		}
	}
}

// withoutBuild leaves out the rows of a report that name the build: they change with every commit.
func withoutBuild(report string) string {
	var kept []string
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, "| switchback |") && !strings.HasPrefix(line, "| Commit |") && !strings.HasPrefix(line, "| Go |") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
