package experiment

import (
	"maps"
	"math"
	"os"
	"testing"
)

// The default scenario is what market/CALIBRATION.md says of it, on the whole week of seed 7: the legacy levels of the all-control world
// are within 5 % of the published ones, and cost and input tokens, which hang together, within 3 %, and so are the new levels, within 5 %; every
// true effect, all-treatment against all-control on the same arrivals, is inside the published interval, and every effect that the switchback
// finds; and the effects of its pairs differ from one another within a factor of 1.5 as much as the published ones. Another seed is another week of the same market, of which the page says more.
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

	within := map[string]float64{"cost/K": 3, "cost/M": 3, "in": 3} // %
	for i, want := range published.control {
		name, most := levelNames[i], 5.0
		if m, tighter := within[name]; tighter {
			most = m
		}
		if miss := 100 * (table.control[i]/want - 1); !(math.Abs(miss) <= most) {
			t.Errorf("legacy level %s: %.4g, published %.4g: off by %+.1f %%, at most %v %% are claimed", name, table.control[i], want, miss, most)
		}
	}
	for i, want := range published.treatment {
		if miss := 100 * (table.treatment[i]/want - 1); !(math.Abs(miss) <= 5) {
			t.Errorf("new level %s: %.4g, published %.4g: off by %+.1f %%, at most 5 %% are claimed", levelNames[i], table.treatment[i], want, miss)
		}
	}
	inside := func(what string, effects []float64) {
		for i, interval := range published.intervals {
			if e := effects[i]; !(e >= interval[0] && e <= interval[1]) {
				t.Errorf("%s effect %s: %+.1f %%, outside the published %+.1f to %+.1f %%", what, levelNames[i], e, interval[0], interval[1])
			}
		}
	}
	inside("true", table.effect)
	found := run(WorldSwitchback, false)
	inside("the switchback's", found.table("price", "routing-cost").effect)

	// The published spread of the cost of a request can only be that at a fixed mix of tokens.
	sd := found.pairSD(weekPlan(t, 7, 7))
	sd[costPerRequest] = sd[len(levelNames)]
	for i, want := range publishedSD {
		ratio := sd[i] / want
		t.Logf("spread over pairs %-8s %.4f, published %.3f, ratio %.3f", levelNames[i], sd[i], want, ratio)
		if !(ratio <= 1.5 && ratio >= 1/1.5) {
			t.Errorf("spread over pairs %s: %.3f, published %.3f: not within a factor of 1.5", levelNames[i], sd[i], want)
		}
	}
}
