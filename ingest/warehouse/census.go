package warehouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/rules"
	"switchback/stats"
)

// Rows are the rows of a window under a schedule, counted by block.
type Rows struct {
	*survey
	plan   experiment.Plan // whole, also outside the window
	blocks []blockCounts   // by index in the window's plan
	health ingest.BlockHealth
	served *served // nil before it is asked
}

// blockCounts are the rows of one block in the window. What is kept has passed the rules of the analysis.
type blockCounts struct {
	rows, burnIn, cacheHits, straddling, labelled, mismatches int64
	kept, pinnedEarlier, pinnedOther, odd, straddlingKept     int64
	withoutTotal, cancelled, errors, noModel, driven          int64
	statuses                                                  map[string]int64 // of kept rows
	quality                                                   []int64          // of kept rows, by ingest.QualityBits
	known                                                     []int64          // of kept rows, by countedColumns
}

// alike are the rows of one block that are counted in the same places.
type alike struct {
	block, inBurnIn, kept                                                     int64
	status                                                                    string // "unknown" for none
	bits                                                                      int64  // of quality, under the schedule
	rows, labelled, pinnedEarlier, pinnedOther, withoutTotal, noModel, driven int64
	known                                                                     []int64 // by countedColumns
}

func newBlockCounts(columns int) blockCounts {
	return blockCounts{statuses: map[string]int64{}, quality: make([]int64, len(ingest.QualityBits())), known: make([]int64, columns)}
}

// add counts rows.
func (n *blockCounts) add(g alike) {
	n.rows += g.rows
	n.labelled += g.labelled
	if g.bits&experiment.QualityStraddlesBlock != 0 {
		n.straddling += g.rows
	}
	if g.bits&experiment.QualityLabelMismatch != 0 {
		n.mismatches += g.rows
	}
	switch {
	case g.inBurnIn != 0:
		n.burnIn += g.rows
	case g.status == experiment.StatusGatewayCache:
		n.cacheHits += g.rows
	}
	if g.kept == 0 {
		return
	}
	n.kept += g.rows
	n.pinnedEarlier += g.pinnedEarlier
	n.pinnedOther += g.pinnedOther
	n.noModel += g.noModel
	n.driven += g.driven
	n.statuses[g.status] += g.rows
	switch g.status {
	case experiment.StatusError, experiment.StatusErrorMidstream:
		n.errors += g.rows
	case experiment.StatusCancelled:
		n.cancelled += g.rows
	case "unknown":
	default:
		n.withoutTotal += g.withoutTotal
	}
	if g.bits != 0 {
		n.odd += g.rows
	}
	if g.bits&experiment.QualityStraddlesBlock != 0 {
		n.straddlingKept += g.rows
	}
	for i, b := range ingest.QualityBits() {
		if g.bits&b.Bit != 0 {
			n.quality[i] += g.rows
		}
	}
	for i, known := range g.known {
		n.known[i] += known
	}
}

// under places the rows of a survey under a schedule.
func (s *survey) under(plan experiment.Plan, window ingest.Window) *Rows {
	planned := *s
	r := &Rows{survey: &planned, plan: plan}
	r.layout.columns, r.health = ingest.MatchPairs(plan, window)
	blocks := r.layout.columns.Plan().Blocks
	r.layout.buckets = bucketsOf(blocks)
	r.blocks = make([]blockCounts, len(blocks))
	return r
}

// Rows counts the rows of a window under a schedule.
func (w *Warehouse) Rows(ctx context.Context, plan experiment.Plan, window ingest.Window) (*Rows, error) {
	s, err := w.surveyOf(ctx, window)
	if err != nil {
		return nil, err
	}
	r := s.under(plan, window)
	blocks := r.layout.columns.Plan().Blocks
	if len(blocks) > 0 && len(s.models) > 0 {
		if err := r.count(ctx); err != nil {
			return nil, err
		}
	}
	var found []ingest.BlockRows
	for i, b := range blocks {
		if n := r.blocks[i]; n.rows > 0 {
			found = append(found, ingest.BlockRows{Model: b.Model, BlockID: b.ID, PastBurnIn: n.rows > n.burnIn})
		}
	}
	r.health.Missing, r.health.BurnInOnly = ingest.EmptyBlocks(plan, window, found)
	return r, nil
}

