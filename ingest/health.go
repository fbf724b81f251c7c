package ingest

import (
	"context"
	"fmt"
	"strings"
)

// Count is a number of rows under a name.
type Count struct {
	Name string
	N    int64
}

// Known says how many of the kept rows have a value in a column.
type Known struct {
	Column string
	Known  int64
	Rows   int64
}

// NullShare is the share of rows without a value; 0 when there is no row.
func (k Known) NullShare() float64 {
	if k.Rows == 0 {
		return 0
	}
	return float64(k.Rows-k.Known) / float64(k.Rows)
}

// ArmHealth counts the rows of one arm inside the window.
type ArmHealth struct {
	Arm             string
	Rows            int64 // in a block of the arm, burn-in included
	BurnIn          int64 // dropped
	GatewayCache    int64 // past the burn-in, left out
	Kept            int64
	PinnedEarlier   int64 // kept, and an earlier block chose the endpoint
	PinnedOtherArm  int64 // of PinnedEarlier: a block of the other arm chose it
	WithQualityBits int64 // kept
	WithoutTotal    int64 // kept, neither failed nor cancelled, yet no whole-request time
	Cancelled       int64 // kept
	Errors          int64 // kept, error_midstream included
	UnknownModel    int64 // kept, but in no metric
}

// LoadedFile is a row of `loads`.
type LoadedFile struct {
	File, Format, Hash                string
	Bytes                             int64
	Rows, Rejects, Skipped, Duplicate int64
	Notes                             string
}

// Health says which rows of a window the analysis keeps and what is odd about them.
type Health struct {
	Rows      int64 // in the file
	Outside   int64 // outside the window
	NoBlock   int64 // inside the window, in no block of the schedule
	BurnIn    int64
	Kept      int64
	Arms      []ArmHealth // control, then treatment, then others by name
	Statuses  []Count     // of kept rows, by name
	Quality   []Count     // kept rows with each quality bit, zero counts left out
	Columns   []Known     // of kept rows, in table order
	Rejects   []Count     // by reason, most frequent first
	Conflicts int64       // duplicates that differed from the row that was kept
	ReusedIDs int64       // request ids of logs that stand for several requests
	Files     []LoadedFile
	Blocks    BlockHealth
	FirstSeen string // RFC 3339 arrival of the first and last row inside the window, "" when there is none
	LastSeen  string
}

// Health counts the rows of a window. It reads every column once.
func (s *Store) Health(ctx context.Context, w Window) (Health, error) {
	var h Health
	for _, step := range []func(context.Context, Window, *Health) error{
		s.healthOfRows, s.healthOfArms, s.healthOfColumns, s.healthOfLoads, s.healthOfBlocks,
	} {
		if err := step(ctx, w, &h); err != nil {
			return Health{}, fmt.Errorf("data health: %w", err)
		}
	}
	return h, nil
}

