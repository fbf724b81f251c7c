package warehouse

import (
	"context"
	"slices"
	"sync"
	"time"

	"switchback/ingest"
	"switchback/ingest/rules"
	"switchback/stats"
)

// Series answers stats.Analyze about parts of the rows: those of some minutes of their blocks, those that another burn-in
// would keep, those of conversations that their block began, those of all clients but one. All parts are added up from the
// same counts of slices, so that a metric costs the cluster two queries and not one for each part.
type Series struct {
	rows      *Rows
	summaries *Summaries
	metrics   []rules.Measure
	step      int // minutes, the finest division of a block
	clients   []string
	burnIn    []bool // by cell: its block has a burn-in
	anyBurn   bool
	kept      []stats.Sum
	ratios    []ratioCount

	mu      sync.Mutex       // guards what follows
	counted map[int]*counted // by metric
}

// fragment is what tells which parts a row belongs to. A kept row belongs to two: by its time and by its origin.
type fragment struct {
	cell int64
	// By time: the step since the block's start. By origin, in one number below 0: −1 − 2·client − born, where client is the
	// index into Series.clients plus 1, or 0 for any other, and born is 1 where no earlier block chose the endpoint.
	slice int64
}

func (f fragment) byTime() bool  { return f.slice >= 0 }
func (f fragment) client() int64 { return (-1 - f.slice) / 2 }
func (f fragment) born() bool    { return (-1-f.slice)%2 == 1 }

// ratioCount are the rows of a fragment and the sums of the metrics that are ratios.
type ratioCount struct {
	fragment
	values []int64 // rows, then Y and N of each
}

// Series prepares parts for the given metrics, of which those that need the order of requests are left out. step is the
// finest division of the minutes since a block's start, clients the number of clients to single out.
func (s *Summaries) Series(ctx context.Context, metrics []string, step time.Duration, clients int) (*Series, error) {
	r := s.rows
	out := &Series{rows: r, summaries: s, step: max(1, int(step/time.Minute)), counted: map[int]*counted{}}
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

// Clients returns the clients with the most kept requests, largest first.
func (s *Series) Clients() []string { return slices.Clone(s.clients) }

func (s *Series) findClients(ctx context.Context, n int) error {
	found, err := ask(ctx, s.rows.survey, s.rows.clientsRequest(n), func(scan func(...any) error) (c ingest.Count, err error) { return c, scan(&c.Name, &c.N) })
	for _, c := range found {
		s.clients = append(s.clients, c.Name)
	}
	return err
}

func (s *Series) countRatios(ctx context.Context) (err error) {
	n := 1 + 2*len(s.ratioMetrics())
	s.ratios, err = ask(ctx, s.rows.survey, s.ratiosRequest(), func(scan func(...any) error) (ratioCount, error) {
		c := ratioCount{values: make([]int64, n)}
		targets := []any{&c.cell, &c.slice}
		for i := range c.values {
			targets = append(targets, &c.values[i])
		}
		return c, scan(targets...)
	})
	return err
}

// Minutes returns the rows that arrived in [from, to) minutes since their block's start, whatever the burn-in. Both are
// multiples of the step.
func (s *Series) Minutes(metric string, from, to int) stats.Source {
	lo, hi := int64(from/s.step), int64(to/s.step)
	return &partSource{s, metric, func(f fragment) bool { return f.slice >= lo && f.slice < hi }}
}

// BurnIn returns the rows that a burn-in of another length keeps, in minutes and a multiple of the step. It is that of the
// blocks that have one, or of all blocks when none has.
func (s *Series) BurnIn(metric string, minutes int) stats.Source {
	lo := int64(minutes / s.step)
	return &partSource{s, metric, func(f fragment) bool { return f.byTime() && (f.slice >= lo || s.anyBurn && !s.burnIn[f.cell]) }}
}

// BornInBlock returns the kept rows that no earlier block pinned to an endpoint.
func (s *Series) BornInBlock(metric string) stats.Source {
	return &partSource{s, metric, func(f fragment) bool { return !f.byTime() && f.born() }}
}

// WithoutClient returns the kept rows of all clients but one of Clients.
func (s *Series) WithoutClient(metric, client string) stats.Source {
	out := int64(slices.Index(s.clients, client) + 1)
	return &partSource{s, metric, func(f fragment) bool { return !f.byTime() && (f.client() != out || out == 0) }}
}