// censusRequest asks for everything that is counted by block.
func (r *Rows) censusRequest() request {
	d, c := r.dialect(), rules.ClickHouseName
	count := func(condition string) string { return number(d.Count("", condition)) }
	// The window and the block are conditions of every query here, so that the rest of the rule is left.
	keys := []string{
		"toInt64(" + nameBlock + ")", number(d.Column("in_burn_in")), number("NOT " + d.Column("in_burn_in") + " AND " + rules.NoCacheHit(d)),
		"ifNull(" + c("status") + ", 'unknown')", number(nameBits),
	}
	selects := append(slices.Clone(keys), number("count()"), number("count("+c("arm")+")"),
		count(c("pinned_from_block")+" <> "+c("block_id")), count(r.pinnedInOtherArm()), count(c("total_ms")+" IS NULL"), count(c(columnModel)+" IS NULL"),
		count(c("source")+" = "+quote(ingest.SourceDrive)))
	for _, name := range r.countedColumns() {
		selects = append(selects, number("count("+c(name)+")"))
	}
	return request{name: "rows by block", selects: selects, groupBy: keys, places: r.layout.places()}
}

// countedColumns are the columns of the table, as ingest.Known names them.
func (r *Rows) countedColumns() []string {
	var names []string
	for _, c := range canonicalColumns() {
		if c.name != columnVersion && c.name != "arm" { // the schedule gives every row an arm
			names = append(names, c.name)
		}
	}
	return names
}

// pinnedInOtherArm is the condition that a block of the other arm chose the endpoint of a row.
func (r *Rows) pinnedInOtherArm() string {
	var ids, arms []string
	for _, b := range r.plan.Blocks {
		ids, arms = append(ids, quote(b.Model+"/"+b.ID)), append(arms, quote(b.Arm))
	}
	pinned := rules.ClickHouseName("pinned_from_block")
	return fmt.Sprintf("%s IS NOT NULL AND transform(concat(place_schedule, '/', ifNull(%[1]s, '')), [%s], [%s], place_arm) <> place_arm",
		pinned, strings.Join(ids, ", "), strings.Join(arms, ", "))
}

func (r *Rows) count(ctx context.Context) error {
	columns := len(r.countedColumns())
	found, err := ask(ctx, r.survey, r.censusRequest(), func(scan func(...any) error) (alike, error) {
		g := alike{known: make([]int64, columns)}
		targets := []any{
			&g.block, &g.inBurnIn, &g.kept, &g.status, &g.bits, &g.rows, &g.labelled, &g.pinnedEarlier, &g.pinnedOther, &g.withoutTotal, &g.noModel, &g.driven,
		}
		for i := range g.known {
			targets = append(targets, &g.known[i])
		}
		return g, scan(targets...)
	})
	if err != nil {
		return err
	}
	for i := range r.blocks {
		r.blocks[i] = newBlockCounts(columns)
	}
	for _, g := range found {
		r.blocks[g.block].add(g)
	}
	return nil
}

// Report says what the schedule does to the rows of the window.
func (r *Rows) Report() ingest.PlanReport {
	p := ingest.PlanReport{Rows: r.survey.kept()}
	var inside int64
	for _, n := range r.blocks {
		inside += n.rows
		p.InBurnIn += n.burnIn
		p.Straddling += n.straddling
		p.Labelled += n.labelled
		p.Mismatches += n.mismatches
	}
	p.Outside = p.Rows - inside
	return p
}

// Fingerprint names the rows of the window: another row, or another value in one, gives another.
func (r *Rows) Fingerprint() string { return r.fingerprint() }

// Pairs returns the complete pairs of the window in the order of the columns of Summaries.
func (r *Rows) Pairs() []stats.Pair { return r.layout.columns.Pairs() }

