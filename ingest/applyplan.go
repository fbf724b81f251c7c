package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"switchback/experiment"
)

// PlanReport says what a schedule did to the rows.
type PlanReport struct {
	Rows       int64 // all rows of the file
	Updated    int64 // rows whose arm, block, burn-in mark or quality bits changed
	Outside    int64 // rows in no block
	InBurnIn   int64
	Straddling int64 // rows still running when their block ended
	Labelled   int64 // rows inside a block that came with an arm label of their own
	Mismatches int64 // of Labelled: label and schedule disagree; the schedule wins
}

// ApplyPlan writes the schedule to `blocks` and gives every row the arm, block and burn-in mark that follow
// from its arrival. Rows that agree already, such as those of the drive, are not written again.
func (s *Store) ApplyPlan(ctx context.Context, plan experiment.Plan) (PlanReport, error) {
	return s.ApplyPlanIf(ctx, plan, func(PlanReport) error { return nil })
}

// ApplyPlanIf is ApplyPlan unless accept, which is shown what would be done, returns an error. Then nothing is
// written, and the report and that very error are returned.
func (s *Store) ApplyPlanIf(ctx context.Context, plan experiment.Plan, accept func(PlanReport) error) (PlanReport, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return PlanReport{}, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN TRANSACTION"); err != nil {
		return PlanReport{}, err
	}
	rollback := func() { conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") } //nolint:errcheck // an earlier error counts
	report, labels, err := planLabels(ctx, conn, plan)
	if err == nil {
		if refused := accept(report); refused != nil {
			rollback()
			return report, refused
		}
		err = applyLabels(ctx, conn, plan, labels, report)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		rollback()
		return PlanReport{}, fmt.Errorf("apply schedule: %w", err)
	}
	return report, nil
}

// planLabels says what the plan would do to the rows.
func planLabels(ctx context.Context, conn *sql.Conn, plan experiment.Plan) (PlanReport, labelling, error) {
	labels, err := makeLabels(ctx, conn, plan)
	if err != nil {
		return PlanReport{}, labels, err
	}
	report, err := labels.check(ctx, conn)
	return report, labels, err
}

// applyLabels writes the blocks, and the rows that change.
func applyLabels(ctx context.Context, conn *sql.Conn, plan experiment.Plan, labels labelling, report PlanReport) error {
	if err := writeBlocks(ctx, conn, plan.Blocks); err != nil {
		return err
	}
	if report.Updated > 0 {
		if err := labels.update(ctx, conn); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, "DROP TABLE temp.labels")
	return err
}

func writeBlocks(ctx context.Context, conn *sql.Conn, blocks []experiment.Block) error {
	if _, err := conn.ExecContext(ctx, "DELETE FROM blocks"); err != nil {
		return err
	}
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''))"
	return eachBlocks(blocks, func(some []experiment.Block) error {
		var args []any
		for _, b := range some {
			args = append(args, b.ID, b.PairID, b.Day, b.Slot, b.Arm, b.Starts.UTC(), b.Ends.UTC(), b.BurnInEnds.UTC(), b.Model)
		}
		_, err := conn.ExecContext(ctx, "INSERT INTO blocks VALUES "+repeated(row, len(some)), args...)
		return err
	})
}

// eachBlocks passes the blocks on in parts: a statement for each block takes longer than all the rest of a small
// schedule, and one statement takes only so many parameters.
func eachBlocks(blocks []experiment.Block, insert func(some []experiment.Block) error) error {
	for some := range slices.Chunk(blocks, 500) {
		if err := insert(some); err != nil {
			return fmt.Errorf("blocks %s to %s: %w", some[0].ID, some[len(some)-1].ID, err)
		}
	}
	return nil
}

// repeated is a list of n equal items of SQL.
func repeated(item string, n int) string {
	return strings.TrimSuffix(strings.Repeat(item+", ", n), ", ")
}

// labelling finds the block of a row with an equality join: a block has one row in the temporary table
// `labels` for each bucket of time that it touches. A join on ranges alone is 20 times slower.
type labelling struct {
	width    int64  // of a bucket, microseconds
	schedule string // SQL: blocks.model of the schedule that row r follows
}

const createLabels = `CREATE OR REPLACE TEMP TABLE labels (bucket BIGINT, schedule VARCHAR, block_id VARCHAR, arm VARCHAR, starts BIGINT, ends BIGINT, burn_in_ends BIGINT)`

