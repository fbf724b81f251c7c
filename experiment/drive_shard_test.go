package experiment

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// Shards together are the unsplit drive, row for row, and no model is in two of them.
func TestShardsAreTheWhole(t *testing.T) {
	drive := func(into *LogHash, shard Shard) DriveSummary {
		t.Helper()
		cfg := small(t)
		cfg.LogRequests, cfg.Shard = 3000, shard
		summary, err := Drive(context.Background(), cfg, func(b *Batch) error {
			into.Add(b)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return summary
	}
	var whole, parts LogHash
	all := drive(&whole, Shard{})
	var found []ModelSummary
	for k := range 2 {
		summary := drive(&parts, Shard{Number: k, Of: 2})
		if len(summary.Models) == 0 {
			t.Errorf("shard %d has no model", k)
		}
		found = append(found, summary.Models...)
	}
	slices.SortFunc(found, func(a, b ModelSummary) int { return slices.Compare([]string{a.Model}, []string{b.Model}) })
	if !slices.Equal(found, all.Models) {
		t.Errorf("models of the shards:\n%v\nof the whole:\n%v", found, all.Models)
	}
	if whole.String() != parts.String() || all.Logged == 0 {
		t.Errorf("the rows of the shards have hash %s, the %d of the whole %s", parts.String(), all.Logged, whole.String())
	}
	for _, wrong := range []Shard{{Number: 2, Of: 2}, {Number: -1, Of: 2}, {Number: 0, Of: 4}, {Number: 1}} {
		cfg := small(t)
		cfg.Shard = wrong
		if _, err := Drive(context.Background(), cfg, func(*Batch) error { return nil }); !errors.Is(err, ErrShard) {
			t.Errorf("shard %s of three models: %v", wrong, err)
		}
	}
}
