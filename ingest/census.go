package ingest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchback/experiment"
)

// Census counts the rows of a window, all together and by arm: Health and ArmCounts in one. It reads every column once.
func (s *Store) Census(ctx context.Context, w Window) (Health, [2]ArmCounts, error) {
	var h Health
	counts := [2]ArmCounts{{Arm: w.Arms.Control}, {Arm: w.Arms.Treatment}}
	plan, err := s.Plan(ctx, w.Arms)
	if err == nil {
		_, h.Blocks, err = s.Pairs(ctx, w)
	}
	if err == nil {
		err = s.countRows(ctx, w, &h)
	}
	if err == nil {
		err = s.countPinned(ctx, plan, w, &h)
	}
	if err == nil {
		err = s.countColumns(ctx, isLone(plan, h.Blocks.Lone), w, &h, &counts)
	}
	if err == nil {
		err = s.healthOfLoads(ctx, w, &h)
	}
	if err != nil {
		return Health{}, counts, fmt.Errorf("data health: %w", err)
	}
	return h, counts, nil
}

// alike are the rows of a window that are counted in the same places.
type alike struct {
	arm, status                                   string // status "unknown" for none
	inBlock, kept                                 bool
	inBurnIn                                      sql.NullBool
	rows, withBits, withoutTotal, noModel, driven int64
	first, last                                   time.Time
}

