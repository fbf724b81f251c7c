package ingest

import (
	"context"
	"fmt"
	"slices"
)

// Relation is a table or a view of a file.
type Relation struct {
	Name  string
	View  bool
	About string // one line
	Rows  int64  // of a table; 0 for views, which would have to be run
}

// Relations lists what a file holds: views, then tables, both in the order that this program gives them.
func (s *Store) Relations(ctx context.Context) ([]Relation, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT view_name, true, coalesce(comment, '') FROM duckdb_views() WHERE NOT internal AND NOT temporary
		UNION ALL SELECT table_name, false, coalesce(comment, '') FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY ALL`)
	if err != nil {
		return nil, fmt.Errorf("list tables of %s: %w", s.path, err)
	}
	found, err := collect(rows, func(scan func(...any) error) (r Relation, err error) { return r, scan(&r.Name, &r.View, &r.About) })
	if err != nil {
		return nil, fmt.Errorf("list tables of %s: %w", s.path, err)
	}
	place := map[string]int{} // others come first
	for i, v := range views() {
		place[v.name] = i + 1
	}
	for i, t := range tables() {
		place[t.name] = len(views()) + i + 1
	}
	slices.SortStableFunc(found, func(a, b Relation) int { return place[a.Name] - place[b.Name] })
	for i, r := range found {
		if r.View {
			continue
		}
		query := "SELECT count(*) FROM " + parquetColumn{name: r.Name}.ident()
		if err := s.db.QueryRowContext(ctx, query).Scan(&found[i].Rows); err != nil {
			return nil, fmt.Errorf("count rows of %s in %s: %w", r.Name, s.path, err)
		}
	}
	return found, nil
}
