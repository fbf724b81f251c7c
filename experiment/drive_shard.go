package experiment

import (
	"errors"
	"fmt"
)

// Shard is one of several drives that together are one: each drives some of the models, and their rows together are those
// of the whole. Nothing passes between models, so shards may run anywhere and at any time.
type Shard struct {
	Number int // from 0
	Of     int // 0: the drive is not split
}

// ErrShard marks a Shard that cannot be driven.
var ErrShard = errors.New("not a shard of this drive")

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// keepShard keeps the models of a shard. Each model, the one with the largest flow first, goes to the shard that has the
// least flow so far, the first of equal ones. What share of the conversations is logged has been decided before.
func (s *scene) keepShard(shard Shard) error {
	if shard == (Shard{}) {
		return nil
	}
	if shard.Number < 0 || shard.Number >= shard.Of || shard.Of > len(s.jobs) {
		return fmt.Errorf("shard %s of %d models: %w", shard, len(s.jobs), ErrShard)
	}
	flow := make([]float64, shard.Of)
	var kept []job
	for _, j := range s.jobs { // largest first
		least := 0
		for i := range flow {
			if flow[i] < flow[least] {
				least = i
			}
		}
		flow[least] += j.demand.Expected(s.horizon)
		if least == shard.Number {
			kept = append(kept, j)
		}
	}
	s.jobs = kept
	return nil
}
