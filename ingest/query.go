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

// Rows hands over the result of a query, some rows at a time. The driver takes a result into memory as a whole, so that of
// a query waits in a temporary table, which DuckDB keeps within its memory limit by writing to its temporary folder.
type Rows struct {
	Columns []string
	Types   []string // DuckDB types

	ctx     context.Context
	conn    *sql.Conn
	inTable bool      // the temporary one
	total   int64     // in it
	taken   int64     // of total
	rows    *sql.Rows // those at hand
	raw     []any     // as the driver gives them
	values  []any
	err     error
}

// The temporary table of a result, and its column that keeps the order. It is cut along that column.
const (
	resultTable = "temp.query_result"
	resultOrder = `"switchback row"`
	chunkRows   = 20_000
)

// Query runs any one statement that the store allows: open it read-only to keep users from writing. What DuckDB has against
// it is a QueryError. A name that comes again among the columns gets a number. Close the rows.
func (s *Store) Query(ctx context.Context, query string) (*Rows, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", s.path, err)
	}
	r := &Rows{ctx: ctx, conn: conn}
	if err := r.run(query); err != nil {
		return nil, errors.Join(queryError(s.path, err), r.Close())
	}
	return r, nil
}

// run fills the temporary table from a query. What is no SELECT, such as EXPLAIN, has a small result, which the driver keeps.
func (r *Rows) run(query string) error {
	if err := r.check(query); err != nil {
		return err
	}
	const create = "CREATE TEMP TABLE " + resultTable + " AS SELECT *, row_number() OVER () AS " + resultOrder + " FROM (\n"
	result, err := r.conn.ExecContext(r.ctx, create+strings.TrimRight(query, "; \t\r\n")+"\n)")
	switch {
	case cannotCreate(err):
		r.rows, err = r.conn.QueryContext(r.ctx, query) //nolint:rowserrcheck // Rows.Err
	case err != nil:
		return linesUp(err)
	default:
		r.inTable = true
		if r.total, err = result.RowsAffected(); err == nil {
			err = r.fetch()
		}
	}
	if err != nil {
		return err
	}
	types, err := r.rows.ColumnTypes()
	if err != nil {
		return err
	}
	for _, t := range types {
		r.Columns = append(r.Columns, t.Name())
		r.Types = append(r.Types, t.DatabaseTypeName())
	}
	r.raw, r.values = make([]any, len(types)), make([]any, len(types))
	return nil
}

// check finds what is wrong with a query before anything is done.
func (r *Rows) check(query string) error {
	statement, err := r.conn.PrepareContext(r.ctx, query)
	if err != nil {
		return err
	}
	defer statement.Close()
	return nil
}

// cannotCreate tells whether DuckDB understands a statement by itself only, and not as the source of a table.
func cannotCreate(err error) bool {
	var fault *duckdb.Error
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Type {
	case duckdb.ErrorTypeParser, duckdb.ErrorTypeBinder, duckdb.ErrorTypeCatalog, duckdb.ErrorTypeNotImplemented:
		return true
	}
	return false
}

// chunk is the SQL of the next rows of the temporary table.
func (r *Rows) chunk(columns string) string {
	from := r.taken
	r.taken = min(r.total, r.taken+chunkRows)
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s > %d AND %[3]s <= %[5]d ORDER BY %[3]s", columns, resultTable, resultOrder, from, r.taken)
}

// fetch takes the next rows.
func (r *Rows) fetch() (err error) {
	if r.rows != nil {
		if err := r.rows.Close(); err != nil {
			return err
		}
	}
	r.rows, err = r.conn.QueryContext(r.ctx, r.chunk("* EXCLUDE ("+resultOrder+")")) //nolint:rowserrcheck // Rows.Err
	return err
}

// Next reads the next row. It returns false at the end and on an error, which Err tells apart.
func (r *Rows) Next() bool {
	if r.err != nil {
		return false
	}
	for !r.rows.Next() {
		if r.rows.Err() != nil || r.taken >= r.total {
			return false
		}
		if r.err = r.fetch(); r.err != nil {
			return false
		}
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
func (r *Rows) Close() error {
	var err error
	if r.rows != nil {
		err = r.rows.Close()
	}
	_, dropped := r.conn.ExecContext(context.WithoutCancel(r.ctx), "DROP TABLE IF EXISTS "+resultTable)
	return errors.Join(err, dropped, r.conn.Close())
}

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
