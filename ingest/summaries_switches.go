package ingest

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"

	"switchback/ingest/rules"
	"switchback/stats"
)

const switches = rules.ProviderSwitches

// turn is a kept request of a session.
type turn struct {
	session  uint64 // hash
	ts       int64
	cell     int32 // −1 for none
	provider int32 // place among the names, from 1; 0 is unknown
}

// sessionGroups is the number of groups that sessions are dealt out to. One group stays in the processor's cache while its
// sessions are put together.
const sessionGroups = 1024

// providerSwitches compares each kept request's provider with that of the session's kept request before it. Sessions are
// told apart by a hash. Requests of one microsecond are in an order that every engine knows (rules.ProviderSwitches).
func (s *Summaries) providerSwitches(ctx context.Context) ([]stats.Sum, error) {
	turns, err := s.readTurns(ctx)
	if err != nil {
		return nil, err
	}
	cells := len(s.models) * s.width()
	parts := make([]switchCounts, s.store.threads)
	parallel(s.store.threads, len(parts), func(part int) {
		parts[part] = switchCounts{of: make([]int64, cells), changed: make([]int64, cells)}
		for group := part; group < sessionGroups; group += len(parts) {
			parts[part].add(turns, group)
		}
	})
	var out []stats.Sum
	for cell := range cells {
		var sum stats.Sum
		for _, p := range parts {
			sum.N, sum.Y = sum.N+p.of[cell], sum.Y+p.changed[cell]
		}
		if sum.N > 0 {
			sum.Model, sum.Column = s.place(cell)
			out = append(out, sum)
		}
	}
	return out, nil
}

// turnGroups are turns in order of their session's group.
type turnGroups struct {
	turns []turn
	ends  [1 + sessionGroups]int // of each group, after a leading 0
}

func (g *turnGroups) of(group int) []turn { return g.turns[g.ends[group]:g.ends[group+1]] }

// readTurns reads the turns of all sessions.
func (s *Summaries) readTurns(ctx context.Context) ([]turnGroups, error) {
	providers, err := s.readProviders(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []turnGroups
	query := "SELECT " + placeOf + ", hash(r.session_id), hash(r.provider), epoch_us(r.ts) FROM requests r WHERE r.session_id IS NOT NULL AND " + s.window.kept()
	types := []arrow.Type{arrow.UINT64, arrow.UINT64, arrow.UINT64, arrow.INT64}
	err = s.store.eachSlice(ctx, s.columns.plan, s.kept.starts[len(s.kept.starts)-1], func(ctx context.Context, slice string) error {
		return s.store.queryRecords(ctx, query+slice, types, len(types), func(fetched []records) error {
			turns := s.dealTurns(fetched, providers)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, turns)
			return nil
		})
	})
	return all, err
}

// dealTurns groups the turns of rows: the hashes of their cells, sessions and providers, and their arrivals.
func (s *Summaries) dealTurns(rows []records, providers map[uint64]int32) turnGroups {
	var g turnGroups
	for _, r := range rows {
		for _, session := range r.uint64s(1) {
			g.ends[1+session%sessionGroups]++
		}
	}
	for i := range sessionGroups {
		g.ends[i+1] += g.ends[i]
	}
	g.turns = make([]turn, g.ends[sessionGroups])
	next := g.ends
	last, cell := s.cellOf(0)
	for _, r := range rows {
		places, served, times := r.uint64s(0), r.uint64s(2), r.int64s(3)
		for i, session := range r.uint64s(1) {
			if places[i] != last { // rows of a cell tend to stand together
				last, cell = s.cellOf(places[i])
			}
			at := &next[session%sessionGroups]
			g.turns[*at] = turn{session, times[i], int32(cell), providers[served[i]]}
			*at++
		}
	}
	return g
}

// readProviders numbers the providers by name, from 1 on, and returns the numbers by hash.
func (s *Summaries) readProviders(ctx context.Context) (map[uint64]int32, error) {
	rows, err := s.store.db.QueryContext(ctx, "SELECT hash(provider) FROM (SELECT DISTINCT provider FROM requests WHERE provider IS NOT NULL) ORDER BY provider")
	if err != nil {
		return nil, err
	}
	hashes, err := collect(rows, func(scan func(...any) error) (h uint64, err error) { return h, scan(&h) })
	numbers := map[uint64]int32{}
	for i, h := range hashes {
		numbers[h] = int32(i + 1)
	}
	return numbers, err
}

// switchCounts counts, by cell, the turns whose provider and whose session's provider before are known, and those of them
// where the two differ.
type switchCounts struct {
	of, changed []int64

	// Of the group at hand.
	turns   []turn
	slots   []int32  // a hash table of sessions: their numbers plus 1
	session []int32  // by turn: its session's number
	hashes  []uint64 // by session
	ends    []int32  // by session: of its turns among sorted
	sorted  []turn   // by session
}

// add counts the turns of one group.
func (c *switchCounts) add(parts []turnGroups, group int) {
	c.turns = c.turns[:0]
	for i := range parts {
		for _, t := range parts[i].of(group) {
			if t.cell >= 0 {
				c.turns = append(c.turns, t)
			}
		}
	}
	c.number()
	c.sorted = slices.Grow(c.sorted[:0], len(c.turns))[:len(c.turns)]
	for i, t := range c.turns {
		at := &c.ends[c.session[i]]
		c.sorted[*at] = t
		*at++
	}
	from := int32(0)
	for _, end := range c.ends {
		c.count(c.sorted[from:end])
		from = end
	}
}

// number numbers the sessions in order of appearance, and leaves in ends where the turns of each begin when they stand
// together.
func (c *switchCounts) number() {
	size := 1 << bits.Len(uint(2*len(c.turns)))
	c.slots = slices.Grow(c.slots[:0], size)[:size]
	clear(c.slots)
	c.session, c.hashes, c.ends = c.session[:0], c.hashes[:0], c.ends[:0]
	for _, t := range c.turns {
		at := int(t.session/sessionGroups) & (size - 1)
		for c.slots[at] != 0 && c.hashes[c.slots[at]-1] != t.session {
			at = (at + 1) & (size - 1)
		}
		if c.slots[at] == 0 {
			c.hashes, c.ends = append(c.hashes, t.session), append(c.ends, 0)
			c.slots[at] = int32(len(c.hashes))
		}
		c.session = append(c.session, c.slots[at]-1)
		c.ends[c.slots[at]-1]++
	}
	from := int32(0)
	for i, n := range c.ends {
		c.ends[i], from = from, from+n
	}
}

// count counts the turns of one session. They tend to be in order.
func (c *switchCounts) count(turns []turn) {
	if !slices.IsSortedFunc(turns, compareTurns) {
		slices.SortFunc(turns, compareTurns)
	}
	for i := 1; i < len(turns); i++ {
		before, t := turns[i-1], turns[i]
		if before.provider == 0 || t.provider == 0 {
			continue
		}
		c.of[t.cell]++
		if before.provider != t.provider {
			c.changed[t.cell]++
		}
	}
}

func compareTurns(a, b turn) int {
	return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.provider, b.provider), cmp.Compare(a.cell, b.cell))
}
