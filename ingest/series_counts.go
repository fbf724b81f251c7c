package ingest

import (
	"context"
	"fmt"
	"math"
	"strings"

	"switchback/stats"
)

// partCounts are the counts of all metrics in one way of counting: for a ratio its Y and N, for a quantile the rows whose
// value is at most 0, below the window of fetched values, above it, and infinite.
type partCounts struct {
	fragments []fragment
	of        [][]int64 // by count and fragment
}

// Counts of a ratio and of a quantile, from seriesMetric.counts on.
const (
	countY = iota
	countN
	countsOfRatio
)

const (
	countZero = iota
	countBelow
	countAbove
	countInfinite
	countsOfQuantile
)

// sampleRows is the number of rows that windows of values are found from.
const sampleRows = 500_000

// findWindows takes, for each quantile and model, the values between two quantiles around the wanted one, from the arm
// where they lie farther out. Any window gives the same answers: where the quantile of a part lies outside, its source asks
// again.
func (s *Series) findWindows(ctx context.Context) error {
	selected := []string{fmt.Sprintf("cell // %d AS model", s.width())}
	var quantiles []*seriesMetric
	for i := range s.metrics {
		m := &s.metrics[i]
		if m.column == "" {
			continue
		}
		m.lo, m.hi = make([]int64, len(s.models)), make([]int64, len(s.models))
		q := float64(m.perMille) / 1000
		half := 0.2 * math.Sqrt(q*(1-q))
		for _, at := range []float64{max(0, q-half), min(1, q+half)} {
			selected = append(selected, fmt.Sprintf("coalesce(quantile_disc(%s, %.4f), 0)", m.column, at))
		}
		quantiles = append(quantiles, m)
	}
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM temp.since WHERE kept AND rowid %% %d = 0 GROUP BY model, cell %% 2",
		strings.Join(selected, ", "), max(1, s.rows/sampleRows)))
	if err != nil {
		return err
	}
	var model int
	ends := make([]int64, 2*len(quantiles))
	targets := []any{&model}
	for i := range ends {
		targets = append(targets, &ends[i])
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, m := range quantiles {
			lo, hi := max(1, ends[2*i]), min(max(1, ends[2*i+1]), stats.Inf-1)
			if m.hi[model] != 0 {
				lo, hi = min(lo, m.lo[model]), max(hi, m.hi[model])
			}
			m.lo[model], m.hi[model] = lo, hi
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return s.writeWindows(ctx, quantiles)
}

// writeWindows makes the windows a table with one row for each model.
func (s *Series) writeWindows(ctx context.Context, quantiles []*seriesMetric) error {
	columns := []string{"model INTEGER"}
	for i := range quantiles {
		columns = append(columns, fmt.Sprintf("lo%d BIGINT, hi%[1]d BIGINT", i))
	}
	if _, err := s.conn.ExecContext(ctx, "CREATE TEMP TABLE around ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	var rows []string
	for model := range s.models {
		row := []string{fmt.Sprint(model)}
		for _, m := range quantiles {
			row = append(row, fmt.Sprint(m.lo[model]), fmt.Sprint(m.hi[model]))
		}
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := s.conn.ExecContext(ctx, "INSERT INTO around VALUES "+strings.Join(rows, ", "))
	return err
}

func (s *Series) around() string {
	return fmt.Sprintf(" FROM temp.since r JOIN temp.around a ON a.model = r.cell // %d", s.width())
}

// countParts counts all metrics in both ways.
func (s *Series) countParts(ctx context.Context) error {
	counted := []string{"count(*)"}
	add := func(count string) { counted = append(counted, "CAST(coalesce("+count+", 0) AS BIGINT)") }
	quantiles := 0
	for i := range s.metrics {
		m := &s.metrics[i]
		m.counts = len(counted)
		if m.column == "" {
			add(m.y)
			add(m.n)
			continue
		}
		add(fmt.Sprintf("count(*) FILTER (%s <= 0)", m.column))
		add(fmt.Sprintf("count(*) FILTER (%s > 0 AND %[1]s < a.lo%d)", m.column, quantiles))
		add(fmt.Sprintf("count(*) FILTER (%s > a.hi%d AND %[1]s < %[3]d)", m.column, quantiles, stats.Inf))
		add(fmt.Sprintf("count(*) FILTER (%s = %d)", m.column, stats.Inf))
		quantiles++
	}
	for way, rows := range [2]struct{ keys, where, order string }{
		countedByTime:   {"cell, step, 0, kept, false", "", "cell, step, kept"},
		countedByOrigin: {"cell, 0, client, true, born", " WHERE kept", "cell, client, born"},
	} {
		query := "SELECT " + rows.keys + ", " + strings.Join(counted, ", ") + s.around() + rows.where + " GROUP BY " + rows.order + " ORDER BY " + rows.order
		var err error
		if s.counts[way], err = s.readCounts(ctx, query, len(counted)); err != nil {
			return err
		}
	}
	for i, f := range s.counts[countedByOrigin].fragments {
		s.kept[f.cell] += s.counts[countedByOrigin].of[0][i]
	}
	return nil
}

func (s *Series) readCounts(ctx context.Context, query string, counts int) (partCounts, error) {
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return partCounts{}, err
	}
	defer rows.Close()
	out := partCounts{of: make([][]int64, counts)}
	var f fragment
	values := make([]int64, counts)
	targets := []any{&f.cell, &f.step, &f.client, &f.kept, &f.born}
	for i := range values {
		targets = append(targets, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return out, err
		}
		out.fragments = append(out.fragments, f)
		for i, v := range values {
			out.of[i] = append(out.of[i], v)
		}
	}
	return out, rows.Err()
}

func (s *Series) place(cell int32) (model, column int) {
	return int(cell) / s.width(), int(cell) % s.width()
}

// metric finds a metric of the series.
func (s *Series) metric(id string) (*seriesMetric, error) {
	for i := range s.metrics {
		if s.metrics[i].id == id {
			return &s.metrics[i], nil
		}
	}
	return nil, fmt.Errorf("series of blocks: %q is not among its metrics", id)
}

// Has tells whether the series can be asked about a metric.
func (s *Series) Has(id string) bool {
	_, err := s.metric(id)
	return err == nil
}
