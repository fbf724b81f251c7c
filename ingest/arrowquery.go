package ingest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/marcboeker/go-duckdb"
)

// queryRecords runs a query whose columns have the named types and no NULL, and hands its records on, one after the
// other; each is valid until read returns. DuckDB keeps the whole result until the end. Hundreds of thousands of rows come
// many times as fast as through database/sql, which hands over value by value.
func queryRecords(ctx context.Context, conn *sql.Conn, query string, types []arrow.Type, read func(records)) error {
	return queryNullable(ctx, conn, query, types, len(types), read)
}

// fetchRecords is queryRecords of columns that may have NULLs from the one numbered known on, whose records are valid until
// release is called.
func fetchRecords(ctx context.Context, conn *sql.Conn, query string, types []arrow.Type, known int) (fetched []records, release func(), err error) {
	release = func() {
		for _, r := range fetched {
			r.Release()
		}
	}
	err = queryNullable(ctx, conn, query, types, known, func(r records) {
		r.Retain()
		fetched = append(fetched, r)
	})
	return fetched, release, err
}

func queryNullable(ctx context.Context, conn *sql.Conn, query string, types []arrow.Type, known int, read func(records)) error {
	return conn.Raw(func(driverConn any) error {
		arrowConn, err := duckdb.NewArrowFromConn(driverConn.(driver.Conn))
		if err != nil {
			return err
		}
		reader, err := arrowConn.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer reader.Release()
		for reader.Next() {
			r := reader.Record()
			if err := checkTypes(r, types, known); err != nil {
				return err
			}
			read(records{r})
		}
		return reader.Err()
	})
}

func checkTypes(r arrow.Record, types []arrow.Type, known int) error {
	if int(r.NumCols()) != len(types) {
		return fmt.Errorf("%d columns came, not %d", r.NumCols(), len(types))
	}
	for i, t := range types {
		if c := r.Column(i); c.DataType().ID() != t || i < known && c.NullN() > 0 {
			return fmt.Errorf("column %s comes as %s with %d NULLs", r.ColumnName(i), c.DataType(), c.NullN())
		}
	}
	return nil
}

// records are some rows of a result, by column.
type records struct{ arrow.Record }

func (r records) uint8s(i int) []uint8      { return r.Column(i).(*array.Uint8).Uint8Values() }
func (r records) uint16s(i int) []uint16    { return r.Column(i).(*array.Uint16).Uint16Values() }
func (r records) int32s(i int) []int32      { return r.Column(i).(*array.Int32).Int32Values() }
func (r records) int64s(i int) []int64      { return r.Column(i).(*array.Int64).Int64Values() }
func (r records) uint64s(i int) []uint64    { return r.Column(i).(*array.Uint64).Uint64Values() }
func (r records) texts(i int) *array.String { return r.Column(i).(*array.String) }

// fragmentTypes are the types of the columns of a fragment, which come before all others.
func fragmentTypes() []arrow.Type {
	return []arrow.Type{arrow.INT32, arrow.UINT16, arrow.UINT8, arrow.BOOL, arrow.BOOL}
}

// fragments are the first columns: cell, step, client, kept and born.
func (r records) fragments() []fragment {
	cells, steps, clients := r.int32s(0), r.uint16s(1), r.uint8s(2)
	kept, born := r.Column(3).(*array.Boolean), r.Column(4).(*array.Boolean)
	out := make([]fragment, len(cells))
	for i := range out {
		out[i] = fragment{cell: cells[i], step: steps[i], client: clients[i], kept: kept.Value(i), born: born.Value(i)}
	}
	return out
}
