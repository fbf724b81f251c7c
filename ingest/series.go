package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"

	"switchback/ingest/rules"
	"switchback/stats"
)

// Series answers stats.Analyze about parts of the rows: those of some minutes of their blocks, those that another burn-in
// would keep, those of conversations that their block began, those of all clients but one. All parts come from one pass
// over the table, whose rows stay in memory as numbers. Several goroutines may ask Sources of it at a time. Close it.
type Series struct {
	store    *Store
	columns  columnMap
	window   Window
	metrics  []seriesMetric
	step     int // minutes, the finest division of a block
	models   []string
	cells    map[uint64]int // by hash of model and block
	places   []cellPlace    // by cell
	burnIn   []bool         // by cell: its block has a burn-in
	blockOf  []int          // by cell: index of its block in the plan, -1 for none
	anyBurn  bool
	clients  []string         // the largest, by kept requests; the client 0 of a row is any other
	clientOf map[uint64]uint8 // by hash of the name
	fragmentCounts
	rows []rowPart
	kept []int64 // kept requests by cell
	bins *bins
}

// seriesMetric is a metric with what Series knows of its values.
type seriesMetric struct {
	rules.Measure
	counts  int // of a ratio: place of its Y in Series.counts, which N follows
	lo, hi  []int64
	outside outsideCounts
	near    nearRows
}

// cellPlace is the model and the column of a cell.
type cellPlace struct{ model, column int32 }

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
	out := &Series{store: s, columns: columns, window: w, models: models, step: max(1, int(step/time.Minute)), bins: newBins()}
	for _, m := range rules.Measures(rules.DuckDBRows{}) {
		if slices.Contains(metrics, m.ID) && (m.N != "" || m.Kind == stats.Quantile) {
			out.metrics = append(out.metrics, seriesMetric{Measure: m})
		}
	}
	if err := out.prepare(ctx, min(clients, 250)); err != nil {
		return nil, fmt.Errorf("series of blocks: %w", err)
	}
	return out, nil
}

// Close lets go of the rows.
func (s *Series) Close() error {
	s.rows = nil
	return nil
}

func (s *Series) prepare(ctx context.Context, clients int) error {
	if err := s.makePlaces(ctx); err != nil {
		return err
	}
	if err := s.findClients(ctx, clients); err != nil {
		return err
	}
	if err := s.readRows(ctx); err != nil {
		return err
	}
	for i := range s.metrics {
		if m := &s.metrics[i]; m.Kind == stats.Quantile {
			s.findWindows(m)
			s.divide(m)
		}
	}
	return nil
}

func (s *Series) width() int { return max(1, 2*len(s.columns.pairs)) }

// makePlaces finds the cell and the index in the plan of every model and block that has a partner.
func (s *Series) makePlaces(ctx context.Context) error {
	cells := len(s.models) * s.width()
	s.burnIn, s.kept, s.blockOf = make([]bool, cells), make([]int64, cells), slices.Repeat([]int{-1}, cells)
	s.cells, s.places = map[uint64]int{}, make([]cellPlace, cells)
	for cell := range cells {
		s.places[cell] = cellPlace{int32(cell / s.width()), int32(cell % s.width())}
	}
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
	for _, b := range s.columns.plan.Blocks {
		if column, ok := s.columns.column[blockKey{b.Model, b.ID}]; ok {
			blocks = append(blocks, fmt.Sprintf("(%s, %s, %d)", quote(b.Model), quote(b.ID), column))
		}
	}
	if len(models) == 0 || len(blocks) == 0 {
		return nil
	}
	query := "SELECT hash(m.model, b.block_id), CAST(m.cell + b.cell AS BIGINT) FROM (VALUES " + strings.Join(models, ", ") +
		") m(model, schedule, cell) JOIN (VALUES " + strings.Join(blocks, ", ") + ") b(schedule, block_id, cell) USING (schedule)" // as placeOf
	return s.store.queryRecords(ctx, query, []arrow.Type{arrow.UINT64, arrow.INT64}, 2, func(fetched []records) error {
		for _, r := range fetched {
			for i, hash := range r.uint64s(0) {
				s.cells[hash] = int(r.int64s(1)[i])
			}
		}
		return nil
	})
}

// findClients finds the clients with the most kept requests.
func (s *Series) findClients(ctx context.Context, n int) error {
	s.clientOf = map[uint64]uint8{}
	rows, err := s.store.db.QueryContext(ctx, fmt.Sprintf(`SELECT client_id, hash(client_id) FROM (SELECT r.client_id, count(*) AS rows FROM requests r
		WHERE r.client_id IS NOT NULL AND %s GROUP BY r.client_id ORDER BY rows DESC, r.client_id LIMIT %d) ORDER BY rows DESC, client_id`, s.window.kept(), n))
	if err != nil {
		return err
	}
	s.clients, err = collect(rows, func(scan func(...any) error) (c string, err error) {
		var hash uint64
		err = scan(&c, &hash)
		s.clientOf[hash] = uint8(len(s.clientOf) + 1)
		return c, err
	})
	return err
}

// Minutes are the rows that arrived in [from, to) minutes since their block's start, whatever the burn-in. Both are
// multiples of the step.
func (s *Series) Minutes(from, to int) Part {
	lo, hi := from/s.step, to/s.step
	return Part{
		from: lo, to: hi,
		has: func(f fragment) bool { return int(f.step) >= lo && int(f.step) < hi },
	}
}

// BurnIn are the rows that a burn-in of another length keeps, in minutes and a multiple of the step. It is that of the
// blocks that have one, or of all blocks when none has.
func (s *Series) BurnIn(minutes int) Part {
	lo := minutes / s.step
	return Part{
		to:  manySteps,
		has: func(f fragment) bool { return int(f.step) >= lo || s.anyBurn && !s.burnIn[f.cell] },
	}
}

// BornInBlock are the kept rows that no earlier block pinned to an endpoint.
func (s *Series) BornInBlock() Part {
	return Part{to: manySteps, has: func(f fragment) bool { return f.kept && f.born }}
}

// Clients returns the clients with the most kept requests, largest first.
func (s *Series) Clients() []string { return slices.Clone(s.clients) }

// WithoutClient are the kept rows of all clients but one of Clients.
func (s *Series) WithoutClient(client string) Part {
	out := uint8(slices.Index(s.clients, client) + 1)
	return Part{
		to:  manySteps,
		has: func(f fragment) bool { return f.kept && (f.client != out || out == 0) },
	}
}
