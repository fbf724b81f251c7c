package ingest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/marcboeker/go-duckdb"
)

// recordStream is an array.RecordReader that owns one record at a time. DuckDB never releases a registered
// reader, so this one lets go of a record when the next is asked for and of all when it ends.
type recordStream struct {
	schema  *arrow.Schema
	records <-chan arrow.Record // closed at the end
	stop    <-chan struct{}     // closed when the load is given up
	current arrow.Record
	err     error
}

var errLoadStopped = errors.New("load stopped")

func (r *recordStream) Retain()               {}
func (r *recordStream) Release()              {}
func (r *recordStream) Schema() *arrow.Schema { return r.schema }
func (r *recordStream) Record() arrow.Record  { return r.current }
func (r *recordStream) Err() error            { return r.err }

func (r *recordStream) Next() bool {
	r.drop()
	select {
	case record, ok := <-r.records:
		if !ok {
			return false
		}
		r.current = record
		return true
	case <-r.stop:
		r.err = errLoadStopped
		return false
	}
}

func (r *recordStream) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// insertRecords appends a stream of Arrow records to a table, inside the connection's transaction.
//
// DuckDB reads a registered view right only as a whole and matches its columns by position: this is the one
// place that registers a view, and it compares names and types with the table before it reads.
func insertRecords(ctx context.Context, conn *sql.Conn, table string, stream *recordStream) (err error) {
	defer stream.drop()
	view := "arrow_" + table
	var free func()
	err = conn.Raw(func(driverConn any) error {
		arrowConn, err := duckdb.NewArrowFromConn(driverConn.(driver.Conn))
		if err != nil {
			return err
		}
		free, err = arrowConn.RegisterView(stream, view)
		return err
	})
	if err != nil {
		return fmt.Errorf("register %s: %w", view, err)
	}
	defer free()
	if err := compareColumns(ctx, conn, view, table); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s", table, view)); err != nil {
		return fmt.Errorf("insert into %s: %w", table, err)
	}
	_, err = conn.ExecContext(ctx, "DROP VIEW "+view)
	return err
}

// compareColumns refuses a view whose columns are not those of the table, in order, by name and type.
func compareColumns(ctx context.Context, conn *sql.Conn, view, table string) error {
	have, err := describe(ctx, conn, view)
	if err != nil {
		return err
	}
	want, err := describe(ctx, conn, table)
	if err != nil {
		return err
	}
	if len(have) != len(want) {
		return fmt.Errorf("load into %s: %d columns come in, the table has %d", table, len(have), len(want))
	}
	for i := range want {
		if have[i] != want[i] {
			return fmt.Errorf("load into %s: column %d is %s %s, the table has %s %s",
				table, i+1, have[i].name, have[i].typ, want[i].name, want[i].typ)
		}
	}
	return nil
}

func describe(ctx context.Context, conn *sql.Conn, relation string) ([]sqlColumn, error) {
	rows, err := conn.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE "+relation+")")
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", relation, err)
	}
	defer rows.Close()
	var cols []sqlColumn
	for rows.Next() {
		var c sqlColumn
		if err := rows.Scan(&c.name, &c.typ); err != nil {
			return nil, err
		}
		cols = append(cols, c)
	}
	return cols, rows.Err()
}