func makeLabels(ctx context.Context, conn *sql.Conn, plan experiment.Plan) (labelling, error) {
	l := labelling{width: bucketWidth(plan.Blocks), schedule: scheduleOf(plan)}
	if _, err := conn.ExecContext(ctx, createLabels); err != nil {
		return l, err
	}
	const row = "(?, ?, ?, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))"
	return l, eachBlocks(plan.Blocks, func(some []experiment.Block) error {
		var args []any
		for _, b := range some {
			starts, ends := b.Starts.UnixMicro(), b.Ends.UnixMicro()
			args = append(args, b.Model, b.ID, b.Arm, starts, ends, b.BurnInEnds.UnixMicro(), floorDiv(starts, l.width), floorDiv(ends-1, l.width)+1)
		}
		_, err := conn.ExecContext(ctx, "INSERT INTO labels SELECT unnest(range(first, behind)), schedule, block_id, arm, starts, ends, burn_in_ends FROM (VALUES "+
			repeated(row, len(some))+") blocks(schedule, block_id, arm, starts, ends, burn_in_ends, first, behind)", args...)
		return err
	})
}

// scheduleOf is the SQL expression of the blocks.model that a row r follows: its own model where the plan has
// a schedule for it, else the common one, named by no model.
func scheduleOf(plan experiment.Plan) string {
	var own []string
	for _, m := range plan.Models() {
		if m != "" {
			own = append(own, quote(m))
		}
	}
	if len(own) == 0 {
		return "''"
	}
	return "CASE WHEN r.model IN (" + strings.Join(own, ", ") + ") THEN r.model ELSE '' END"
}

