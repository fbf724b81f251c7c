package experiment

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"switchback/router/request"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const goldenFile = "testdata/scenario_hashes.golden"

// scenarioDay is the small configuration in a scenario.
func scenarioDay(t testing.TB, name string) DriveConfig {
	t.Helper()
	cfg := small(t)
	cfg.Scenario = name
	if s, err := ScenarioByName(name); err == nil && s.Lists.Auto {
		cfg.Models = append(slices.Clone(cfg.Models), request.AutoModel)
	}
	return cfg
}

// scenarioRun is one drive of the small configuration in a scenario.
func scenarioRun(t testing.TB, name string) collected {
	t.Helper()
	return collect(t, scenarioDay(t, name))
}

// The log of a small day of every scenario has a known fingerprint, so that no change of the world goes unseen.
// Rewrite it with go test ./experiment -run TestScenarioHashes -update.
func TestScenarioHashes(t *testing.T) {
	if testing.Short() {
		t.Skip("drives every scenario")
	}
	var lines []string
	for _, s := range Scenarios() {
		var hash LogHash
		if _, err := Drive(t.Context(), scenarioDay(t, s.Name), func(b *Batch) error { hash.Add(b); return nil }); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%-16s %s", s.Name, hash.String()))
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
