package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"switchback/ingest/rules"
	"switchback/stats"
)

// Series answers stats.Analyze about parts of the rows: those of some minutes of their blocks, those that another burn-in
// would keep, those of conversations that their block began, those of all clients but one. All parts come from one pass
// over the table into a narrow temporary one, from which the rows around the quantiles are fetched once. Several goroutines
// may ask Sources of it at a time. Close it.
type Series struct {
	asking  sync.Mutex // held by a question that a Source asks the connection
	conn    *sql.Conn
	columns columnMap
	window  Window
	metrics []seriesMetric
	step    int // minutes, the finest division of a block
	models  []string
	burnIn  []bool // by cell: its block has a burn-in
	blockOf []int  // by cell: index of its block in the plan, -1 for none
	anyBurn bool
	clients []string // the largest, by kept requests; the client 0 of a row is any other
	kept    []int64  // kept requests by cell
	rows    int64    // in the temporary table
	sums    partCounts
	outside partCounts
}

// seriesMetric is a metric with what Series knows of its values.
type seriesMetric struct {
	measure
	column string // of the temporary table, for quantiles
	counts int    // place of its first count in Series.outside for quantiles, in Series.sums for ratios
	lo, hi []int64
	near   nearRows
}

// fragment is what tells which parts a row belongs to: parts are made of whole fragments.
type fragment struct {
	cell   int32
	step   uint16 // since the block's start
	client uint8  // index into Series.clients plus 1, 0 for any other
	kept   bool
	born   bool // no earlier block chose the endpoint
}

// Part names some rows of a Series.
type Part struct {
	from, to int // steps, half-open
	has      func(fragment) bool
	sql      string // the same, for a row of the temporary table
}

// manySteps is above every step.
const manySteps = 1 << 16

// Series prepares a window for the given metrics, of which those that need the order of requests are left out. step is
// the finest division of the minutes since a block's start, clients the number of clients to single out, at most 250.
// models are those of Summaries.
func (s *Store) Series(ctx context.Context, w Window, models, metrics []string, step time.Duration, clients int) (*Series, error) {
	plan, err := s.Plan(ctx, w.Arms)
	if err != nil {
		return nil, err
	}
	columns, _ := matchPairs(plan, w)
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	out := &Series{conn: conn, columns: columns, window: w, models: models, step: max(1, int(step/time.Minute))}
	for _, m := range measures() {
		if slices.Contains(metrics, m.id) && (m.n != "" || m.kind == stats.Quantile) {
			out.metrics = append(out.metrics, seriesMetric{measure: m})
		}
	}
	if err := out.prepare(ctx, min(clients, 250)); err != nil {
		return nil, errors.Join(fmt.Errorf("series of blocks: %w", err), out.Close())
	}
	return out, nil
}

// Close drops the temporary tables.
func (s *Series) Close() error {
	_, err := s.conn.ExecContext(context.Background(),
		"DROP TABLE IF EXISTS temp.since; DROP TABLE IF EXISTS temp.places; DROP TABLE IF EXISTS temp.clients; DROP TABLE IF EXISTS temp.around")
	return errors.Join(err, s.conn.Close())
}

func (s *Series) prepare(ctx context.Context, clients int) error {
	for _, do := range []func(context.Context) error{
		s.makePlaces,
		func(ctx context.Context) error { return s.makeClients(ctx, clients) },
		s.makeSince,
		s.findWindows,
		s.countSums,
		s.countOutside,
		s.fetchNear,
	} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Series) width() int { return max(1, 2*len(s.columns.pairs)) }

// makePlaces writes the cell and the index in the plan of every model and block that has a partner.
func (s *Series) makePlaces(ctx context.Context) error {
	cells := len(s.models) * s.width()
	s.burnIn, s.kept, s.blockOf = make([]bool, cells), make([]int64, cells), slices.Repeat([]int{-1}, cells)
	index := map[blockKey]int{}
	for i, b := range s.columns.plan.Blocks {
		index[blockKey{b.Model, b.ID}] = i
	}
	own := s.columns.plan.Models()
	var models, blocks []string
	for i, model := range s.models {
		schedule := ""
		if slices.Contains(own, model) {
			schedule = model
		}
		models = append(models, fmt.Sprintf("(%s, %s, %d)", quote(model), quote(schedule), i*s.width()))
		for _, b := range s.columns.plan.ForModel(model) {
			key := blockKey{b.Model, b.ID}
			column, ok := s.columns.column[key]
			if !ok {
				continue // a lone block
			}
			cell := i*s.width() + column
			s.blockOf[cell], s.burnIn[cell] = index[key], b.BurnInEnds.After(b.Starts)
			s.anyBurn = s.anyBurn || s.burnIn[cell]
		}
	}
	for i, b := range s.columns.plan.Blocks {
		if column, ok := s.columns.column[blockKey{b.Model, b.ID}]; ok {
			blocks = append(blocks, fmt.Sprintf("(%s, %s, %d, %d, %d)", quote(b.Model), quote(b.ID), column, i, b.Starts.UnixMicro()))
		}
	}
	if len(models) == 0 || len(blocks) == 0 {
		_, err := s.conn.ExecContext(ctx, "CREATE TEMP TABLE places (model VARCHAR, block_id VARCHAR, cell INTEGER, block INTEGER, starts BIGINT)")
		return err
	}
	_, err := s.conn.ExecContext(ctx, `CREATE TEMP TABLE places AS
		SELECT m.model, b.block_id, CAST(m.cell + b.cell AS INTEGER) AS cell, CAST(b.block AS INTEGER) AS block, CAST(b.starts AS BIGINT) AS starts
		FROM (VALUES `+strings.Join(models, ", ")+`) m(model, schedule, cell) JOIN (VALUES `+strings.Join(blocks, ", ")+`) b(schedule, block_id, cell, block, starts)
		USING (schedule)`)
	return err
}

