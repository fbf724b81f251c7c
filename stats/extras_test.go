package stats_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"switchback/stats"
	"switchback/stats/statstest"
)

// TestPooledModels: the check row is what one model with all rows would give.
func TestPooledModels(t *testing.T) {
	pairs := testPairs(4, 2)
	rows := testRows(11, []string{"a", "b", "c"}, len(pairs), 40)
	pooled := testMetrics[1]
	pooled.ID, pooled.Pooled, pooled.Published = "ttft_p95_pooled_models", true, false
	opts := stats.DefaultOptions()
	opts.Replicates, opts.Order = 500, "slot-balanced"
	got := analyze(t, statstest.FromRows(rows), []stats.Metric{testMetrics[0], pooled, testMetrics[1]}, pairs, opts)
	var e stats.Estimate
	for _, row := range got.Estimates {
		if row.ID == pooled.ID {
			if e.ID != "" || row.Scope != "overall" {
				t.Errorf("unexpected row %s %s", row.ID, row.Scope)
			}
			e = row
		}
	}
	for i := range rows {
		rows[i].Model = "all"
	}
	one := pooled
	one.Pooled = false
	want := analyze(t, statstest.FromRows(rows), []stats.Metric{one}, pairs, opts).Estimates[0]
	if *e.Relative.Estimate != *want.Relative.Estimate || *e.Relative.Lo != *want.Relative.Lo || *e.Absolute.Hi != *want.Absolute.Hi || *e.PValue != *want.PValue || e.Models != 3 {
		t.Errorf("got %v (%v, ), p %v; want %v (%v, ), p %v", *e.Relative.Estimate, *e.Relative.Lo, *e.PValue, *want.Relative.Estimate, *want.Relative.Lo, *want.PValue)
	}
}

// TestFixedMix: arms with the same prices and another mix of cheap and dear tokens do not differ at a fixed mix, and an
// arm that is 10 % cheaper in every stratum is 10 % cheaper.
func TestFixedMix(t *testing.T) {
	src := statstest.New("m")
	for p := range 8 {
		for arm, mix := range [][2]int64{{900, 100 + int64(p)}, {500, 500}} {
			for stratum, price := range []int64{100, 1000} {
				cost := price * mix[stratum]
				src.AddSum("plain", 0, p, arm, mix[stratum], cost)
				src.AddStratum("same", 0, p, arm, stratum, mix[stratum], cost)
				if arm == 1 {
					cost = cost * 9 / 10
				}
				src.AddStratum("cheaper", 0, p, arm, stratum, mix[stratum], cost)
			}
		}
	}
	for id, want := range map[string]float64{"plain": 550. / 190, "same": 1, "cheaper": 0.9} {
		kind := stats.Standardized
		if id == "plain" {
			kind = stats.Ratio
		}
		for _, interval := range []string{stats.IntervalExpanded, stats.IntervalBCa, stats.IntervalBootstrapT} {
			opts := stats.DefaultOptions()
			opts.Replicates, opts.Interval = 500, interval
			for _, e := range analyze(t, src, []stats.Metric{{ID: id, Kind: kind, Scale: 1, Better: -1}}, testPairs(8, 1), opts).Estimates {
				if tolerance := map[bool]float64{true: 0.1, false: 1e-9}[id == "plain"]; e.Relative.Lo == nil || !near(1+*e.Relative.Estimate, want, tolerance) || !near(*e.Relative.Lo, *e.Relative.Estimate, tolerance) {
					t.Errorf("%s %s %s: %v from %v, want %v", id, e.Scope, interval, deref(e.Relative.Estimate), deref(e.Relative.Lo), want-1)
				}
			}
		}
	}
}

// TestSimultaneousIntervals: the interval for all rows at once is wider than each single one and holds the point.
func TestSimultaneousIntervals(t *testing.T) {
	pairs := testPairs(7, 2)
	opts := stats.DefaultOptions()
	opts.Replicates = 2000
	got := analyze(t, statstest.FromRows(testRows(12, []string{"a", "b"}, len(pairs), 60)), testMetrics, pairs, opts)
	for _, e := range got.Estimates {
		if e.Scope != "overall" {
			if e.Simultaneous.Lo != nil {
				t.Errorf("%s %s has a simultaneous interval", e.ID, e.Scope)
			}
			continue
		}
		single, all := math.Log1p(*e.Relative.Hi)-math.Log1p(*e.Relative.Lo), math.Log1p(*e.Simultaneous.Hi)-math.Log1p(*e.Simultaneous.Lo)
		if all < 1.1*single || all > 2.5*single {
			t.Errorf("%s: width %.4f for all rows, %.4f alone", e.ID, all, single)
		}
	}
}

