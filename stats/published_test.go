package stats_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"switchback/stats"
	"switchback/stats/statstest"
)

// TestPublishedTable: what the result table of OpenRouter's announcement of 28 Oct 2026 fixes. The percent of latency,
// throughput and cost rows is the ratio of the levels shown beside it; that of event rows is not, because levels are
// traffic-weighted and the percent is a mean over models.
func TestPublishedTable(t *testing.T) {
	for _, row := range []struct {
		name               string
		control, treatment float64
		percent            float64
		digits             float64 // half of the last digit shown, over the level: what rounding may have moved
	}{
		{"TTFT p50, ms", 1007, 837, -16.9, 0.05},
		{"TTFT p95, ms", 4601, 3733, -18.9, 0.05},
		{"throughput p50, tokens/s", 62.4, 72.6, 16.3, 0.2},
		{"caller TTFT p50, ms", 1130, 941, -16.7, 0.1},
		{"caller TTFT p95, ms", 6032, 4504, -25.3, 0.05},
		{"whole request p50, s", 4.00, 3.24, -19.0, 0.3},
		{"whole request p95, s", 41.5, 34.9, -15.9, 0.3},
	} {
		if got := 100 * (row.treatment/row.control - 1); !near(got, row.percent, row.digits+0.05) {
			t.Errorf("%s: %.2f %% of the levels shown, published %.1f %%", row.name, got, row.percent)
		}
	}
}

// TestPercentOfModelsAgainstPercentOfLevels: "7.1 → 3.9 percent, −3.3 points, 67 percent fewer" can all be true. Six
// models; the one with most errors moves the levels and counts once in the percent.
func TestPercentOfModelsAgainstPercentOfLevels(t *testing.T) {
	share := []float64{.35, .25, .15, .10, .08, .07}
	rate := []float64{.004, .01, .02, .05, .22, .60}
	ratio := []float64{.20, .22, .27, .33, .45, .66}
	models := []string{"a", "b", "c", "d", "e", "f"}
	pairs := testPairs(7, 1)
	src := statstest.New(models...)
	const rows = 1e9 // so many that the half-count does not show
	for m := range models {
		n := int64(math.Round(share[m] * rows))
		for p := range pairs {
			src.AddSum("hit_429", m, p, 0, n, int64(math.Round(float64(n)*rate[m])))
			src.AddSum("hit_429", m, p, 1, n, int64(math.Round(float64(n)*rate[m]*ratio[m])))
			src.AddSum("requests", m, p, 0, n, n)
			src.AddSum("requests", m, p, 1, n, n)
		}
	}
	opts := stats.DefaultOptions()
	opts.Replicates = 100
	metric := []stats.Metric{{ID: "hit_429", Kind: stats.Event, Unit: "fraction", Scale: 1, Better: -1, Published: true}}
	e := analyze(t, src, metric, pairs, opts).Estimates[0]
	for name, v := range map[string][2]float64{
		"control level":   {*e.Control, .07150},
		"treatment level": {*e.Treatment, .03893},
		"points":          {*e.Absolute.Estimate, -.0326},
		"ratio of levels": {*e.RatioOfLevels, -.456},
		"percent":         {*e.Relative.Estimate, -.676},
	} {
		if !near(v[0], v[1], 0.0005) {
			t.Errorf("%s = %.4f, want %.4f", name, v[0], v[1])
		}
	}
	opts.Weights = stats.WeightsTraffic
	e = analyze(t, src, metric, pairs, opts).Estimates[0]
	if !near(*e.Relative.Estimate, -.739, 0.0005) {
		t.Errorf("traffic-weighted percent = %.4f, want -0.739", *e.Relative.Estimate)
	}
}

// quantileOf returns the engine's quantile of values, which are its level when every pair has them in both arms.
func quantileOf(t *testing.T, perMille int, values ...int64) float64 {
	t.Helper()
	var rows []statstest.Row
	for range 40 { // type 1 quantiles do not change when rows are repeated; enough of them to be eligible
		rows = append(rows, valueRows("m", 2, values, values)...)
	}
	opts := stats.DefaultOptions()
	opts.Replicates = 50
	metric := stats.Metric{ID: "v", Kind: stats.Quantile, PerMille: perMille, Quantity: "v", Scale: 1}
	return *analyze(t, statstest.FromRows(rows), []stats.Metric{metric}, testPairs(2, 1), opts).Estimates[1].Control
}

// TestQuantileType: the definition is type 1 of Hyndman and Fan (1996), R's quantile(type = 1), duckdb's quantile_disc.
// Four answers for one "75 %" were found in one product (duckdb #17096), and gonum's LinInterp is type 4 (gonum #2054).
func TestQuantileType(t *testing.T) {
	four, ten := []int64{2, 3, 5, 9}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		perMille int
		values   []int64
		want     float64
	}{
		{500, four, 3}, {950, four, 9}, {500, ten, 5}, {950, ten, 10},
		{1000, four, 9}, {1000, ten, 10}, // q = 1 is the maximum (xarray #9302)
	} {
		if got := quantileOf(t, c.perMille, c.values...); got != c.want {
			t.Errorf("%d per mille of %v = %v, want %v", c.perMille, c.values, got, c.want)
		}
	}
	floats := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if got := stat.Quantile(.95, stat.LinInterp, floats, nil); got != 9.5 {
		t.Errorf("gonum's LinInterp of 1 … 10 at 95 %% = %v; it was 9.5, type 4", got)
	}
}
