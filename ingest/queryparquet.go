package ingest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/marcboeker/go-duckdb"
)

// ErrNoTable is wrapped by the error of WriteParquet about a statement that is no SELECT.
var ErrNoTable = errors.New("the result of this statement is no table")

// WriteParquet writes the whole result, in its order, as one Parquet file to w. The rows wait in a DuckDB file of their own, in
// a folder inside tempDir ("" is the system's) that is gone afterwards: the store they come from may not write files. Columns
// keep their types; whole numbers beyond 64 bits become DECIMAL(38,0), lists and structs JSON, and what is left text.
func (r *Rows) WriteParquet(ctx context.Context, w io.Writer, tempDir string) (err error) {
	if !r.inTable {
		return fmt.Errorf("write parquet: %w", ErrNoTable)
	}
	dir, err := os.MkdirTemp(tempDir, "switchback-query-")
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// One thread keeps the order of the rows.
	dsn, err := dataSource(filepath.Join(dir, "rows.duckdb"), Options{Memory: "64MiB", Threads: 1})
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	connector, err := duckdb.NewConnector(dsn, nil)
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	path := filepath.Join(dir, "rows.parquet")
	for _, step := range []func() error{
		func() error { return r.copyRows(ctx, conn) },
		func() error {
			_, err := conn.ExecContext(ctx, "COPY result TO "+quote(path)+" (FORMAT PARQUET)")
			return err
		},
		func() error { return copyFile(w, path) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
	}
	return nil
}

// copyRows fills a table of another database with the result, as Arrow records.
func (r *Rows) copyRows(ctx context.Context, conn *sql.Conn) error {
	columns, values := r.parquetColumns()
	if _, err := conn.ExecContext(ctx, "CREATE TABLE result ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	r.taken = 0
	var in *insertion
	for first := true; first || r.taken < r.total; first = false {
		err := r.readRecords(ctx, strings.Join(values, ", "), func(record arrow.Record) error {
			if in == nil {
				in = startInsert(ctx, conn, "result", record.Schema())
			}
			record.Retain()
			return in.send(record)
		})
		if err != nil {
			if in != nil {
				in.abort()
			}
			return err
		}
	}
	if in == nil {
		return nil // no row
	}
	return in.finish()
}

// readRecords hands on the next rows of the result.
func (r *Rows) readRecords(ctx context.Context, values string, read func(arrow.Record) error) error {
	return r.conn.Raw(func(driverConn any) error {
		arrowConn, err := duckdb.NewArrowFromConn(driverConn.(driver.Conn))
		if err != nil {
			return err
		}
		reader, err := arrowConn.QueryContext(ctx, r.chunk(values))
		if err != nil {
			return err
		}
		defer reader.Release()
		for reader.Next() {
			if err := read(reader.Record()); err != nil {
				return err
			}
		}
		return reader.Err()
	})
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// parquetColumns defines the columns of the file, and their values in the result.
func (r *Rows) parquetColumns() (columns, values []string) {
	for i, name := range r.Columns {
		ident, kept := parquetColumn{name: name}.ident(), keptType(r.Types[i])
		value := ident
		switch typ := r.Types[i]; {
		case isNested(typ):
			value = "CAST(to_json(" + ident + ") AS VARCHAR)"
		case kept != typ:
			value = "CAST(" + ident + " AS " + kept + ")"
		}
		columns, values = append(columns, ident+" "+kept), append(values, value+" AS "+ident)
	}
	return columns, values
}

func isNested(typ string) bool {
	return strings.HasSuffix(typ, "]") || strings.HasPrefix(typ, "STRUCT") || strings.HasPrefix(typ, "MAP") || strings.HasPrefix(typ, "UNION")
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
