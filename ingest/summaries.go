package ingest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"

	"switchback/ingest/rules"
	"switchback/stats"
)

// Summaries answers the questions of stats.Analyze about the rows that a window keeps. It implements
// stats.Source. Close it.
type Summaries struct {
	conn    *sql.Conn
	columns columnMap
	window  Window
	models  []string

	mu   sync.Mutex // guards conn and sums
	sums map[string][]stats.Sum
}

var _ stats.Source = (*Summaries)(nil)

// Summaries prepares the answers for a window: one narrow temporary table holds, for each kept row, its cell
// (model and column) and the quantities that quantiles are taken of.
func (s *Store) Summaries(ctx context.Context, w Window) (*Summaries, error) {
	plan, err := s.Plan(ctx, w.Arms)
	if err != nil {
		return nil, err
	}
	columns, _ := matchPairs(plan, w)
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	sum := &Summaries{conn: conn, columns: columns, window: w}
	if err := sum.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("summarise blocks: %w", err), sum.Close())
	}
	return sum, nil
}

// Close drops the temporary tables.
func (s *Summaries) Close() error {
	ctx := context.Background()
	_, err := s.conn.ExecContext(ctx, "DROP TABLE IF EXISTS temp.kept; DROP TABLE IF EXISTS temp.cells")
	return errors.Join(err, s.conn.Close())
}

func (s *Summaries) prepare(ctx context.Context) error {
	if err := s.makeCells(ctx); err != nil {
		return err
	}
	return s.makeKept(ctx)
}

// width is the number of columns of a model: cell = model·width + column.
func (s *Summaries) width() int { return 2 * len(s.columns.pairs) }

// makeCells writes the cell of every model and block.
func (s *Summaries) makeCells(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, "SELECT DISTINCT r.model FROM requests r WHERE r.model IS NOT NULL AND "+s.window.inside())
	if err != nil {
		return err
	}
	models, err := collect(rows, func(scan func(...any) error) (m string, err error) { return m, scan(&m) })
	if err != nil {
		return err
	}
	slices.Sort(models)
	s.models = models
	if s.window.PooledModels {
		s.models = []string{AllModels}
	}
	if _, err := s.conn.ExecContext(ctx, "CREATE TEMP TABLE cells (model VARCHAR, block_id VARCHAR, cell INTEGER)"); err != nil {
		return err
	}
	var cells [][]driver.Value
	for i, model := range models {
		for _, b := range s.columns.plan.ForModel(model) {
			column, ok := s.columns.column[blockKey{b.Model, b.ID}]
			if !ok {
				continue // a lone block
			}
			if s.window.PooledModels {
				i = 0
			}
			cells = append(cells, []driver.Value{model, b.ID, int32(i*s.width() + column)})
		}
	}
	return appendRows(s.conn, "cells", cells)
}

// from joins the kept rows with their cells.
func (s *Summaries) from() string {
	return " FROM requests r JOIN temp.cells c ON c.model = r.model AND c.block_id = r.block_id"
}

// makeKept materialises the quantities, since each is read twice and reading the wide table costs more.
func (s *Summaries) makeKept(ctx context.Context) error {
	values := []string{"c.cell"}
	for _, q := range quantities() {
		values = append(values, q.value+" AS "+q.name)
	}
	_, err := s.conn.ExecContext(ctx, "CREATE TEMP TABLE kept AS WITH measurable AS ("+measurable+") SELECT "+strings.Join(values, ", ")+
		s.from()+" JOIN measurable m ON m.load_id = r.load_id WHERE "+s.window.kept())
	if err != nil {
		return err
	}
	return s.dropEmptyModels(ctx)
}

// dropEmptyModels leaves only models with a kept row.
func (s *Summaries) dropEmptyModels(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf("SELECT DISTINCT cell // %d AS model FROM temp.kept ORDER BY model", max(1, s.width())))
	if err != nil {
		return err
	}
	present, err := collect(rows, func(scan func(...any) error) (i int, err error) { return i, scan(&i) })
	if err != nil {
		return err
	}
	if len(present) == len(s.models) {
		return nil
	}
	var models []string
	var moves []string
	for to, from := range present {
		models = append(models, s.models[from])
		moves = append(moves, fmt.Sprintf("WHEN %d THEN %d", from, to))
	}
	s.models = models
	if len(present) == 0 {
		return nil
	}
	for _, table := range []string{"kept", "cells"} {
		update := fmt.Sprintf("UPDATE temp.%s SET cell = CASE cell // %d %s END * %[2]d + cell %% %[2]d", table, s.width(), strings.Join(moves, " "))
		if _, err := s.conn.ExecContext(ctx, update); err != nil {
			return err
		}
	}
	return nil
}

// Models returns the models with at least one kept row, sorted.
func (s *Summaries) Models(context.Context) ([]string, error) { return slices.Clone(s.models), nil }

