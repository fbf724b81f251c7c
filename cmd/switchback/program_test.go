package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The build id of an executable is the one that the go command reads from it; a file that is no executable has none.
func TestBuildID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny")
	source := path + ".go"
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, source)
	build.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := exec.CommandContext(t.Context(), "go", "tool", "buildid", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := buildID(path); got != strings.TrimSpace(string(want)) || got == "" {
		t.Errorf("build id %q, want %q", got, want)
	}
	if got := buildID(source); got != "" {
		t.Errorf("build id %q of a file that is no executable", got)
	}
}
