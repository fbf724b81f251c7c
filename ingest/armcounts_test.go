package ingest

import (
	"context"
	"testing"

	"switchback/experiment"
)

// The two arms together are the kept rows of the window, also when a block has lost its partner, and the counts per
// column add up to those of the whole.
func TestArmCountsAddUp(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	loadLog(t, s, messyRequests(4000, 5))
	whole := weekPlan(t)
	lone := experiment.Plan{Arms: whole.Arms, Blocks: whole.Blocks[1:]}
	for _, plan := range []experiment.Plan{whole, lone} {
		if _, err := s.ApplyPlan(ctx, plan); err != nil {
			t.Fatal(err)
		}
		w := Window{Arms: testArms}
		h, err := s.Health(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := s.ArmCounts(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		control, treatment := counts[0], counts[1]
		if got := control.Kept + control.Lone + treatment.Kept + treatment.Lone; got != h.Kept || got == 0 {
			t.Errorf("arms have %d kept rows, the window %d", got, h.Kept)
		}
		if gotLone, wantLone := control.Lone+treatment.Lone > 0, len(h.Blocks.Lone) > 0; gotLone != wantLone {
			t.Errorf("rows in lone blocks: %v, lone blocks: %v", gotLone, h.Blocks.Lone)
		}
		if len(h.Blocks.Lone) > 0 {
			continue
		}
		for i, c := range h.Columns {
			if got := control.Columns[i].Known + treatment.Columns[i].Known; got != c.Known {
				t.Errorf("column %s is known in %d rows of the arms, %d of the window", c.Column, got, c.Known)
			}
		}
		var straddling int64
		for _, q := range h.Quality {
			if q.Name == "straddles_block" {
				straddling = q.N
			}
		}
		if got := control.Straddling + treatment.Straddling; got != straddling || got == 0 {
			t.Errorf("%d straddling rows in the arms, %d in the window", got, straddling)
		}
	}
}