// Blocks says which blocks of the window cannot be analysed as planned.
func (r *Rows) Blocks() ingest.BlockHealth { return r.health }

// Health counts the rows of the window. Rows outside of it are not looked at.
func (r *Rows) Health() ingest.Health {
	report := r.Report()
	h := ingest.Health{
		Rows: report.Rows, NoBlock: report.Outside, BurnIn: report.InBurnIn, Rejects: r.rejects, Conflicts: r.conflicts, ReusedIDs: r.reusedIDs,
		Files: []ingest.LoadedFile{r.warehouse.file(r.survey)}, Blocks: r.health,
	}
	if r.rows > 0 {
		stamp := func(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05Z") }
		h.FirstSeen, h.LastSeen = stamp(r.first), stamp(r.last)
	}
	statuses, quality, known := map[string]int64{}, make([]int64, len(ingest.QualityBits())), make([]int64, len(r.countedColumns()))
	byArm := map[string]*ingest.ArmHealth{}
	for i, b := range r.layout.columns.Plan().Blocks {
		n := r.blocks[i]
		if n.rows == 0 {
			continue
		}
		h.Kept += n.kept
		h.Driven += n.driven
		for status, rows := range n.statuses {
			statuses[status] += rows
		}
		for k, rows := range n.quality {
			quality[k] += rows
		}
		for k, rows := range n.known {
			known[k] += rows
		}
		a := byArm[b.Arm]
		if a == nil {
			a = &ingest.ArmHealth{Arm: b.Arm}
			byArm[b.Arm] = a
		}
		a.Rows += n.rows
		a.BurnIn += n.burnIn
		a.GatewayCache += n.cacheHits
		a.Kept += n.kept
		a.PinnedEarlier += n.pinnedEarlier
		a.PinnedOtherArm += n.pinnedOther
		a.WithQualityBits += n.odd
		a.WithoutTotal += n.withoutTotal
		a.Cancelled += n.cancelled
		a.Errors += n.errors
		a.UnknownModel += n.noModel
	}
	for _, arm := range []string{r.plan.Arms.Control, r.plan.Arms.Treatment} {
		if a := byArm[arm]; a != nil {
			h.Arms = append(h.Arms, *a)
		}
	}
	for status, rows := range statuses {
		h.Statuses = append(h.Statuses, ingest.Count{Name: status, N: rows})
	}
	slices.SortFunc(h.Statuses, func(a, b ingest.Count) int { return strings.Compare(a.Name, b.Name) })
	for i, b := range ingest.QualityBits() {
		if quality[i] > 0 {
			h.Quality = append(h.Quality, ingest.Count{Name: b.Name, N: quality[i]})
		}
	}
	for i, name := range r.countedColumns() {
		h.Columns = append(h.Columns, ingest.Known{Column: name, Known: known[i], Rows: h.Kept})
	}
	return h
}

// ArmCounts counts the kept rows of both arms, control first.
func (r *Rows) ArmCounts() [2]ingest.ArmCounts {
	counts := [2]ingest.ArmCounts{{Arm: r.plan.Arms.Control}, {Arm: r.plan.Arms.Treatment}}
	names := r.countedColumns()
	for k := range counts {
		for _, name := range names {
			counts[k].Columns = append(counts[k].Columns, ingest.Known{Column: name})
		}
	}
	for i, b := range r.layout.columns.Plan().Blocks {
		role, n := roleOf(r.plan.Arms, b.Arm), r.blocks[i]
		if role < 0 || n.rows == 0 {
			continue
		}
		c := &counts[role]
		if _, ok := r.layout.columns.Of(b); !ok {
			c.Lone += n.kept
			continue
		}
		c.Kept += n.kept
		c.Straddling += n.straddlingKept
		for k := range names {
			c.Columns[k].Known += n.known[k]
		}
	}
	for k := range counts {
		for i := range counts[k].Columns {
			counts[k].Columns[i].Rows = counts[k].Kept
		}
	}
	return counts
}
