package experiment

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"switchback/experiment/workload"
)

// Events come in the order of their instants, simultaneous ones in that of what they are, near and far ones alike.
func TestEventsComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q eventQueue
		var waiting []event // sorted
		now := int64(0)
		reach := rapid.SampledFrom([]int64{3, 1 << slotBits, 100 << slotBits, 1000 << slotBits}).Draw(t, "reach")
		for i := range rapid.IntRange(0, 400).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "step") > 0 {
				e := event{at: now + rapid.Int64Range(0, reach).Draw(t, "delay"), what: int32(i)}
				if i%2 == 1 {
					e.what = ^e.what
				}
				q.push(e)
				at, _ := slices.BinarySearchFunc(waiting, e, func(a, b event) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				waiting = slices.Insert(waiting, at, e)
			} else if len(waiting) > 0 {
				if got := q.pop(); got != waiting[0] {
					t.Fatalf("popped %v, want %v", got, waiting[0])
				}
				now = waiting[0].at
				waiting = waiting[1:]
			}
			next := int64(workload.Never)
			if len(waiting) > 0 {
				next = waiting[0].at
			}
			if got := q.next(); got != next {
				t.Fatalf("next is %d, want %d", got, next)
			}
		}
	})
}
