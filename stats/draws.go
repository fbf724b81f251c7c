package stats

import (
	"cmp"
	"fmt"
	"slices"
)

// drawSet is a list of draws. A draw gives each role (the arm that a column plays) a weight on columns; columns are
// laid out arm by arm: pair i is column i for control and column pairs+i for treatment.
type drawSet struct {
	id     int // one of the constants below
	n      int // draws
	cols   int // columns that a draw weighs
	offset [2]int
	w      [2][]uint32       // by role, draws × cols
	packed [2]*packedWeights // the same by role, nil for few draws
	empty  int               // draws without any weight
}

// The sets of draws of an analysis. The same draws serve every model, arm and metric.
const (
	setPoint     = iota // every pair once
	setBootstrap        // multinomial weights on pairs
	setHalf             // each pair kept with probability ½
	setJackknife        // all pairs but one
	setSwaps            // other members of the design's set: the arms of some pairs swapped
	setPlacebo          // the orders of the pairs before, whole and without each pair
	numSets
)

// weights returns the weights of a role in a draw, for the columns from offset[role] on.
func (s *drawSet) weights(role, draw int) []uint32 {
	return s.w[role][draw*s.cols : (draw+1)*s.cols]
}

// pack packs the weights of many draws, when they are all there.
func (s *drawSet) pack() {
	if s.n < manyDraws || s.cols == 0 {
		return
	}
	s.packed[0] = packWeights(s.w[0], s.cols)
	s.packed[1] = s.packed[0]
	if &s.w[1][0] != &s.w[0][0] {
		s.packed[1] = packWeights(s.w[1], s.cols)
	}
}

// pairSet returns a set whose draws weigh pairs, the same for both arms.
func pairSet(id, pairs, draws int) *drawSet {
	w := make([]uint32, pairs*draws)
	return &drawSet{id: id, n: draws, cols: pairs, offset: [2]int{0, pairs}, w: [2][]uint32{w, w}}
}

func pointSet(pairs int) *drawSet {
	s := pairSet(setPoint, pairs, 1)
	for i := range s.w[0] {
		s.w[0][i] = 1
	}
	return s
}

// bootstrapSet draws pairs with replacement.
func bootstrapSet(seed uint64, pairs, draws int) *drawSet {
	s := pairSet(setBootstrap, pairs, draws)
	random := newStream(seed, "bootstrap")
	for d := range draws {
		rng, w := random.at(d), s.weights(0, d)
		for range pairs {
			w[rng.IntN(pairs)]++
		}
	}
	s.pack()
	return s
}

// halfSampleSet keeps each pair with probability ½ (typical values, Hartigan 1969).
func halfSampleSet(seed uint64, pairs, draws int) *drawSet {
	s := pairSet(setHalf, pairs, draws)
	random := newStream(seed, "half-sample")
	for d := range draws {
		rng, w, kept := random.at(d), s.weights(0, d), uint32(0)
		for i := range w {
			w[i] = uint32(rng.Uint64() >> 63)
			kept += w[i]
		}
		if kept == 0 {
			s.empty++
		}
	}
	s.pack()
	return s
}

func jackknifeSet(pairs int) *drawSet {
	s := pairSet(setJackknife, pairs, pairs)
	for d := range pairs {
		for i, w := 0, s.weights(0, d); i < pairs; i++ {
			if i != d {
				w[i] = 1
			}
		}
	}
	return s
}