// bucketWidth is the length of the shortest block, at least a second.
func bucketWidth(blocks []experiment.Block) int64 {
	width := 24 * time.Hour
	for _, b := range blocks {
		width = min(width, b.Ends.Sub(b.Starts))
	}
	return max(width, time.Second).Microseconds()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// on is the condition that l is the label of row r.
func (l labelling) on() string {
	return fmt.Sprintf("CAST(floor(epoch_us(r.ts) / %d) AS BIGINT) = l.bucket AND %s = l.schedule AND epoch_us(r.ts) >= l.starts AND epoch_us(r.ts) < l.ends", l.width, l.schedule)
}

// What a row r gets from its label l.
var (
	straddles  = "coalesce(epoch_us(r.ts) + " + micros("r.total_ms") + " > l.ends, false)"
	mismatches = "coalesce(r.arm_logged <> l.arm, false)"
	inBurnIn   = "epoch_us(r.ts) < l.burn_in_ends"
	newQuality = fmt.Sprintf("(r.quality & ~%d) | CASE WHEN %s THEN %d ELSE 0 END | CASE WHEN %s THEN %d ELSE 0 END",
		experiment.QualityLabelMismatch|experiment.QualityStraddlesBlock,
		mismatches, experiment.QualityLabelMismatch, straddles, experiment.QualityStraddlesBlock)
	differs = "(r.block_id IS DISTINCT FROM l.block_id OR r.arm IS DISTINCT FROM l.arm OR r.in_burn_in IS DISTINCT FROM (" +
		inBurnIn + ") OR r.quality IS DISTINCT FROM (" + newQuality + "))"
)

// check counts what the labels say of the rows.
func (l labelling) check(ctx context.Context, conn *sql.Conn) (PlanReport, error) {
	var p PlanReport
	var orphans int64 // rows in no block that still carry one
	err := conn.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (l.block_id IS NULL), count(*) FILTER (l.block_id IS NULL AND r.block_id IS NOT NULL),
		count(*) FILTER (`+inBurnIn+`), count(*) FILTER (`+straddles+`), count(*) FILTER (l.block_id IS NOT NULL AND r.arm_logged IS NOT NULL),
		count(*) FILTER (`+mismatches+`), count(*) FILTER (l.block_id IS NOT NULL AND `+differs+`)
		FROM requests r LEFT JOIN temp.labels l ON `+l.on()).
		Scan(&p.Rows, &p.Outside, &orphans, &p.InBurnIn, &p.Straddling, &p.Labelled, &p.Mismatches, &p.Updated)
	p.Updated += orphans
	return p, err
}

func (l labelling) update(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "UPDATE requests r SET block_id = l.block_id, arm = l.arm, in_burn_in = "+inBurnIn+", quality = "+newQuality+
		" FROM temp.labels l WHERE "+l.on()+" AND "+differs)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf(`UPDATE requests r SET block_id = NULL, arm = r.arm_logged, in_burn_in = NULL, quality = r.quality & ~%d
		WHERE r.block_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM temp.labels l WHERE %s)`,
		experiment.QualityLabelMismatch|experiment.QualityStraddlesBlock, l.on()))
	return err
}

// LabelReport says what the arm labels of the rows are like.
type LabelReport struct {
	Rows  int64    // labelled rows inside the design's blocks
	Mixed int64    // rows whose label is not that of most rows of their block
	Empty []string // pairs without a labelled row, left out of the plan
}

// maxMixed is the share of rows whose label may disagree with their block.
const maxMixed = 0.01

// PlanFromLabels makes the schedule of a log that carries arm labels and came without one: the design gives
// the blocks, most of a block's rows give its arm. Labels that name another arm, that are mixed inside blocks
// or that put both blocks of a pair in one arm are errors.
func (s *Store) PlanFromLabels(ctx context.Context, design experiment.Design, arms experiment.Arms) (experiment.Plan, LabelReport, error) {
	grid, err := experiment.Draw(design, arms)
	if err != nil {
		return experiment.Plan{}, LabelReport{}, err
	}
	counts, err := s.countLabels(ctx, grid)
	if err != nil {
		return experiment.Plan{}, LabelReport{}, fmt.Errorf("schedule from labels: %w", err)
	}
	return PlanFromCounts(design, grid, counts)
}

// LabelCount says how many rows of a block carry a label.
type LabelCount struct {
	Model, BlockID string // Model is that of the schedule
	Arm            string
	Rows           int64
}

// PlanFromCounts is PlanFromLabels with the rows of the blocks of grid, which is drawn from the design, counted by label.
func PlanFromCounts(design experiment.Design, grid experiment.Plan, found []LabelCount) (experiment.Plan, LabelReport, error) {
	counts := map[blockKey]map[string]int64{}
	for _, f := range found {
		k := blockKey{f.Model, f.BlockID}
		if f.Arm != grid.Arms.Control && f.Arm != grid.Arms.Treatment {
			return experiment.Plan{}, LabelReport{}, fmt.Errorf("schedule from labels: block %s has %d rows labelled %q, which is neither %q nor %q",
				k, f.Rows, f.Arm, grid.Arms.Control, grid.Arms.Treatment)
		}
		if counts[k] == nil {
			counts[k] = map[string]int64{}
		}
		counts[k][f.Arm] += f.Rows
	}
	plan, report, err := labelBlocks(grid, counts)
	if err != nil {
		return experiment.Plan{}, report, fmt.Errorf("schedule from labels: %w", err)
	}
	for lo := 0; lo < len(plan.Blocks); {
		hi := lo
		for hi < len(plan.Blocks) && plan.Blocks[hi].Model == plan.Blocks[lo].Model {
			hi++
		}
		experiment.SetBurnIn(plan.Blocks[lo:hi], design.BurnIn, design.BurnInScope)
		lo = hi
	}
	return plan, report, nil
}

// countLabels counts the rows of each block by label.
func (s *Store) countLabels(ctx context.Context, grid experiment.Plan) ([]LabelCount, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	labels, err := makeLabels(ctx, conn, grid)
	if err != nil {
		return nil, err
	}
	rows, err := conn.QueryContext(ctx, `SELECT l.schedule, l.block_id, coalesce(r.arm_logged, r.arm) AS label, count(*) FROM requests r JOIN temp.labels l ON `+labels.on()+`
		WHERE label IS NOT NULL GROUP BY ALL ORDER BY ALL`)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(scan func(...any) error) (c LabelCount, err error) {
		return c, scan(&c.Model, &c.BlockID, &c.Arm, &c.Rows)
	})
}

// labelBlocks gives each block of the grid the arm of most of its rows. A block without rows takes the arm
// that its partner leaves.
func labelBlocks(grid experiment.Plan, counts map[blockKey]map[string]int64) (experiment.Plan, LabelReport, error) {
	var report LabelReport
	plan := experiment.Plan{Arms: grid.Arms}
	other := map[string]string{grid.Arms.Control: grid.Arms.Treatment, grid.Arms.Treatment: grid.Arms.Control}
	majority := func(b experiment.Block) string {
		n := counts[blockKey{b.Model, b.ID}]
		control, treatment := n[grid.Arms.Control], n[grid.Arms.Treatment]
		report.Rows += control + treatment
		report.Mixed += min(control, treatment)
		switch {
		case control == 0 && treatment == 0:
			return ""
		case control >= treatment:
			return grid.Arms.Control
		default:
			return grid.Arms.Treatment
		}
	}
	for i := 0; i+1 < len(grid.Blocks); i += 2 { // Draw lists the blocks of a pair one after the other
		a, b := grid.Blocks[i], grid.Blocks[i+1]
		a.Arm, b.Arm = majority(a), majority(b)
		if a.Arm == "" && b.Arm == "" {
			report.Empty = append(report.Empty, blockKey{a.Model, a.PairID}.String())
			continue
		}
		if a.Arm == "" {
			a.Arm = other[b.Arm]
		}
		if b.Arm == "" {
			b.Arm = other[a.Arm]
		}
		if a.Arm == b.Arm {
			return plan, report, fmt.Errorf("blocks %s and %s of pair %s are both labelled %q", a.ID, b.ID, a.PairID, a.Arm)
		}
		plan.Blocks = append(plan.Blocks, a, b)
	}
	if report.Rows == 0 {
		return plan, report, fmt.Errorf("no row between %s and %s carries an arm label", grid.Blocks[0].Starts.Format(time.RFC3339), grid.Blocks[len(grid.Blocks)-1].Ends.Format(time.RFC3339))
	}
	if float64(report.Mixed) > maxMixed*float64(report.Rows) {
		return plan, report, fmt.Errorf("%d of %d rows carry another label than most of their block: the blocks of the design are not those that ran", report.Mixed, report.Rows)
	}
	return plan, report, nil
}
