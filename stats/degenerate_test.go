package stats_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"switchback/stats"
	"switchback/stats/statstest"
)

// sumRows makes one row of the metric "y" for each (pair, arm): n and y by arm.
func sumRows(model string, control, treatment [][2]int64) []statstest.Row {
	var rows []statstest.Row
	for arm, cells := range [][][2]int64{control, treatment} {
		for p, c := range cells {
			rows = append(rows, statstest.Row{Model: model, Pair: p, Arm: arm, Sums: map[string][2]int64{"y": c}})
		}
	}
	return rows
}

// valueRows makes rows of the quantity "v": the same values in every pair.
func valueRows(model string, pairs int, control, treatment []int64) []statstest.Row {
	var rows []statstest.Row
	for p := range pairs {
		for arm, values := range [][]int64{control, treatment} {
			for _, v := range values {
				rows = append(rows, statstest.Row{Model: model, Pair: p, Arm: arm, Values: map[string]int64{"v": v}})
			}
		}
	}
	return rows
}

func repeat[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

// TestDegenerateData: whatever the data lack, the answer is defined, names its reason and is never "no effect".
func TestDegenerateData(t *testing.T) {
	median := stats.Metric{ID: "v_p50", Kind: stats.Quantile, PerMille: 500, Quantity: "v", Scale: 1, Better: -1}
	tail := stats.Metric{ID: "v_p95", Kind: stats.Quantile, PerMille: 950, Quantity: "v", Scale: 1, Better: -1}
	ratio := stats.Metric{ID: "y", Kind: stats.Ratio, Scale: 1, Better: -1}
	event := stats.Metric{ID: "y", Kind: stats.Event, Scale: 1, Better: -1}
	mean := stats.Metric{ID: "y", Kind: stats.Mean, Scale: 1, Better: -1}
	tests := []struct {
		name     string
		metric   stats.Metric
		rows     []statstest.Row
		pairs    int
		verdict  string
		warnings []string
	}{
		{"no rows at all", ratio, nil, 8, stats.VerdictNotMeasurable, []string{"no_data"}},
		{"no pairs", ratio, nil, 0, stats.VerdictNotMeasurable, []string{"no_data"}},
		{"quantity that the logs lack", median, sumRows("m", repeat(8, [2]int64{9, 9}), repeat(8, [2]int64{9, 9})), 8, stats.VerdictNotMeasurable, []string{"not_measurable"}},
		{"one pair", ratio, sumRows("m", repeat(1, [2]int64{9, 9}), repeat(1, [2]int64{9, 6})), 1, stats.VerdictNotMeasurable, []string{"too_few_pairs"}},
		{"one arm only", ratio, sumRows("m", repeat(8, [2]int64{9, 9}), nil), 8, stats.VerdictNotMeasurable, []string{"too_few_pairs"}},
		{"five pairs", ratio, sumRows("m", repeat(5, [2]int64{9, 9}), repeat(5, [2]int64{9, 6})), 5, stats.VerdictBetter, []string{"too_few_pairs"}},
		// BCa was NaN or out of bounds when replicates tie (scipy #14351, #15883).
		{"constant data, no difference", ratio, sumRows("m", repeat(8, [2]int64{9, 9}), repeat(8, [2]int64{9, 9})), 8, stats.VerdictNone, nil},
		{"constant data, a difference", ratio, sumRows("m", repeat(8, [2]int64{9, 9}), repeat(8, [2]int64{9, 6})), 8, stats.VerdictBetter, nil},
		// The jackknife of a percentile of ticks is constant, which made the acceleration 0/0 (scikits-bootstrap #6).
		{"one value everywhere", median, valueRows("m", 8, repeat(9, int64(5)), repeat(9, int64(5))), 8, stats.VerdictNone, nil},
		{"no events", event, sumRows("m", repeat(8, [2]int64{100, 0}), repeat(8, [2]int64{100, 0})), 8, stats.VerdictNotMeasurable, []string{"no_events"}},
		{"events in one arm only", event, sumRows("m", repeat(8, [2]int64{100, 30}), repeat(8, [2]int64{100, 0})), 8, stats.VerdictBetter, nil},
		{"few events", event, sumRows("m", repeat(8, [2]int64{100, 3}), repeat(8, [2]int64{100, 3})), 8, stats.VerdictNone, []string{"few_events"}},
		// BCa of an estimator at its bound was (nan, nan) (resample #84).
		{"every request hit", event, sumRows("m", repeat(8, [2]int64{100, 100}), repeat(8, [2]int64{100, 100})), 8, stats.VerdictNone, nil},
		{"zero sum in one arm", mean, sumRows("m", repeat(8, [2]int64{100, 7}), repeat(8, [2]int64{100, 0})), 8, stats.VerdictNotMeasurable, []string{"zero_level"}},
		{"zero sum in both arms", mean, sumRows("m", repeat(8, [2]int64{100, 0}), repeat(8, [2]int64{100, 0})), 8, stats.VerdictNotMeasurable, []string{"zero_level"}},
		{"free in both arms", ratio, sumRows("m", repeat(8, [2]int64{100, 0}), repeat(8, [2]int64{100, 0})), 8, stats.VerdictNotMeasurable, []string{"zero_level"}},
		{"all failed in one arm", median, valueRows("m", 8, repeat(9, int64(5)), repeat(9, stats.Inf)), 8, stats.VerdictNotMeasurable, []string{"not_finite"}},
		{"all failed in both arms", median, valueRows("m", 8, repeat(9, stats.Inf), repeat(9, stats.Inf)), 8, stats.VerdictNotMeasurable, []string{"not_finite"}},
		{"zero times", median, valueRows("m", 8, repeat(9, int64(0)), repeat(9, int64(5))), 8, stats.VerdictNotMeasurable, []string{"not_finite"}},
		// A p99 from 71 rows was just the maximum (guidellm #1163), quantiles were shown with too little data (growthbook
		// #3737): 4q/(1−q) rows are needed.
		{"a 95th percentile of 72 rows", tail, valueRows("m", 8, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}), 8, stats.VerdictNotMeasurable, []string{"few_rows"}},
		{"a 95th percentile of 80 rows", tail, valueRows("m", 8, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 9}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 9}), 8, stats.VerdictNone, nil},
	}
	intervals := []string{stats.IntervalExpanded, stats.IntervalPercentile, stats.IntervalBasic, stats.IntervalBCa, stats.IntervalBootstrapT, stats.IntervalT, stats.IntervalHalfSample}
	for _, tt := range tests {
		for _, interval := range intervals {
			t.Run(tt.name+"/"+interval, func(t *testing.T) {
				opts := stats.DefaultOptions()
				opts.Replicates, opts.Interval, opts.Order = 500, interval, "coin"
				pairs := testPairs(tt.pairs, 1)
				got := analyze(t, statstest.FromRows(tt.rows), []stats.Metric{tt.metric}, pairs, opts)
				overall := got.Estimates[0]
				if overall.Verdict != tt.verdict {
					t.Errorf("verdict %s, want %s (relative %v, %v, %v)", overall.Verdict, tt.verdict, deref(overall.Relative.Estimate), deref(overall.Relative.Lo), deref(overall.Relative.Hi))
				}
				if !slices.Equal(overall.Warnings, append([]string{}, tt.warnings...)) {
					t.Errorf("warnings %v, want %v", overall.Warnings, tt.warnings)
				}
			})
		}
	}
}

