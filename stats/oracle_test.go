package stats_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"switchback/stats"
	"switchback/stats/statstest"
)

// oracle answers an analysis the slow way: every draw repeats the rows that it weighs, sorts them and picks.
type oracle struct {
	rows   []statstest.Row
	models []string
	pairs  int
}

// cell returns N, Y and the ascending values of a model's arm when pair i counts w[i] times.
func (o oracle) cell(metric stats.Metric, model string, arm int, w []uint32) (n, y int64, values []int64) {
	complete := map[int][2]bool{}
	usable := func(r statstest.Row) bool {
		if metric.Kind == stats.Quantile {
			_, ok := r.Values[metric.Quantity]
			return ok
		}
		return r.Sums[metric.ID][0] > 0
	}
	for _, r := range o.rows {
		if r.Model == model && usable(r) {
			c := complete[r.Pair]
			c[r.Arm] = true
			complete[r.Pair] = c
		}
	}
	for _, r := range o.rows {
		if r.Model != model || r.Arm != arm || !usable(r) || complete[r.Pair] != [2]bool{true, true} {
			continue
		}
		for range w[r.Pair] {
			if metric.Kind == stats.Quantile {
				values = append(values, r.Values[metric.Quantity])
			}
			n += r.Sums[metric.ID][0]
			y += r.Sums[metric.ID][1]
		}
	}
	slices.Sort(values)
	return n, y, values
}

// log returns the logarithm of a model's level.
func (o oracle) log(metric stats.Metric, model string, arm int, w []uint32) float64 {
	n, y, values := o.cell(metric, model, arm, w)
	switch metric.Kind {
	case stats.Quantile:
		if len(values) == 0 {
			return math.NaN()
		}
		v := values[(metric.PerMille*len(values)+999)/1000-1]
		if v == stats.Inf {
			return math.Inf(1)
		}
		return math.Log(float64(v))
	case stats.Event:
		if n == 0 {
			return math.NaN()
		}
		return math.Log((float64(y) + 0.5) / (float64(n) + 1))
	}
	return math.Log(float64(y) / float64(n))
}

func (o oracle) effect(metric stats.Metric, models []string, w []uint32) float64 {
	sum := 0.0
	for _, m := range models {
		sum += (o.log(metric, m, 1, w) - o.log(metric, m, 0, w)) / float64(len(models))
	}
	return sum
}

// interval returns the expanded percentile (or half-sample) interval from all draws.
func (o oracle) interval(metric stats.Metric, models []string, draws [][]uint32, tail float64) (lo, hi float64) {
	var reps []float64
	for _, w := range draws {
		if v := o.effect(metric, models, w); !math.IsNaN(v) {
			reps = append(reps, v)
		}
	}
	slices.Sort(reps)
	at := func(p float64) float64 { return reps[int(math.Ceil(p*float64(len(reps))-1e-9))-1] }
	return finiteEffect(at(tail)), finiteEffect(at(1 - tail))
}

// finiteEffect turns a log effect into a relative one, NaN when it is infinite.
func finiteEffect(log float64) float64 {
	if math.IsInf(log, 0) {
		return math.NaN()
	}
	return math.Expm1(log)
}

var testMetrics = []stats.Metric{
	{ID: "ttft_p50", Kind: stats.Quantile, PerMille: 500, Quantity: "ttft", Unit: "ms", Scale: 1e-3, Better: -1, Published: true},
	{ID: "ttft_p95", Kind: stats.Quantile, PerMille: 950, Quantity: "ttft", Unit: "ms", Scale: 1e-3, Better: -1, Published: true},
	{ID: "cost_per_1k_requests", Kind: stats.Ratio, Unit: "USD", Scale: 1e-6, Better: -1, Published: true},
	{ID: "hit_429", Kind: stats.Event, Unit: "fraction", Scale: 1, Better: -1, Published: true},
	{ID: "failed_ms", Kind: stats.Mean, Unit: "ms", Scale: 1e-3, Better: -1, Published: true},
}

// testPairs returns a slot-balanced schedule: positions are treatment-first on alternating days.
func testPairs(days, positions int) []stats.Pair {
	var out []stats.Pair
	for d := range days {
		for p := range positions {
			out = append(out, stats.Pair{ID: string(rune('a'+d)) + string(rune('0'+p)), Day: d + 1, Position: p, TreatmentFirst: (d+p)%2 == 0})
		}
	}
	return out
}

