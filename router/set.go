package router

import "math/bits"

// MaxEndpoints is the largest number of endpoints of one model.
const MaxEndpoints = 128

// Set is a set of endpoint indices of one model.
type Set [MaxEndpoints / 64]uint64

// Add puts endpoint i into the set.
func (s *Set) Add(i int32) { s[i>>6&1] |= 1 << (i & 63) }

// Remove takes endpoint i out of the set.
func (s *Set) Remove(i int32) { s[i>>6&1] &^= 1 << (i & 63) }

// Has says whether endpoint i is in the set.
func (s *Set) Has(i int32) bool { return s[i>>6&1]>>(i&63)&1 != 0 }

// Len is the number of endpoints in the set.
func (s *Set) Len() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

// Empty says whether the set has no endpoint.
func (s *Set) Empty() bool { return s[0]|s[1] == 0 }

// Union is the set of endpoints in s or t.
func (s Set) Union(t Set) Set { return Set{s[0] | t[0], s[1] | t[1]} }

// Without is the set of endpoints in s and not in t.
func (s Set) Without(t Set) Set { return Set{s[0] &^ t[0], s[1] &^ t[1]} }

// FirstN is the set of the endpoints 0 … n−1.
func FirstN(n int) Set {
	var s Set
	for i := range s {
		switch left := n - 64*i; {
		case left >= 64:
			s[i] = ^uint64(0)
		case left > 0:
			s[i] = 1<<left - 1
		}
	}
	return s
}
