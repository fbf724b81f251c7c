package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"testing"
)

// The default scenario is what market/CALIBRATION.md says of it, on the whole week of seed 7: the legacy levels of the all-control world
// are within 5 % of the published ones, and cost and input tokens, which hang together, within 3 %; every true effect, all-treatment
// against all-control on the same arrivals, is inside the published interval; and the effects of the switchback's pairs differ from one another
// within a factor of 1.5 as much as the published ones. The new levels are within 6.25 %, and what the switchback finds is inside the published
// intervals or a quarter of the way from value to end beyond them. Another seed is another week of the same market, of which the page says more.
//
//	SWITCHBACK_SLOW=1 go test ./experiment -run TestCalibration -v
func TestCalibration(t *testing.T) {
	if os.Getenv("SWITCHBACK_SLOW") == "" {
		t.Skip("SWITCHBACK_SLOW is not set")
	}
	scenario, err := ScenarioByName("")
	if err != nil {
		t.Fatal(err)
	}
	run := func(world string, burnIn bool) *levels {
		l, _ := measure(t, DriveConfig{Plan: weekPlan(t, 7, 7), Seed: 7, World: world}, scenario, burnIn)
		return l
	}
	truth := run(WorldControl, true)
	maps.Copy(truth.cells, run(WorldTreatment, true).cells)
	table := truth.table("price", "routing-cost")
	t.Logf("levels and true effects:\n%v", table)

	found := run(WorldSwitchback, false)
	for _, a := range slices.Concat(levelAims(table), effectAims("true", table, 1), effectAims("the switchback's", found.table("price", "routing-cost"), 1.25), spreadAims(found, weekPlan(t, 7, 7))) {
		if t.Log(a); !(a.used <= a.most) {
			t.Errorf("%v: beyond what is claimed", a)
		}
	}
}

// aim is one thing that the default scenario aims at.
type aim struct {
	what             string
	value, published float64
	used             float64 // how far it is from the published value, as a part of how far it is to be at most …
	most             float64 // … and at most is: what is claimed
}

func (a aim) String() string {
	return fmt.Sprintf("%-26s %9.4g, published %9.4g: %3.0f %% of the way to the edge", a.what, a.value, a.published, 100*a.used)
}

// levelAims are the levels, within 5 %, and what hangs together in the legacy arm, tokens and their cost, within 3 %.
func levelAims(table levelTable) []aim {
	within := map[string]float64{"cost/K": 0.03, "cost/M": 0.03, "in": 0.03}
	var all []aim
	for i, want := range published.control {
		most := cmp.Or(within[levelNames[i]], 0.05)
		all = append(all, aim{"legacy " + levelNames[i], table.control[i], want, math.Abs(table.control[i]/want-1) / most, 1})
	}
	for i, want := range published.treatment {
		all = append(all, aim{"new " + levelNames[i], table.treatment[i], want, math.Abs(table.treatment[i]/want-1) / 0.05, 1.25})
	}
	return all
}

// effectAims are the effects, inside the published intervals: 1 is the nearer end, which what a switchback of one week finds may miss by a little.
func effectAims(whose string, table levelTable, most float64) []aim {
	var all []aim
	for i, interval := range published.intervals {
		e, want := table.effect[i], published.effect[i]
		end := interval[0]
		if e > want {
			end = interval[1]
		}
		all = append(all, aim{whose + " effect " + levelNames[i], e, want, (e - want) / (end - want), most})
	}
	return all
}

// spreadAims are the spreads over the pairs, within a factor of 1.5. The published one of the cost of a request can only be that at a fixed
// mix of tokens.
func spreadAims(found *levels, plan Plan) []aim {
	sd := found.pairSD(plan)
	sd[costPerRequest] = sd[len(levelNames)]
	var all []aim
	for i, want := range publishedSD {
		all = append(all, aim{"spread of " + levelNames[i], sd[i], want, math.Abs(math.Log(sd[i]/want)) / math.Log(1.5), 1})
	}
	return all
}