// makeClients finds the clients with the most kept requests.
func (s *Series) makeClients(ctx context.Context, n int) error {
	rows, err := s.conn.QueryContext(ctx, fmt.Sprintf(`SELECT r.client_id FROM requests r WHERE r.client_id IS NOT NULL AND %s
		GROUP BY r.client_id ORDER BY count(*) DESC, r.client_id LIMIT %d`, s.window.kept(), n))
	if err != nil {
		return err
	}
	if s.clients, err = collect(rows, func(scan func(...any) error) (c string, err error) { return c, scan(&c) }); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, "CREATE TEMP TABLE clients (client_id VARCHAR, client UTINYINT)"); err != nil {
		return err
	}
	for i, c := range s.clients {
		if _, err := s.conn.ExecContext(ctx, "INSERT INTO clients VALUES (?, ?)", c, i+1); err != nil {
			return err
		}
	}
	return nil
}

// Of a row r in its place p, seen by a client c.
const (
	stepOf = "(epoch_us(r.ts) - p.starts) // %d"
	keptOf = "NOT r.in_burn_in"
)

func (s *Series) stepOf() string { return fmt.Sprintf(stepOf, int64(s.step)*60_000_000) }

// from joins rows with their places.
func (s *Series) from() string {
	return " FROM requests r JOIN temp.places p ON p.model = r.model AND p.block_id = r.block_id"
}

const withClients = " LEFT JOIN temp.clients c ON c.client_id = r.client_id"

// inBlocks is the condition that a row counts in some part.
func (s *Series) inBlocks() string {
	return s.window.inside() + " AND r.in_burn_in IS NOT NULL AND " + rules.NoCacheHit(rules.DuckDB{})
}

// fragmentOf is the fragment of a row r in its place p, seen by a client c, in the order that readFragments expects.
func (s *Series) fragmentOf() string {
	return fmt.Sprintf("p.cell AS cell, CAST(%s AS USMALLINT) AS step, CAST(coalesce(c.client, 0) AS UTINYINT) AS client, %s AS kept, %s AS born",
		s.stepOf(), keptOf, rules.Born(rules.DuckDB{}))
}

// makeSince keeps what tells the parts of a row, and the quantities that quantiles are taken of.
func (s *Series) makeSince(ctx context.Context) error {
	selected := []string{s.fragmentOf()}
	perLoad := false
	for i, m := range s.metrics {
		for _, q := range quantities() {
			if m.kind == stats.Quantile && q.name == m.quantity {
				s.metrics[i].column = "q_" + q.name
				if column := q.value + " AS q_" + q.name; !slices.Contains(selected, column) {
					selected = append(selected, column)
				}
				perLoad = perLoad || strings.Contains(q.value, "m.")
			}
		}
	}
	query := "CREATE TEMP TABLE since AS "
	if perLoad {
		query += "WITH measurable AS (" + measurable + ") "
	}
	query += "SELECT " + strings.Join(selected, ", ") + s.from() + withClients
	if perLoad {
		query += " JOIN measurable m ON m.load_id = r.load_id"
	}
	result, err := s.conn.ExecContext(ctx, query+" WHERE "+s.inBlocks())
	if err != nil {
		return err
	}
	s.rows, err = result.RowsAffected()
	return err
}

// Minutes are the rows that arrived in [from, to) minutes since their block's start, whatever the burn-in. Both are
// multiples of the step.
func (s *Series) Minutes(from, to int) Part {
	lo, hi := from/s.step, to/s.step
	return Part{
		from: lo, to: hi,
		has: func(f fragment) bool { return int(f.step) >= lo && int(f.step) < hi },
		sql: fmt.Sprintf("step >= %d AND step < %d", lo, hi),
	}
}

// BurnIn are the rows that a burn-in of another length keeps, in minutes and a multiple of the step. It is that of the
// blocks that have one, or of all blocks when none has.
func (s *Series) BurnIn(minutes int) Part {
	lo := minutes / s.step
	without := []string{"-1"}
	if s.anyBurn {
		for cell, has := range s.burnIn {
			if !has {
				without = append(without, fmt.Sprint(cell))
			}
		}
	}
	return Part{
		to:  manySteps,
		has: func(f fragment) bool { return int(f.step) >= lo || s.anyBurn && !s.burnIn[f.cell] },
		sql: fmt.Sprintf("(step >= %d OR cell IN (%s))", lo, strings.Join(without, ", ")),
	}
}

// BornInBlock are the kept rows that no earlier block pinned to an endpoint.
func (s *Series) BornInBlock() Part {
	return Part{to: manySteps, has: func(f fragment) bool { return f.kept && f.born }, sql: "kept AND born"}
}

// Clients returns the clients with the most kept requests, largest first.
func (s *Series) Clients() []string { return slices.Clone(s.clients) }

// WithoutClient are the kept rows of all clients but one of Clients.
func (s *Series) WithoutClient(client string) Part {
	out := uint8(slices.Index(s.clients, client) + 1)
	return Part{
		to:  manySteps,
		has: func(f fragment) bool { return f.kept && (f.client != out || out == 0) },
		sql: fmt.Sprintf("kept AND (client <> %d OR %[1]d = 0)", out),
	}
}
