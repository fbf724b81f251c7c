package stats_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/stats"
	"switchback/stats/statstest"
)

// TestOtherIntervals: an interval beside the headline is the one that would be the headline.
func TestOtherIntervals(t *testing.T) {
	pairs := testPairs(3, 2)
	src := statstest.FromRows(testRows(21, []string{"a", "b"}, len(pairs), 40))
	kinds := []string{stats.IntervalPercentile, stats.IntervalBasic, stats.IntervalBCa, stats.IntervalBootstrapT, stats.IntervalT, stats.IntervalHalfSample}
	opts := stats.DefaultOptions()
	opts.Replicates, opts.Others = 400, kinds
	all := analyze(t, src, testMetrics, pairs, opts)
	opts.Others = nil
	for _, kind := range kinds {
		opts.Interval = kind
		for i, want := range analyze(t, src, testMetrics, pairs, opts).Estimates {
			got := all.Estimates[i].Others[kind]
			if diff := cmp.Diff(stats.Bounds{Lo: want.Relative.Lo, Hi: want.Relative.Hi}, got); diff != "" {
				t.Errorf("%s %s %s (-headline +beside):\n%s", kind, want.ID, want.Scope, diff)
			}
		}
	}
	opts.Others = []string{"guess"}
	if _, err := stats.Analyze(t.Context(), src, testMetrics, pairs, opts); err == nil {
		t.Error("an unknown kind of interval passed")
	}
}
