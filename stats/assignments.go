package stats

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// ErrNotInSet is returned when a schedule is not a member of the set that its design draws from.
var ErrNotInSet = errors.New("schedule is not a member of its design's set")

// maxEnumerated is the size up to which a set of assignments is enumerated instead of sampled.
const maxEnumerated = 1 << 16

// Orders of the arms inside pairs, as in Options.Order.
const (
	orderSlotBalanced = "slot-balanced"
	orderDayBalanced  = "day-balanced"
	orderCoin         = "coin"
	orderAlternating  = "alternating"
)

// assignmentGroup is some pairs of which a fixed number, one of counts, is treatment-first. Groups are drawn independently.
type assignmentGroup struct {
	pairs  []int
	counts []int
}

// assignments is the set that a schedule was drawn from: every combination of its groups' members is equally likely.
type assignments struct {
	observed []bool // treatment-first, by pair
	groups   []assignmentGroup
}

// newAssignments returns the set that a model's schedule was drawn from and checks that the schedule is a member.
//
// A balanced group that lacks pairs (a daily position with fewer days than the others or than the design, a day with
// fewer pairs) may have any count; it is then held at its observed count, which is valid given the pairs that are there.
// days is the length of the design, 0 when the pairs show it.
func newAssignments(order, model string, pairs []Pair, days int) (*assignments, error) {
	set := &assignments{observed: make([]bool, len(pairs))}
	key := func(Pair) int { return 0 }
	switch order {
	case orderSlotBalanced:
		key = func(p Pair) int { return p.Position }
	case orderDayBalanced:
		key = func(p Pair) int { return p.Day }
	case orderCoin:
	default:
		return nil, fmt.Errorf("order %q: have %s, %s, %s, %s", order, orderSlotBalanced, orderDayBalanced, orderCoin, orderAlternating)
	}
	index := map[int]int{}
	for i, p := range pairs {
		set.observed[i] = p.treatmentFirst(model)
		if order == orderCoin {
			set.groups = append(set.groups, assignmentGroup{pairs: []int{i}, counts: []int{0, 1}})
			continue
		}
		g, ok := index[key(p)]
		if !ok {
			g = len(set.groups)
			index[key(p)] = g
			set.groups = append(set.groups, assignmentGroup{})
		}
		set.groups[g].pairs = append(set.groups[g].pairs, i)
	}
	if order == orderCoin {
		return set, nil
	}
	full := 0
	if order == orderSlotBalanced {
		full = days
	}
	for _, g := range set.groups {
		full = max(full, len(g.pairs))
	}
	for i := range set.groups {
		g := &set.groups[i]
		size, first := len(g.pairs), 0
		for _, p := range g.pairs {
			if set.observed[p] {
				first++
			}
		}
		g.counts = []int{size / 2}
		if size%2 == 1 {
			g.counts = append(g.counts, size/2+1)
		}
		if first != g.counts[0] && first != g.counts[len(g.counts)-1] {
			if size == full {
				return nil, fmt.Errorf("order %s: pairs around %q: %d of %d are treatment-first: %w", order, pairs[g.pairs[0]].ID, first, size, ErrNotInSet)
			}
			g.counts = []int{first}
		}
	}
	return set, nil
}

// size returns the number of members, as far as a float64 can hold it.
func (s *assignments) size() float64 {
	product := 1.0
	for _, g := range s.groups {
		sum := 0.0
		for _, k := range g.counts {
			sum += binomial(len(g.pairs), k)
		}
		product *= sum
	}
	return product
}

// draw fills flips with a uniformly drawn member, as the pairs whose arms differ from the observed schedule.
func (s *assignments) draw(rng *rand.Rand, flips []bool) {
	for _, g := range s.groups {
		// The counts of a group are one number or the two middle ones of an odd size, which have equally many members.
		k := g.counts[rng.IntN(len(g.counts))]
		left := len(g.pairs)
		for _, p := range g.pairs {
			first := rng.IntN(left) < k
			if first {
				k--
			}
			left--
			flips[p] = first != s.observed[p]
		}
	}
}

// enumerate calls yield with every member but the observed one, as flips. The slice is reused.
func (s *assignments) enumerate(yield func(flips []bool)) {
	flips := make([]bool, len(s.observed))
	var group func(g int)
	var choose func(g, i, k int)
	group = func(g int) {
		if g < len(s.groups) {
			for _, k := range s.groups[g].counts {
				choose(g, 0, k)
			}
			return
		}
		for _, f := range flips {
			if f {
				yield(flips)
				return
			}
		}
	}
	choose = func(g, i, k int) {
		pairs := s.groups[g].pairs
		if i == len(pairs) {
			group(g + 1)
			return
		}
		p := pairs[i]
		if k > 0 {
			flips[p] = !s.observed[p]
			choose(g, i+1, k-1)
		}
		if len(pairs)-i > k {
			flips[p] = s.observed[p]
			choose(g, i+1, k)
		}
	}
	group(0)
}

// binomial returns n choose k.
func binomial(n, k int) float64 {
	c := 1.0
	for i := 1; i <= k; i++ {
		c = c * float64(n-k+i) / float64(i)
	}
	return c
}
