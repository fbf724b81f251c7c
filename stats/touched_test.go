package stats_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/stats"
	"switchback/stats/statstest"
)

// askedSource remembers which bins it was asked for.
type askedSource struct {
	stats.Source
	asked []stats.ModelBin
}

func (s *askedSource) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	s.asked = append(s.asked, bins...)
	return s.Source.Values(ctx, quantity, bins)
}

// Touched tells the very bins that Analyze asks for, whatever the draws, and asks for no value itself.
func TestTouchedBinsAreThoseThatAnalyzeAsksFor(t *testing.T) {
	low, high := []int64{1, 40, 41, 900, 5000}, []int64{3, 35, 60, 70, 80000, 90000}
	source := &askedSource{Source: statstest.FromRows(append(valueRows("a", 6, low, high), valueRows("b", 6, high, low)...))}
	pairs, opts := testPairs(6, 2), stats.DefaultOptions()
	opts.Order = ""
	for _, perMille := range []int{1, 500, 950, 1000} {
		for _, interval := range []string{stats.IntervalT, opts.Interval} {
			opts.Interval, opts.Replicates = interval, 40
			metric := stats.Metric{ID: "v", Kind: stats.Quantile, PerMille: perMille, Quantity: "v", Scale: 1}
			source.asked = nil
			touched, err := stats.Touched(context.Background(), source, metric, pairs, opts)
			if err != nil || len(source.asked) > 0 {
				t.Fatalf("%v; asked for %v", err, source.asked)
			}
			if _, err := stats.Analyze(context.Background(), source, []stats.Metric{metric}, pairs, opts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(source.asked, touched); diff != "" || len(touched) == 0 {
				t.Errorf("%d per mille (-Analyze +Touched):\n%s", perMille, diff)
			}
		}
	}
	ratio := stats.Metric{ID: "requests", Kind: stats.Mean, Scale: 1}
	if touched, err := stats.Touched(context.Background(), source, ratio, pairs, opts); err != nil || len(touched) > 0 {
		t.Errorf("of a ratio: %v, %v", touched, err)
	}
	opts.Confidence = 2
	if _, err := stats.Touched(context.Background(), source, stats.Metric{ID: "v", Kind: stats.Quantile, PerMille: 500, Quantity: "v", Scale: 1}, pairs, opts); err == nil {
		t.Error("options out of range are no error")
	}
}
