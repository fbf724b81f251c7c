package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"switchback/reports"
)

func newOut(t *testing.T) outDir {
	t.Helper()
	out := outDir{filepath.Join(t.TempDir(), "out")}
	if err := out.create(); err != nil {
		t.Fatal(err)
	}
	return out
}

func publishText(t *testing.T, out outDir, runID, date, experiment, text string) {
	t.Helper()
	manifest, err := json.Marshal(record{RunID: runID, Experiment: experiment})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.publish(runID, date, reports.Files{{Name: "report.md", Bytes: []byte(text)}}, manifest); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublishReplacesTheReport(t *testing.T) {
	out := newOut(t)
	publishText(t, out, "1", "2026-11-08", "x", "first")
	if err := os.WriteFile(filepath.Join(out.report("2026-11-08"), "old.svg"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	publishText(t, out, "2", "2026-11-08", "x", "second")
	if got := readText(t, filepath.Join(out.latest(), "report.md")); got != "second" {
		t.Errorf("latest shows %q", got)
	}
	if _, err := os.Stat(filepath.Join(out.report("2026-11-08"), "old.svg")); err == nil {
		t.Error("a file of the former report stayed")
	}
	if left, _ := filepath.Glob(filepath.Join(out.reports(), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if target, err := os.Readlink(out.latest()); err != nil || target != "reports/2026-11-08" {
		t.Errorf("latest is %q, %v; want a relative link", target, err)
	}
}

func TestLatestStaysAtTheLaterDate(t *testing.T) {
	out := newOut(t)
	publishText(t, out, "1", "2026-11-08", "nightly", "eighth")
	publishText(t, out, "2", "2026-11-05", "nightly", "fifth, made again")
	if got := readText(t, filepath.Join(out.latest(), "report.md")); got != "eighth" {
		t.Errorf("latest shows %q", got)
	}
	publishText(t, out, "3", "2026-11-04", "another", "of another experiment")
	if got := readText(t, filepath.Join(out.latest(), "report.md")); got != "of another experiment" {
		t.Errorf("latest shows %q", got)
	}
}

// A run that dies at any point of the swap leaves a report that the next run finds whole.
func TestTidyMendsABrokenSwap(t *testing.T) {
	out := newOut(t)
	publishText(t, out, "1", "2026-11-08", "x", "first")
	if err := os.Rename(out.report("2026-11-08"), filepath.Join(out.reports(), oldMark+"2026-11-08")); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{filepath.Join(out.reports(), tmpMark+"2"), filepath.Join(out.path, ".latest123")} {
		if err := os.Mkdir(left, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(out.aside("2"), []byte("half a database"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := out.tidy(); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, filepath.Join(out.latest(), "report.md")); got != "first" {
		t.Errorf("latest shows %q", got)
	}
	var left []string
	err := filepath.WalkDir(out.path, func(path string, _ os.DirEntry, err error) error {
		if base := filepath.Base(path); strings.HasPrefix(base, ".") || strings.Contains(base, tmpMark) {
			left = append(left, path)
		}
		return err
	})
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	out := newOut(t)
	start := time.Date(2026, 11, 9, 3, 0, 0, 0, time.UTC)
	release, err := out.lock(holder{PID: 4242, Host: "night", Start: start})
	if err != nil {
		t.Fatal(err)
	}
	_, err = out.lock(holder{PID: 1, Host: "night", Start: start})
	if codeOf(err) != exitLocked {
		t.Fatalf("second lock: %v", err)
	}
	for _, part := range []string{"4242", "night", "2026-11-09T03:00:00Z"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = out.lock(holder{PID: 1}); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsOfDeadRunsAreLost(t *testing.T) {
	out := newOut(t)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	me := record{RunID: "me", Status: statusRunning, Host: "here", PID: os.Getpid()}
	for _, r := range []record{
		{RunID: "dead", Status: statusRunning, Host: "here", PID: ended.Process.Pid}, {RunID: "elsewhere", Status: statusRunning, Host: "there", PID: os.Getppid()},
		{RunID: "done", Status: statusDone, Host: "here", PID: ended.Process.Pid}, {RunID: "before me", Status: statusRunning, Host: "here", PID: me.PID},
		{RunID: "alive", Status: statusRunning, Host: "here", PID: os.Getppid()}, me, // alive is about to meet the lock
	} {
		if err := r.save(out); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.markLost(&me); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"dead": statusLost, "elsewhere": statusLost, "before me": statusLost, "done": statusDone, "alive": statusRunning, "me": statusRunning} {
		var r record
		if err := json.Unmarshal([]byte(readText(t, filepath.Join(out.runs(), id+".json"))), &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != want {
			t.Errorf("run %s is %s, want %s", id, r.Status, want)
		}
	}
}

func TestUpToDate(t *testing.T) {
	out := newOut(t)
	if err := os.WriteFile(out.database(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	code := 0
	r := record{RunID: "1", Status: statusDone, ExitCode: &code, Fingerprint: "f", Outputs: []outputFile{{"report.md", hashBytes([]byte("text"))}}}
	manifest, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := out.publish("1", "2026-11-08", reports.Files{{Name: "report.md", Bytes: []byte("text")}}, manifest); err != nil {
		t.Fatal(err)
	}
	if _, ok := out.upToDate("2026-11-08", "f"); !ok {
		t.Error("the report is not up to date")
	}
	if _, ok := out.upToDate("2026-11-08", "g"); ok {
		t.Error("up to date with other inputs")
	}
	if _, ok := out.upToDate("2026-11-07", "f"); ok {
		t.Error("up to date on another day")
	}
	report := filepath.Join(out.report("2026-11-08"), "report.md")
	if err := os.WriteFile(report, []byte("touched"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := out.upToDate("2026-11-08", "f"); ok {
		t.Error("up to date with a changed report")
	}
	if err := os.WriteFile(report, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(out.database()); err != nil {
		t.Fatal(err)
	}
	if _, ok := out.upToDate("2026-11-08", "f"); ok {
		t.Error("up to date without a database")
	}
}
