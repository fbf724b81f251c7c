package ingest

import (
	"context"
	"fmt"
)

// CountInside counts the rows that arrived inside a window, whatever their blocks, and all rows.
func (s *Store) CountInside(ctx context.Context, w Window) (inside, all int64, err error) {
	query := "SELECT count(*) FILTER (" + w.inside() + "), count(*) FROM requests r"
	if err := s.db.QueryRowContext(ctx, query).Scan(&inside, &all); err != nil {
		return 0, 0, fmt.Errorf("count rows of the window: %w", err)
	}
	return inside, all, nil
}
