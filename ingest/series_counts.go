package ingest

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"switchback/stats"
)

// partCounts are counts of fragments.
type partCounts struct {
	fragments []fragment
	of        [][]int64 // by count and fragment
}

// Counts of a ratio in Series.sums, from seriesMetric.counts on. The count before all of them is that of the rows.
const (
	countY = iota
	countN
	countsOfRatio
)

// Counts of a quantile in Series.outside, from seriesMetric.counts on: rows whose value is at most 0, below the window of
// fetched values, infinite, above the window.
const (
	countZero = iota
	countBelow
	countInfinite
	countAbove
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

// countSums sums up all ratios.
func (s *Series) countSums(ctx context.Context) (err error) {
	counted := []string{"count(*)"}
	for i := range s.metrics {
		if m := &s.metrics[i]; m.column == "" {
			m.counts = len(counted)
			counted = append(counted, "CAST(coalesce("+m.y+", 0) AS BIGINT)", "CAST(coalesce("+m.n+", 0) AS BIGINT)")
		}
	}
	query := "SELECT " + s.fragmentOf() + ", " + strings.Join(counted, ", ") + s.from() + withClients + " WHERE " + s.inBlocks() + " GROUP BY ALL"
	s.sums, err = s.readCounts(ctx, query, len(counted))
	for i, f := range s.sums.fragments {
		if f.kept {
			s.kept[f.cell] += s.sums.of[0][i]
		}
	}
	return err
}

// twoCounts is the weight of the second of two counts in one sum. A fragment is a few minutes of one client's requests to
// one model: far fewer than 2^31.
const twoCounts = 1 << 32

// countOutside counts the values outside the windows. One sum that counts two kinds of them takes half as long as two
// counts.
func (s *Series) countOutside(ctx context.Context) error {
	var counted []string
	for i := range s.metrics {
		if m := &s.metrics[i]; m.column != "" {
			window := len(counted) / 2
			m.counts = 2 * len(counted)
			counted = append(counted,
				fmt.Sprintf("CAST(sum(CASE WHEN %s <= 0 THEN 1 WHEN %[1]s < a.lo%[2]d THEN %[3]d ELSE 0 END) AS BIGINT)", m.column, window, twoCounts),
				fmt.Sprintf("CAST(sum(CASE WHEN %s = %d THEN 1 WHEN %[1]s > a.hi%[3]d THEN %[4]d ELSE 0 END) AS BIGINT)", m.column, stats.Inf, window, twoCounts))
		}
	}
	if len(counted) == 0 {
		return nil
	}
	sums, err := s.readCounts(ctx, "SELECT cell, step, client, kept, born, "+strings.Join(counted, ", ")+s.around()+" GROUP BY cell, step, client, kept, born", len(counted))
	s.outside.fragments = sums.fragments
	for _, both := range sums.of {
		first, second := make([]int64, len(both)), make([]int64, len(both))
		for i, n := range both {
			first[i], second[i] = n%twoCounts, n/twoCounts
		}
		s.outside.of = append(s.outside.of, first, second)
	}
	return err
}

// readCounts reads fragments and their counts, in any order.
func (s *Series) readCounts(ctx context.Context, query string, counts int) (partCounts, error) {
	out := partCounts{of: make([][]int64, counts)}
	types := fragmentTypes()
	for range counts {
		types = append(types, arrow.INT64)
	}
	err := queryRecords(ctx, s.conn, query, types, func(r records) {
		out.fragments = append(out.fragments, r.fragments()...)
		for i := range counts {
			out.of[i] = append(out.of[i], r.int64s(len(types)-counts+i)...)
		}
	})
	return out, err
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
