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
	withoutTotal, cancelled, errors, noModel                  int64
	statuses                                                  []int64 // of kept rows, by statusNames
	quality                                                   []int64 // of kept rows, by ingest.QualityBits
	known                                                     []int64 // of kept rows, by column of the table
}

// statusNames are the values that a status can have; the last stands for an unknown one.
func statusNames() []string {
	return []string{
		experiment.StatusCancelled, experiment.StatusError, experiment.StatusErrorMidstream, experiment.StatusOK, experiment.StatusGatewayCache, "unknown",
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

// targets lists where the counts of a block go, in the order of censusRequest.
func (n *blockCounts) targets() []any {
	list := []*int64{
		&n.rows, &n.burnIn, &n.cacheHits, &n.straddling, &n.labelled, &n.mismatches, &n.kept, &n.pinnedEarlier, &n.pinnedOther,
		&n.straddlingKept, &n.withoutTotal, &n.cancelled, &n.errors, &n.noModel,
	}
	var out []any
	for _, p := range list {
		out = append(out, p)
	}
	for _, counts := range [][]int64{n.statuses, n.known} {
		for i := range counts {
			out = append(out, &counts[i])
		}
	}
	return out
}

func newBlockCounts(columns int) blockCounts {
	return blockCounts{statuses: make([]int64, len(statusNames())), quality: make([]int64, len(ingest.QualityBits())), known: make([]int64, columns)}
}

// censusRequest asks for everything that is counted by block.
func (r *Rows) censusRequest() request {
	d, c := r.dialect(), rules.ClickHouseName
	// The window and the block are conditions of every query here, so that the rest of the rule is left.
	kept := "(NOT " + d.Column("in_burn_in") + " AND " + rules.NoCacheHit(d) + ")"
	count := func(conditions ...string) string { return number(d.Count("", strings.Join(conditions, " AND "))) }
	selects := []string{
		"toInt64(" + nameBlock + ")", number(d.Count("", "")), count(c("in_burn_in")),
		count("NOT "+c("in_burn_in"), c("status")+" = '"+experiment.StatusGatewayCache+"'"),
		count(nameStraddles), count(c("arm") + " IS NOT NULL"), count(nameMismatch),
		count(kept), count(kept, c("pinned_from_block")+" <> "+c("block_id")), count(kept, r.pinnedInOtherArm()),
		count(kept, nameStraddles),
		count(kept, c("total_ms")+" IS NULL", c("status")+" IS NOT NULL", c("status")+" NOT IN ('error', 'error_midstream', 'cancelled')"),
		count(kept, c("status")+" = 'cancelled'"), count(kept, rules.Failed(d)), count(kept, c(columnModel)+" IS NULL"),
	}
	for _, name := range statusNames() {
		if name == "unknown" {
			selects = append(selects, count(kept, c("status")+" IS NULL"))
		} else {
			selects = append(selects, count(kept, c("status")+" = '"+name+"'"))
		}
	}
	for _, name := range r.countedColumns() {
		selects = append(selects, count(kept, c(name)+" IS NOT NULL"))
	}
	return request{name: "rows by block", selects: selects, groupBy: []string{nameBlock}, places: r.layout.places()}
}

// qualityRequest asks for the quality bits of kept rows that have some. They are a query of their own since each is made from
// many columns, and every count of one would repeat the whole expression.
func (r *Rows) qualityRequest() request {
	return request{
		name: "quality bits by block", selects: []string{"toInt64(" + nameBlock + ")", number(nameBits), number("count()")},
		where: append(r.keptRows(), nameBits+" <> 0"), groupBy: []string{nameBlock, nameBits}, places: r.layout.places(),
	}
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
	type row struct {
		block int64
		blockCounts
	}
	found, err := ask(ctx, r.survey, r.censusRequest(), func(scan func(...any) error) (row, error) {
		f := row{blockCounts: newBlockCounts(columns)}
		return f, scan(append([]any{&f.block}, f.targets()...)...)
	})
	if err != nil {
		return err
	}
	for i := range r.blocks {
		r.blocks[i] = newBlockCounts(columns)
	}
	for _, f := range found {
		sum := r.blocks[f.block].targets()
		for i, from := range f.targets() {
			*sum[i].(*int64) += *from.(*int64)
		}
	}
	type odd struct{ block, bits, n int64 }
	quality, err := ask(ctx, r.survey, r.qualityRequest(), func(scan func(...any) error) (o odd, err error) { return o, scan(&o.block, &o.bits, &o.n) })
	for _, o := range quality {
		r.blocks[o.block].odd += o.n
		for i, b := range ingest.QualityBits() {
			if o.bits&b.Bit != 0 {
				r.blocks[o.block].quality[i] += o.n
			}
		}
	}
	return err
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
	all := newBlockCounts(len(r.countedColumns()))
	byArm := map[string]*ingest.ArmHealth{}
	for i, b := range r.layout.columns.Plan().Blocks {
		n := r.blocks[i]
		if n.rows == 0 {
			continue
		}
		sum := all.targets()
		for k, from := range n.targets() {
			*sum[k].(*int64) += *from.(*int64)
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
	for _, n := range r.blocks {
		for i := range n.quality {
			all.quality[i] += n.quality[i]
		}
	}
	h.Kept = all.kept
	for _, arm := range []string{r.plan.Arms.Control, r.plan.Arms.Treatment} {
		if a := byArm[arm]; a != nil {
			h.Arms = append(h.Arms, *a)
		}
	}
	for i, name := range statusNames() {
		if all.statuses[i] > 0 {
			h.Statuses = append(h.Statuses, ingest.Count{Name: name, N: all.statuses[i]})
		}
	}
	slices.SortFunc(h.Statuses, func(a, b ingest.Count) int { return strings.Compare(a.Name, b.Name) })
	for i, b := range ingest.QualityBits() {
		if all.quality[i] > 0 {
			h.Quality = append(h.Quality, ingest.Count{Name: b.Name, N: all.quality[i]})
		}
	}
	for i, name := range r.countedColumns() {
		h.Columns = append(h.Columns, ingest.Known{Column: name, Known: all.known[i], Rows: h.Kept})
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
