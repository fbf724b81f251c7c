package experiment

import (
	"errors"
	"fmt"
	"slices"
)

// Shard is one of several drives that together are one: each drives some of the models, and their rows together are those
// of the whole. Models that fallback lists join stay together; nothing passes between the others, so shards may run anywhere and at any time.
type Shard struct {
	Number int // from 0
	Of     int // 0: the drive is not split
}

// ErrShard marks a Shard that cannot be driven.
var ErrShard = errors.New("not a shard of this drive")

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// keepShard keeps the units of a shard. Each unit, the one with the largest flow first, goes to the shard that has the
// least flow so far, the first of equal ones. What share of the conversations is logged has been decided before.
func (s *scene) keepShard(shard Shard) error {
	if shard == (Shard{}) {
		return nil
	}
	if shard.Number < 0 || shard.Number >= shard.Of || shard.Of > len(s.units) {
		return fmt.Errorf("shard %s of %d models that share no requests: %w", shard, len(s.units), ErrShard)
	}
	flow := make([]float64, shard.Of)
	var kept [][]job
	for _, unit := range s.units { // largest first
		least := 0
		for i := range flow {
			if flow[i] < flow[least] {
				least = i
			}
		}
		for _, j := range unit {
			flow[least] += j.demand.Expected(s.horizon)
		}
		if least == shard.Number {
			kept = append(kept, unit)
		}
	}
	s.units, s.jobs = kept, slices.Concat(kept...)
	return nil
}