func (s *Store) healthOfRows(ctx context.Context, w Window, h *Health) error {
	return s.db.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*), count(*) FILTER (NOT (%[1]s)),
		count(*) FILTER (%[1]s AND r.block_id IS NULL), count(*) FILTER (%[1]s AND r.in_burn_in), count(*) FILTER (%[2]s),
		coalesce(strftime(min(r.ts) FILTER (%[1]s), '%%Y-%%m-%%dT%%H:%%M:%%SZ'), ''), coalesce(strftime(max(r.ts) FILTER (%[1]s), '%%Y-%%m-%%dT%%H:%%M:%%SZ'), '')
		FROM requests r`, w.inside(), w.kept())).
		Scan(&h.Rows, &h.Outside, &h.NoBlock, &h.BurnIn, &h.Kept, &h.FirstSeen, &h.LastSeen)
}

func (s *Store) healthOfArms(ctx context.Context, w Window, h *Health) error {
	plan, err := s.Plan(ctx, w.Arms)
	if err != nil {
		return err
	}
	kept := "(" + w.kept() + ")"
	rows, err := s.db.QueryContext(ctx, fmt.Sprintf(`WITH arms AS (SELECT DISTINCT block_id, coalesce(model, '') AS model, arm FROM blocks)
		SELECT r.arm, count(*), count(*) FILTER (r.in_burn_in), count(*) FILTER (NOT r.in_burn_in AND r.status = 'ok_gateway_cache'),
			count(*) FILTER (%[1]s),
			count(*) FILTER (%[1]s AND r.pinned_from_block <> r.block_id), count(*) FILTER (%[1]s AND p.arm <> r.arm),
			count(*) FILTER (%[1]s AND r.quality <> 0),
			count(*) FILTER (%[1]s AND r.total_ms IS NULL AND r.status NOT IN ('error', 'error_midstream', 'cancelled')),
			count(*) FILTER (%[1]s AND r.status = 'cancelled'), count(*) FILTER (%[1]s AND r.status IN ('error', 'error_midstream')),
			count(*) FILTER (%[1]s AND r.model IS NULL)
		FROM requests r LEFT JOIN arms p ON p.block_id = r.pinned_from_block AND p.model = %[3]s
		WHERE r.block_id IS NOT NULL AND %[2]s GROUP BY r.arm ORDER BY r.arm = ? DESC, r.arm = ? DESC, r.arm`, kept, w.inside(), scheduleOf(plan)),
		w.Arms.Control, w.Arms.Treatment)
	if err != nil {
		return err
	}
	h.Arms, err = collect(rows, func(scan func(...any) error) (a ArmHealth, err error) {
		return a, scan(&a.Arm, &a.Rows, &a.BurnIn, &a.GatewayCache, &a.Kept, &a.PinnedEarlier, &a.PinnedOtherArm, &a.WithQualityBits,
			&a.WithoutTotal, &a.Cancelled, &a.Errors, &a.UnknownModel)
	})
	return err
}

// healthOfColumns counts values per column, rows per status and rows per quality bit in one pass.
func (s *Store) healthOfColumns(ctx context.Context, w Window, h *Health) error {
	var selected []string
	columns := requestColumns()
	for _, c := range columns {
		selected = append(selected, "count(r."+c.name+")")
	}
	bits := QualityBits()
	for _, b := range bits {
		selected = append(selected, fmt.Sprintf("count(*) FILTER (r.quality & %d <> 0)", b.Bit))
	}
	counts := make([]int64, len(selected))
	targets := make([]any, len(counts))
	for i := range counts {
		targets[i] = &counts[i]
	}
	query := "SELECT " + strings.Join(selected, ", ") + " FROM requests r WHERE " + w.kept()
	if err := s.db.QueryRowContext(ctx, query).Scan(targets...); err != nil {
		return err
	}
	for i, c := range columns {
		h.Columns = append(h.Columns, Known{c.name, counts[i], h.Kept})
	}
	for i, b := range bits {
		if n := counts[len(columns)+i]; n > 0 {
			h.Quality = append(h.Quality, Count{b.Name, n})
		}
	}
	var err error
	h.Statuses, err = s.counts(ctx, "SELECT coalesce(r.status, 'unknown') AS status, count(*) FROM requests r WHERE "+w.kept()+" GROUP BY 1 ORDER BY 1")
	return err
}

func (s *Store) counts(ctx context.Context, query string) ([]Count, error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(scan func(...any) error) (c Count, err error) { return c, scan(&c.Name, &c.N) })
}

func (s *Store) healthOfLoads(ctx context.Context, _ Window, h *Health) error {
	var err error
	h.Rejects, err = s.counts(ctx, "SELECT reason, count(*) AS n FROM rejects GROUP BY reason ORDER BY n DESC, reason")
	if err != nil {
		return err
	}
	err = s.db.QueryRowContext(ctx, `SELECT (SELECT coalesce(sum(conflicts), 0)::BIGINT FROM loads), (SELECT count(*) FROM
		(SELECT 1 FROM requests WHERE source <> ? GROUP BY source, request_id HAVING count(*) > 1))`, SourceDrive).Scan(&h.Conflicts, &h.ReusedIDs)
	if err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT file, format, hash, bytes, rows, rejects, skipped, duplicates, notes FROM loads ORDER BY file, CAST(load_id AS BIGINT)`)
	if err != nil {
		return err
	}
	h.Files, err = collect(rows, func(scan func(...any) error) (f LoadedFile, err error) {
		return f, scan(&f.File, &f.Format, &f.Hash, &f.Bytes, &f.Rows, &f.Rejects, &f.Skipped, &f.Duplicate, &f.Notes)
	})
	return err
}

func (s *Store) healthOfBlocks(ctx context.Context, w Window, h *Health) error {
	var err error
	_, h.Blocks, err = s.Pairs(ctx, w)
	return err
}
