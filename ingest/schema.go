package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SchemaVersion is the version of the tables. A file of version 1 gets what it lacks when it is opened for writing; one of
// any other version is refused, not changed.
const SchemaVersion = 2

// sqlColumn is one column of a table: its name and its DuckDB type.
type sqlColumn struct{ name, typ string }

// DuckDB types. Times have microseconds, money has nano-dollars; both add up exactly in any order.
const (
	sqlText   = "VARCHAR"
	sqlBool   = "BOOLEAN"
	sqlInt    = "INTEGER"
	sqlBigint = "BIGINT"
	sqlDouble = "DOUBLE"
	sqlTime   = "TIMESTAMP"
	sqlDate   = "DATE"
	sqlMillis = "DECIMAL(18,3)"
	sqlMoney  = "DECIMAL(18,9)"
)

type sqlTable struct {
	name    string
	about   string // one line, kept in the file as the table's comment
	columns []sqlColumn
}

func (t sqlTable) create() string {
	cols := make([]string, len(t.columns))
	for i, c := range t.columns {
		cols[i] = c.name + " " + c.typ + t.compression(c)
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)", t.name, strings.Join(cols, ", "))
}

// compression says how DuckDB is to store a column. Left alone it tries every way with every column, most of the time for
// what it takes in the end anyway: a dictionary for texts that repeat, common pieces for ids, as few bits as a number needs.
func (t sqlTable) compression(c sqlColumn) string {
	switch {
	case t.name != "requests":
		return ""
	case c.name == "failed_ms" || c.name == "quality": // most often 0
		return ""
	case c.name == "request_id" || c.name == "source_row_id" || c.name == "session_id":
		return " USING COMPRESSION fsst"
	case c.typ == sqlText:
		return " USING COMPRESSION dictionary"
	}
	return " USING COMPRESSION bitpacking"
}

// tables returns every table of the file. Names and columns are a contract with whoever opens the file.
func tables() []sqlTable {
	return slices.Concat(rowTables(), resultTables(), summaryTables(), []sqlTable{
		{"quality_bits", "what the bits of requests.quality mean", []sqlColumn{{"bit", sqlBigint}, {"name", sqlText}, {"meaning", sqlText}}},
		{"meta", "version of these tables and views", []sqlColumn{{"key", sqlText}, {"value", sqlText}}},
	})
}

// rowTables hold the rows and where they came from.
func rowTables() []sqlTable {
	return []sqlTable{
		{"requests", "one row per caller request", requestTableColumns()},
		{"attempts", "one row per try at an endpoint, of requests with a failed or second try", attemptTableColumns()},
		{"blocks", "the schedule that is applied", []sqlColumn{
			{"block_id", sqlText}, {"pair_id", sqlText}, {"day", sqlInt}, {"slot", sqlInt}, {"arm", sqlText},
			{"starts", sqlTime}, {"ends", sqlTime}, {"burn_in_ends", sqlTime}, {"model", sqlText},
		}},
		{"loads", "one row per loaded file", []sqlColumn{
			{"load_id", sqlText}, {"file", sqlText}, {"format", sqlText}, {"hash", sqlText}, {"bytes", sqlBigint},
			{"rows", sqlBigint}, {"rejects", sqlBigint}, {"skipped", sqlBigint}, {"duplicates", sqlBigint},
			{"conflicts", sqlBigint}, {"notes", sqlText}, {"loaded_at", sqlTime},
		}},
		{"joined", "one row per record of a log that was put together with others to one request", sqlColumns(joinedColumns(""))},
		{"rejects", "lines that could not be read", []sqlColumn{
			{"file", sqlText}, {"line", sqlBigint}, {"reason", sqlText}, {"text", sqlText}, {"load_id", sqlText},
		}},
	}
}

