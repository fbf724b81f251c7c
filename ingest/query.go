package ingest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/marcboeker/go-duckdb"
)

// Rows streams the result of a query.
type Rows struct {
	Columns []string
	Types   []string // DuckDB types

	rows   *sql.Rows
	raw    []any // as the driver gives them
	values []any
	err    error
}

// Query runs any SQL that the store allows: open it read-only to keep users from writing. What DuckDB has against the query is
// a QueryError. Close the rows.
func (s *Store) Query(ctx context.Context, query string) (*Rows, error) {
	rows, err := s.db.QueryContext(ctx, query) //nolint:rowserrcheck // Rows.Err hands it on
	if err != nil {
		return nil, queryError(s.path, err)
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
	r.raw, r.values = make([]any, len(types)), make([]any, len(types))
	return r, nil
}

// Next reads the next row. It returns false at the end and on an error, which Err tells apart.
func (r *Rows) Next() bool {
	if r.err != nil || !r.rows.Next() {
		return false
	}
	targets := make([]any, len(r.raw))
	for i := range r.raw {
		r.raw[i] = nil
		targets[i] = &r.raw[i]
	}
	if r.err = r.rows.Scan(targets...); r.err != nil {
		return false
	}
	for i, v := range r.raw {
		r.values[i] = plainOf(v, r.Types[i])
	}
	return true
}

// Values returns the current row: nil, bool, int64, float64, string, Decimal, time.Time, []byte, lists ([]any) and structs
// (map[string]any) of these, or what %v prints well. It is valid until the next call of Next.
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

// plainOf is plain for a column whose type the driver's value does not tell.
func plainOf(v any, typ string) any {
	switch value := v.(type) {
	case []byte:
		if typ == "UUID" && len(value) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", value[:4], value[4:6], value[6:8], value[8:10], value[10:])
		}
	case time.Time:
		if typ == "TIME" {
			return value.UTC().Format("15:04:05.999999")
		}
	}
	return plain(v)
}

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
	case uint64:
		return Decimal(strconv.FormatUint(v, 10))
	case float32:
		return float64(v)
	case *big.Int:
		return Decimal(v.String())
	case duckdb.Decimal:
		return Decimal(decimalText(v.Value, int(v.Scale)))
	case time.Time:
		return v.UTC()
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plain(item)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, field := range v {
			fields[name] = plain(field)
		}
		return fields
	case duckdb.Map:
		fields := make(map[string]any, len(v))
		for name, field := range v {
			fields[fmt.Sprint(plain(name))] = plain(field)
		}
		return fields
	case duckdb.Interval:
		return intervalText(v)
	case driver.Valuer:
		if plain, err := v.Value(); err == nil {
			return plain
		}
	}
	return v
}

// intervalText tells an interval as DuckDB does: 2 months 3 days 04:05:06.
func intervalText(v duckdb.Interval) string {
	var parts []string
	for _, part := range []struct {
		n    int32
		unit string
	}{{v.Months / 12, "year"}, {v.Months % 12, "month"}, {v.Days, "day"}} {
		switch part.n {
		case 0:
		case 1:
			parts = append(parts, "1 "+part.unit)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", part.n, part.unit))
		}
	}
	if v.Micros != 0 || len(parts) == 0 {
		sign, micros := "", v.Micros
		if micros < 0 {
			sign, micros = "-", -micros
		}
		of := time.Duration(micros) * time.Microsecond
		text := fmt.Sprintf("%s%02d:%02d:%02d", sign, int64(of.Hours()), int64(of.Minutes())%60, int64(of.Seconds())%60)
		if rest := micros % 1e6; rest != 0 {
			text += strings.TrimRight(fmt.Sprintf(".%06d", rest), "0")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
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