// Sums returns the totals of a metric that is a ratio of sums, or of "requests".
func (s *Summaries) Sums(ctx context.Context, metric string) ([]stats.Sum, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums == nil {
		sums, err := s.allSums(ctx)
		if err != nil {
			return nil, fmt.Errorf("sums of blocks: %w", err)
		}
		s.sums = sums
	}
	if _, ok := s.sums[metric]; !ok && metric == switches {
		found, err := s.providerSwitches(ctx)
		if err != nil {
			return nil, fmt.Errorf("sums of %s: %w", metric, err)
		}
		s.sums[metric] = found
	}
	if _, ok := s.sums[metric]; !ok && metric == FixedMix {
		found, err := s.fixedMix(ctx)
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

// allSums computes every ratio in one pass over the table.
func (s *Summaries) allSums(ctx context.Context) (map[string][]stats.Sum, error) {
	var ms []measure
	selected := []string{"c.cell"}
	add := func(m measure) {
		ms = append(ms, m)
		selected = append(selected, "CAST(coalesce("+m.y+", 0) AS BIGINT)", "CAST(coalesce("+m.n+", 0) AS BIGINT)")
	}
	add(measure{id: "requests", y: "count(*)", n: "count(*)"})
	for _, m := range measures() {
		if m.n != "" {
			add(m)
		}
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT "+strings.Join(selected, ", ")+s.from()+" WHERE "+s.window.kept()+" GROUP BY c.cell")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sums := map[string][]stats.Sum{}
	for _, m := range ms {
		sums[m.id] = nil
	}
	values := make([]int64, len(selected))
	targets := make([]any, len(values))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		model, column := s.place(int(values[0]))
		for i, m := range ms {
			if y, n := values[1+2*i], values[2+2*i]; n > 0 {
				sums[m.id] = append(sums[m.id], stats.Sum{Model: model, Column: column, N: n, Y: y})
			}
		}
	}
	return sums, rows.Err()
}

const switches = rules.ProviderSwitches

// providerSwitches compares each kept request's provider with that of the session's kept request before it. What is sorted
// is numbers, several times as fast as names: sessions are compared by hash, providers by their place among all.
// Requests of one microsecond are in an order that every engine knows (rules.ProviderSwitches).
func (s *Summaries) providerSwitches(ctx context.Context) ([]stats.Sum, error) {
	return s.cellSums(ctx, `WITH providers AS (SELECT provider, row_number() OVER (ORDER BY provider) AS place FROM (
			SELECT DISTINCT provider FROM requests WHERE provider IS NOT NULL))
		SELECT cell, count(*), count(*) FILTER (provider <> before) FROM (
			SELECT cell, provider, lag(provider) OVER (PARTITION BY session ORDER BY ts, provider NULLS FIRST, cell) AS before FROM (
				SELECT c.cell, p.place AS provider, r.ts, hash(r.session_id) AS session`+s.from()+`
				LEFT JOIN providers p ON p.provider = r.provider WHERE r.session_id IS NOT NULL AND `+s.window.kept()+`))
		WHERE provider IS NOT NULL AND before IS NOT NULL GROUP BY cell`)
}

func (s *Summaries) cellSums(ctx context.Context, query string) ([]stats.Sum, error) {
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(scan func(...any) error) (sum stats.Sum, err error) {
		var cell int
		err = scan(&cell, &sum.N, &sum.Y)
		sum.Model, sum.Column = s.place(cell)
		return sum, err
	})
}

func (s *Summaries) place(cell int) (model, column int) { return cell / s.width(), cell % s.width() }

// Histogram counts the kept rows per cell and bin of a quantity.
func (s *Summaries) Histogram(ctx context.Context, quantity string) ([]stats.Bin, error) {
	if err := checkQuantity(quantity); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []stats.Bin
	query := fmt.Sprintf("SELECT cell, %s AS bin, count(*) AS n FROM temp.kept WHERE %s IS NOT NULL GROUP BY ALL", bin(quantity), quantity)
	err := queryRecords(ctx, s.conn, query, []arrow.Type{arrow.INT32, arrow.INT32, arrow.INT64}, func(r records) {
		cells, bins, counts := r.int32s(0), r.int32s(1), r.int64s(2)
		for i, n := range counts {
			b := stats.Bin{Bin: bins[i], N: n}
			b.Model, b.Column = s.place(int(cells[i]))
			out = append(out, b)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("histogram of %s: %w", quantity, err)
	}
	return out, nil
}

// Values returns the exact values of the kept rows per cell, inside the named bins. Equal ones stand as often as they
// occur: to microseconds they seldom are, and counting them would take longer than all the rest.
func (s *Summaries) Values(ctx context.Context, quantity string, bins []stats.ModelBin) ([]stats.Value, error) {
	if err := checkQuantity(quantity); err != nil {
		return nil, err
	}
	if len(bins) == 0 {
		return nil, nil
	}
	keys := make([]string, len(bins))
	for i, b := range bins {
		keys[i] = fmt.Sprint(binKey(int64(b.Model), int64(b.Bin)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []stats.Value
	query := fmt.Sprintf("SELECT cell, %[1]s FROM temp.kept WHERE %[1]s IS NOT NULL AND CAST(cell // %[2]d AS BIGINT) * %[3]d + %[4]s IN (%[5]s)",
		quantity, s.width(), binSpan, bin(quantity), strings.Join(keys, ", "))
	err := queryRecords(ctx, s.conn, query, []arrow.Type{arrow.INT32, arrow.INT64}, func(r records) {
		cells := r.int32s(0)
		for i, value := range r.int64s(1) {
			v := stats.Value{Value: value, N: 1}
			v.Model, v.Column = s.place(int(cells[i]))
			out = append(out, v)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", quantity, err)
	}
	return out, nil
}

// binSpan exceeds every bin number, so that model·binSpan + bin names a model's bin.
const binSpan = 1 << 32

func binKey(model, bin int64) int64 { return model*binSpan + bin }

func checkQuantity(name string) error {
	for _, q := range quantities() {
		if q.name == name {
			return nil
		}
	}
	return fmt.Errorf("%q is not a quantity", name)
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
