package experiment

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestInterference prints what each design finds of the true effect, which is everything by one arm against everything by the
// other on the same arrivals: a switchback with 0, 1 and 2 hours of burn-in, and A/B tests by conversation and by request. Then what
// the switchback finds by the minutes since the last start of a block: how long the market and the router remember the other arm.
// Effects are means over the seeds, ± the standard error of the difference from the truth of the same seed. With SWITCHBACK_REDRAW every seed
// has a market of its own.
//
//	SWITCHBACK_INTERFERENCE=7,8,9 go test ./experiment -run TestInterference -v -timeout 1h
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
	if os.Getenv("SWITCHBACK_REDRAW") != "" {
		scenario.Draw = 0
	}
	var truths, designs, minutes [][][]float64 // by seed, column and level
	for _, text := range strings.Split(seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		cfg := DriveConfig{Plan: weekPlan(t, days, seed), Seed: seed}
		truth, byDesign, byMinute := interference(t, cfg, scenario)
		truths, designs, minutes = append(truths, [][]float64{truth}), append(designs, byDesign), append(minutes, byMinute)
	}
	fmt.Printf("seeds %s, %d days, effects in %%\n\n", seeds, days)
	printEffects([]string{"switchback 0 h", "1 h", "2 h", "A/B by conversation", "A/B by request"}, truths, designs)
	var windows []string
	for i := range len(sinceSwitch) - 1 {
		windows = append(windows, fmt.Sprintf("%d–%d min", sinceSwitch[i], sinceSwitch[i+1]))
	}
	fmt.Println()
	printEffects(windows, truths, minutes)
}

// sinceSwitch are the limits of the windows of minutes since the start of a block.
var sinceSwitch = []int{0, 5, 15, 30, 60, 120, 180}

// interference measures the true effects, those of every design, and those of the switchback by the minutes since a block's start.
func interference(t *testing.T, cfg DriveConfig, scenario Scenario) (truth []float64, designs, minutes [][]float64) {
	run := func(world string, add func(*Batch)) {
		cfg.World = world
		scene, err := newSceneOf(cfg, scenario)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scene.drive(context.Background(), cfg, func(b *Batch) error { add(b); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	all := func(l *levels) func(*Batch) { return func(b *Batch) { l.add(b, true) } }
	effects := func(l *levels) []float64 { return l.table("price", "routing-cost").effect }

	control, treatment := newLevels(), newLevels()
	run(WorldControl, all(control))
	run(WorldTreatment, all(treatment))
	maps.Copy(control.cells, treatment.cells)

	burnIns := []*levels{newLevels(), newLevels(), newLevels()}
	windows := make([]*levels, len(sinceSwitch)-1)
	for i := range windows {
		windows[i] = newLevels()
	}
	since := func(r *Request) time.Duration { return r.TS.Time().Sub(BlockAt(cfg.Plan.Blocks, r.TS.Time()).Starts) }
	run(WorldSwitchback, func(b *Batch) {
		for hours, l := range burnIns {
			l.addIf(b, func(r *Request) bool { return since(r) >= time.Duration(hours)*time.Hour })
		}
		for i, l := range windows {
			from, to := time.Duration(sinceSwitch[i])*time.Minute, time.Duration(sinceSwitch[i+1])*time.Minute
			l.addIf(b, func(r *Request) bool { return since(r) >= from && since(r) < to })
		}
	})
	conversations, requests := newLevels(), newLevels()
	run(WorldAB, all(conversations))
	run(WorldABRequest, all(requests))
	for _, l := range append(burnIns, conversations, requests) {
		designs = append(designs, effects(l))
	}
	for _, l := range windows {
		minutes = append(minutes, effects(l))
	}
	return effects(control), designs, minutes
}

// printEffects prints a table of effects that are given by seed, column and level.
func printEffects(names []string, truths, columns [][][]float64) {
	fmt.Printf("| | truth | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)+1))
	for level, name := range levelNames[:12] {
		truth := 0.0
		for _, of := range truths {
			truth += of[0][level] / float64(len(truths))
		}
		fmt.Printf("| %s | %+.1f |", name, truth)
		for c := range names {
			sum, squares, n := 0.0, 0.0, float64(len(columns))
			for seed, of := range columns {
				d := of[c][level] - truths[seed][0][level]
				sum, squares = sum+d, squares+d*d
			}
			fmt.Printf(" %+.1f", truth+sum/n)
			if n > 1 {
				fmt.Printf(" ± %.1f", math.Sqrt(max(0, squares-sum*sum/n)/(n-1)/n))
			}
			fmt.Print(" |")
		}
		fmt.Println()
	}
}
