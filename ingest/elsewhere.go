package ingest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/marcboeker/go-duckdb"

	"switchback/experiment"
	"switchback/ingest/rules"
	"switchback/stats"
)

// Elsewhere is what a file keeps of a run whose rows lie elsewhere: where that is, the schedule, and what the views by_block
// and by_provider would make of the rows.
type Elsewhere struct {
	Place     string // as people know it, without user and password
	Plan      experiment.Plan
	Blocks    []BlockSummary    // with a row in the analysis
	Providers []ProviderSummary // of such rows
}

// BlockSummary is what the analysis keeps of the rows of one block. Model is that of the schedule.
type BlockSummary struct {
	Model, BlockID string
	Summary
}

// ProviderSummary is what the analysis keeps of the rows that one provider served in one arm.
type ProviderSummary struct {
	Arm, Provider string
	Summary
}

// Summary is what the views by_block and by_provider say of some rows.
type Summary struct {
	Requests int64
	Values   []Fraction // in the order of rules.ShownColumns
}

// Fraction is a metric in the whole numbers of package rules: the sums Y and N of a ratio, or a quantile Y with an N of 1.
// An N of 0 is unknown.
type Fraction struct{ Y, N int64 }

// Tables of the summaries of rows that lie elsewhere.
const (
	blockSummaries    = "block_summaries"
	providerSummaries = "provider_summaries"
)

func summaryTables() []sqlTable {
	run := []sqlColumn{{"run_id", sqlText}, {"report_date", sqlDate}}
	columns := func(keys ...sqlColumn) []sqlColumn {
		all := append(append(run[:2:2], keys...), sqlColumn{"requests", sqlBigint})
		for _, c := range rules.ShownColumns() {
			all = append(all, sqlColumn{c.Column, shownType(c)})
		}
		return all
	}
	return []sqlTable{
		{blockSummaries, "what by_block shows of rows that lie in a warehouse, of every report date", columns(sqlColumn{"block_id", sqlText}, sqlColumn{"model", sqlText})},
		{providerSummaries, "what by_provider shows of rows that lie in a warehouse, of every report date", columns(sqlColumn{"arm", sqlText}, sqlColumn{"provider", sqlText})},
	}
}

// shownType is the type that a view gives a column.
func shownType(c rules.Shown) string {
	switch {
	case c.Total:
		return fmt.Sprintf("DECIMAL(38,%d)", c.Decimal) // of a sum
	case c.Decimal > 0:
		return fmt.Sprintf("DECIMAL(18,%d)", c.Decimal)
	}
	return sqlDouble
}

// shownValues are the values of a summary as the views make them of rows.
func (s Summary) shownValues() []driver.Value {
	out := []driver.Value{s.Requests}
	for i, c := range rules.ShownColumns() {
		f := s.Values[i]
		m, _ := rules.MeasureNamed(rules.DuckDB{}, c.Metric)
		switch {
		case f.N == 0:
			out = append(out, nil)
		case c.Decimal > 0:
			out = append(out, duckdb.Decimal{Width: 38, Scale: uint8(c.Decimal), Value: big.NewInt(f.Y)})
		case m.Kind == stats.Quantile:
			out = append(out, float64(f.Y)/(1/m.Scale)) // to the digit what requests_in_analysis divides
		default:
			out = append(out, m.Scale*float64(f.Y)/float64(f.N))
		}
	}
	return out
}

// diagnosticPlace is the diagnostic that says where the rows of a saved run lie, if not in the file.
const diagnosticPlace = "rows_lie_in"

// saveElsewhere keeps the schedule and the summaries of a run, inside its transaction.
func saveElsewhere(ctx context.Context, conn *sql.Conn, run RunRecord, date time.Time) error {
	e := run.Elsewhere
	if err := writeBlocks(ctx, conn, e.Plan.Blocks); err != nil {
		return err
	}
	var blocks, providers [][]driver.Value
	for _, b := range e.Blocks {
		var model any
		if b.Model != "" {
			model = b.Model
		}
		blocks = append(blocks, append([]driver.Value{run.RunID, date, b.BlockID, model}, b.shownValues()...))
	}
	for _, p := range e.Providers {
		providers = append(providers, append([]driver.Value{run.RunID, date, p.Arm, p.Provider}, p.shownValues()...))
	}
	return errors.Join(appendRows(conn, blockSummaries, blocks), appendRows(conn, providerSummaries, providers))
}

// RowsElsewhere says where the rows of the latest report lie; "" is in the file, or that there is no report.
func (s *Store) RowsElsewhere(ctx context.Context) (place string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT coalesce(max(text), '') FROM diagnostics WHERE name = ? AND report_date = "+latestReport, diagnosticPlace).Scan(&place)
	if err != nil {
		return "", fmt.Errorf("where the rows of %s lie: %w", s.path, err)
	}
	return place, nil
}
