package ingest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// However the turns of sessions come, they are put in order: by arrival, then provider with an unknown one first, then cell.
func TestSwitchCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, sessions := range []int{1, 7, 3_000} {
		t.Run(fmt.Sprint(sessions, " sessions"), func(t *testing.T) {
			var turns []turn
			for range 5_000 {
				turns = append(turns, turn{session: uint64(rng.IntN(sessions)) * 0x9e3779b97f4a7c15, ts: rng.Int64N(500), cell: int32(rng.IntN(4)), provider: int32(rng.IntN(4))})
			}
			var of, changed [4]int64
			bySession := map[uint64][]turn{}
			for _, t := range turns {
				bySession[t.session] = append(bySession[t.session], t)
			}
			for _, of1 := range bySession {
				slices.SortFunc(of1, func(a, b turn) int {
					return 1_000_000*int(a.ts-b.ts) + 1000*int(a.provider-b.provider) + int(a.cell-b.cell)
				})
				for i, t := range of1[1:] {
					if before := of1[i]; before.provider > 0 && t.provider > 0 {
						of[t.cell]++
						if before.provider != t.provider {
							changed[t.cell]++
						}
					}
				}
			}
			slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.session%sessionGroups, b.session%sessionGroups) })
			parts := make([]turnGroups, 2)
			for i, t := range turns {
				p := &parts[i%2]
				p.turns = append(p.turns, t)
				for group := t.session % sessionGroups; group < sessionGroups; group++ {
					p.ends[group+1]++
				}
			}
			got := switchCounts{of: make([]int64, 4), changed: make([]int64, 4)}
			for group := range sessionGroups {
				got.add(parts, group)
			}
			if !slices.Equal(of[:], got.of) || !slices.Equal(changed[:], got.changed) {
				t.Errorf("of %v changed %v, want of %v changed %v", got.of, got.changed, of, changed)
			}
		})
	}
}
