package random

import "math/bits"

// Stream is a sequence of random numbers: splitmix64 (Steele, Lea, Flood 2014), which passes BigCrush and
// holds its whole state in one word. It is a math/rand/v2 Source. Copying a Stream forks it.
type Stream struct{ state uint64 }

// New returns the stream of a purpose, such as New(seed, "arrivals", model). Different names give unrelated streams.
func New(seed uint64, purpose ...string) Stream {
	return Stream{Hash(seed, purpose...)}
}

// Seeded returns the stream with the given state, which should be well mixed already.
func Seeded(state uint64) Stream { return Stream{state} }

// Hash mixes a seed and words into 64 bits (FNV-1a over the words, then the splitmix64 finalizer).
func Hash(seed uint64, words ...string) uint64 {
	h := uint64(14695981039346656037)
	for _, w := range words {
		for i := range len(w) {
			h = (h ^ uint64(w[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // so that {"ab","c"} and {"a","bc"} differ
	}
	return Mix(Mix(seed) ^ h)
}

// Mix is the finalizer of splitmix64: a bijection on 64 bits whose every output bit depends on every input bit.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return Mix(s.state)
}

// Float64 returns a number in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * (1.0 / (1 << 53)) }

// Chance reports true with probability p.
func (s *Stream) Chance(p float64) bool { return s.Float64() < p }

// IntN returns a number in [0, n), n > 0.
func (s *Stream) IntN(n int) int {
	hi, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int(hi)
}
