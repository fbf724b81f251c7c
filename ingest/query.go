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
)

// Rows streams the result of a query.
type Rows struct {
	Columns []string
	Types   []string // DuckDB types

	rows   *sql.Rows
	values []any
	err    error
}

// Query runs any SQL that the store allows: open it read-only to keep users from writing. Close the rows.
func (s *Store) Query(ctx context.Context, query string) (*Rows, error) {
	rows, err := s.db.QueryContext(ctx, query) //nolint:rowserrcheck // Rows.Err hands it on
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", s.path, err)
	}
	r := &Rows{rows: rows}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("query %s: %w", s.path, err), rows.Close()) //nolint:sqlclosecheck // else Rows.Close does
	}
	for _, t := range types {
		r.Columns = append(r.Columns, t.Name())
		r.Types = append(r.Types, t.DatabaseTypeName())
	}
	r.values = make([]any, len(types))
	return r, nil
}

// Next reads the next row. It returns false at the end and on an error, which Err tells apart.
func (r *Rows) Next() bool {
	if r.err != nil || !r.rows.Next() {
		return false
	}
	targets := make([]any, len(r.values))
	for i := range r.values {
		r.values[i] = nil
		targets[i] = &r.values[i]
	}
	if r.err = r.rows.Scan(targets...); r.err != nil {
		return false
	}
	for i, v := range r.values {
		r.values[i] = plain(v)
	}
	return true
}

// Values returns the current row: nil, bool, int64, float64, string, time.Time, [] byte, or what %v prints
// well. It is valid until the next call of Next.
func (r *Rows) Values() []any { return r.values }

// Err returns the error that ended the rows, if any.
func (r *Rows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.rows.Err()
}

// Close ends the query.
func (r *Rows) Close() error { return r.rows.Close() }

// Decimal is an exact decimal number as text, such as 12.500.
type Decimal string

// plain turns the driver's own types into ones that any writer knows.
func plain(v any) any {
	switch v := v.(type) {
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case float32:
		return float64(v)
	case *big.Int:
		return Decimal(v.String())
	case duckdb.Decimal:
		return Decimal(decimalText(v.Value, int(v.Scale)))
	case time.Time:
		return v.UTC()
	case driver.Valuer:
		if plain, err := v.Value(); err == nil {
			return plain
		}
	}
	return v
}

func decimalText(value *big.Int, scale int) string {
	digits := new(big.Int).Abs(value).String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if value.Sign() < 0 {
		digits = "-" + digits
	}
	return digits
}
