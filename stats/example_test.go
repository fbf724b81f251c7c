package stats_test

import (
	"context"
	"fmt"

	"switchback/stats"
	"switchback/stats/statstest"
)

// Six pairs of blocks in which the treatment costs about a tenth less. What varies between pairs makes the interval.
func ExampleAnalyze() {
	var rows []statstest.Row
	var pairs []stats.Pair
	for i, cost := range []int64{91, 89, 92, 88, 90, 87} {
		pairs = append(pairs, stats.Pair{ID: fmt.Sprint(i + 1), Day: i/2 + 1, Position: i % 2, TreatmentFirst: i%3 == 0})
		for arm, y := range []int64{100, cost} {
			rows = append(rows, statstest.Row{Model: "m", Pair: i, Arm: arm, Sums: map[string][2]int64{"cost": {1, y}}})
		}
	}
	metrics := []stats.Metric{{ID: "cost", Kind: stats.Ratio, Unit: "USD", Scale: 0.01, Better: -1}}
	analysis, err := stats.Analyze(context.Background(), statstest.FromRows(rows), metrics, pairs, stats.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	e := analysis.Estimates[0]
	fmt.Printf("%s %s: %.3f → %.3f USD, %+.1f %% (%.0f %% interval %.1f to %.1f), %s\n", e.ID, e.Scope, *e.Control, *e.Treatment,
		100**e.Relative.Estimate, 95.0, 100**e.Relative.Lo, 100**e.Relative.Hi, e.Verdict)
	// Output: cost overall: 1.000 → 0.895 USD, -10.5 % (95 % interval -12.3 to -8.7), better
}

// How many days until an effect of 5 % shows, when pairs' effects vary by 9 %?
func ExamplePowerDesign() {
	design := stats.DefaultPowerDesign()
	n, ok := design.PairsNeeded(-0.05, 0.09)
	fmt.Println(n, ok, stats.DaysNeeded(n, 4))
	fmt.Printf("%.1f %%\n", 100*design.SmallestEffect(0.09, 28))
	// Output:
	// 27 true 7
	// 5.1 %
}
