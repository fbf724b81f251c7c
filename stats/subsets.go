package stats

// A weighted sum over columns takes one look-up for every eight columns and binary digit of their weights, in tables of
// the sums over all subsets of the eight (Arlazarov, Dinic, Kronrod and Faradzev 1970). That is a fraction of the
// multiplications that it replaces, as soon as a table serves some dozens of draws.

// manyDraws is the number of draws from which a set's weights are packed.
const manyDraws = 256

// packedWeights are the weights of many draws on columns, digit by digit: for each draw its digits, lowest first, and for
// each digit a byte for every eight columns.
type packedWeights struct {
	groups int // of eight columns
	digits []uint8
	ends   []int // of each draw's digits, after a leading 0
}

// packWeights packs draws × cols weights.
func packWeights(w []uint32, cols int) *packedWeights {
	p := &packedWeights{groups: (cols + 7) / 8, ends: make([]int, 1, 1+len(w)/cols)}
	p.digits = make([]uint8, 0, 2*p.groups*(len(w)/cols))
	for ; len(w) > 0; w = w[cols:] {
		rest := uint32(0)
		for _, weight := range w[:cols] {
			rest |= weight
		}
		for digit := 0; rest>>digit > 0; digit++ {
			from := len(p.digits)
			p.digits = append(p.digits, make([]uint8, p.groups)...)
			for c, weight := range w[:cols] {
				p.digits[from+c/8] |= uint8(weight>>digit&1) << (c % 8)
			}
		}
		p.ends = append(p.ends, len(p.digits))
	}
	return p
}

// of returns the digits of a draw.
func (p *packedWeights) of(draw int) []uint8 { return p.digits[p.ends[draw]:p.ends[draw+1]] }

// subsetCounts has, for every eight columns, the sums of counts over all their subsets. Bit i of a subset is column i.
type subsetCounts [][256]uint32

// subsetCountsOf makes the sums of counts in the space of others, when that is enough.
func subsetCountsOf(counts []uint32, space subsetCounts) subsetCounts {
	s := resized(space, (len(counts)+7)/8)
	for g := range s {
		t := &s[g]
		t[0] = 0
		for i, n := range counts[8*g : min(8*g+8, len(counts))] {
			for subset := range 1 << i {
				t[1<<i+subset] = t[subset] + n
			}
		}
	}
	return s
}

// weigh returns the sum of counts with the weights whose digits are given.
func (s subsetCounts) weigh(digits []uint8) uint64 {
	var sum uint64
	for digit := 0; len(digits) >= len(s); digit++ {
		var n uint64
		for g, subset := range digits[:len(s)] {
			n += uint64(s[g][subset])
		}
		sum += n << digit
		digits = digits[len(s):]
	}
	return sum
}

// subsetSums has the sums of two numbers of every column in the same way.
type subsetSums [][256]struct{ n, y int64 }

// subsetSumsOf makes the sums of two numbers in the space of others, when that is enough.
func subsetSumsOf(ns, ys []int64, space subsetSums) subsetSums {
	s := resized(space, (len(ns)+7)/8)
	for g := range s {
		t := &s[g]
		t[0].n, t[0].y = 0, 0
		for i := range min(8, len(ns)-8*g) {
			n, y := ns[8*g+i], ys[8*g+i]
			for subset := range 1 << i {
				t[1<<i+subset].n, t[1<<i+subset].y = t[subset].n+n, t[subset].y+y
			}
		}
	}
	return s
}

func (s subsetSums) weigh(digits []uint8) (sumN, sumY int64) {
	for digit := 0; len(digits) >= len(s); digit++ {
		var n, y int64
		for g, subset := range digits[:len(s)] {
			n += s[g][subset].n
			y += s[g][subset].y
		}
		sumN += n << digit
		sumY += y << digit
		digits = digits[len(s):]
	}
	return sumN, sumY
}

// resized returns a slice of n elements, whatever they are, in the space of another one when that is enough.
func resized[S ~[]E, E any](space S, n int) S {
	if cap(space) < n {
		return make(S, n)
	}
	return space[:n]
}