// resultTables hold what was found in the rows.
func resultTables() []sqlTable {
	return []sqlTable{
		{"results", "effects of every report date, scope and estimand", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"metric", sqlText}, {"unit", sqlText}, {"scope", sqlText},
			{"estimand", sqlText}, {"control", sqlDouble}, {"treatment", sqlDouble}, {"estimate", sqlDouble},
			{"lo", sqlDouble}, {"hi", sqlDouble}, {"p_value", sqlDouble}, {"p_adjusted", sqlDouble},
			{"pairs", sqlInt}, {"models", sqlInt}, {"verdict", sqlText},
		}},
		{"replicates", "bootstrap replicates, where they are kept", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"metric", sqlText}, {"scope", sqlText},
			{"replicate", sqlInt}, {"value", sqlDouble},
		}},
		{"diagnostics", "counts and remarks of every report date", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"name", sqlText}, {"scope", sqlText},
			{"value", sqlDouble}, {"text", sqlText},
		}},
		{"runs", "one row per report date, with its results.json", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"experiment", sqlText}, {"input_hash", sqlText},
			{"document", sqlText}, {"finished_at", sqlTime},
		}},
	}
}

// errNotOurs is the error of a DuckDB file that this program did not make.
var errNotOurs = errors.New("not a switchback file: it has no table meta")

// ensureSchema makes the tables and views of a new file; of an old one it checks the version, adds what the tables lack and
// renews the views.
func ensureSchema(ctx context.Context, db *sql.DB, readOnly bool) error {
	var hasMeta bool
	const find = "SELECT count(*) > 0 FROM duckdb_tables() WHERE table_name = 'meta' AND NOT temporary"
	if err := db.QueryRowContext(ctx, find).Scan(&hasMeta); err != nil {
		return err
	}
	switch {
	case hasMeta:
		version, err := versionOf(ctx, db)
		if err != nil || readOnly {
			return err
		}
		if version < SchemaVersion {
			if err := addColumns(ctx, db); err != nil {
				return fmt.Errorf("bring the tables from version %d to %d: %w", version, SchemaVersion, err)
			}
		}
		return ensureViews(ctx, db)
	case readOnly:
		return errNotOurs
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	if err := createTables(ctx, tx); err != nil {
		return err
	}
	for _, q := range QualityBits() {
		if _, err := tx.ExecContext(ctx, "INSERT INTO quality_bits VALUES (?, ?, ?)", q.Bit, q.Name, q.Meaning); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO meta VALUES ('schema_version', ?)", strconv.Itoa(SchemaVersion)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return ensureViews(ctx, db)
}

// createTables makes the tables that a file lacks.
func createTables(ctx context.Context, tx *sql.Tx) error {
	for _, t := range tables() {
		if _, err := tx.ExecContext(ctx, t.create()); err != nil {
			return fmt.Errorf("create table %s: %w", t.name, err)
		}
		if _, err := tx.ExecContext(ctx, "COMMENT ON TABLE "+t.name+" IS "+quote(t.about)); err != nil {
			return err
		}
	}
	return nil
}

// versionOf returns the version of a file's tables, which is one that this program can read.
func versionOf(ctx context.Context, db *sql.DB) (int, error) {
	var text string
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'schema_version'").Scan(&text); err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	version, err := strconv.Atoi(text)
	if err != nil || version < 1 || version > SchemaVersion {
		return 0, fmt.Errorf("tables have schema version %s, this program writes version %d", text, SchemaVersion)
	}
	return version, nil
}

// addColumns gives tables of version 1 the column that they lack. What is in it stays unknown.
func addColumns(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	for _, do := range []string{
		"ALTER TABLE requests ADD COLUMN " + cheapestCost + " " + sqlMoney,
		"UPDATE meta SET value = '" + strconv.Itoa(SchemaVersion) + "' WHERE key = 'schema_version'",
	} {
		if _, err := tx.ExecContext(ctx, do); err != nil {
			return err
		}
	}
	return tx.Commit()
}