// TestEmptyDraws: a model with 2 of 8 pairs is absent from one replicate in ten, which undoes the interval of its row and
// of the overall row, and says so.
func TestEmptyDraws(t *testing.T) {
	rows := append(sumRows("full", repeat(8, [2]int64{9, 9}), repeat(8, [2]int64{9, 6})), sumRows("part", repeat(2, [2]int64{9, 9}), repeat(2, [2]int64{9, 6}))...)
	opts := stats.DefaultOptions()
	opts.Replicates = 10_000
	metric := stats.Metric{ID: "y", Kind: stats.Ratio, Scale: 1, Better: -1}
	got := analyze(t, statstest.FromRows(rows), []stats.Metric{metric}, testPairs(8, 1), opts)
	for _, i := range []int{0, 2} { // overall, part
		e := got.Estimates[i]
		// (6/8)^8 = 10.0 % of draws miss both pairs; 4 standard errors are 1.2 points.
		if n := float64(e.UndefinedReplicates); !near(n, 10_000*math.Pow(0.75, 8), 120) {
			t.Errorf("%s: %v undefined replicates", e.Scope, n)
		}
		if e.Relative.Estimate == nil || e.Relative.Lo != nil || !slices.Contains(e.Warnings, "undefined_replicates") {
			t.Errorf("%s: %v, lo %v, warnings %v", e.Scope, deref(e.Relative.Estimate), deref(e.Relative.Lo), e.Warnings)
		}
	}
	if !slices.ContainsFunc(got.Warnings, func(w stats.Warning) bool {
		return w.Code == "undefined_replicates" && strings.Contains(w.Text, "part") && !strings.Contains(w.Text, "full")
	}) {
		t.Errorf("the warnings %v do not name the model", got.Warnings)
	}
}

