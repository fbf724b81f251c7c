package experiment

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"switchback/router/request"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const goldenFile = "testdata/scenario_hashes.golden"

var scenarioRuns sync.Map // of collected, by name

// scenarioRun is one drive of the small configuration in a scenario, shared by the tests that only read its rows.
func scenarioRun(name string) collected {
	if run, done := scenarioRuns.Load(name); done {
		return run.(collected)
	}
	t := new(fatalOnly)
	cfg := small(t)
	cfg.Scenario = name
	if s, err := ScenarioByName(name); err == nil && s.Lists.Auto {
		cfg.Models = append(slices.Clone(cfg.Models), request.AutoModel)
	}
	c := collect(t, cfg)
	scenarioRuns.Store(name, c)
	return c
}

// The log of a small day of every scenario has a known fingerprint, so that no change of the world goes unseen.
// Rewrite it with go test ./experiment -run TestScenarioHashes -update.
func TestScenarioHashes(t *testing.T) {
	if testing.Short() {
		t.Skip("drives every scenario")
	}
	var lines []string
	for _, s := range Scenarios() {
		lines = append(lines, fmt.Sprintf("%-16s %s", s.Name, scenarioRun(s.Name).hash))
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(goldenFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("fingerprints differ from %s:\n%s\nwant\n%s", goldenFile, got, want)
	}
}

func TestScenariosAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		if s.Name == "" || seen[s.Name] || s.Purpose == "" || strings.Contains(s.Purpose, "\n") {
			t.Errorf("scenario %q: name or purpose", s.Name)
		}
		seen[s.Name] = true
		if found, err := ScenarioByName(s.Name); err != nil || found.Name != s.Name {
			t.Errorf("scenario %q is not found: %v", s.Name, err)
		}
		for what, err := range map[string]error{"market": s.Market.Validate(), "workload": s.Workload.Validate(), "router": s.Router.Validate()} {
			if err != nil {
				t.Errorf("scenario %s: %s: %v", s.Name, what, err)
			}
		}
	}
	want := []string{"a-a", "agents", "batch", "chat-service", "fallback-lists", "flash-crowd", "harsh-days", "openrouter-week", "outage", "price-games", "single-provider", "slow-recovery", "whale", "whole-gateway"}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("scenarios %q, want %q", got, want)
	}
	if Scenarios()[0].Name != "openrouter-week" {
		t.Error("openrouter-week is not the default")
	}
}

// What each scenario is for shows in a day of it.
func TestScenariosDoWhatTheyAreFor(t *testing.T) {
	if testing.Short() {
		t.Skip("drives several scenarios")
	}
	normal := smallRun()
	share := func(c collected, is func(*Request) bool) float64 {
		n := 0
		for i := range c.requests {
			if is(&c.requests[i]) {
				n++
			}
		}
		return float64(n) / float64(len(c.requests))
	}
	retried := func(r *Request) bool { return r.Retries.Value > 0 }

	single := scenarioRun("single-provider")
	for _, r := range single.requests {
		if r.Attempts.Value != 1 {
			t.Fatalf("single-provider: request %s was tried %d times", r.RequestID, r.Attempts.Value)
		}
	}
	// In an A/A world the arms differ in their label only: all requests are as if the control ran everywhere.
	control := inWorld(t, func(s *scene) { s.world = WorldControl }, 0)
	aa := scenarioRun("a-a")
	if len(aa.requests) != len(control.requests) {
		t.Fatalf("a-a has %d requests, all-control %d", len(aa.requests), len(control.requests))
	}
	for i := range aa.requests {
		a, b := aa.requests[i], control.requests[i]
		if a.Arm, b.Arm = "", ""; a != b {
			t.Fatalf("a-a: request %s differs from that of the all-control world", a.RequestID)
		}
	}
	if o, n := share(scenarioRun("outage"), retried), share(normal, retried); o <= n {
		t.Errorf("outage: %.3f of the requests are retried, %.3f normally", o, n)
	}
	if whale := scenarioRun("whale"); len(whale.requests) == len(normal.requests) {
		t.Error("whale: the flow is as in the default scenario")
	}
	batch := scenarioRun("batch")
	for _, r := range batch.requests {
		if !strings.HasSuffix(r.RequestID, "00") {
			t.Fatalf("batch: conversation %s has a second turn", r.SessionID)
		}
	}
}
