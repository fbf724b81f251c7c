package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// SchemaVersion is the version of the tables. A file of another version is refused, not changed.
const SchemaVersion = 1

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
	columns []sqlColumn
}

func (t sqlTable) create() string {
	cols := make([]string, len(t.columns))
	for i, c := range t.columns {
		cols[i] = c.name + " " + c.typ
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)", t.name, strings.Join(cols, ", "))
}

// tables returns every table of the file. Names and columns are a contract with whoever opens the file.
func tables() []sqlTable {
	return []sqlTable{
		{"requests", requestTableColumns()},
		{"attempts", attemptTableColumns()},
		{"blocks", []sqlColumn{
			{"block_id", sqlText}, {"pair_id", sqlText}, {"day", sqlInt}, {"slot", sqlInt}, {"arm", sqlText},
			{"starts", sqlTime}, {"ends", sqlTime}, {"burn_in_ends", sqlTime}, {"model", sqlText},
		}},
		{"loads", []sqlColumn{
			{"load_id", sqlText}, {"file", sqlText}, {"format", sqlText}, {"hash", sqlText}, {"bytes", sqlBigint},
			{"rows", sqlBigint}, {"rejects", sqlBigint}, {"skipped", sqlBigint}, {"duplicates", sqlBigint},
			{"conflicts", sqlBigint}, {"notes", sqlText}, {"loaded_at", sqlTime},
		}},
		{"rejects", []sqlColumn{
			{"file", sqlText}, {"line", sqlBigint}, {"reason", sqlText}, {"text", sqlText}, {"load_id", sqlText},
		}},
		{"results", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"metric", sqlText}, {"unit", sqlText}, {"scope", sqlText},
			{"estimand", sqlText}, {"control", sqlDouble}, {"treatment", sqlDouble}, {"estimate", sqlDouble},
			{"lo", sqlDouble}, {"hi", sqlDouble}, {"p_value", sqlDouble}, {"p_adjusted", sqlDouble},
			{"pairs", sqlInt}, {"models", sqlInt}, {"verdict", sqlText},
		}},
		{"replicates", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"metric", sqlText}, {"scope", sqlText},
			{"replicate", sqlInt}, {"value", sqlDouble},
		}},
		{"diagnostics", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"name", sqlText}, {"scope", sqlText},
			{"value", sqlDouble}, {"text", sqlText},
		}},
		{"runs", []sqlColumn{
			{"run_id", sqlText}, {"report_date", sqlDate}, {"experiment", sqlText}, {"input_hash", sqlText},
			{"document", sqlText}, {"finished_at", sqlTime},
		}},
		{"quality_bits", []sqlColumn{{"bit", sqlBigint}, {"name", sqlText}, {"meaning", sqlText}}},
		{"meta", []sqlColumn{{"key", sqlText}, {"value", sqlText}}},
	}
}

// ensureSchema makes the tables of a new file and checks the version of an old one.
func ensureSchema(ctx context.Context, db *sql.DB, readOnly bool) error {
	var hasMeta bool
	const find = "SELECT count(*) > 0 FROM duckdb_tables() WHERE table_name = 'meta' AND NOT temporary"
	if err := db.QueryRowContext(ctx, find).Scan(&hasMeta); err != nil {
		return err
	}
	if hasMeta {
		return checkVersion(ctx, db)
	}
	if readOnly {
		return fmt.Errorf("not a switchback file: it has no table meta")
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	for _, t := range tables() {
		if _, err := tx.ExecContext(ctx, t.create()); err != nil {
			return fmt.Errorf("create table %s: %w", t.name, err)
		}
	}
	for _, q := range QualityBits() {
		if _, err := tx.ExecContext(ctx, "INSERT INTO quality_bits VALUES (?, ?, ?)", q.Bit, q.Name, q.Meaning); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO meta VALUES ('schema_version', ?)", strconv.Itoa(SchemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

func checkVersion(ctx context.Context, db *sql.DB) error {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'schema_version'").Scan(&version); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if version != strconv.Itoa(SchemaVersion) {
		return fmt.Errorf("tables have schema version %s, this program writes version %d", version, SchemaVersion)
	}
	return nil
}
