package ingest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/stats"
)

var testArms = experiment.Arms{Control: "price", Treatment: "routing-cost"}

// weekPlan is the published design: 56 blocks of 3 hours, one hour of burn-in.
func weekPlan(tb testing.TB) experiment.Plan {
	tb.Helper()
	plan, err := experiment.Draw(experiment.DefaultDesign(), testArms)
	if err != nil {
		tb.Fatal(err)
	}
	return plan
}

// messyRequests returns rows of a log with every status and unknown values everywhere, some outside the plan.
func messyRequests(n int, seed uint64) []experiment.Request {
	rng := rand.New(rand.NewPCG(seed, 2))
	statuses := []string{"ok", "ok", "ok", "ok", "error", "error_midstream", "cancelled", "ok_gateway_cache", ""}
	micros := func(limit int) experiment.Opt[experiment.Micros] {
		if rng.IntN(6) == 0 {
			return experiment.Opt[experiment.Micros]{}
		}
		return experiment.Some(experiment.Micros(rng.IntN(limit)))
	}
	count := func(limit int) experiment.Opt[int32] {
		if rng.IntN(6) == 0 {
			return experiment.Opt[int32]{}
		}
		return experiment.Some(int32(rng.IntN(limit)))
	}
	tokens := func(limit int) experiment.Opt[int64] {
		if rng.IntN(6) == 0 {
			return experiment.Opt[int64]{}
		}
		return experiment.Some(int64(rng.IntN(limit)))
	}
	flag := func() experiment.Opt[bool] {
		return experiment.Opt[bool]{Value: rng.IntN(2) == 0, Known: rng.IntN(3) > 0}
	}
	rows := make([]experiment.Request, n)
	for i := range rows {
		r := &rows[i]
		r.RequestID = fmt.Sprint("m", i)
		r.TS = experiment.InstantOf(someStart.Add(time.Duration(rng.Int64N(int64(200*time.Hour))) - 10*time.Hour).Truncate(time.Microsecond))
		r.Model = fmt.Sprint("model-", rng.IntN(3))
		if rng.IntN(4) > 0 {
			r.SessionID = fmt.Sprint("s", rng.IntN(n/4))
		}
		if rng.IntN(8) > 0 {
			r.Provider = fmt.Sprint("provider-", rng.IntN(3))
		}
		if rng.IntN(3) == 0 {
			r.Arm = []string{testArms.Control, testArms.Treatment}[rng.IntN(2)]
		}
		r.PinnedFromBlock = []string{"", "3", "4"}[rng.IntN(3)]
		r.Attempts, r.N429, r.Retries = count(4), count(3), count(3)
		r.TTFT, r.CallerTTFT, r.Total, r.Failed = micros(3_000_000), micros(4_000_000), micros(60_000_000), micros(900_000)
		r.InputTokens, r.CachedTokens, r.OutputTokens = tokens(9000), tokens(4000), tokens(800)
		if rng.IntN(5) > 0 {
			r.Cost = experiment.Some(experiment.NanoUSD(rng.IntN(9_000_000)))
		}
		r.Status = statuses[rng.IntN(len(statuses))]
		r.Streamed, r.ToolCallOK = flag(), flag()
		r.Source = "canonical"
	}
	return rows
}

// cell is a (model, column) of the expected answers.
type cell struct{ model, column int }

// expected computes the answers of Summaries from the rows, one rule of the analysis after the other.
type expected struct {
	sums   map[string]map[cell]stats.Sum
	values map[string]map[cell]map[int64]int64
}