// testRows draws about perCell rows for each model, pair and arm, with shared shocks by pair and ties.
func testRows(seed uint64, models []string, pairs, perCell int) []statstest.Row {
	rng := rand.New(rand.NewPCG(seed, 1))
	var rows []statstest.Row
	for p := range pairs {
		shock := [2]float64{0.1 * rng.NormFloat64(), 0.1*rng.NormFloat64() - 0.2}
		for m, model := range models {
			for arm := range 2 {
				for range perCell/2 + rng.IntN(perCell) {
					ttft := int64(1000 * math.Round(100*math.Exp(shock[arm]+0.5*float64(m)+0.6*rng.NormFloat64())))
					if rng.Float64() < 0.02 {
						ttft = stats.Inf
					}
					failed, hit := int64(0), int64(0)
					if rng.Float64() < 0.2*math.Exp(3*shock[arm]) {
						failed, hit = int64(rng.ExpFloat64()*1e5), 1
					}
					rows = append(rows, statstest.Row{Model: model, Pair: p, Arm: arm,
						Values: map[string]int64{"ttft": ttft},
						Sums: map[string][2]int64{
							"cost_per_1k_requests": {1, int64(1e6 * math.Exp(0.3*rng.NormFloat64()+0.1*shock[arm]))},
							"hit_429":              {1, hit},
							"failed_ms":            {1, failed},
						}})
				}
			}
		}
	}
	return rows
}

