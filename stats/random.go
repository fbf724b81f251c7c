package stats

import (
	"hash/fnv"
	"math/rand/v2"
)

// stream is a family of random sequences, one for each index, that depends only on a seed and a purpose.
type stream struct {
	key uint64
	pcg rand.PCG
}

func newStream(seed uint64, purpose string) *stream {
	h := fnv.New64a()
	h.Write([]byte(purpose)) // never fails
	return &stream{key: mix(seed) ^ h.Sum64()}
}

// at returns the sequence with the given index. It is valid until the next call.
func (s *stream) at(index int) *rand.Rand {
	s.pcg.Seed(mix(s.key), mix(s.key+uint64(index)+1))
	return rand.New(&s.pcg)
}

// mix spreads the bits of x (the finalizer of SplitMix64, Steele, Lea and Flood 2014), so that neighbouring seeds
// give unrelated generators.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
