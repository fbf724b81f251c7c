package stats

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

var coverageKinds = []string{IntervalT, IntervalPercentile, IntervalExpanded, IntervalBasic, IntervalBCa, IntervalBootstrapT, IntervalHalfSample}

// memory is a source of one model in plain slices.
type memory struct {
	sums   []Sum
	bins   []Bin
	values []Value
}

func (m *memory) Models(context.Context) ([]string, error)         { return []string{"m"}, nil }
func (m *memory) Sums(context.Context, string) ([]Sum, error)      { return m.sums, nil }
func (m *memory) Histogram(context.Context, string) ([]Bin, error) { return m.bins, nil }
func (m *memory) Values(_ context.Context, _ string, bins []ModelBin) ([]Value, error) {
	wanted := map[int32]bool{}
	for _, b := range bins {
		wanted[b.Bin] = true
	}
	var out []Value
	for _, v := range m.values {
		if wanted[int32(v.Value/1000)] {
			out = append(out, v)
		}
	}
	return out, nil
}

// add adds a row's value in bins of 1000.
func (m *memory) add(pair, arm int, v int64) {
	m.bins = append(m.bins, Bin{Column: 2*pair + arm, Bin: int32(v / 1000), N: 1})
	m.values = append(m.values, Value{Column: 2*pair + arm, Value: v, N: 1})
}

// coverage counts how often each kind of 95 % interval of a model's effect holds the truth, over data sets drawn with seeds
// 0, 1, …. absolute compares the absolute effect instead of the log of the relative one.
func coverage(t *testing.T, sets int, metric Metric, truth float64, absolute bool, draw func(rng *rand.Rand) Source) map[string]float64 {
	t.Helper()
	hits := make([][]bool, sets)
	errs := make([]error, sets)
	err := parallel(context.Background(), 0, sets, func(i int) {
		opts := DefaultOptions()
		opts.Replicates, opts.Seed, opts.Threads, opts.Interval = 1999, uint64(i), 1, IntervalBootstrapT
		src := draw(rand.New(rand.NewPCG(mix(uint64(i)), 1)))
		hits[i], errs[i] = covered(src, metric, opts, truth, absolute)
	})
	if err != nil {
		t.Fatal(err)
	}
	rates := map[string]float64{}
	for i := range hits {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		for k, kind := range coverageKinds {
			if hits[i][k] {
				rates[kind] += 100 / float64(sets)
			}
		}
	}
	return rates
}

// covered tells which kinds of intervals hold the truth on one data set of 28 pairs.
func covered(src Source, metric Metric, opts Options, truth float64, absolute bool) ([]bool, error) {
	ctx := context.Background()
	a, err := newAnalysis(ctx, src, make([]Pair, 28), opts)
	if err != nil {
		return nil, err
	}
	var m measured
	if metric.Kind == Quantile {
		counts, err := src.Histogram(ctx, metric.Quantity)
		if err != nil {
			return nil, err
		}
		found, err := a.quantiles(ctx, metric.Quantity, counts, []int{metric.PerMille})
		if err != nil {
			return nil, err
		}
		m = found[0]
	} else if m, err = a.sums(ctx, metric); err != nil {
		return nil, err
	}
	m.metric = metric
	lv, err := a.evaluate(ctx, m)
	if err != nil {
		return nil, err
	}
	r := a.newRow(m, a.modelScope(m, 0), lv)
	e, abs := r.evidence()
	if absolute {
		abs.half = newReplicates(r.effects[setHalf].absolute, a.sets[setHalf].empty)
		e = abs
	}
	out := make([]bool, len(coverageKinds))
	for k, kind := range coverageKinds {
		lo, hi := e.interval(kind, opts.tail())
		out[k] = lo <= truth && truth <= hi
	}
	return out, nil
}

// meansOf draws 28 pair effects, as the sums of a mean over a control of zero.
func meansOf(effect func(rng *rand.Rand) float64) func(rng *rand.Rand) Source {
	return func(rng *rand.Rand) Source {
		m := &memory{}
		for i := range 28 {
			m.sums = append(m.sums, Sum{Column: 2 * i, N: 1}, Sum{Column: 2*i + 1, N: 1, Y: int64(math.Round(1e9 * effect(rng)))})
		}
		return m
	}
}