// TestOptions: every option out of range is named at once. (A confidence that was rounded to 1 made an infinite interval,
// ep-stats #97.)
func TestOptions(t *testing.T) {
	_, err := stats.Analyze(context.Background(), statstest.New(), nil, nil, stats.Options{Confidence: 95, Interval: "wald", Weights: "none", Order: "random", MinRows: -1})
	for _, want := range []string{"confidence 95", "replicates 0", `interval "wald"`, `weights "none"`, `order "random"`, "minimum of pairs 0", "minimum of rows -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

// TestScheduleOutsideItsSet: a schedule that its design could not have drawn has no p-value, so it is an error.
func TestScheduleOutsideItsSet(t *testing.T) {
	pairs := testPairs(6, 2)
	for i := range pairs {
		pairs[i].TreatmentFirst = true
	}
	opts := stats.DefaultOptions()
	for order, want := range map[string]bool{"slot-balanced": true, "day-balanced": true, "coin": false, "alternating": false, "": false} {
		opts.Order = order
		if _, err := stats.Analyze(context.Background(), statstest.New(), nil, pairs, opts); errors.Is(err, stats.ErrNotInSet) != want {
			t.Errorf("order %q: %v", order, err)
		}
	}
}

// brokenSource answers Values wrongly.
type brokenSource struct {
	*statstest.Source
	change func([]stats.Value) []stats.Value
}

func (s brokenSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	v, err := s.Source.Values(ctx, quantity, bins)
	return s.change(v), err
}

// TestInconsistentSource: values that do not add up to the histogram are an error, not a wrong quantile.
func TestInconsistentSource(t *testing.T) {
	src := statstest.FromRows(valueRows("m", 4, []int64{5, 6, 7, 8, 9}, []int64{5, 6, 7, 8, 9}))
	metric := []stats.Metric{{ID: "v_p50", Kind: stats.Quantile, PerMille: 500, Quantity: "v", Scale: 1}}
	for name, change := range map[string]func([]stats.Value) []stats.Value{
		"missing":        func(v []stats.Value) []stats.Value { return v[1:] },
		"twice":          func(v []stats.Value) []stats.Value { return append(v, v[0]) },
		"other column":   func(v []stats.Value) []stats.Value { v[0].Column = 99; return v },
		"other model":    func(v []stats.Value) []stats.Value { v[0].Model = 1; return v },
		"negative count": func(v []stats.Value) []stats.Value { v[0].N = -1; return v },
	} {
		if _, err := stats.Analyze(context.Background(), brokenSource{src, change}, metric, testPairs(4, 1), stats.DefaultOptions()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestCancelled: an interrupted analysis ends with the context's error.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	src := statstest.FromRows(valueRows("m", 4, []int64{5, 6, 7, 8, 9}, []int64{5, 6, 7, 8, 9}))
	metric := []stats.Metric{{ID: "v_p50", Kind: stats.Quantile, PerMille: 500, Quantity: "v", Scale: 1}}
	if _, err := stats.Analyze(ctx, src, metric, testPairs(4, 1), stats.DefaultOptions()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The expanded tail of two pairs is far below one replicate, where no normal distribution tells how an end varies: the
// interval stands, its Monte-Carlo error is undefined instead of astronomical.
func TestNoMonteCarloErrorBeyondTheReplicates(t *testing.T) {
	src := statstest.FromRows(sumRows("m", [][2]int64{{10, 1000}, {10, 1010}}, [][2]int64{{10, 900}, {10, 960}}))
	opts := stats.DefaultOptions()
	opts.Replicates, opts.Seed = 500, 1
	got := analyze(t, src, []stats.Metric{{ID: "y", Kind: stats.Ratio, Scale: 1, Better: -1}}, testPairs(2, 1), opts).Estimates[0]
	if got.Relative.Lo == nil || got.Relative.Hi == nil {
		t.Fatalf("no interval: %+v", got.Relative)
	}
	if got.MCError != nil {
		t.Errorf("Monte-Carlo error %v", *got.MCError)
	}
}
