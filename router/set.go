package router

import "math/bits"

// MaxEndpoints is the largest number of endpoints of one model.
const MaxEndpoints = 128

// Set is a set of endpoint indices of one model. Two words, unlike an array of two, stay in registers.
type Set struct{ low, high uint64 }

// Add puts endpoint i into the set.
func (s *Set) Add(i int32) {
	if i < 64 {
		s.low |= 1 << (i & 63)
	} else {
		s.high |= 1 << (i & 63)
	}
}

// Remove takes endpoint i out of the set.
func (s *Set) Remove(i int32) {
	if i < 64 {
		s.low &^= 1 << (i & 63)
	} else {
		s.high &^= 1 << (i & 63)
	}
}

// Has says whether endpoint i is in the set.
func (s *Set) Has(i int32) bool {
	word, high := s.low, s.high // both are loaded, so that the choice is a move and nothing that a processor would have to guess
	if i >= 64 {
		word = high
	}
	return word>>(i&63)&1 != 0
}

// Len is the number of endpoints in the set.
func (s *Set) Len() int { return bits.OnesCount64(s.low) + bits.OnesCount64(s.high) }

// Empty says whether the set has no endpoint.
func (s *Set) Empty() bool { return s.low|s.high == 0 }

// Union is the set of endpoints in s or t.
func (s Set) Union(t Set) Set { return Set{s.low | t.low, s.high | t.high} }

// Without is the set of endpoints in s and not in t.
func (s Set) Without(t Set) Set { return Set{s.low &^ t.low, s.high &^ t.high} }

// FirstN is the set of the endpoints 0 … n−1.
func FirstN(n int) Set {
	return Set{firstBits(n), firstBits(n - 64)}
}

func firstBits(n int) uint64 {
	if n < 0 {
		return 0
	}
	return 1<<n - 1 // all of them when n ≥ 64
}