// countRows counts rows by what decides whether they are kept.
func (s *Store) countRows(ctx context.Context, w Window, h *Health) error {
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM requests").Scan(&h.Rows); err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT coalesce(r.arm, ''), coalesce(r.status, 'unknown'), r.block_id IS NOT NULL, coalesce(`+w.kept()+`, false), r.in_burn_in,
		count(*), count(*) FILTER (r.quality <> 0), count(*) FILTER (r.total_ms IS NULL), count(*) FILTER (r.model IS NULL), count(*) FILTER (r.source = `+quote(SourceDrive)+`),
		min(r.ts), max(r.ts)
		FROM requests r WHERE `+w.inside()+" GROUP BY 1, 2, 3, 4, 5")
	if err != nil {
		return err
	}
	groups, err := collect(rows, func(scan func(...any) error) (g alike, err error) {
		return g, scan(&g.arm, &g.status, &g.inBlock, &g.kept, &g.inBurnIn, &g.rows, &g.withBits, &g.withoutTotal, &g.noModel, &g.driven, &g.first, &g.last)
	})
	if err != nil {
		return err
	}
	h.Outside = h.Rows
	var first, last time.Time
	arms, statuses := map[string]*ArmHealth{}, map[string]int64{}
	for _, g := range groups {
		h.Outside -= g.rows
		if first.IsZero() || g.first.Before(first) {
			first = g.first
		}
		if g.last.After(last) {
			last = g.last
		}
		if g.inBurnIn.Bool {
			h.BurnIn += g.rows
		}
		if g.kept {
			h.Kept += g.rows
			h.Driven += g.driven
			statuses[g.status] += g.rows
		}
		if !g.inBlock {
			h.NoBlock += g.rows
			continue
		}
		if arms[g.arm] == nil {
			arms[g.arm] = &ArmHealth{Arm: g.arm}
		}
		arms[g.arm].add(g)
	}
	if !first.IsZero() {
		const seconds = "2006-01-02T15:04:05Z"
		h.FirstSeen, h.LastSeen = first.UTC().Format(seconds), last.UTC().Format(seconds)
	}
	for status, n := range statuses {
		h.Statuses = append(h.Statuses, Count{status, n})
	}
	slices.SortFunc(h.Statuses, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	for _, a := range arms {
		h.Arms = append(h.Arms, *a)
	}
	place := func(a ArmHealth) int { return slices.Index([]string{w.Arms.Treatment, w.Arms.Control}, a.Arm) }
	slices.SortFunc(h.Arms, func(a, b ArmHealth) int { return cmp.Or(cmp.Compare(place(b), place(a)), cmp.Compare(a.Arm, b.Arm)) })
	return nil
}

// add counts rows in a block of the arm.
func (a *ArmHealth) add(g alike) {
	a.Rows += g.rows
	switch {
	case g.inBurnIn.Bool:
		a.BurnIn += g.rows
	case g.inBurnIn.Valid && g.status == experiment.StatusGatewayCache:
		a.GatewayCache += g.rows
	}
	if !g.kept {
		return
	}
	a.Kept += g.rows
	a.WithQualityBits += g.withBits
	a.UnknownModel += g.noModel
	switch g.status {
	case experiment.StatusError, experiment.StatusErrorMidstream:
		a.Errors += g.rows
	case experiment.StatusCancelled:
		a.Cancelled += g.rows
	case "unknown":
	default:
		a.WithoutTotal += g.withoutTotal
	}
}

// countPinned counts the kept rows whose endpoint an earlier block chose.
func (s *Store) countPinned(ctx context.Context, plan experiment.Plan, w Window, h *Health) error {
	armOf := map[blockKey]string{}
	for _, b := range plan.Blocks {
		armOf[blockKey{b.Model, b.ID}] = b.Arm
	}
	rows, err := s.db.QueryContext(ctx, "SELECT coalesce(r.arm, ''), "+scheduleOf(plan)+", r.pinned_from_block, count(*) FROM requests r WHERE r.block_id IS NOT NULL AND "+
		w.kept()+" AND r.pinned_from_block <> r.block_id GROUP BY 1, 2, 3")
	if err != nil {
		return err
	}
	_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
		var arm string
		var from blockKey
		var n int64
		err := scan(&arm, &from.model, &from.id, &n)
		for i := range h.Arms {
			if a := &h.Arms[i]; a.Arm == arm {
				a.PinnedEarlier += n
				if before, ok := armOf[from]; ok && before != arm {
					a.PinnedOtherArm += n
				}
			}
		}
		return struct{}{}, err
	})
	return err
}

// countColumns counts values per column and rows per quality bit, by arm and by whether a row's block is a lone one.
func (s *Store) countColumns(ctx context.Context, lone string, w Window, h *Health, counts *[2]ArmCounts) error {
	columns, bits := requestColumns(), QualityBits()
	// Rows have few combinations of quality bits, which are taken apart here. Grouping is faster by numbers than by names.
	arm := fmt.Sprintf("CASE r.arm WHEN %s THEN 0 WHEN %s THEN 1 ELSE 2 END", quote(w.Arms.Control), quote(w.Arms.Treatment))
	selected := []string{arm, lone, "coalesce(r.quality, 0)", "count(*)"}
	for _, c := range columns {
		selected = append(selected, "count(r."+c.name+")")
	}
	rows, err := s.db.QueryContext(ctx, "SELECT "+strings.Join(selected, ", ")+" FROM requests r WHERE "+w.kept()+" GROUP BY 1, 2, 3")
	if err != nil {
		return err
	}
	known, quality := make([]int64, len(columns)), make([]int64, len(bits))
	byArm := [2][]int64{make([]int64, len(columns)), make([]int64, len(columns))}
	_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
		var arm int
		var lone sql.NullBool
		var with, n int64 // quality bits, and rows with them
		found := make([]int64, len(columns))
		targets := []any{&arm, &lone, &with, &n}
		for i := range found {
			targets = append(targets, &found[i])
		}
		err := scan(targets...)
		addTo(known, found)
		for i, b := range bits {
			if with&b.Bit != 0 {
				quality[i] += n
			}
		}
		for i := range counts {
			c := &counts[i]
			switch {
			case i != arm || !lone.Valid:
			case lone.Bool:
				c.Lone += n
			default:
				c.Kept += n
				if with&experiment.QualityStraddlesBlock != 0 {
					c.Straddling += n
				}
				addTo(byArm[i], found)
			}
		}
		return struct{}{}, err
	})
	for i, c := range columns {
		h.Columns = append(h.Columns, Known{c.name, known[i], h.Kept})
		for arm := range counts {
			counts[arm].Columns = append(counts[arm].Columns, Known{c.name, byArm[arm][i], counts[arm].Kept})
		}
	}
	for i, b := range bits {
		if quality[i] > 0 {
			h.Quality = append(h.Quality, Count{b.Name, quality[i]})
		}
	}
	return err
}

// addTo adds numbers to as many sums.
func addTo(sums, numbers []int64) {
	for i := range sums {
		sums[i] += numbers[i]
	}
}
