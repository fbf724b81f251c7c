package stats_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"switchback/stats"
	"switchback/stats/statstest"
)

// bigSource answers like a store of many rows whose traffic follows Zipf's law over the models. All quantities share
// one sample. A benchmark's clock stands still while it answers.
type bigSource struct {
	clock interface {
		StartTimer()
		StopTimer()
	}
	models int
	pairs  int
	values [][]int64 // by model · columns + column, ascending
}

// noClock is the clock of a source outside benchmarks.
type noClock struct{}

func (noClock) StartTimer() {}
func (noClock) StopTimer()  {}

func newBigSource(rows, models, pairs int) *bigSource {
	s := &bigSource{clock: noClock{}, models: models, pairs: pairs}
	rng := rand.New(rand.NewPCG(1, 2))
	harmonic := 0.0
	for m := range models {
		harmonic += 1 / float64(m+1)
	}
	for m := range models {
		n := float64(rows) / float64(m+1) / harmonic / float64(2*pairs)
		for c := range 2 * pairs {
			shock := 0.09*rng.NormFloat64() - 0.17*float64(c%2)
			cell := make([]int64, int(n*(0.5+rng.Float64())))
			for i := range cell {
				cell[i] = int64(1e6 * math.Exp(shock+0.8*rng.NormFloat64()))
			}
			slices.Sort(cell)
			s.values = append(s.values, cell)
		}
	}
	return s
}

func (s *bigSource) Models(context.Context) ([]string, error) {
	var names []string
	for m := range s.models {
		names = append(names, fmt.Sprintf("model-%02d", m))
	}
	return names, nil
}

func (s *bigSource) Sums(context.Context, string) ([]stats.Sum, error) {
	s.clock.StopTimer()
	defer s.clock.StartTimer()
	var out []stats.Sum
	for i, cell := range s.values {
		n := int64(len(cell))
		out = append(out, stats.Sum{Model: i / (2 * s.pairs), Column: i % (2 * s.pairs), N: n, Y: n/20 + 1})
	}
	return out, nil
}

func (s *bigSource) Histogram(context.Context, string) ([]stats.Bin, error) {
	s.clock.StopTimer()
	defer s.clock.StartTimer()
	var out []stats.Bin
	for i, cell := range s.values {
		for _, v := range cell {
			bin := statstest.Bin(v)
			if n := len(out); n > 0 && out[n-1].Bin == bin && out[n-1].Model == i/(2*s.pairs) && out[n-1].Column == i%(2*s.pairs) {
				out[n-1].N++
				continue
			}
			out = append(out, stats.Bin{Model: i / (2 * s.pairs), Column: i % (2 * s.pairs), Bin: bin, N: 1})
		}
	}
	return out, nil
}

func (s *bigSource) Values(_ context.Context, _ string, bins []stats.ModelBin) ([]stats.Value, error) {
	s.clock.StopTimer()
	defer s.clock.StartTimer()
	wanted := map[stats.ModelBin]bool{}
	for _, b := range bins {
		wanted[b] = true
	}
	var out []stats.Value
	for i, cell := range s.values {
		model, column := i/(2*s.pairs), i%(2*s.pairs)
		last, keep := int32(-1), false
		for _, v := range cell {
			if bin := statstest.Bin(v); bin != last {
				last, keep = bin, wanted[stats.ModelBin{Model: model, Bin: bin}]
			}
			if keep {
				out = append(out, stats.Value{Model: model, Column: column, Value: v, N: 1})
			}
		}
	}
	return out, nil
}

// bigMetrics are the published rows: seven quantiles of four quantities, and five sums.
func bigMetrics() []stats.Metric {
	var out []stats.Metric
	for _, id := range []string{"ttft_p50", "ttft_p95", "throughput_p50", "caller_ttft_p50", "caller_ttft_p95", "total_p50", "total_p95"} {
		m := stats.Metric{ID: id, Kind: stats.Quantile, PerMille: 500, Quantity: id[:len(id)-4], Scale: 1e-3, Better: -1, Published: true}
		if id[len(id)-3:] == "p95" {
			m.PerMille = 950
		}
		out = append(out, m)
	}
	for _, id := range []string{"cost_per_1k_requests", "cost_per_1m_tokens"} {
		out = append(out, stats.Metric{ID: id, Kind: stats.Ratio, Scale: 1e-6, Better: -1, Published: true})
	}
	for _, id := range []string{"hit_429", "needed_retry"} {
		out = append(out, stats.Metric{ID: id, Kind: stats.Event, Scale: 1, Better: -1, Published: true})
	}
	return append(out, stats.Metric{ID: "failed_ms", Kind: stats.Mean, Scale: 1e-3, Better: -1, Published: true})
}

// BenchmarkResampling is the published table over 30 models and 28 pairs with 10,000 replicates: bootstrap,
// half-samples and swaps of 12 metrics, overall and per model, without the time of the store.
func BenchmarkResampling(b *testing.B) {
	for _, rows := range []int{1_000_000, 24_000_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			if rows > 1_000_000 && testing.Short() {
				b.Skip("24 M rows under -short")
			}
			src := newBigSource(rows, 30, 28)
			src.clock = b
			opts := stats.DefaultOptions()
			opts.Order = "slot-balanced"
			pairs := testPairs(7, 4)
			for b.Loop() {
				if _, err := stats.Analyze(context.Background(), src, bigMetrics(), pairs, opts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
