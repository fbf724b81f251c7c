package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"switchback/ingest"
)

// asProgram is a file that this test binary runs main under.
func asProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "switchback")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// TestDamagedParquet loads damaged copies of a small Parquet file, each before a whole file of text: there are rows or a
// refusal by name, and the other file is loaded. The last copy is one whose reader crashes, most times.
func TestDamagedParquet(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	copies := 12
	if n, err := strconv.Atoi(os.Getenv("SWITCHBACK_TEST_DAMAGES")); err == nil {
		copies = n
	}
	program, dir := asProgram(t), t.TempDir()
	rng := rand.New(rand.NewPCG(3, 1))
	path, text := filepath.Join(dir, "hurt.parquet"), filepath.Join(dir, "text.jsonl")
	if err := os.WriteFile(text, []byte(`{"request_id":"one","ts":"2026-11-02T02:00:00Z","model":"m"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	crash, err := os.ReadFile("testdata/damaged/crash.parquet")
	if err != nil {
		t.Fatal(err)
	}
	whole := smallParquet(t)
	refused := 0
	for i := range copies {
		hurt := bytes.Clone(whole)
		switch at := rng.IntN(len(hurt) - 4); {
		case i == copies-1:
			hurt = crash
		case i%5 == 0:
			hurt = hurt[:at]
		case i%5 == 1:
			copy(hurt[at:], bytes.Repeat([]byte{0xff}, 1+rng.IntN(64)))
		default:
			hurt[at] ^= byte(1 << rng.IntN(8))
		}
		if err := os.WriteFile(path, hurt, 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "out")
		var stderr bytes.Buffer
		load := exec.Command(program, "ingest", "--out", out, path, text)
		load.Stderr = &stderr
		code := 0
		if err := load.Run(); err != nil {
			code = -1
			var ended *exec.ExitError
			if errors.As(err, &ended) {
				code = ended.ExitCode()
			}
		}
		if code == exitUsage {
			refused++
		}
		if code != exitDone && code != exitIncomplete && (code != exitUsage || !strings.Contains(stderr.String(), "error: load "+path+": ")) {
			t.Errorf("copy %d: exit code %d\n%s", i, code, &stderr)
		}
		if n := queried(t, out, "SELECT count(*) FROM requests WHERE request_id = 'one'"); n != "1" {
			t.Errorf("copy %d: %s rows of the whole file\n%s", i, n, &stderr)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d of %d damaged copies refused", refused, copies); refused < copies/2 {
		t.Error("too few of them are refused")
	}
}

// smallParquet is a Parquet file of some rows, as query writes it.
func smallParquet(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "small.parquet")
	store, err := ingest.Open(t.Context(), ingest.InMemory, ingest.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	o := ingest.DefaultLoadOptions()
	o.Now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	if _, err := ingest.LoadFiles(t.Context(), store, []string{"testdata/world/log-1.csv"}, o); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteParquet(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func queried(t *testing.T, out, query string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"query", "--out", out, "--format", "csv", query}, nil, &stdout, &stderr, nil, time.Now); code != exitDone {
		t.Fatalf("query: exit code %d\n%s", code, &stderr)
	}
	lines := strings.Fields(stdout.String())
	return lines[len(lines)-1]
}

// TestReaderProcess tells a reader that crashes over a file from one that gives up or is ended.
func TestReaderProcess(t *testing.T) {
	for _, c := range []struct{ does, damage, fails string }{
		{"exit 0", "", ""},
		{"printf 'a page is cut'", "a page is cut", ""},
		{"kill -SEGV $$", "its reader crashes", ""},
		{"kill -ABRT $$", "its reader crashes", ""},
		{"echo 'fatal error: stack' >&2; exit 2", "its reader crashes", ""},
		{"echo 'no memory' >&2; exit 1", "", "read x.parquet: exit status 1: no memory"},
		{"kill -KILL $$", "", "read x.parquet: signal: killed: "},
	} {
		self := filepath.Join(t.TempDir(), "switchback")
		if err := os.WriteFile(self, []byte("#!/bin/sh\n"+c.does+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		damage, err := (&process{self: self}).readParquet(t.Context(), "x.parquet")
		fails := ""
		if err != nil {
			fails = err.Error()
		}
		if damage != c.damage || fails != c.fails {
			t.Errorf("%s: damage %q, error %q", c.does, damage, fails)
		}
	}
	damage, err := (&process{}).readParquet(t.Context(), "testdata/world/log-1.csv")
	if err != nil || damage == "" {
		t.Errorf("in this process: %q, %v", damage, err)
	}
}
