package ingest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"switchback/experiment"
	"switchback/ingest/rules"
	"switchback/stats"
)

// Window says which rows an analysis is about.
type Window rules.Window

// AllModels is the model of a Window with PooledModels.
const AllModels = "all models"

func timestamp(t time.Time) string { return rules.DuckDB{}.Instant(t) }

// inside is the SQL condition that a row r lies in the window.
func (w Window) inside() string { return rules.Window(w).Inside(rules.DuckDB{}) }

// kept is the SQL condition that the analysis keeps a row r.
func (w Window) kept() string { return rules.Window(w).Kept(rules.DuckDB{}) }

// overlaps tells whether a block has a part in the window.
func (w Window) overlaps(b experiment.Block) bool {
	return (w.Until.IsZero() || b.Starts.Before(w.Until)) && (w.Since.IsZero() || b.Ends.After(w.Since))
}

// Plan returns the schedule that was applied, with the given arms.
func (s *Store) Plan(ctx context.Context, arms experiment.Arms) (experiment.Plan, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT block_id, pair_id, day, slot, arm, starts, ends, burn_in_ends, coalesce(model, '')
		FROM blocks ORDER BY coalesce(model, ''), starts`)
	if err != nil {
		return experiment.Plan{}, fmt.Errorf("read blocks: %w", err)
	}
	defer rows.Close()
	plan := experiment.Plan{Arms: arms}
	for rows.Next() {
		var b experiment.Block
		if err := rows.Scan(&b.ID, &b.PairID, &b.Day, &b.Slot, &b.Arm, &b.Starts, &b.Ends, &b.BurnInEnds, &b.Model); err != nil {
			return experiment.Plan{}, fmt.Errorf("read blocks: %w", err)
		}
		plan.Blocks = append(plan.Blocks, b)
	}
	return plan, rows.Err()
}

// BlockHealth says which blocks of a window cannot be analysed as planned. Blocks are named by id, with the
// model in front when the schedule is per model.
type BlockHealth struct {
	Blocks     int      // planned in the window
	Missing    []string // no row at all
	BurnInOnly []string // rows, but none past the burn-in
	Lone       []string // without a partner of the other arm
}

// Pairs returns the complete pairs of the window in the order of the columns of Summaries, and what is wrong
// with its blocks. Blocks without any row stay in their pair: the analysis sees no rows there.
func (s *Store) Pairs(ctx context.Context, w Window) ([]stats.Pair, BlockHealth, error) {
	plan, err := s.Plan(ctx, w.Arms)
	if err != nil {
		return nil, BlockHealth{}, err
	}
	columns, health := matchPairs(plan, w)
	found, err := s.blocksWithRows(ctx, plan, w)
	if err != nil {
		return nil, BlockHealth{}, err
	}
	health.Missing, health.BurnInOnly = EmptyBlocks(plan, w, found)
	return columns.pairs, health, nil
}

// columnMap gives every block of a window its column: 2·pair for control, 2·pair+1 for treatment.
type columnMap struct {
	plan   experiment.Plan
	pairs  []stats.Pair
	column map[blockKey]int
}

type blockKey struct{ model, id string }

func (k blockKey) String() string {
	if k.model == "" {
		return k.id
	}
	return k.model + "/" + k.id
}

// matchPairs numbers the pairs of a window by start. Pairs of several per-model schedules share a number when
// they share an id.
func matchPairs(plan experiment.Plan, w Window) (columnMap, BlockHealth) {
	type numbered struct {
		experiment.Pair
		starts time.Time
	}
	var all []numbered
	var health BlockHealth
	seen := map[string]bool{}
	window := experiment.Plan{Arms: plan.Arms}
	for _, b := range plan.Blocks {
		if w.overlaps(b) {
			window.Blocks = append(window.Blocks, b)
		}
	}
	health.Blocks = len(window.Blocks)
	for _, model := range window.Models() {
		pairs, lone := window.Pairs(model)
		for _, b := range lone {
			health.Lone = append(health.Lone, blockKey{b.Model, b.ID}.String())
		}
		for _, p := range pairs {
			if seen[p.ID] {
				continue
			}
			seen[p.ID] = true
			starts := p.Control.Starts
			if p.TreatmentFirst {
				starts = p.Treatment.Starts
			}
			all = append(all, numbered{p, starts})
		}
	}
	slices.SortStableFunc(all, func(a, b numbered) int { return a.starts.Compare(b.starts) })
	m := columnMap{plan: window, column: map[blockKey]int{}}
	index := map[string]int{}
	for i, p := range all {
		index[p.ID] = i
		m.pairs = append(m.pairs, stats.Pair{ID: p.ID, Day: p.Day, Position: p.Position, TreatmentFirst: p.TreatmentFirst})
	}
	for _, model := range window.Models() {
		pairs, _ := window.Pairs(model)
		for _, p := range pairs {
			m.column[blockKey{model, p.Control.ID}] = 2 * index[p.ID]
			m.column[blockKey{model, p.Treatment.ID}] = 2*index[p.ID] + 1
			if model == "" {
				continue
			}
			pair := &m.pairs[index[p.ID]]
			if pair.FirstByModel == nil {
				pair.FirstByModel = map[string]bool{}
			}
			pair.FirstByModel[model] = p.TreatmentFirst
		}
	}
	return m, health
}

// BlockRows says that a block has rows, and whether one of them is past the burn-in. Model is that of the schedule, or that of
// the rows where models have schedules of their own.
type BlockRows struct {
	Model, BlockID string
	PastBurnIn     bool
}

// EmptyBlocks returns the window's blocks without a row, and those with rows in their burn-in only.
func EmptyBlocks(plan experiment.Plan, w Window, found []BlockRows) (missing, burnInOnly []string) {
	own := plan.Models()
	past := map[blockKey]bool{} // present with true: rows past the burn-in
	for _, f := range found {
		k := blockKey{f.Model, f.BlockID}
		if !slices.Contains(own, k.model) {
			k.model = ""
		}
		past[k] = past[k] || f.PastBurnIn
	}
	for _, b := range plan.Blocks {
		if !w.overlaps(b) {
			continue
		}
		k := blockKey{b.Model, b.ID}
		if kept, ok := past[k]; !ok {
			missing = append(missing, k.String())
		} else if !kept {
			burnInOnly = append(burnInOnly, k.String())
		}
	}
	return missing, burnInOnly
}

// blocksWithRows finds the blocks of the window that have rows.
func (s *Store) blocksWithRows(ctx context.Context, plan experiment.Plan, w Window) ([]BlockRows, error) {
	model := "''"
	if models := plan.Models(); len(models) > 0 && models[len(models)-1] != "" {
		model = "coalesce(r.model, '')"
	}
	rows, err := s.db.QueryContext(ctx, fmt.Sprintf(`SELECT %s, r.block_id, bool_or(NOT r.in_burn_in) FROM requests r
		WHERE r.block_id IS NOT NULL AND %s GROUP BY ALL`, model, w.inside()))
	if err != nil {
		return nil, fmt.Errorf("count rows of blocks: %w", err)
	}
	return collect(rows, func(scan func(...any) error) (b BlockRows, err error) {
		return b, scan(&b.Model, &b.BlockID, &b.PastBurnIn)
	})
}

// Columns gives every block of a window its column among the answers of a stats.Source.
type Columns struct{ columns columnMap }

// MatchPairs numbers the pairs of a window, and says which blocks have none.
func MatchPairs(plan experiment.Plan, w Window) (Columns, BlockHealth) {
	columns, health := matchPairs(plan, w)
	return Columns{columns}, health
}

// Plan returns the blocks that have a part in the window.
func (c Columns) Plan() experiment.Plan { return c.columns.plan }

// Pairs returns the pairs in the order of their columns.
func (c Columns) Pairs() []stats.Pair { return c.columns.pairs }

// Of returns the column of a block, false for a lone one.
func (c Columns) Of(b experiment.Block) (int, bool) {
	column, ok := c.columns.column[blockKey{b.Model, b.ID}]
	return column, ok
}
