package warehouse

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/rules"
	"switchback/stats"
)

// Series answers stats.Analyze about parts of the rows: those of some minutes of their blocks, those that another burn-in
// would keep, those of conversations that their block began, those of all clients but one. All parts of one kind are added
// up from the same counts, so that a metric costs the cluster a few queries and not one for each part.
type Series struct {
	rows      *Rows
	summaries *Summaries
	metrics   []rules.Measure
	step      int // minutes, the finest division of a block
	clients   []string
	burnIn    []bool // by cell: its block has a burn-in
	anyBurn   bool
	kept      []stats.Sum

	mu     sync.Mutex // guards what follows
	ratios [2][]ratioCount
	parts  map[partKey]*counted
}

// The two ways in which rows are counted.
const (
	byTime   = iota // cell, step since the block's start, whatever the burn-in
	byOrigin        // of kept rows: cell, client, born in the block
	ways
)

// fragment is what tells which parts a row belongs to.
type fragment struct {
	cell   int64
	step   int64 // since the block's start
	client int64 // index into Series.clients plus 1, 0 for any other
	born   int64 // 1: no earlier block chose the endpoint
}

// ratioCount are the rows of a fragment and the sums of the metrics that are ratios.
type ratioCount struct {
	fragment
	values []int64 // rows, then Y and N of each
}

// Series prepares parts for the given metrics, of which those that need the order of requests are left out. step is the
// finest division of the minutes since a block's start, clients the number of clients to single out.
func (s *Summaries) Series(ctx context.Context, metrics []string, step time.Duration, clients int) (*Series, error) {
	r := s.rows
	out := &Series{rows: r, summaries: s, step: max(1, int(step/time.Minute)), parts: map[partKey]*counted{}}
	for _, m := range rules.Measures(r.dialect()) {
		if slices.Contains(metrics, m.ID) && (m.N != "" || m.Kind == stats.Quantile) {
			out.metrics = append(out.metrics, m)
		}
	}
	out.burnIn = make([]bool, len(r.layout.models)*r.layout.width())
	for i, model := range r.layout.models {
		for _, b := range r.layout.columns.Plan().ForModel(model) {
			if column, ok := r.layout.columns.Of(b); ok && b.BurnInEnds.After(b.Starts) {
				out.burnIn[i*r.layout.width()+column], out.anyBurn = true, true
			}
		}
	}
	var err error
	if out.kept, err = s.Sums(ctx, "requests"); err != nil {
		return nil, err
	}
	if len(s.models) == 0 {
		return out, nil
	}
	if err := out.findClients(ctx, clients); err != nil {
		return nil, err
	}
	return out, out.countRatios(ctx)
}

// Close does nothing: the cluster keeps nothing.
func (s *Series) Close() error { return nil }

// Has tells whether the series can be asked about a metric.
func (s *Series) Has(metric string) bool { return s.metric(metric) >= 0 }

func (s *Series) metric(id string) int {
	return slices.IndexFunc(s.metrics, func(m rules.Measure) bool { return m.ID == id })
}

// Clients returns the clients with the most kept requests, largest first.
func (s *Series) Clients() []string { return slices.Clone(s.clients) }

func (s *Series) findClients(ctx context.Context, n int) error {
	found, err := ask(ctx, s.rows.survey, s.rows.clientsRequest(n), func(scan func(...any) error) (c ingest.Count, err error) { return c, scan(&c.Name, &c.N) })
	for _, c := range found {
		s.clients = append(s.clients, c.Name)
	}
	return err
}

// clientsRequest asks for the largest clients. Those of rows that are taken of several are added before.
func (r *Rows) clientsRequest(n int) request {
	client := rules.ClickHouseName("client_id")
	return request{
		name: "largest clients", selects: []string{"ifNull(" + client + ", '') AS sb_by_client", number("count()") + " AS sb_n"},
		where: append(r.keptRows(), client+" IS NOT NULL"), groupBy: []string{"sb_by_client"}, places: r.layout.places(),
		from: "SELECT sb_by_client, toInt64(sum(sb_n)) FROM %s GROUP BY sb_by_client ORDER BY sum(sb_n) DESC, sb_by_client LIMIT " + fmt.Sprint(n),
	}
}

// keysOf are the keys of a way of counting, in the order of fragment.
func keysOf(way int) []string {
	if way == byTime {
		return []string{nameCell, nameStep, "toInt64(0)", "toInt64(0)"}
	}
	return []string{nameCell, "toInt64(0)", nameClient, nameBorn}
}

func groupOf(way int) []string {
	if way == byTime {
		return []string{nameCell, nameStep}
	}
	return []string{nameCell, nameClient, nameBorn}
}

// request begins a request of one way of counting.
func (s *Series) request(way int, name string) request {
	r := request{name: name, groupBy: groupOf(way), places: s.rows.layout.places(), step: int64(s.step) * time.Minute.Microseconds(), clients: s.clients}
	for _, key := range keysOf(way) {
		r.selects = append(r.selects, number(key))
	}
	if way == byTime {
		r.where = []string{nameCell + " >= 0", rules.NoCacheHit(s.rows.dialect())}
	} else {
		r.where = s.rows.keptInCells()
	}
	return r
}

// ratioMetrics returns the metrics that are ratios of sums.
func (s *Series) ratioMetrics() []rules.Measure {
	var ms []rules.Measure
	for _, m := range s.metrics {
		if m.N != "" {
			ms = append(ms, m)
		}
	}
	return ms
}

func (s *Series) ratiosRequest(way int) request {
	r := s.request(way, [ways]string{"sums by cell and minutes since the switch", "sums by cell and client"}[way])
	r.selects = append(r.selects, number("count()"))
	for _, m := range s.ratioMetrics() {
		r.selects = append(r.selects, number(m.Y), number(m.N))
	}
	return r
}

