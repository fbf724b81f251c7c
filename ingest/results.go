package ingest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/marcboeker/go-duckdb"

	"switchback/stats"
)

// ErrNoRun is wrapped by the error of Document when no run was saved for the date.
var ErrNoRun = errors.New("no results")

// RunRecord is one finished analysis.
type RunRecord struct {
	RunID      string
	ReportDate string // YYYY-MM-DD; saving replaces what was saved for it
	Since      time.Time
	Until      time.Time // [Since, Until) is the window that was analysed; zero is unbounded; Run does not return them
	Experiment string
	InputHash  string // of everything that the results follow from
	Document   []byte // results.json, from which a report can be rendered alone
	FinishedAt time.Time
	Elsewhere  *Elsewhere // nil when the rows are those of the file; Run does not return it
}

// Diagnostic is one named number or remark about a run.
type Diagnostic struct {
	Name  string
	Scope string // model, arm, block or "" for the whole
	Value *float64
	Text  string
}

// Estimands of the rows of `results`. The unit column is that of the arms' levels and of the absolute effect;
// the other effects are fractions.
const (
	EstimandRelative     = "relative"
	EstimandAbsolute     = "absolute"
	EstimandHalfSample   = "half_sample"   // the relative effect with its half-sample interval
	EstimandSlotAdjusted = "slot_adjusted" // the relative effect adjusted for daily positions
	EstimandTwoWay       = "two_way"       // the relative effect with its two-way interval
)

// SaveRun keeps a run with its results and diagnostics in place of whatever was saved for its report date.
func (s *Store) SaveRun(ctx context.Context, run RunRecord, estimates []stats.Estimate, diagnostics []Diagnostic) error {
	date, err := time.Parse(time.DateOnly, run.ReportDate)
	if err != nil {
		return fmt.Errorf("save run %s: report date %q is not YYYY-MM-DD", run.RunID, run.ReportDate)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	if err := saveRun(ctx, conn, tx, run, date, estimates, diagnostics); err != nil {
		return fmt.Errorf("save run %s: %w", run.RunID, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("save run %s: %w", run.RunID, err)
	}
	return nil
}

// saveRun works inside the transaction tx of conn.
func saveRun(ctx context.Context, conn *sql.Conn, tx *sql.Tx, run RunRecord, date time.Time, estimates []stats.Estimate, diagnostics []Diagnostic) error {
	for _, table := range []string{"runs", "results", "replicates", "diagnostics", blockSummaries, providerSummaries} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE report_date = CAST(? AS DATE)", run.ReportDate); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO runs VALUES (?, CAST(? AS DATE), ?, ?, ?, ?)",
		run.RunID, run.ReportDate, run.Experiment, run.InputHash, string(run.Document), run.FinishedAt.UTC())
	if err != nil {
		return err
	}
	var results, remarks [][]driver.Value
	for _, e := range estimates {
		for _, r := range resultRows(e) {
			results = append(results, []driver.Value{run.RunID, date, e.ID, e.Unit, e.Scope, r.estimand,
				number(e.Control), number(e.Treatment), number(r.Estimate), number(r.Lo), number(r.Hi),
				number(r.p), number(r.pAdjusted), int32(e.Pairs), int32(e.Models), e.Verdict})
		}
	}
	if run.Elsewhere != nil {
		if err := saveElsewhere(ctx, conn, run, date); err != nil {
			return err
		}
		diagnostics = append([]Diagnostic{{Name: diagnosticPlace, Text: run.Elsewhere.Place}}, diagnostics...)
	}
	for _, d := range append(windowDiagnostics(run), diagnostics...) {
		remarks = append(remarks, []driver.Value{run.RunID, date, d.Name, d.Scope, number(d.Value), d.Text})
	}
	if err := appendRows(conn, "results", results); err != nil {
		return err
	}
	return appendRows(conn, "diagnostics", remarks)
}

// Names of the diagnostics that keep the window of a saved run, as text in RFC 3339, for the views.
const (
	diagnosticSince = "window_since"
	diagnosticUntil = "window_until"
)

func windowDiagnostics(run RunRecord) []Diagnostic {
	var all []Diagnostic
	if !run.Since.IsZero() {
		all = append(all, Diagnostic{Name: diagnosticSince, Text: run.Since.UTC().Format(time.RFC3339Nano)})
	}
	if !run.Until.IsZero() {
		all = append(all, Diagnostic{Name: diagnosticUntil, Text: run.Until.UTC().Format(time.RFC3339Nano)})
	}
	return all
}

// appendRows appends rows to a table, in the transaction that runs on the connection.
func appendRows(conn *sql.Conn, table string, rows [][]driver.Value) error {
	err := conn.Raw(func(driverConn any) error {
		appender, err := duckdb.NewAppenderFromConn(driverConn.(driver.Conn), "", table)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := appender.AppendRow(row...); err != nil {
				return errors.Join(err, appender.Close())
			}
		}
		return appender.Close()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	return nil
}

type resultRow struct {
	estimand string
	stats.Effect
	p, pAdjusted *float64
}

// resultRows lists the effects of an estimate. The first two always stand, so that an undefined effect is a
// row of NULLs and not a missing one.
func resultRows(e stats.Estimate) []resultRow {
	rows := []resultRow{
		{EstimandRelative, e.Relative, e.PValue, e.PAdjusted},
		{EstimandAbsolute, e.Absolute, nil, nil},
	}
	for _, r := range []resultRow{
		{estimand: EstimandHalfSample, Effect: stats.Effect{Estimate: e.Relative.Estimate, Lo: e.HalfSample.Lo, Hi: e.HalfSample.Hi}},
		{estimand: EstimandSlotAdjusted, Effect: e.SlotAdjusted},
		{estimand: EstimandTwoWay, Effect: stats.Effect{Estimate: e.Relative.Estimate, Lo: e.TwoWay.Lo, Hi: e.TwoWay.Hi}},
	} {
		if r.Lo != nil || r.Hi != nil || r.estimand == EstimandSlotAdjusted && r.Estimate != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// number turns an undefined value into NULL.
func number(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// Document returns the stored results.json of a report date, of the latest date when date is "". The error
// wraps ErrNoRun when there is none.
func (s *Store) Document(ctx context.Context, date string) ([]byte, error) {
	run, err := s.Run(ctx, date)
	return run.Document, err
}

// Run returns the saved run of a report date, of the latest date when date is "". The error wraps ErrNoRun
// when there is none.
func (s *Store) Run(ctx context.Context, date string) (RunRecord, error) {
	var run RunRecord
	var document string
	err := s.db.QueryRowContext(ctx, `SELECT run_id, strftime(report_date, '%Y-%m-%d'), experiment, input_hash, document, finished_at
		FROM runs WHERE ? = '' OR report_date = TRY_CAST(? AS DATE) ORDER BY report_date DESC LIMIT 1`, date, date).
		Scan(&run.RunID, &run.ReportDate, &run.Experiment, &run.InputHash, &document, &run.FinishedAt)
	if errors.Is(err, sql.ErrNoRows) {
		if date == "" {
			return run, fmt.Errorf("read results from %s: %w were saved", s.path, ErrNoRun)
		}
		return run, fmt.Errorf("read results from %s: %w were saved for %s", s.path, ErrNoRun, date)
	}
	if err != nil {
		return run, fmt.Errorf("read results from %s: %w", s.path, err)
	}
	run.Document = []byte(document)
	return run, nil
}
