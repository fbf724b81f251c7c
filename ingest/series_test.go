package ingest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest/rules"
	"switchback/stats"
)

// withSomeClients gives messy rows clients of very different sizes, and none to some.
func withSomeClients(rows []experiment.Request) []experiment.Request {
	for i := range rows {
		if n := i % 40; n < 36 {
			rows[i].ClientID = fmt.Sprint("c", n/6*n/6)
		}
	}
	return rows
}

func openSeries(t *testing.T, plan experiment.Plan, rows []experiment.Request, metrics ...string) (*Store, *Series) {
	t.Helper()
	ctx := context.Background()
	s := openTemp(t)
	loadLog(t, s, rows)
	if _, err := s.ApplyPlan(ctx, plan); err != nil {
		t.Fatal(err)
	}
	series, err := s.Series(ctx, Window{Arms: testArms}, []string{"model-0", "model-1", "model-2"}, metrics, 10*time.Minute, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := series.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, series
}

// Each part must hold the rows that the rules of the analysis would keep if only those rows were in the log, or if the plan
// had that burn-in.
func TestPartsAgreeWithTheRules(t *testing.T) {
	rows, plan := withSomeClients(messyRequests(20_000, 5)), weekPlan(t)
	_, series := openSeries(t, plan, rows, "ttft_p50", "caller_ttft_p95", "throughput_p50", "total_p50", "cost_per_1k_requests", "hit_429")
	withBurnIn := func(minutes int) experiment.Plan {
		other := experiment.Plan{Arms: plan.Arms, Blocks: slices.Clone(plan.Blocks)}
		for i, b := range other.Blocks {
			other.Blocks[i].BurnInEnds = b.Starts.Add(time.Duration(minutes) * time.Minute)
		}
		return other
	}
	only := func(keep func(r experiment.Request) bool) []experiment.Request {
		var kept []experiment.Request
		for _, r := range rows {
			if keep(r) {
				kept = append(kept, r)
			}
		}
		return kept
	}
	minutes := func(from, to time.Duration) func(experiment.Request) bool {
		return func(r experiment.Request) bool {
			b := experiment.BlockAt(plan.Blocks, r.TS.Time())
			return b != nil && r.TS.Time().Sub(b.Starts) >= from*time.Minute && r.TS.Time().Sub(b.Starts) < to*time.Minute
		}
	}
	largest := series.Clients()[0]
	for name, part := range map[string]struct {
		Part
		want expected
	}{
		"minutes 20 to 40":   {series.Minutes(20, 40), expect(withBurnIn(0), only(minutes(20, 40)), Window{})},
		"minutes 170 to 180": {series.Minutes(170, 180), expect(withBurnIn(0), only(minutes(170, 180)), Window{})},
		"no burn-in":         {series.BurnIn(0), expect(withBurnIn(0), rows, Window{})},
		"burn-in of 90":      {series.BurnIn(90), expect(withBurnIn(90), rows, Window{})},
		"born in block":      {series.BornInBlock(), expect(plan, rows, Window{BornInBlock: true})},
		"without a client":   {series.WithoutClient(largest), expect(plan, only(func(r experiment.Request) bool { return r.ClientID != largest }), Window{})},
		"without nobody":     {series.WithoutClient("nobody"), expect(plan, rows, Window{})},
	} {
		t.Run(name, func(t *testing.T) {
			for _, metric := range []string{"cost_per_1k_requests", "hit_429"} {
				sums, err := series.Source(metric, part.Part).Sums(context.Background(), metric)
				if err != nil {
					t.Fatal(err)
				}
				have := map[cell]stats.Sum{}
				for _, s := range sums {
					at := cell{s.Model, s.Column}
					have[at] = stats.Sum{Model: s.Model, Column: s.Column, N: have[at].N + s.N, Y: have[at].Y + s.Y}
				}
				if diff := gocmp.Diff(part.want.sums[metric], have, gocmp.AllowUnexported(cell{})); diff != "" {
					t.Errorf("sums of %s (-want +got):\n%s", metric, diff)
				}
			}
			for metric, quantity := range map[string]string{"ttft_p50": "ttft", "caller_ttft_p95": "caller_ttft", "throughput_p50": "throughput", "total_p50": "total"} {
				comparePart(t, series.Source(metric, part.Part), quantity, part.want.values[quantity])
			}
		})
	}
}

// comparePart compares a part's histogram, and its values inside all bins, with the expected values.
func comparePart(t *testing.T, source stats.Source, quantity string, want map[cell]map[int64]int64) {
	t.Helper()
	bins, err := source.Histogram(context.Background(), quantity)
	if err != nil {
		t.Fatal(err)
	}
	have := map[cell]map[int64]int64{}
	add := func(c cell, value, n int64) {
		if have[c] == nil {
			have[c] = map[int64]int64{}
		}
		have[c][value] += n
	}
	rows := map[stats.ModelBin]int64{}
	for _, b := range bins {
		switch b.Bin {
		case stats.BinZero:
			add(cell{b.Model, b.Column}, 0, b.N)
		case stats.BinInf:
			add(cell{b.Model, b.Column}, stats.Inf, b.N)
		default:
			rows[stats.ModelBin{Model: b.Model, Bin: b.Bin}] += b.N
		}
	}
	highest := map[int]int64{} // value so far by model: bins keep the order of values
	for model := range 3 {
		for bin := int32(binBelow); bin <= binAbove; bin++ {
			mb := stats.ModelBin{Model: model, Bin: bin}
			values, err := source.Values(context.Background(), quantity, []stats.ModelBin{mb})
			if err != nil {
				t.Fatal(err)
			}
			top := highest[model]
			for _, v := range values {
				add(cell{v.Model, v.Column}, v.Value, v.N)
				rows[mb] -= v.N
				top = max(top, v.Value)
				if v.Value < highest[model] {
					t.Errorf("%s: value %d of model %d in bin %d, below one of a lower bin", quantity, v.Value, model, bin)
				}
			}
			highest[model] = top
			if rows[mb] != 0 {
				t.Errorf("%s: bin %v has %d more rows than values", quantity, mb, rows[mb])
			}
		}
	}
	if diff := gocmp.Diff(want, have, gocmp.AllowUnexported(cell{})); diff != "" {
		t.Errorf("values of %s (-want +got):\n%s", quantity, diff)
	}
}

// SQL's quantiles of all rows of a block are those of the definition (type 1); a sample of 8,000 rows (rilldata/rill #942) or
// another order of sorting (duckdb #23692) would not be.
func TestBlocksOfASeries(t *testing.T) {
	rows, plan := messyRequests(20_000, 6), weekPlan(t)
	_, series := openSeries(t, plan, rows, "ttft_p50", "cost_per_1k_requests")
	blocks, err := series.Blocks(context.Background(), []string{"provider_switches", "cost_per_1k_requests", "ttft_p50"})
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != len(plan.Blocks) {
		t.Fatalf("%d blocks, want %d", len(blocks), len(plan.Blocks))
	}
	for i, b := range blocks {
		var all, burnIn, paid int64
		var cost experiment.NanoUSD
		var ttft []experiment.Micros
		for _, r := range rows {
			at := r.TS.Time()
			if at.Before(b.Starts) || !at.Before(b.Ends) {
				continue
			}
			all++
			if at.Before(b.BurnInEnds) {
				burnIn++
				continue
			}
			if r.Status == experiment.StatusGatewayCache {
				continue
			}
			if r.Cost.Known {
				paid++
				cost += r.Cost.Value
			}
			if r.TTFT.Known {
				ttft = append(ttft, r.TTFT.Value)
			}
		}
		slices.Sort(ttft)
		want := BlockSeries{Block: plan.Blocks[i], Rows: all, BurnIn: burnIn, Values: []*float64{nil, nil, nil}}
		perK := float64(cost) / float64(paid) * rules.NanoPerRowToPerK
		median := float64(ttft[(len(ttft)+1)/2-1]) * microsToMillis
		want.Values[1], want.Values[2] = &perK, &median
		if diff := gocmp.Diff(want, b); diff != "" {
			t.Errorf("block %s (-want +got):\n%s", b.ID, diff)
		}
	}
}

func TestProvidersAndSpend(t *testing.T) {
	ctx := context.Background()
	plan := weekPlan(t)
	block := plan.Blocks[0]
	row := func(id, provider string, minute int, usd float64, attempts int32) experiment.Request {
		return experiment.Request{
			RequestID: id, TS: experiment.InstantOf(block.Starts.Add(time.Duration(minute) * time.Minute)), Model: "m", Provider: provider, Source: "canonical",
			Status: "ok", Attempts: experiment.Some(attempts), InputTokens: experiment.Some[int64](900), OutputTokens: experiment.Some[int64](100),
			Cost: experiment.Some(experiment.NanoUSD(usd * 1e9)), TTFT: experiment.Some(experiment.Micros(minute * 1000)),
		}
	}
	s := openTemp(t)
	l, err := s.NewLoader(ctx, LoadInfo{File: "log.csv", Format: "canonical", Now: someStart})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Write(&experiment.Batch{
		Requests: []experiment.Request{
			row("burn-in", "a", 10, 5, 1), row("r1", "a", 70, 0.001, 1), row("r2", "a", 80, 0.003, 2), row("r3", "b", 90, 0.004, 1), row("r4", "", 130, 0, 1),
		},
		Attempts: []experiment.Attempt{
			{RequestID: "r2", N: 1, Provider: "b", HTTPStatus: experiment.Some[int32](429), ErrorType: "rate_limited"},
			{RequestID: "r2", N: 2, Provider: "a", HTTPStatus: experiment.Some[int32](200)},
			{RequestID: "r4", N: 1, Provider: "b", HTTPStatus: experiment.Some[int32](502), ErrorType: "upstream_error"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyPlan(ctx, plan); err != nil {
		t.Fatal(err)
	}
	found, err := s.Providers(ctx, Window{Arms: testArms})
	if err != nil {
		t.Fatal(err)
	}
	number := func(x float64) *float64 { return &x }
	count := func(n int64) *int64 { return &n }
	want := []ProviderSeries{
		// The median of 70 and 80 ms is the lower one: type 1.
		{Provider: "a", Arm: block.Arm, Requests: 2, USDPerMTokens: number(2), TTFTp50: number(70), Attempts: count(2), Limited: count(0), Failed: count(0)},
		{Provider: "b", Arm: block.Arm, Requests: 1, USDPerMTokens: number(4), TTFTp50: number(90), Attempts: count(3), Limited: count(1), Failed: count(1)},
	}
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	spend, err := s.Spend(ctx, Window{Arms: testArms})
	if err != nil {
		t.Fatal(err)
	}
	hour := block.Starts
	if diff := gocmp.Diff([]HourSpend{
		{Hour: hour, Arm: block.Arm, USD: number(5), Requests: 1},
		{Hour: hour.Add(time.Hour), Arm: block.Arm, USD: number(0.008), Requests: 3},
		{Hour: hour.Add(2 * time.Hour), Arm: block.Arm, USD: number(0), Requests: 1},
	}, spend); diff != "" {
		t.Errorf("spend (-want +got):\n%s", diff)
	}
}

// The fixed mix of a log with one class of requests is the plain cost per token.
func TestFixedMixOfOneClass(t *testing.T) {
	ctx := context.Background()
	rows := messyRequests(4_000, 7)
	for i := range rows {
		rows[i].InputTokens, rows[i].OutputTokens = experiment.Some[int64](960), experiment.Some[int64](40)
	}
	s := openTemp(t)
	loadLog(t, s, rows)
	if _, err := s.ApplyPlan(ctx, weekPlan(t)); err != nil {
		t.Fatal(err)
	}
	sum, err := s.Summaries(ctx, Window{Arms: testArms})
	if err != nil {
		t.Fatal(err)
	}
	defer sum.Close()
	plain, err := sum.Sums(ctx, "cost_per_1m_tokens")
	if err != nil {
		t.Fatal(err)
	}
	mixed, err := sum.Sums(ctx, FixedMix)
	if err != nil {
		t.Fatal(err)
	}
	order := func(a, b stats.Sum) int { return 1000*(a.Model-b.Model) + a.Column - b.Column }
	slices.SortFunc(plain, order)
	slices.SortFunc(mixed, order)
	if diff := gocmp.Diff(plain, mixed); diff != "" {
		t.Errorf("(-plain +mixed):\n%s", diff)
	}
}

// Twenty minutes without a row in a busy log are a gap.
func TestGaps(t *testing.T) {
	plan := weekPlan(t)
	gap := plan.Blocks[9].Starts.Add(70 * time.Minute)
	var rows []experiment.Request
	for i := range 168 * 240 {
		at := plan.Blocks[0].Starts.Add(time.Duration(i) * 15 * time.Second)
		if at.Before(gap) || !at.Before(gap.Add(20*time.Minute)) {
			rows = append(rows, experiment.Request{RequestID: fmt.Sprint(i), TS: experiment.InstantOf(at), Model: "model-0", Status: "ok", Source: "canonical"})
		}
	}
	_, series := openSeries(t, plan, rows, "hit_429")
	if minutes, block := series.Gaps(); minutes != 20 || block != plan.Blocks[9].ID {
		t.Errorf("%d minutes, most in block %q; want 20 in %s", minutes, block, plan.Blocks[9].ID)
	}
}

// Models with schedules of their own have orders of their own in the pairs that they share.
func TestPairsOfSchedulesPerModel(t *testing.T) {
	design := experiment.DefaultDesign()
	design.PerModel = []string{"a", "b"}
	plan, err := experiment.Draw(design, testArms)
	if err != nil {
		t.Fatal(err)
	}
	columns, _ := matchPairs(plan, Window{Arms: testArms})
	for _, model := range design.PerModel {
		pairs, _ := plan.Pairs(model)
		for i, p := range pairs {
			if got, ok := columns.pairs[i].FirstByModel[model]; !ok || got != p.TreatmentFirst || columns.pairs[i].ID != p.ID {
				t.Errorf("model %s, pair %s: order %v in pair %s, want %v", model, p.ID, got, columns.pairs[i].ID, p.TreatmentFirst)
			}
		}
	}
}
