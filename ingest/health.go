package ingest

import (
	"context"
	"slices"
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
}

// Remark is what was said when files were loaded, such as that rows came late.
type Remark struct {
	Text  string
	Files []string // by name
}

// Health says which rows of a window the analysis keeps and what is odd about them.
type Health struct {
	Rows      int64 // in the file
	Outside   int64 // outside the window
	NoBlock   int64 // inside the window, in no block of the schedule
	BurnIn    int64
	Kept      int64
	Driven    int64       // kept rows that a drive made, whichever log they came from
	Arms      []ArmHealth // control, then treatment, then others by name
	Statuses  []Count     // of kept rows, by name
	Quality   []Count     // kept rows with each quality bit, zero counts left out
	Columns   []Known     // of kept rows, in table order
	Rejects   []Count     // by reason, most frequent first
	Conflicts int64       // duplicates that differed from the row that was kept
	ReusedIDs int64       // request ids of logs that stand for several requests
	Files     []LoadedFile
	Remarks   []Remark // on loads with rows in the window, in the order of the files
	Blocks    BlockHealth
	FirstSeen string // RFC 3339 arrival of the first and last row inside the window, "" when there is none
	LastSeen  string
}

// Health counts the rows of a window.
func (s *Store) Health(ctx context.Context, w Window) (Health, error) {
	h, _, err := s.Census(ctx, w)
	return h, err
}

func (s *Store) counts(ctx context.Context, query string) ([]Count, error) {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(scan func(...any) error) (c Count, err error) { return c, scan(&c.Name, &c.N) })
}

// Rejects counts the lines that could not be read by their reasons, the most frequent first.
func (s *Store) Rejects(ctx context.Context) ([]Count, error) {
	return s.counts(ctx, "SELECT reason, count(*) AS n FROM rejects GROUP BY reason ORDER BY n DESC, reason")
}

func (s *Store) healthOfLoads(ctx context.Context, w Window, h *Health) error {
	var err error
	if h.Rejects, err = s.Rejects(ctx); err != nil {
		return err
	}
	err = s.db.QueryRowContext(ctx, `SELECT (SELECT coalesce(sum(conflicts), 0)::BIGINT FROM loads), (SELECT count(*) FROM
		(SELECT 1 FROM requests WHERE source <> ? GROUP BY source, request_id HAVING count(*) > 1))`, SourceDrive).Scan(&h.Conflicts, &h.ReusedIDs)
	if err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT file, format, hash, bytes, rows, rejects, skipped, duplicates FROM loads ORDER BY file, CAST(load_id AS BIGINT)`)
	if err != nil {
		return err
	}
	h.Files, err = collect(rows, func(scan func(...any) error) (f LoadedFile, err error) {
		return f, scan(&f.File, &f.Format, &f.Hash, &f.Bytes, &f.Rows, &f.Rejects, &f.Skipped, &f.Duplicate)
	})
	if err != nil {
		return err
	}
	h.Remarks, err = s.remarks(ctx, w)
	return err
}

// remarks finds what was said about loads that have rows in a window, in the order of their files.
func (s *Store) remarks(ctx context.Context, w Window) ([]Remark, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT file, notes FROM loads WHERE notes <> '' AND load_id IN (SELECT r.load_id FROM requests r WHERE `+w.inside()+`)
		ORDER BY file, CAST(load_id AS BIGINT)`)
	if err != nil {
		return nil, err
	}
	type said struct{ file, notes string }
	all, err := collect(rows, func(scan func(...any) error) (n said, err error) { return n, scan(&n.file, &n.notes) })
	var out []Remark
	place := map[string]int{}
	for _, n := range all {
		for text := range strings.SplitSeq(n.notes, noteSeparator) {
			at, seen := place[text]
			if !seen {
				at = len(out)
				place[text] = at
				out = append(out, Remark{Text: text})
			}
			if r := &out[at]; !slices.Contains(r.Files, n.file) {
				r.Files = append(r.Files, n.file)
			}
		}
	}
	return out, err
}