func expect(plan experiment.Plan, rows []experiment.Request, w Window) expected {
	e := expected{sums: map[string]map[cell]stats.Sum{}, values: map[string]map[cell]map[int64]int64{}}
	add := func(c cell, metric string, y, n int64) {
		if e.sums[metric] == nil {
			e.sums[metric] = map[cell]stats.Sum{}
		}
		s := e.sums[metric][c]
		if s.N+n > 0 {
			e.sums[metric][c] = stats.Sum{Model: c.model, Column: c.column, N: s.N + n, Y: s.Y + y}
		}
	}
	value := func(c cell, quantity string, v int64) {
		if e.values[quantity] == nil {
			e.values[quantity] = map[cell]map[int64]int64{}
		}
		if e.values[quantity][c] == nil {
			e.values[quantity][c] = map[int64]int64{}
		}
		e.values[quantity][c][v]++
	}
	one := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	pairs, _ := plan.Pairs("")
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b experiment.Request) int { return cmp.Compare(a.TS, b.TS) })
	before := map[string]*experiment.Request{}
	for i := range rows {
		r := &rows[i]
		at := r.TS.Time()
		b := experiment.BlockAt(plan.Blocks, at)
		if b == nil || at.Before(b.BurnInEnds) || r.Status == "ok_gateway_cache" ||
			!w.Since.IsZero() && at.Before(w.Since) || !w.Until.IsZero() && !at.Before(w.Until) {
			continue
		}
		if w.BornInBlock && r.PinnedFromBlock != "" && r.PinnedFromBlock != b.ID {
			continue
		}
		c := cell{int(r.Model[len(r.Model)-1] - '0'), 0}
		for i, p := range pairs {
			if p.Control.ID == b.ID {
				c.column = 2 * i
			}
			if p.Treatment.ID == b.ID {
				c.column = 2*i + 1
			}
		}
		add(c, "requests", 1, 1)
		failed := r.Status == "error" || r.Status == "error_midstream"
		if r.Cost.Known {
			add(c, "cost_per_1k_requests", int64(r.Cost.Value), 1)
			if r.InputTokens.Known && r.OutputTokens.Known {
				add(c, "cost_per_1m_tokens", int64(r.Cost.Value), r.InputTokens.Value+r.OutputTokens.Value)
			}
		}
		if r.N429.Known {
			add(c, "hit_429", one(r.N429.Value >= 1), 1)
			add(c, "events_429", int64(r.N429.Value), 1)
		}
		tries := r.Retries
		if !tries.Known && r.Attempts.Known {
			tries = experiment.Some(max(r.Attempts.Value-1, 0))
		}
		if tries.Known {
			add(c, "needed_retry", one(tries.Value >= 1), 1)
			add(c, "retries", int64(tries.Value), 1)
		}
		if r.Failed.Known {
			add(c, "failed_ms", int64(r.Failed.Value), 1)
		}
		if r.Status != "" && r.Status != "cancelled" {
			add(c, "error_rate", one(failed), 1)
		}
		if r.ToolCallOK.Known {
			add(c, "tool_call_ok", one(r.ToolCallOK.Value), 1)
		}
		if r.CachedTokens.Known && r.InputTokens.Known {
			add(c, "cache_hit_tokens", r.CachedTokens.Value, r.InputTokens.Value)
		}
		if r.SessionID != "" { // a silent fallback breaks the prompt cache, Blockether/vis#154
			if p := before[r.SessionID]; p != nil && p.Provider != "" && r.Provider != "" {
				add(c, "provider_switches", one(p.Provider != r.Provider), 1)
			}
			before[r.SessionID] = r
		}
		if r.TTFT.Known {
			value(c, "ttft", int64(r.TTFT.Value))
		}
		if r.CallerTTFT.Known {
			value(c, "caller_ttft", int64(r.CallerTTFT.Value))
		} else if r.Status == "error" && r.Streamed.Known && r.Streamed.Value {
			value(c, "caller_ttft", stats.Inf)
		}
		if failed {
			value(c, "total", stats.Inf)
		} else if r.Status != "cancelled" && r.Total.Known {
			value(c, "total", int64(r.Total.Value))
		}
		if r.Status == "ok" && r.OutputTokens.Value > 0 && r.Total.Known {
			serving := experiment.Micros(0)
			if r.CallerTTFT.Known && r.TTFT.Known {
				serving = r.Total.Value - (r.CallerTTFT.Value - r.TTFT.Value)
			} else if r.Failed.Known {
				serving = r.Total.Value - r.Failed.Value
			}
			if serving > 0 { // tokens/s in thousandths, half away from zero
				value(c, "throughput", (2_000_000_000*r.OutputTokens.Value+int64(serving))/(2*int64(serving)))
			}
		}
	}
	return e
}

