package ingest

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/marcboeker/go-duckdb"
)

// WriteParquet writes the rows that are left as one Parquet file to w. They wait in a DuckDB file of their own, in a folder
// inside tempDir ("" is the system's) that is gone afterwards: the store they come from may not write files. Columns keep
// their types; whole numbers beyond 64 bits become DECIMAL(38,0), and types that Go does not carry become text.
func (r *Rows) WriteParquet(ctx context.Context, w io.Writer, tempDir string) (err error) {
	dir, err := os.MkdirTemp(tempDir, "switchback-query-")
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dsn, err := dataSource(filepath.Join(dir, "rows.duckdb"), Options{Memory: "256MiB"})
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	connector, err := duckdb.NewConnector(dsn, nil)
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, connector.Close()) }()
	conn, err := connector.Connect(ctx)
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	path := filepath.Join(dir, "rows.parquet")
	for _, step := range []func() error{
		func() error {
			return execute(ctx, conn, "CREATE TABLE result ("+strings.Join(r.parquetColumns(), ", ")+")")
		},
		func() error { return r.appendTo(conn, "result") },
		func() error { return execute(ctx, conn, "COPY result TO "+quote(path)+" (FORMAT PARQUET)") },
		func() error { return copyFile(w, path) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
	}
	return nil
}

func execute(ctx context.Context, conn driver.Conn, statement string) error {
	_, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil)
	return err
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// parquetColumns defines the columns of the result. A name that comes again gets a number, as in DuckDB's own tables.
func (r *Rows) parquetColumns() []string {
	seen, columns := map[string]bool{}, make([]string, len(r.Columns))
	for i, column := range r.Columns {
		name := column
		for n := 1; seen[strings.ToLower(name)]; n++ {
			name = column + "_" + strconv.Itoa(n)
		}
		seen[strings.ToLower(name)] = true
		columns[i] = parquetColumn{name: name}.ident() + " " + keptType(r.Types[i])
	}
	return columns
}

// keptType is the type that a column of a DuckDB type is kept in.
func keptType(typ string) string {
	switch typ {
	case sqlBool, "TINYINT", "SMALLINT", sqlInt, sqlBigint, "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", sqlDouble, sqlText, "BLOB", sqlDate, sqlTime:
		return typ
	case "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ":
		return sqlTime
	case "HUGEINT", "UHUGEINT":
		return "DECIMAL(38,0)"
	}
	if strings.HasPrefix(typ, "DECIMAL(") {
		return typ
	}
	return sqlText
}

// appendTo appends the rows that are left to a table of their columns.
func (r *Rows) appendTo(conn driver.Conn, table string) (err error) {
	out, err := duckdb.NewAppenderFromConn(conn, "", table)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	row := make([]driver.Value, len(r.Columns))
	for r.Next() {
		for i, v := range r.raw {
			if row[i], err = r.keptValue(i, v); err != nil {
				return err
			}
		}
		if err := out.AppendRow(row...); err != nil {
			return err
		}
	}
	return r.Err()
}

// keptValue is a driver's value in the type of keptType.
func (r *Rows) keptValue(column int, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch keptType(r.Types[column]) {
	case "DECIMAL(38,0)":
		if n, ok := v.(*big.Int); ok {
			return duckdb.Decimal{Width: 38, Value: n}, nil
		}
	case sqlText:
		switch v := r.values[column].(type) {
		case string:
			return v, nil
		case []any, map[string]any:
			text, err := json.Marshal(v)
			return string(text), err
		default:
			return fmt.Sprint(v), nil
		}
	}
	return v, nil
}