func (s *Series) countRatios(ctx context.Context) error {
	n := 1 + 2*len(s.ratioMetrics())
	for way := range ways {
		found, err := ask(ctx, s.rows.survey, s.ratiosRequest(way), func(scan func(...any) error) (ratioCount, error) {
			c := ratioCount{values: make([]int64, n)}
			targets := []any{&c.cell, &c.step, &c.client, &c.born}
			for i := range c.values {
				targets = append(targets, &c.values[i])
			}
			return c, scan(targets...)
		})
		if err != nil {
			return err
		}
		s.ratios[way] = found
	}
	return nil
}

// part names some rows.
type part struct {
	way int
	has func(fragment) bool
}

// Minutes returns the rows that arrived in [from, to) minutes since their block's start, whatever the burn-in. Both are
// multiples of the step.
func (s *Series) Minutes(metric string, from, to int) stats.Source {
	lo, hi := int64(from/s.step), int64(to/s.step)
	return s.source(metric, part{byTime, func(f fragment) bool { return f.step >= lo && f.step < hi }})
}

// BurnIn returns the rows that a burn-in of another length keeps, in minutes and a multiple of the step. It is that of the
// blocks that have one, or of all blocks when none has.
func (s *Series) BurnIn(metric string, minutes int) stats.Source {
	lo := int64(minutes / s.step)
	return s.source(metric, part{byTime, func(f fragment) bool { return f.step >= lo || s.anyBurn && !s.burnIn[f.cell] }})
}

// BornInBlock returns the kept rows that no earlier block pinned to an endpoint.
func (s *Series) BornInBlock(metric string) stats.Source {
	return s.source(metric, part{byOrigin, func(f fragment) bool { return f.born == 1 }})
}

// WithoutClient returns the kept rows of all clients but one of Clients.
func (s *Series) WithoutClient(metric, client string) stats.Source {
	out := int64(slices.Index(s.clients, client) + 1)
	return s.source(metric, part{byOrigin, func(f fragment) bool { return f.client != out || out == 0 }})
}

// Gaps returns the minutes without any row in blocks that are otherwise busy, and the id of the block with most of them.
func (s *Series) Gaps() (minutes int, block string) {
	plan := s.rows.layout.columns.Plan()
	return ingest.FindGaps(plan, ingest.Window(s.rows.window), s.step, func(add func(block, step int, rows int64)) {
		of := s.blockOf(plan)
		for _, c := range s.ratios[byTime] {
			add(of[c.cell], int(c.step), c.values[0])
		}
	})
}

// blockOf returns the index in the plan of each cell's block.
func (s *Series) blockOf(plan experiment.Plan) []int {
	l := s.rows.layout
	index := map[[2]string]int{}
	for i, b := range plan.Blocks {
		index[[2]string{b.Model, b.ID}] = i
	}
	of := make([]int, len(s.burnIn))
	for i, model := range l.models {
		for _, b := range plan.ForModel(model) {
			if column, ok := l.columns.Of(b); ok {
				of[i*l.width()+column] = index[[2]string{b.Model, b.ID}]
			}
		}
	}
	return of
}

// Blocks returns the window's blocks in the order of the schedule. Metrics that are not those of the series are unknown.
func (s *Series) Blocks(ctx context.Context, metrics []string) ([]ingest.BlockSeries, error) {
	plan := s.rows.layout.columns.Plan()
	of := s.blockOf(plan)
	out := make([]ingest.BlockSeries, len(plan.Blocks))
	for i, b := range plan.Blocks {
		n := s.rows.blocks[i]
		out[i] = ingest.BlockSeries{Block: b, Rows: n.rows, BurnIn: n.burnIn, Values: make([]*float64, len(metrics))}
	}
	ratio := 0
	for _, m := range s.metrics {
		column, place := slices.Index(metrics, m.ID), ratio
		if m.N != "" {
			ratio++
		}
		if column < 0 {
			continue
		}
		if m.N == "" {
			if err := s.quantilesOfBlocks(ctx, m, of, func(block int, v float64) { out[block].Values[column] = &v }); err != nil {
				return nil, err
			}
			continue
		}
		y, n := make([]int64, len(out)), make([]int64, len(out))
		for _, c := range s.ratios[byOrigin] {
			y[of[c.cell]] += c.values[1+2*place]
			n[of[c.cell]] += c.values[2+2*place]
		}
		for i := range out {
			if n[i] > 0 {
				v := float64(y[i]) / float64(n[i]) * m.Scale
				out[i].Values[column] = &v
			}
		}
	}
	return out, nil
}

// quantilesOfBlocks takes quantiles over all models. The histogram is that of the summaries.
func (s *Series) quantilesOfBlocks(ctx context.Context, m rules.Measure, of []int, set func(block int, v float64)) error {
	if len(s.summaries.models) == 0 {
		return nil
	}
	value, err := s.rows.quantity(m.Quantity)
	if err != nil {
		return err
	}
	s.summaries.mu.Lock()
	found, err := s.summaries.histogram(ctx, m.Quantity)
	s.summaries.mu.Unlock()
	if err != nil {
		return err
	}
	bins := byGroup{}
	for _, b := range found {
		bins.add(fmt.Sprint(of[b.Model*s.rows.layout.width()+b.Column]), int64(b.Bin), b.N)
	}
	// The condition makes the rows those of the histogram: rows without a cell are in no block value.
	quantiles, err := s.rows.quantiles(ctx, m.ID+" by block", blockGroup, inCells(value), m.PerMille, bins)
	for group, v := range quantiles {
		var block int
		if _, err := fmt.Sscan(group, &block); err != nil {
			return err
		}
		set(block, float64(v)*m.Scale)
	}
	return err
}