// swapSets returns the draws that swap the arms of pairs, by model; models with the same schedule share them, as
// their arms are swapped together. The other members of a set of at most maxEnumerated are enumerated, else drawn;
// schedules of their own are drawn independently, model by model.
func swapSets(o Options, models []string, pairs []Pair) ([]*drawSet, error) {
	var shared *drawSet // of the models without a schedule of their own
	perModel := slices.ContainsFunc(pairs, func(p Pair) bool { return len(p.FirstByModel) > 0 })
	if !perModel {
		set, err := newAssignments(o.Order, "", pairs, o.Days)
		if err != nil {
			return nil, err
		}
		if set.size() <= maxEnumerated {
			shared = enumeratedSwaps(set)
		} else {
			shared = sampledSwaps(set, newStream(o.Seed, "swaps"), o.Replicates)
		}
		return slices.Repeat([]*drawSet{shared}, len(models)), nil
	}
	var sets []*drawSet
	for _, model := range models {
		set, err := newAssignments(o.Order, model, pairs, o.Days)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", model, err)
		}
		if slices.ContainsFunc(pairs, func(p Pair) bool { _, own := p.FirstByModel[model]; return own }) {
			sets = append(sets, sampledSwaps(set, newStream(o.Seed, "swaps of "+model), o.Replicates))
			continue
		}
		if shared == nil {
			shared = sampledSwaps(set, newStream(o.Seed, "swaps"), o.Replicates)
		}
		sets = append(sets, shared)
	}
	return sets, nil
}

// placeboSet gives every pair the order of the pair before it in time. The first draw has all pairs but the first in time,
// which has none before it; the others leave out each pair in turn.
func placeboSet(pairs []Pair, model string) *drawSet {
	s := &drawSet{id: setPlacebo, cols: 2 * len(pairs)}
	flips := make([]bool, len(pairs))
	sequence := inTime(pairs)
	for k := 1; k < len(sequence); k++ {
		flips[sequence[k]] = pairs[sequence[k]].treatmentFirst(model) != pairs[sequence[k-1]].treatmentFirst(model)
	}
	for draw := range len(pairs) + 1 {
		s.addSwap(flips)
		for role := range 2 {
			w := s.weights(role, draw)
			for _, i := range []int{sequence[0], draw - 1} {
				if i >= 0 {
					w[i], w[len(pairs)+i] = 0, 0
				}
			}
		}
	}
	return s
}

// inTime returns the indexes of pairs in order of time.
func inTime(pairs []Pair) []int {
	sequence := make([]int, len(pairs))
	for i := range sequence {
		sequence[i] = i
	}
	slices.SortStableFunc(sequence, func(a, b int) int {
		return cmp.Or(cmp.Compare(pairs[a].Day, pairs[b].Day), cmp.Compare(pairs[a].Position, pairs[b].Position))
	})
	return sequence
}

func enumeratedSwaps(set *assignments) *drawSet {
	s := &drawSet{id: setSwaps, cols: 2 * len(set.observed)}
	set.enumerate(s.addSwap)
	s.pack()
	return s
}

func sampledSwaps(set *assignments, random *stream, draws int) *drawSet {
	s := &drawSet{id: setSwaps, cols: 2 * len(set.observed)}
	for role := range s.w {
		s.w[role] = make([]uint32, 0, draws*s.cols)
	}
	flips := make([]bool, len(set.observed))
	for d := range draws {
		set.draw(random.at(d), flips)
		s.addSwap(flips)
	}
	s.pack()
	return s
}

// addSwap appends a draw in which the arms of the flipped pairs are exchanged.
func (s *drawSet) addSwap(flips []bool) {
	for role := range 2 {
		from := len(s.w[role])
		s.w[role] = append(s.w[role], make([]uint32, s.cols)...)
		for i, flip := range flips {
			arm := role
			if flip {
				arm = 1 - role
			}
			s.w[role][from+arm*len(flips)+i] = 1
		}
	}
	s.n++
}

// dot returns the weighted sum of counts. len(w) must be at least len(counts).
func dot(counts, w []uint32) uint64 {
	var a, b uint64
	w = w[:len(counts)]
	i := 0
	for ; i <= len(counts)-4; i += 4 {
		c, x := counts[i:i+4:i+4], w[i:i+4:i+4]
		a += uint64(c[0])*uint64(x[0]) + uint64(c[2])*uint64(x[2])
		b += uint64(c[1])*uint64(x[1]) + uint64(c[3])*uint64(x[3])
	}
	for ; i < len(counts); i++ {
		a += uint64(counts[i]) * uint64(w[i])
	}
	return a + b
}
