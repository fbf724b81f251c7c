package experiment

import (
	"context"
	"testing"
)

// TestDriveWorlds: worlds driven together are the worlds driven alone.
func TestDriveWorlds(t *testing.T) {
	plan := weekPlan(t, 1, 7)
	flows, err := ModelFlows(DriveConfig{Plan: plan, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	least := flows[len(flows)-1]
	for _, f := range flows {
		if f.Flow < least.Flow {
			t.Errorf("%s with %.2f requests/s stands before %s with %.2f", f.Model, f.Flow, least.Model, least.Flow)
		}
	}
	cfg := DriveConfig{Plan: plan, Seed: 5, LogRequests: 4000, Models: []string{least.Model}}
	together := map[string]*LogHash{}
	summaries, err := DriveWorlds(context.Background(), cfg, Worlds(), func(world string, b *Batch) error {
		if together[world] == nil {
			together[world] = new(LogHash)
		}
		together[world].Add(b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	distinct := map[string]bool{}
	for i, world := range Worlds() {
		distinct[together[world].String()] = true
		if i%2 == 1 {
			continue // three worlds alone are enough
		}
		var alone LogHash
		cfg.World = world
		summary, err := Drive(context.Background(), cfg, func(b *Batch) error { alone.Add(b); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if alone.String() != together[world].String() || summary.Requests != summaries[i].Requests || summaries[i].World != world {
			t.Errorf("world %s: %s with %d requests alone, %s with %d together", world, alone.String(), summary.Requests, together[world], summaries[i].Requests)
		}
	}
	if len(distinct) != len(Worlds()) {
		t.Errorf("%d worlds give %d logs", len(Worlds()), len(distinct))
	}
	if _, err := DriveWorlds(context.Background(), cfg, []string{"elsewhere"}, nil); err == nil {
		t.Error("an unknown world was driven")
	}
}
