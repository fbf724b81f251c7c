package ingest

import (
	"context"
	"fmt"
	"strings"
)

// sumsOf are the sums of the metrics that are ratios, in one way of counting.
type sumsOf struct {
	fragments []fragment
	y, n      [][]int64 // by metric and fragment
}

// countSums adds up the ratios in both ways of counting, and the kept requests.
func (s *Series) countSums(ctx context.Context) error {
	for way, keys := range [2]string{
		countedByTime:   "p.cell, " + s.stepOf() + ", 0, " + keptOf + ", false",
		countedByOrigin: "p.cell, 0, coalesce(c.client, 0), true, " + bornOf,
	} {
		selected := []string{keys, "count(*)"}
		for _, m := range s.metrics {
			y, n := "0", "0"
			if m.n != "" {
				y, n = m.y, m.n
			}
			selected = append(selected, "CAST(coalesce("+y+", 0) AS BIGINT)", "CAST(coalesce("+n+", 0) AS BIGINT)")
		}
		query := "SELECT " + strings.Join(selected, ", ") + s.from()
		if way == countedByOrigin {
			query += withClients + " WHERE " + s.window.kept()
		} else {
			query += " WHERE " + s.inBlocks()
		}
		if err := s.readSums(ctx, way, query+" GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Series) readSums(ctx context.Context, way int, query string) error {
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	out := sumsOf{y: make([][]int64, len(s.metrics)), n: make([][]int64, len(s.metrics))}
	var f fragment
	var requests int64
	values := make([]int64, 2*len(s.metrics))
	targets := []any{&f.cell, &f.step, &f.client, &f.kept, &f.born, &requests}
	for i := range values {
		targets = append(targets, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if way == countedByOrigin {
			s.kept[f.cell] += requests
		}
		out.fragments = append(out.fragments, f)
		for i := range s.metrics {
			out.y[i], out.n[i] = append(out.y[i], values[2*i]), append(out.n[i], values[2*i+1])
		}
	}
	s.sums[way] = out
	return rows.Err()
}

func (s *Series) place(cell int32) (model, column int) {
	return int(cell) / s.width(), int(cell) % s.width()
}

// metric finds a metric of the series.
func (s *Series) metric(id string) (int, error) {
	for i, m := range s.metrics {
		if m.id == id {
			return i, nil
		}
	}
	return 0, fmt.Errorf("series of blocks: %q is not among its metrics", id)
}

// Has tells whether the series can be asked about a metric.
func (s *Series) Has(id string) bool {
	_, err := s.metric(id)
	return err == nil
}