// TestCoverage measures how often "95 %" intervals from 28 pairs hold the truth, by kind and by the distribution of pair
// effects, and compares the first five rows with coverage that an independent simulation of 10,000 data sets found. It runs
// with SWITCHBACK_SLOW=1; `go test -v` prints the table.
func TestCoverage(t *testing.T) {
	if testing.Short() || os.Getenv("SWITCHBACK_SLOW") == "" {
		t.Skip("slow: set SWITCHBACK_SLOW=1")
	}
	const sets = 4000
	mean := Metric{ID: "y", Kind: Mean, Scale: 1}
	event := Metric{ID: "y", Kind: Event, Scale: 1}
	median := Metric{ID: "v", Kind: Quantile, PerMille: 500, Quantity: "v", Scale: 1}
	tail := Metric{ID: "v", Kind: Quantile, PerMille: 950, Quantity: "v", Scale: 1}
	t3 := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 3}
	lognormalMean := math.Exp(0.5)
	rows := []struct {
		name     string
		metric   Metric
		truth    float64
		absolute bool
		sets     int // 0: the usual number
		draw     func(rng *rand.Rand) Source
		want     []float64 // by kind; nil: measured only, between the bounds
		bounds   map[string][2]float64
	}{
		{name: "normal logs", metric: mean, absolute: true, draw: meansOf(func(r *rand.Rand) float64 { return r.NormFloat64() }),
			want: []float64{94.7, 93.3, 94.8, 93.3, 93.2, 94.8, 94.8}},
		{name: "exponential logs", metric: mean, absolute: true, draw: meansOf(func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }),
			want: []float64{93.0, 92.2, 93.4, 90.7, 92.7, 95.0, 93.0}},
		{name: "lognormal(1) logs", metric: mean, absolute: true, draw: meansOf(func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - lognormalMean }),
			want: []float64{88.9, 88.2, 90.0, 85.4, 89.5, 92.8, 88.7}},
		{name: "t3 logs", metric: mean, absolute: true, draw: meansOf(func(r *rand.Rand) float64 { return t3.Quantile(r.Float64()) }),
			want: []float64{95.4, 92.2, 94.0, 94.5, 89.2, 92.2, 94.7}},
		{name: "7 % outage pairs, SD x6", metric: mean, absolute: true, draw: meansOf(func(r *rand.Rand) float64 {
			v := r.NormFloat64()
			if r.Float64() < 0.07 {
				v *= 6
			}
			return v
		}), want: []float64{96.7, 92.3, 94.1, 96.5, 86.9, 91.0, 95.4}},
		{name: "429 share, mild bursts", metric: event, truth: math.Log(0.5), draw: events(0.02, 4),
			bounds: map[string][2]float64{IntervalExpanded: {91.5, 97}, IntervalHalfSample: {92.5, 97}}},
		{name: "429 share, heavy bursts", metric: event, truth: math.Log(0.5), draw: events(0.02, 1),
			bounds: map[string][2]float64{IntervalExpanded: {90, 97}, IntervalHalfSample: {92.5, 97}}},
		{name: "pooled p50", metric: median, truth: -0.2, sets: 1000, draw: times,
			bounds: map[string][2]float64{IntervalExpanded: {93, 98}, IntervalHalfSample: {93, 98}}},
		{name: "pooled p95", metric: tail, truth: -0.2, sets: 1000, draw: times,
			bounds: map[string][2]float64{IntervalExpanded: {92.5, 98}, IntervalHalfSample: {93, 98}}},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-26s", "pair-level truth")
	for _, kind := range coverageKinds {
		fmt.Fprintf(&table, "%12s", kind)
	}
	for _, row := range rows {
		got := coverage(t, cmp.Or(row.sets, sets), row.metric, row.truth, row.absolute, row.draw)
		fmt.Fprintf(&table, "\n%-26s", row.name)
		for k, kind := range coverageKinds {
			fmt.Fprintf(&table, "%12.1f", got[kind])
			if row.want != nil {
				// Three standard errors of 4,000 and of 10,000 data sets; bootstrap-t's tails also feel the number of replicates.
				if tolerance := 3 * 100 * math.Sqrt(.95*.05*(1./sets+1./10_000)) * 1.25; math.Abs(got[kind]-row.want[k]) > tolerance {
					t.Errorf("%s, %s: %.1f %% covered, want %.1f ± %.1f", row.name, kind, got[kind], row.want[k], tolerance)
				}
			}
			if b, ok := row.bounds[kind]; ok && (got[kind] < b[0] || got[kind] > b[1]) {
				t.Errorf("%s, %s: %.1f %% covered, want %v", row.name, kind, got[kind], b)
			}
		}
	}
	t.Log(table.String())
}

// events draws counts of events among 5,000 requests of each block. Each block's rate is gamma-distributed with the given
// shape (smaller is burstier) around rate, or half of it under treatment.
func events(rate, shape float64) func(rng *rand.Rand) Source {
	return func(rng *rand.Rand) Source {
		m := &memory{}
		gamma := distuv.Gamma{Alpha: shape, Beta: shape, Src: rng}
		for i := range 28 {
			for arm, factor := range []float64{1, 0.5} {
				y := distuv.Poisson{Lambda: 5000 * rate * factor * gamma.Rand(), Src: rng}.Rand()
				m.sums = append(m.sums, Sum{Column: 2*i + arm, N: 5000, Y: int64(min(y, 5000))})
			}
		}
		return m
	}
}

// times draws about 200 lognormal times for each block around a block's own level; treatment is 0.2 faster in logs.
func times(rng *rand.Rand) Source {
	m := &memory{}
	for i := range 28 {
		pair := 0.3 * rng.NormFloat64()
		for arm, shift := range []float64{0, -0.2} {
			level := pair + shift + 0.09*rng.NormFloat64()
			for range 100 + rng.IntN(200) {
				m.add(i, arm, int64(1e6*math.Exp(level+0.6*rng.NormFloat64())))
			}
		}
	}
	return m
}
