//go:build linux

package ingest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullEnv names the folder that a child process of TestDiskFull works in.
const fullEnv = "SWITCHBACK_TEST_FULL_DIR"

// TestDiskFull loads in a process that may not write more than 2 MiB into a file, which fails as a full disk does.
func TestDiskFull(t *testing.T) {
	ctx := context.Background()
	if dir := os.Getenv(fullEnv); dir != "" {
		signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit then answers EFBIG
		limit := syscall.Rlimit{Cur: 2 << 20, Max: 2 << 20}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		s, err := Open(ctx, filepath.Join(dir, "full.duckdb"), DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		_, err = LoadFiles(ctx, s, []string{filepath.Join(dir, "log.jsonl")}, loadOptions())
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			fmt.Println("failed:", err)
		}
		os.Exit(0) // a store on a full disk cannot be closed
	}
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "log.jsonl"), jsonl(t, someRequests(150_000, 17)))
	child := exec.Command(os.Args[0], "-test.run=^TestDiskFull$")
	child.Env = append(os.Environ(), fullEnv+"="+dir)
	out, err := child.CombinedOutput()
	told := fmt.Sprintf("failed: load %s: insert into requests: ", filepath.Join(dir, "log.jsonl"))
	if err != nil || !strings.Contains(string(out), told) || !strings.Contains(strings.ToLower(string(out)), syscall.EFBIG.Error()) {
		t.Fatalf("the process on a full disk: %v\n%s\nwant %s… and the cause", err, out, told)
	}
	t.Logf("%s", strings.TrimSpace(string(out)))
	s, err := Open(ctx, filepath.Join(dir, "full.duckdb"), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := scalar(t, s, "SELECT (SELECT count(*) FROM requests) + (SELECT count(*) FROM loads)"); got != "0" {
		t.Errorf("%s rows were half-loaded", got)
	}
	if f := mustLoad(t, s, filepath.Join(dir, "log.jsonl")).Files[0]; f.Status != FileLoaded || f.Rows != 150_000 {
		t.Errorf("with room again: %+v", f)
	}
}
