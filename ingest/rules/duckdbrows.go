package rules

import "strings"

// DuckDBRows is DuckDB with what each row adds to a sum or a count in the place of the aggregates: a whole number, or NULL
// for nothing.
type DuckDBRows struct{ DuckDB }

var _ Dialect = DuckDBRows{}

// Count implements Dialect.
func (DuckDBRows) Count(value, where string) string {
	var conditions []string
	if value != "" {
		conditions = append(conditions, "("+value+") IS NOT NULL")
	}
	if where != "" {
		conditions = append(conditions, "("+where+")")
	}
	if len(conditions) == 0 {
		return "1"
	}
	return "CASE WHEN " + strings.Join(conditions, " AND ") + " THEN 1 END"
}

// Sum implements Dialect.
func (DuckDBRows) Sum(value, where string) string {
	if where == "" {
		return "(" + value + ")"
	}
	return "CASE WHEN " + where + " THEN " + value + " END"
}

// SumMicros implements Dialect.
func (d DuckDBRows) SumMicros(column, where string) string { return d.Sum(d.Micros(column), where) }

// SumNanos implements Dialect, as Micros goes about it: whole numbers of more than 64 bits take many times as long.
func (d DuckDBRows) SumNanos(column, where string) string {
	return d.Sum("CAST(CAST("+column+" AS DOUBLE) * 1000000000 AS BIGINT)", where)
}
