package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"switchback/experiment"
)

// crashEnv names the folder that a child process of TestKilledLoads works in.
const crashEnv = "SWITCHBACK_TEST_CRASH_DIR"

// nightly is what a night does to the file: load logs, apply the schedule, save results.
func nightly(t *testing.T, dir string) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(dir, "switchback.duckdb"), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	mustLoad(t, s, filepath.Join(dir, "*.jsonl"))
	plan, err := experiment.Draw(experiment.DefaultDesign(), testArms)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyPlan(ctx, plan); err != nil {
		t.Fatal(err)
	}
	run := RunRecord{RunID: "r", ReportDate: "2026-11-08", Document: []byte("{}"), FinishedAt: someStart}
	if err := s.SaveRun(ctx, run, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// outcomeOf is everything that a finished night leaves, load numbers and times aside.
func outcomeOf(t *testing.T, dir string) string {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(dir, "switchback.duckdb"), DefaultOptions())
	if err != nil {
		t.Fatalf("the file does not open: %v", err)
	}
	defer s.Close()
	return fmt.Sprint(table(t, s), scalar(t, s, "SELECT concat_ws(' ', count(*), sum(rows), sum(rejects), sum(duplicates), count(DISTINCT file)) FROM loads"),
		scalar(t, s, "SELECT concat_ws(' ', count(*), count(DISTINCT line)) FROM rejects"), scalar(t, s, "SELECT count(*) FROM blocks"), scalar(t, s, "SELECT count(*) FROM runs"))
}

func crashInputs(t *testing.T, dir string) {
	requests := someRequests(24_000, 11)
	for i := range 4 { // each overlaps the one before
		part := jsonl(t, requests[max(0, i*6000-500):(i+1)*6000])
		writeFile(t, filepath.Join(dir, fmt.Sprintf("part%d.jsonl", i)), append(part, "no json\n"...))
	}
}

// TestKilledLoads kills a night at random moments, again and again on the same file, and lets the last one end.
func TestKilledLoads(t *testing.T) {
	if dir := os.Getenv(crashEnv); dir != "" {
		nightly(t, dir)
		return
	}
	if testing.Short() {
		t.Skip("kills processes")
	}
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("SWITCHBACK_TEST_KILLS")); err == nil {
		kills = n
	}
	night := func(dir string) *exec.Cmd {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledLoads$")
		child.Env = append(os.Environ(), crashEnv+"="+dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		return child
	}
	calm := t.TempDir()
	crashInputs(t, calm)
	start := time.Now()
	if err := night(calm).Wait(); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(start)
	want := outcomeOf(t, calm)

	dir := t.TempDir()
	crashInputs(t, dir)
	rng := rand.New(rand.NewPCG(12, 1))
	killed := 0
	for i := range kills {
		part := []float64{0.8, 0.4, 0.2}[i%3] // of a night, less where an earlier one has done some of it
		if i%3 == 0 {                         // from nothing now and then, else on what the last one left
			for _, f := range []string{"switchback.duckdb", "switchback.duckdb.wal"} {
				if err := removeIfThere(filepath.Join(dir, f)); err != nil {
					t.Fatal(err)
				}
			}
		}
		child := night(dir)
		time.Sleep(time.Duration(rng.Float64() * part * float64(whole)))
		child.Process.Kill() //nolint:errcheck // it may have ended
		if child.Wait() != nil {
			killed++
		} else {
			whole /= 2 // the machine has more time for it than for the undisturbed one
		}
		if _, err := os.Stat(filepath.Join(dir, "switchback.duckdb")); err == nil {
			outcomeOf(t, dir) // it opens and every table reads
		}
	}
	t.Logf("%d of %d nights of about %s were killed", killed, kills, whole.Round(time.Millisecond))
	if 2*killed < kills {
		t.Errorf("only %d of %d nights were killed", killed, kills)
	}
	nightly(t, dir)
	if got := outcomeOf(t, dir); got != want {
		t.Errorf("after kills: %s\nundisturbed: %s", got, want)
	}
}