func analyze(t testing.TB, src stats.Source, metrics []stats.Metric, pairs []stats.Pair, opts stats.Options) stats.Analysis {
	t.Helper()
	got, err := stats.Analyze(context.Background(), src, metrics, pairs, opts)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// level returns a model's raw level.
func (o oracle) level(metric stats.Metric, model string, arm int, w []uint32) float64 {
	if metric.Kind == stats.Quantile || metric.Kind == stats.Ratio {
		return math.Exp(o.log(metric, model, arm, w))
	}
	n, y, _ := o.cell(metric, model, arm, w)
	return float64(y) / float64(n)
}

// absolute returns the difference of the overall levels: geometric means over models, or means by N of both arms.
func (o oracle) absolute(metric stats.Metric, models []string, w []uint32) float64 {
	var difference float64
	for arm, sign := range []float64{-1, 1} {
		logs, level, total := 0.0, 0.0, 0.0
		for _, m := range models {
			ones := slices.Repeat([]uint32{1}, o.pairs)
			control, _, _ := o.cell(metric, m, 0, ones)
			treatment, _, _ := o.cell(metric, m, 1, ones)
			logs += o.log(metric, m, arm, w) / float64(len(models))
			level += float64(control+treatment) * o.level(metric, m, arm, w)
			total += float64(control + treatment)
		}
		if metric.Kind == stats.Quantile || metric.Kind == stats.Ratio {
			difference += sign * math.Exp(logs)
		} else {
			difference += sign * level / total
		}
	}
	return difference * metric.Scale
}

// TestOracle compares the engine with physical copies of rows, sorted anew for every draw.
func TestOracle(t *testing.T) {
	models := []string{"a", "b", "c"}
	pairs := testPairs(3, 3)
	o := oracle{rows: testRows(1, models, len(pairs), 30), models: models, pairs: len(pairs)}
	// Model c lacks one arm of pair 4.
	o.rows = slices.DeleteFunc(o.rows, func(r statstest.Row) bool { return r.Model == "c" && r.Pair == 4 && r.Arm == 1 })
	opts := stats.DefaultOptions()
	replicates := 200
	if testing.Short() {
		replicates = 20
	}
	opts.Replicates, opts.Seed, opts.Order = replicates, 7, "slot-balanced"
	draws, halves := stats.Draws(false, 7, len(pairs), replicates), stats.Draws(true, 7, len(pairs), replicates)
	halves = slices.DeleteFunc(halves, func(w []uint32) bool { return slices.Max(w) == 0 })
	ones := slices.Repeat([]uint32{1}, len(pairs))

	for _, e := range analyze(t, statstest.FromRows(o.rows), testMetrics, pairs, opts).Estimates {
		metric := testMetrics[slices.IndexFunc(testMetrics, func(m stats.Metric) bool { return m.ID == e.ID })]
		scope, n := models, len(pairs)
		if e.Scope != "overall" {
			scope = []string{e.Scope[len("model:"):]}
		}
		if e.Scope == "model:c" {
			n--
		}
		if e.Pairs != n || e.Models != len(scope) {
			t.Errorf("%s %s: %d pairs, %d models, want %d, %d", e.ID, e.Scope, e.Pairs, e.Models, n, len(scope))
		}
		point := math.Expm1(o.effect(metric, scope, ones))
		lo, hi := o.interval(metric, scope, draws, stats.ExpandedTail(0.025, n))
		halfLo, halfHi := o.interval(metric, scope, halves, 0.025)
		var differences []float64
		for _, w := range draws {
			if v := o.absolute(metric, scope, w); !math.IsNaN(v) {
				differences = append(differences, v)
			}
		}
		slices.Sort(differences)
		end := func(p float64) float64 {
			return differences[int(math.Ceil(p*float64(len(differences))-1e-9))-1]
		}
		tail := stats.ExpandedTail(0.025, n)
		for _, c := range []struct {
			name string
			got  *float64
			want float64
		}{{"estimate", e.Relative.Estimate, point}, {"lo", e.Relative.Lo, lo}, {"hi", e.Relative.Hi, hi}, {"half lo", e.HalfSample.Lo, halfLo}, {"half hi", e.HalfSample.Hi, halfHi},
			{"absolute", e.Absolute.Estimate, o.absolute(metric, scope, ones)}, {"absolute lo", e.Absolute.Lo, end(tail)}, {"absolute hi", e.Absolute.Hi, end(1 - tail)}} {
			if math.IsNaN(c.want) && c.got == nil {
				continue // an end that is not finite
			}
			if c.got == nil || !near(*c.got, c.want, 1e-9*math.Max(1e-3, math.Abs(c.want))) {
				t.Errorf("%s %s: %s = %v, want %v (warnings %v)", e.ID, e.Scope, c.name, deref(c.got), c.want, e.Warnings)
			}
		}
	}
}

// TestSwapOracle compares p-values with rows whose arms are exchanged in the log itself, pair by pair for all models at once
// (a paired permutation that drew models or arms separately was reported in DABEST #238), over all 36 members of a set.
func TestSwapOracle(t *testing.T) {
	models := []string{"a", "b"}
	pairs := testPairs(4, 2)
	o := oracle{rows: testRows(15, models, len(pairs), 24), models: models, pairs: len(pairs)}
	opts := stats.DefaultOptions()
	opts.Replicates, opts.Order = 10, "slot-balanced"
	ones := slices.Repeat([]uint32{1}, len(pairs))
	var members [][]bool // flips of every schedule with two treatment-first days at each position
	for mask := range 1 << len(pairs) {
		flips, first := make([]bool, len(pairs)), [2]int{}
		for i, p := range pairs {
			flips[i] = mask>>i&1 == 1
			if flips[i] != p.TreatmentFirst {
				first[p.Position]++
			}
		}
		if first == [2]int{2, 2} {
			members = append(members, flips)
		}
	}
	if len(members) != 36 {
		t.Fatalf("%d members", len(members))
	}
	got := analyze(t, statstest.FromRows(o.rows), testMetrics, pairs, opts)
	for _, e := range got.Estimates {
		metric := testMetrics[slices.IndexFunc(testMetrics, func(m stats.Metric) bool { return m.ID == e.ID })]
		scope := models
		if e.Scope != "overall" {
			scope = []string{e.Scope[len("model:"):]}
		}
		observed, extreme := math.Abs(o.effect(metric, scope, ones)), 0
		for _, flips := range members {
			swapped := oracle{rows: slices.Clone(o.rows), models: models, pairs: len(pairs)}
			for i := range swapped.rows {
				if flips[swapped.rows[i].Pair] {
					swapped.rows[i].Arm = 1 - swapped.rows[i].Arm
				}
			}
			if math.Abs(swapped.effect(metric, scope, ones)) >= observed*(1-1e-9) {
				extreme++
			}
		}
		if want := float64(extreme) / 36; e.PValue == nil || !near(*e.PValue, want, 1e-12) {
			t.Errorf("%s %s: p = %v, want %d/36", e.ID, e.Scope, deref(e.PValue), extreme)
		}
	}
}

func deref(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}
