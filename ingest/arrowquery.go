package ingest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/marcboeker/go-duckdb"
)

// queryRecords runs a query whose columns have the named types, those before the one numbered known without NULL, and hands
// its records on, which are valid until read returns. DuckDB keeps the whole result until then. Hundreds of thousands of rows
// come many times as fast as through database/sql, which hands over value by value.
func (s *Store) queryRecords(ctx context.Context, query string, types []arrow.Type, known int, read func([]records) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	var fetched []records
	defer func() {
		for _, r := range fetched {
			r.Release()
		}
	}()
	err = conn.Raw(func(driverConn any) error {
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
			r.Retain()
			fetched = append(fetched, records{r})
		}
		return reader.Err()
	})
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	return read(fetched)
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

func (r records) int64s(i int) []int64       { return r.Column(i).(*array.Int64).Int64Values() }
func (r records) uint64s(i int) []uint64     { return r.Column(i).(*array.Uint64).Uint64Values() }
func (r records) bools(i int) *array.Boolean { return r.Column(i).(*array.Boolean) }
func (r records) texts(i int) *array.String  { return r.Column(i).(*array.String) }
