package stats_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"switchback/stats"
)

// anySource answers with whatever was drawn, true or not.
type anySource struct {
	models []string
	sums   []stats.Sum
	bins   []stats.Bin
	values []stats.Value
	wild   bool
}

func (s anySource) Models(context.Context) ([]string, error)               { return s.models, nil }
func (s anySource) Sums(context.Context, string) ([]stats.Sum, error)      { return s.sums, nil }
func (s anySource) Histogram(context.Context, string) ([]stats.Bin, error) { return s.bins, nil }
func (s anySource) Values(_ context.Context, _ string, bins []stats.ModelBin) ([]stats.Value, error) {
	if s.wild {
		return s.values, nil
	}
	var out []stats.Value
	for _, v := range s.values {
		if slices.Contains(bins, stats.ModelBin{Model: v.Model, Bin: int32(v.Value)}) {
			out = append(out, v)
		}
	}
	return out, nil
}

// TestAnySource: whatever a source answers, an analysis ends with an error or with finite numbers, never in a crash.
func TestAnySource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "pairs")
		models := []string{"a", "b"}[:rapid.IntRange(0, 2).Draw(t, "models")]
		wild := rapid.IntRange(0, 4).Draw(t, "wild") == 0 // answers outside the models and columns
		model, column := rapid.IntRange(0, max(0, len(models)-1)), rapid.IntRange(0, max(0, 2*n-1))
		count := rapid.Int64Range(0, 4)
		if wild {
			model, column, count = rapid.IntRange(-1, 2), rapid.IntRange(-1, 7), rapid.Int64Range(-1, 1<<34)
		}
		src := anySource{models: models, wild: wild}
		rows := rapid.IntRange(0, 40).Draw(t, "rows")
		if !wild && (n == 0 || len(models) == 0) {
			rows = 0
		}
		for range rows {
			m, c, k := model.Draw(t, "model"), column.Draw(t, "column"), count.Draw(t, "count")
			src.sums = append(src.sums, stats.Sum{Model: m, Column: c, Stratum: rapid.IntRange(0, 2).Draw(t, "stratum"), N: k, Y: rapid.Int64Range(-3, 9).Draw(t, "y")})
			bin := rapid.SampledFrom([]int32{stats.BinZero, 1, 2, stats.BinInf}).Draw(t, "bin")
			src.bins = append(src.bins, stats.Bin{Model: m, Column: c, Bin: bin, N: k})
			if bin == 1 || bin == 2 {
				src.values = append(src.values, stats.Value{Model: m, Column: c, Value: int64(bin), N: k})
			}
		}
		opts := stats.DefaultOptions()
		opts.Replicates, opts.Order = 30, "coin"
		opts.Weights = rapid.SampledFrom([]string{stats.WeightsEqual, stats.WeightsTraffic}).Draw(t, "weights")
		opts.Interval = rapid.SampledFrom([]string{stats.IntervalExpanded, stats.IntervalBCa, stats.IntervalBootstrapT, stats.IntervalT, stats.IntervalBasic}).Draw(t, "interval")
		opts.SlotAdjustment = rapid.Bool().Draw(t, "slots")
		metrics := []stats.Metric{
			{ID: "q", Kind: stats.Quantile, PerMille: rapid.IntRange(1, 1000).Draw(t, "per mille"), Quantity: "q", Scale: 1, Published: true},
			{ID: "pooled", Kind: stats.Quantile, PerMille: 500, Quantity: "q", Scale: 1, Pooled: true},
			{ID: "ratio", Kind: stats.Ratio, Scale: 1, Published: true},
			{ID: "event", Kind: stats.Event, Scale: 1, Published: true},
			{ID: "mean", Kind: stats.Mean, Scale: 1},
			{ID: "mix", Kind: stats.Standardized, Scale: 1},
		}
		got, err := stats.Analyze(context.Background(), src, metrics, testPairs(n, 1), opts)
		if err != nil {
			return
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Estimates {
			if e.Verdict == stats.VerdictNotMeasurable && len(e.Warnings) == 0 {
				t.Errorf("%s %s: not measurable without a reason", e.ID, e.Scope)
			}
		}
		for _, p := range got.PairEffects {
			for _, v := range []any{p.LeaveOneOut(), p.Autocorrelation(), p.EffectivePairs(), p.SD(), p.ByGroup(p.Orders()), p.Compare(p.Predecessors(), stats.SamePredecessor, stats.OtherPredecessor), p.Against(p)} {
				if _, err := json.Marshal(v); err != nil {
					t.Errorf("%s: %v", p.Metric, err)
				}
			}
		}
	})
}
