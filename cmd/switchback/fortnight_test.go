//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fullEnv makes this test's process a run on a full disk: its value holds the arguments, one a line.
const fullEnv = "SWITCHBACK_TEST_FULL"

// TestFortnight lives through a fortnight of nightly runs in which much goes wrong: a file that comes two days late, a night
// that nobody starts, one that is started twice, one that is killed, one on a full disk. After a backfill the last report must
// be the one of a fortnight in which nothing happened, byte for byte, but for the remark that rows came late.
func TestFortnight(t *testing.T) {
	if args := os.Getenv(fullEnv); args != "" {
		runOnFullDisk(strings.Split(args, "\n"))
	}
	if testing.Short() {
		t.Skip("some forty runs")
	}
	t.Parallel()
	calm, rough := newFortnight(t), newFortnight(t)
	t.Run("nights", func(t *testing.T) {
		t.Run("undisturbed", func(t *testing.T) {
			t.Parallel()
			calm.t = t
			for day := range fortnightDays {
				calm.arrive(day)
				calm.night(day, exitDone)
			}
		})
		t.Run("disturbed", func(t *testing.T) {
			t.Parallel()
			rough.t = t
			rough.nights()
		})
	})
	calm.t, rough.t = t, t
	if t.Failed() {
		return
	}
	for _, name := range []string{"report.md", "results.json", "effects.svg", "history.svg"} {
		got := rough.latest(name)
		if remark, ok := lateRemarks[name]; ok {
			without := remark.ReplaceAllLiteralString(got, "")
			if got == without {
				t.Errorf("the last %s does not say that rows came late", name)
			}
			got = without
		}
		if diff := cmp.Diff(calm.latest(name), got); diff != "" {
			t.Errorf("the last %s (-undisturbed +disturbed):\n%s", name, diff)
		}
	}
	left, err := filepath.Glob(filepath.Join(rough.dir, "out", "*", tmpMark+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	rough.statuses(map[string]int{statusLost: 1})
}

// lateRemarks find the remark that rows came late, the only one.
var lateRemarks = map[string]*regexp.Regexp{
	"report.md":    regexp.MustCompile(`(?m)^Said when the logs were loaded:\n\n.*\n.*\n\| 60 rows came late: they belong to 2026-11-04 \|.*\n\n`),
	"results.json": regexp.MustCompile(`(?s) *"remarks": \[\s*\{\s*"text": "60 rows came late: they belong to 2026-11-04",[^}]*\}\s*\],\n`),
}

const fortnightDays = 14

// nights is the fortnight in which much goes wrong.
func (f *fortnight) nights() {
	const late, missing, doubled, killed, full, last = 2, 5, 7, 9, 11, fortnightDays - 1
	for day := range fortnightDays {
		if day != late {
			f.arrive(day)
		}
		switch day {
		case late, late + 1:
			f.night(day, exitIncomplete)
		case late + 2:
			f.arrive(late)
			f.night(day, exitDone)
		case missing, last:
		case doubled:
			f.twice(day)
		case killed:
			f.kill(day)
			f.night(day, exitDone)
		case full:
			f.fullDisk(day)
			f.night(day, exitDone)
		default:
			f.night(day, exitDone)
		}
	}
	f.run(exitDone, "--backfill", "--since", dateOf(late))
}

// fortnight is a folder with a configuration, where log files arrive and nights are run.
type fortnight struct {
	t      *testing.T
	dir    string
	config string
}

const fortnightConfig = `schema_version = 1
name = "fortnight"
[design]
start = 2026-11-02
days = 14
block = "12h"
schedule = "drawn"
[arms]
control = "old"
treatment = "new"
[logs]
files = ["logs/*.jsonl"]
[analysis]
replicates = 100
`

func newFortnight(t *testing.T) *fortnight {
	t.Helper()
	f := &fortnight{t: t, dir: t.TempDir()}
	f.config = filepath.Join(f.dir, "fortnight.toml")
	if err := os.Mkdir(filepath.Join(f.dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.config, []byte(fortnightConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	return f
}

func dateOf(day int) string {
	return time.Date(2026, 11, 2+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// arrive writes the log of a day.
func (f *fortnight) arrive(day int) {
	f.t.Helper()
	random := rand.New(rand.NewPCG(14, uint64(day)))
	start := time.Date(2026, 11, 2+day, 0, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	for i := range 60 {
		at := start.Add(time.Duration(i) * 24 * time.Hour / 60).Add(time.Duration(random.IntN(1000)) * time.Millisecond)
		fmt.Fprintf(&log, `{"request_id": "d%02dr%03d", "ts": %q, "model": "m", "provider": "p%d", "ttft_ms": %d, "cost_usd": 0.00%d, "status": "ok", "streamed": true}`+"\n",
			day, i, at.Format(time.RFC3339Nano), random.IntN(3), 500+random.IntN(900), 10+random.IntN(80))
	}
	if err := os.WriteFile(filepath.Join(f.dir, "logs", dateOf(day)+".jsonl"), log.Bytes(), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fortnight) args(more ...string) []string {
	return append([]string{"run", "--config", "fortnight.toml", "--out", "out"}, more...)
}

// run is one run, which must end with an exit code.
func (f *fortnight) run(want int, more ...string) {
	f.t.Helper()
	child := exec.Command("switchback", f.args(more...)...)
	child.Dir = f.dir
	out, err := child.CombinedOutput()
	if code := child.ProcessState.ExitCode(); code != want {
		f.t.Fatalf("%v: exit code %d, want %d: %v\n%s", more, code, want, err, out)
	}
}

func (f *fortnight) night(day, want int) {
	f.t.Helper()
	f.run(want, "--date", dateOf(day))
}

// process prepares a run in a process of its own.
func (f *fortnight) process(day int) *exec.Cmd {
	child := exec.Command("switchback", f.args("--date", dateOf(day))...)
	child.Dir = f.dir
	return child
}

// twice starts a night two times at once: one does it, the other meets its lock or finds it done.
func (f *fortnight) twice(day int) {
	f.t.Helper()
	one, other := f.process(day), f.process(day)
	for _, child := range []*exec.Cmd{one, other} {
		if err := child.Start(); err != nil {
			f.t.Fatal(err)
		}
	}
	codes := map[int]int{}
	for _, child := range []*exec.Cmd{one, other} {
		child.Wait() //nolint:errcheck // the exit code tells
		codes[child.ProcessState.ExitCode()]++
	}
	if codes[exitDone] == 0 || codes[exitDone]+codes[exitLocked] != 2 {
		f.t.Errorf("a night started twice: exit codes %v", codes)
	}
}

// kill ends a night without a word while it works.
func (f *fortnight) kill(day int) {
	f.t.Helper()
	before := f.records()
	child := f.process(day)
	if err := child.Start(); err != nil {
		f.t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); len(f.records()) == len(before); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatal("the night does not begin")
		}
	}
	if err := child.Process.Kill(); err != nil {
		f.t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		f.t.Fatal("the night was over before it was killed")
	}
}

func (f *fortnight) records() []string {
	found, err := filepath.Glob(filepath.Join(f.dir, "out", "runs", "*.json"))
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

// fullDisk runs a night in a process that may write no file beyond 64 KiB, which the database is long past.
func (f *fortnight) fullDisk(day int) {
	f.t.Helper()
	before := f.latest("report.md")
	child := exec.Command(os.Args[0], "-test.run=^TestFortnight$")
	child.Dir = f.dir
	child.Env = append(os.Environ(), fullEnv+"="+strings.Join(f.args("--date", dateOf(day)), "\n"))
	out, err := child.CombinedOutput()
	if code := child.ProcessState.ExitCode(); err == nil || code != exitFailed {
		f.t.Errorf("on a full disk: exit code %d, want %d:\n%s", code, exitFailed, out)
	}
	if !strings.Contains(string(out), "switchback: error: ") || !strings.Contains(string(out), "hint: make room on the disk of out") {
		f.t.Errorf("on a full disk it tells too little:\n%s", out)
	}
	f.t.Logf("on a full disk: %s", lastLines(string(out), 2))
	if f.latest("report.md") != before {
		f.t.Error("a night on a full disk changed the report")
	}
}

func runOnFullDisk(args []string) {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit then answers EFBIG
	limit := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	os.Exit(run(context.Background(), args, nil, os.Stdout, os.Stderr, nil, time.Now))
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (f *fortnight) latest(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "out", "latest", name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// statuses checks how many runs ended in each of some ways, at most.
func (f *fortnight) statuses(want map[string]int) {
	f.t.Helper()
	got := map[string]int{}
	for _, path := range f.records() {
		text, err := os.ReadFile(path)
		if err != nil {
			f.t.Fatal(err)
		}
		for status := range want {
			if strings.Contains(string(text), `"status": "`+status+`"`) {
				got[status]++
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("run records by status (-want +got):\n%s", diff)
	}
}
