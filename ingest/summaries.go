package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"switchback/stats"
)

// Summaries answers the questions of stats.Analyze about the rows that a window keeps. It implements
// stats.Source. Close it.
type Summaries struct {
	store   *Store
	columns columnMap
	window  Window
	models  []string
	cells   map[uint64]int // by hash of model and block
	kept    keptRows

	mu   sync.Mutex // guards sums
	sums map[string][]stats.Sum
}

var _ stats.Source = (*Summaries)(nil)

// Summaries prepares the answers for a window: the sums of every model and block, and the quantities of each kept row as
// numbers, which all questions about quantiles are answered from. Nothing that is as wide as a row is read again.
func (s *Store) Summaries(ctx context.Context, w Window) (*Summaries, error) {
	plan, err := s.Plan(ctx, w.Arms)
	if err != nil {
		return nil, err
	}
	columns, _ := matchPairs(plan, w)
	sum := &Summaries{store: s, columns: columns, window: w, cells: map[uint64]int{}, sums: map[string][]stats.Sum{}}
	found, err := sum.readSums(ctx)
	if err == nil {
		sum.placeCells(found)
		sum.addSums(found)
		sum.kept, err = sum.readKept(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("summarise blocks: %w", err)
	}
	return sum, nil
}

// Close lets go of the rows.
func (s *Summaries) Close() error {
	s.kept = keptRows{}
	return nil
}

// width is the number of columns of a model: cell = model·width + column.
func (s *Summaries) width() int { return 2 * len(s.columns.pairs) }

func (s *Summaries) place(cell int) (model, column int) { return cell / s.width(), cell % s.width() }

// Models returns the models with at least one kept row, sorted.
func (s *Summaries) Models(context.Context) ([]string, error) { return slices.Clone(s.models), nil }

// Sums returns the totals of a metric that is a ratio of sums, or of "requests".
func (s *Summaries) Sums(ctx context.Context, metric string) ([]stats.Sum, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.sums[metric]; !ok && metric == switches {
		found, err := s.providerSwitches(ctx)
		if err != nil {
			return nil, fmt.Errorf("sums of %s: %w", metric, err)
		}
		s.sums[metric] = found
	}
	found, ok := s.sums[metric]
	if !ok {
		return nil, fmt.Errorf("sums of %s: no such metric", metric)
	}
	return found, nil
}

// collect reads all rows of a result.
func collect[T any](rows *sql.Rows, read func(scan func(...any) error) (T, error)) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := read(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