// TestSlotAdjustmentRemovesSlotNoise: when one daily position is far heavier in the second block, the adjusted interval is
// narrower, contains the effect, and becomes the headline when asked for, the other one standing beside it.
func TestSlotAdjustmentRemovesSlotNoise(t *testing.T) {
	pairs := testPairs(7, 4)
	var d []float64
	for i, p := range pairs {
		v := -0.1 + 0.01*math.Sin(float64(3*i)) // the effect and some noise
		if p.Position == 2 && p.TreatmentFirst {
			v -= 0.25 // the second block of this position is heavier
		} else if p.Position == 2 {
			v += 0.25
		}
		d = append(d, v)
	}
	src := statstest.FromRows(effectRows(d, 1))
	opts := stats.DefaultOptions()
	opts.Order = "slot-balanced"
	plain := analyze(t, src, ratioMetric, pairs, opts).Estimates[1]
	if w, a := *plain.Relative.Hi-*plain.Relative.Lo, *plain.SlotAdjusted.Hi-*plain.SlotAdjusted.Lo; a > w/5 {
		t.Errorf("width %.4f adjusted, %.4f plain", a, w)
	}
	truth := math.Exp(-0.1)*(3+math.Cosh(0.25))/4 - 1 // a ratio of sums, over both orders alike
	if *plain.SlotAdjusted.Lo > truth || *plain.SlotAdjusted.Hi < truth || plain.Unadjusted != nil {
		t.Errorf("adjusted interval (%v, %v) misses %v", *plain.SlotAdjusted.Lo, *plain.SlotAdjusted.Hi, truth)
	}
	opts.SlotAdjustment = true
	adjusted := analyze(t, src, ratioMetric, pairs, opts).Estimates[1]
	if *adjusted.Relative.Lo != *plain.SlotAdjusted.Lo || *adjusted.Unadjusted.Lo != *plain.Relative.Lo || adjusted.Verdict != stats.VerdictBetter {
		t.Errorf("headline (%v, %v), unadjusted (%v, %v)", *adjusted.Relative.Lo, *adjusted.Relative.Hi, *adjusted.Unadjusted.Lo, *adjusted.Unadjusted.Hi)
	}
}

// TestReferenceSets: the numbers of schedules that 7 days of 4 pairs can have.
func TestReferenceSets(t *testing.T) {
	pairs := testPairs(7, 4)
	for order, want := range map[string]float64{"coin": 268_435_456, "slot-balanced": 24_010_000, "day-balanced": 279_936} {
		if got, err := stats.SetSize(order, pairs); err != nil || got != want {
			t.Errorf("%s: %v members (%v), want %v", order, got, err, want)
		}
	}
	// A design with few members is enumerated: p is a whole number of them, and no seed changes it.
	pairs = testPairs(4, 2)
	rows := statstest.FromRows(testRows(13, []string{"a"}, len(pairs), 40))
	opts := stats.DefaultOptions()
	opts.Order, opts.Replicates = "slot-balanced", 100
	var p []float64
	for seed := range uint64(3) {
		opts.Seed = seed
		p = append(p, *analyze(t, rows, testMetrics[:1], pairs, opts).Estimates[0].PValue)
	}
	if slices.Max(p) != slices.Min(p) || math.Round(p[0]*36) != p[0]*36 {
		t.Errorf("p = %v of 36 schedules", p)
	}
	// A balanced position that lost days is held at its observed count instead of being refused.
	pairs = slices.DeleteFunc(testPairs(7, 2), func(p stats.Pair) bool { return p.Position == 1 && p.Day%2 == 0 })
	opts.Replicates = 1000
	if _, err := stats.Analyze(context.Background(), rows, nil, pairs, opts); err != nil {
		t.Errorf("a position with missing days: %v", err)
	}
}