func loadLog(tb testing.TB, s *Store, rows []experiment.Request) {
	tb.Helper()
	l, err := s.NewLoader(context.Background(), LoadInfo{File: "log.csv", Format: "canonical", Now: someStart})
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.Write(&experiment.Batch{Requests: rows}); err != nil {
		tb.Fatal(err)
	}
	if _, err := l.Commit(); err != nil {
		tb.Fatal(err)
	}
}

func TestSummariesAgreeWithTheRules(t *testing.T) {
	ctx := context.Background()
	rows := messyRequests(20_000, 3)
	plan := weekPlan(t)
	s := openTemp(t)
	loadLog(t, s, rows)
	if _, err := s.ApplyPlan(ctx, plan); err != nil {
		t.Fatal(err)
	}
	for _, w := range []Window{
		{Arms: testArms},
		{Arms: testArms, BornInBlock: true},
		{Arms: testArms, Until: someStart.AddDate(0, 0, 3)},
	} {
		want := expect(plan, rows, w)
		sum, err := s.Summaries(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		models, _ := sum.Models(ctx)
		if diff := gocmp.Diff([]string{"model-0", "model-1", "model-2"}, models); diff != "" {
			t.Errorf("models (-want +got):\n%s", diff)
		}
		metrics := []string{"requests"}
		quantities := map[string]bool{}
		for _, m := range StatsMetrics() {
			if m.Quantity != "" {
				quantities[m.Quantity] = true
			} else {
				metrics = append(metrics, m.ID)
			}
		}
		for _, m := range metrics {
			got, err := sum.Sums(ctx, m)
			if err != nil {
				t.Fatal(err)
			}
			have := map[cell]stats.Sum{}
			for _, g := range got {
				have[cell{g.Model, g.Column}] = g
			}
			if diff := gocmp.Diff(want.sums[m], have, gocmp.AllowUnexported(cell{})); diff != "" {
				t.Errorf("%+v sums of %s (-want +got):\n%s", w, m, diff)
			}
		}
		for q := range quantities {
			checkQuantityAnswers(t, sum, q, want.values[q])
		}
		if err := sum.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkQuantityAnswers compares a histogram and all exact values with the expected values.
func checkQuantityAnswers(t *testing.T, sum *Summaries, quantity string, want map[cell]map[int64]int64) {
	t.Helper()
	ctx := context.Background()
	bins, err := sum.Histogram(ctx, quantity)
	if err != nil {
		t.Fatal(err)
	}
	perBin := map[stats.ModelBin]int64{}
	perCell := map[cell]int64{}
	for _, b := range bins {
		perBin[stats.ModelBin{Model: b.Model, Bin: b.Bin}] += b.N
		perCell[cell{b.Model, b.Column}] += b.N
	}
	for c, values := range want {
		var n int64
		for _, k := range values {
			n += k
		}
		if perCell[c] != n {
			t.Errorf("%s: histogram of cell %v holds %d rows, want %d", quantity, c, perCell[c], n)
		}
	}
	var all []stats.ModelBin
	for mb := range perBin {
		all = append(all, mb)
	}
	slices.SortFunc(all, func(a, b stats.ModelBin) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Bin, b.Bin))
	})
	have := map[cell]map[int64]int64{}
	for part := range slices.Chunk(all, len(all)/5+1) {
		values, err := sum.Values(ctx, quantity, part)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			c := cell{v.Model, v.Column}
			if have[c] == nil {
				have[c] = map[int64]int64{}
			}
			have[c][v.Value] += v.N
		}
	}
	if diff := gocmp.Diff(want, have, gocmp.AllowUnexported(cell{})); diff != "" {
		t.Errorf("values of %s (-want +got):\n%s", quantity, diff)
	}
	for _, mb := range []stats.ModelBin{all[0], all[len(all)/2], all[len(all)-1]} {
		values, err := sum.Values(ctx, quantity, []stats.ModelBin{mb})
		if err != nil {
			t.Fatal(err)
		}
		n := perBin[mb]
		for _, v := range values {
			n -= v.N
		}
		if n != 0 {
			t.Errorf("%s: values of bin %v miss %d rows of its histogram", quantity, mb, n)
		}
	}
}
