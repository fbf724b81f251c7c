package ingest

import (
	"context"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
)

func TestDearer(t *testing.T) {
	ctx := context.Background()
	plan := weekPlan(t)
	first, second := plan.Blocks[0], plan.Blocks[1] // of one pair, so of both arms
	row := func(id string, b experiment.Block, minute int, model string, cost, cheapest experiment.NanoUSD) experiment.Request {
		return experiment.Request{
			RequestID: id, TS: experiment.InstantOf(b.Starts.Add(time.Duration(minute) * time.Minute)), Model: model, Provider: "a", Source: "canonical",
			Status: experiment.StatusOK, Cost: experiment.Some(cost), CheapestCost: experiment.Some(cheapest),
		}
	}
	unknown := row("unknown", first, 70, "m", 900, 0)
	unknown.CheapestCost = experiment.Opt[experiment.NanoUSD]{}
	unpriced := row("unpriced", first, 70, "m", 0, 900)
	unpriced.Cost = experiment.Opt[experiment.NanoUSD]{}
	s := openTemp(t)
	loadLog(t, s, []experiment.Request{
		row("burn-in", first, 10, "m", 9_000, 1_000), unknown, unpriced,
		row("same", first, 70, "m", 1_000, 1_000), row("dearer", first, 71, "m", 1_500, 1_000), row("cheaper", first, 72, "m", 400, 1_000),
		row("other model", first, 73, "n", 5, 2), row("other arm", second, 70, "m", 7, 3),
	})
	if _, err := s.ApplyPlan(ctx, plan); err != nil {
		t.Fatal(err)
	}
	got, err := s.Dearer(ctx, Window{Arms: testArms})
	if err != nil {
		t.Fatal(err)
	}
	want := []DearerCount{
		{Model: "m", Arm: first.Arm, Requests: 3, Dearer: 1, ExtraNanoUSD: 500, CostNanoUSD: 2_900},
		{Model: "m", Arm: second.Arm, Requests: 1, Dearer: 1, ExtraNanoUSD: 4, CostNanoUSD: 7},
		{Model: "n", Arm: first.Arm, Requests: 1, Dearer: 1, ExtraNanoUSD: 3, CostNanoUSD: 5},
	}
	if first.Arm > second.Arm {
		want[0], want[1] = want[1], want[0]
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A gateway's log says nothing of it.
	if got, err := openTemp(t).Dearer(ctx, Window{Arms: testArms}); err != nil || len(got) > 0 {
		t.Errorf("an empty store: %v, %v", got, err)
	}
}
