package experiment

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestInterference prints what each design finds of the true effect, which is everything by one arm against everything by the
// other on the same arrivals: a switchback with 0, 1 and 2 hours of burn-in, and A/B tests by conversation and by request.
//
//	SWITCHBACK_INTERFERENCE=7 go test ./experiment -run TestInterference -v -timeout 1h    # seeds, separated by commas
func TestInterference(t *testing.T) {
	seeds := os.Getenv("SWITCHBACK_INTERFERENCE")
	if seeds == "" {
		t.Skip("SWITCHBACK_INTERFERENCE is not set")
	}
	days := 7
	if n, err := strconv.Atoi(os.Getenv("SWITCHBACK_DAYS")); err == nil {
		days = n
	}
	scenario, err := ScenarioByName(os.Getenv("SWITCHBACK_SCENARIO"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Split(seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		cfg := DriveConfig{Plan: weekPlan(t, days), Seed: seed}
		run := func(world string, into ...*levels) {
			cfg.World = world
			scene, err := newSceneOf(cfg, scenario)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := scene.drive(context.Background(), cfg, func(b *Batch) error {
				if len(into) == 1 {
					into[0].add(b, true)
					return nil
				}
				for hours, l := range into {
					l.addIf(b, func(r *Request) bool {
						block := BlockAt(cfg.Plan.Blocks, r.TS.Time())
						return r.TS.Time().Sub(block.Starts) >= time.Duration(hours)*time.Hour
					})
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		effects := func(l *levels) []float64 { return l.table("price", "routing-cost").effect }
		truth, other := newLevels(), newLevels()
		run(WorldControl, truth)
		run(WorldTreatment, other)
		maps.Copy(truth.cells, other.cells)
		burn := []*levels{newLevels(), newLevels(), newLevels()}
		run(WorldSwitchback, burn...)
		ab, abRequest := newLevels(), newLevels()
		run(WorldAB, ab)
		run(WorldABRequest, abRequest)
		fmt.Printf("seed %d, %d days, effects in %%\n| | truth | switchback 0 h | 1 h | 2 h | A/B by conversation | A/B by request |\n|---|---|---|---|---|---|---|\n", seed, days)
		columns := [][]float64{effects(truth), effects(burn[0]), effects(burn[1]), effects(burn[2]), effects(ab), effects(abRequest)}
		for i, name := range levelNames[:12] {
			fmt.Printf("| %s |", name)
			for _, c := range columns {
				fmt.Printf(" %+.1f |", c[i])
			}
			fmt.Println()
		}
	}
}
