package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"switchback/experiment"
	"switchback/stats"
)

// smallWeek is a world of three models and two days, about 364,000 requests.
const smallWeek = `schema_version = 1
name = "thinned"
seed = 3
[design]
days = 2
[workload]
models = ["qwen/qwq-32b", "meta-llama/llama-3-70b-instruct", "deepseek/deepseek-r1-distill-qwen-32b"]
[analysis]
replicates = 1000
`

// TestThinnedLogsAgree: thinning the log of a world to a quarter changes no estimate by more than its interval allows.
// The larger log holds a fifth of the requests.
func TestThinnedLogsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates two days twice")
	}
	config := filepath.Join(t.TempDir(), "small-week.toml")
	if err := os.WriteFile(config, []byte(smallWeek), 0o600); err != nil {
		t.Fatal(err)
	}
	compareThinned(t, 18_000, 72_000, "--config", config)
}

// TestThinnedLogsOfTheBuiltInWeekAgree is the same for 0.5 M and 2 M of the 24 M requests of the built-in experiment.
func TestThinnedLogsOfTheBuiltInWeekAgree(t *testing.T) {
	if os.Getenv("SWITCHBACK_SLOW") == "" {
		t.Skip("simulates the built-in week twice; SWITCHBACK_SLOW=1 runs it")
	}
	compareThinned(t, 500_000, 2_000_000)
}

// compareThinned runs an experiment with two sizes of its log. Both logs see the same world, so the estimate from more rows
// must lie in the interval from fewer, which has the noise of fewer rows in it, for every published metric.
func compareThinned(t *testing.T, fewer, more int, args ...string) {
	t.Helper()
	small, large := overallEstimates(t, fewer, args), overallEstimates(t, more, args)
	differ := 0
	for _, m := range experiment.Metrics() {
		if !m.Published {
			continue
		}
		s, l := small[m.ID], large[m.ID]
		if slices.Contains([]*float64{s.Estimate, s.Lo, s.Hi, l.Estimate, l.Lo, l.Hi}, nil) {
			t.Errorf("%s is not defined on both logs", m.ID)
			continue
		}
		told := fmt.Sprintf("%-21s %+.4f [%+.4f, %+.4f] on %d rows, %+.4f [%+.4f, %+.4f] on %d", m.ID, *s.Estimate, *s.Lo, *s.Hi, fewer, *l.Estimate, *l.Lo, *l.Hi, more)
		t.Log(told)
		if *l.Estimate < *s.Lo || *l.Estimate > *s.Hi {
			t.Error("the estimates do not agree: " + told)
		}
		if *s.Estimate != *l.Estimate {
			differ++
		}
	}
	if differ == 0 {
		t.Error("both logs give the same estimates: they are one log")
	}
}

// overallEstimates runs an experiment and returns the relative effects of its overall rows.
func overallEstimates(t *testing.T, requests int, args []string) map[string]stats.Effect {
	t.Helper()
	dir := t.TempDir()
	p := quietProcess(new(bytes.Buffer), slices.Concat([]string{"run", "--out", dir, "--quiet", "--requests", fmt.Sprint(requests)}, args)...)
	if code := p.execute(t.Context()); code != exitDone {
		t.Fatalf("run ended with %d: %s", code, p.stderr)
	}
	data, err := os.ReadFile(filepath.Join(dir, "latest", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results struct{ Metrics []stats.Estimate }
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	found := map[string]stats.Effect{}
	for _, e := range results.Metrics {
		if e.Scope == overallScope {
			found[e.ID] = e.Relative
		}
	}
	return found
}
