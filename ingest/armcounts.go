package ingest

import (
	"context"
	"strings"

	"switchback/experiment"
)

// ArmCounts counts the kept rows of one arm.
type ArmCounts struct {
	Arm        string
	Kept       int64   // in blocks with a partner: the rows that estimates rest on
	Lone       int64   // kept but for their block, whose pair has no other block
	Straddling int64   // of Kept: still running when their block ended
	Columns    []Known // of Kept, in table order
}

// ArmCounts counts the kept rows of the window's two arms, control first.
func (s *Store) ArmCounts(ctx context.Context, w Window) ([2]ArmCounts, error) {
	_, counts, err := s.Census(ctx, w)
	return counts, err
}

// isLone is the SQL condition that the block of a row r is one of the lone ones, which are named as BlockHealth does.
func isLone(plan experiment.Plan, lone []string) string {
	if len(lone) == 0 {
		return "false"
	}
	name := "r.block_id"
	if models := plan.Models(); len(models) > 0 && models[len(models)-1] != "" {
		name = "r.model || '/' || r.block_id"
	}
	quoted := make([]string, len(lone))
	for i, id := range lone {
		quoted[i] = quote(id)
	}
	return name + " IN (" + strings.Join(quoted, ", ") + ")"
}
