package ingest

import (
	"context"
	"fmt"
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
	counts := [2]ArmCounts{{Arm: w.Arms.Control}, {Arm: w.Arms.Treatment}}
	plan, err := s.Plan(ctx, w.Arms)
	if err != nil {
		return counts, err
	}
	_, health := matchPairs(plan, w)
	lone := isLone(plan, health.Lone)
	columns := requestColumns()
	selected := []string{
		"count(*) FILTER (NOT (" + lone + "))",
		"count(*) FILTER (" + lone + ")",
		fmt.Sprintf("count(*) FILTER (NOT (%s) AND r.quality & %d <> 0)", lone, experiment.QualityStraddlesBlock),
	}
	for _, c := range columns {
		selected = append(selected, "count(r."+c.name+") FILTER (NOT ("+lone+"))")
	}
	query := "SELECT " + strings.Join(selected, ", ") + " FROM requests r WHERE r.arm = ? AND " + w.kept()
	for i := range counts {
		c := &counts[i]
		known := make([]int64, len(columns))
		targets := []any{&c.Kept, &c.Lone, &c.Straddling}
		for j := range known {
			targets = append(targets, &known[j])
		}
		if err := s.db.QueryRowContext(ctx, query, c.Arm).Scan(targets...); err != nil {
			return counts, fmt.Errorf("count rows of arm %s: %w", c.Arm, err)
		}
		for j, column := range columns {
			c.Columns = append(c.Columns, Known{column.name, known[j], c.Kept})
		}
	}
	return counts, nil
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
