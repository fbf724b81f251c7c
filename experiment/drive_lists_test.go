package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"switchback/experiment/workload"
	"switchback/router/request"
)

func TestListsOfTheScenario(t *testing.T) {
	cfg := small(t)
	cfg.Scenario, cfg.Models = "fallback-lists", nil
	s, err := newScene(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.jobs) != 21 {
		t.Fatalf("%d models, want 20 and openrouter/auto", len(s.jobs))
	}
	byName := map[string]*job{}
	for i := range s.jobs {
		byName[s.jobs[i].demand.Name] = &s.jobs[i]
	}
	var costs []float64
	for _, name := range s.names() {
		costs = append(costs, byName[name].typicalCost())
	}
	slices.Sort(costs)
	for name, j := range byName {
		if name != request.AutoModel && (j.orders[0][0] != name || len(j.orders) != 1 || len(j.orders[0]) < 2 || len(j.orders[0]) > 3) {
			t.Errorf("%s tries %q", name, j.orders)
		}
	}
	// The tier low is the cheapest fifth of the models, [0, 20 %) of 20 percentiles: four of them.
	auto := byName[request.AutoModel]
	if len(auto.orders) != 4 || auto.listed != 1 {
		t.Fatalf("openrouter/auto tries %q", auto.orders)
	}
	guests := 0.0
	for i, order := range auto.orders {
		if order[0] != auto.orders[0][i] {
			t.Errorf("a conversation that keeps %s tries %q", auto.orders[0][i], order)
		}
		if c := byName[order[0]].typicalCost(); c > costs[3] {
			t.Errorf("%s costs %v, above the fourth of %v", order[0], c, costs)
		}
		guests += byName[order[0]].guests
	}
	if byName[auto.orders[0][0]].guests != auto.demand.Flow || guests != auto.demand.Flow {
		t.Errorf("endpoints are planned for %v of the %v requests/s of openrouter/auto", guests, auto.demand.Flow)
	}
	seen := 0
	for _, u := range s.units {
		seen += len(u)
	}
	if seen != len(s.jobs) || len(s.units) < 2 {
		t.Errorf("%d models in %d units", seen, len(s.units))
	}
}

func TestListsAreChecked(t *testing.T) {
	for want, l := range map[string]Lists{
		"length: -1":      {Length: -1},
		"share: 2":        {Share: 2},
		"unknown \"top\"": {Tier: "top"},
	} {
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", l, err, want)
		}
	}
	cfg := small(t)
	cfg.Models = []string{request.AutoModel}
	scenario, err := ScenarioByName("fallback-lists")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newSceneOf(cfg, scenario); !errors.Is(err, ErrAutoAlone) {
		t.Errorf("openrouter/auto without a model to choose: %v", err)
	}
	cfg.Models = append(cfg.Models, smallModels...)
	scenario.Lists.Tier = "medium" // three models are at 0, 50 and 100 %
	if _, err := newSceneOf(cfg, scenario); err == nil || !strings.Contains(err.Error(), "medium") {
		t.Errorf("no model in the tier: %v", err)
	}
	scenario.Lists.Share = 2
	if _, err := newSceneOf(cfg, scenario); err == nil || !strings.Contains(err.Error(), "fallback-lists") {
		t.Errorf("bad lists: %v", err)
	}
}

// Units are the connected components of "tries a common model", against a slow closure of that relation.
func TestUnitsAreConnectedComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "jobs")
		jobs := make([]job, n)
		linked := make([][]bool, n)
		for i := range jobs {
			order := []string{fmt.Sprint(i)}
			for _, k := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 2).Draw(t, "list") {
				if name := fmt.Sprint(k); !slices.Contains(order, name) {
					order = append(order, name)
				}
			}
			jobs[i] = job{demand: &workload.Model{Name: fmt.Sprint(i), Flow: float64(rapid.IntRange(1, 5).Draw(t, "flow"))}, orders: [][]string{order}}
			linked[i] = make([]bool, n)
		}
		for i := range jobs {
			for k := range jobs {
				for _, model := range jobs[i].orders[0] {
					linked[i][k] = linked[i][k] || slices.Contains(jobs[k].orders[0], model)
				}
			}
		}
		for range n {
			for i := range n {
				for k := range n {
					for via := range n {
						linked[i][k] = linked[i][k] || linked[i][via] && linked[via][k]
					}
				}
			}
		}
		unitOf := map[string]int{}
		last := 0.0
		for at, unit := range units(jobs) {
			flow := 0.0
			for _, j := range unit {
				if _, twice := unitOf[j.demand.Name]; twice {
					t.Fatalf("model %s is in two units", j.demand.Name)
				}
				unitOf[j.demand.Name] = at
				flow += j.demand.Flow
			}
			if at > 0 && flow > last {
				t.Fatalf("unit %d has more flow than the one before", at)
			}
			last = flow
		}
		for i := range jobs {
			for k := range jobs {
				a, inA := unitOf[fmt.Sprint(i)]
				b, inB := unitOf[fmt.Sprint(k)]
				if !inA || !inB || (a == b) != linked[i][k] {
					t.Fatalf("jobs %d and %d: units %d and %d, linked %t", i, k, a, b, linked[i][k])
				}
			}
		}
	})
}
