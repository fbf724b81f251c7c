package rules

import (
	"strconv"
	"strings"
	"time"
)

// DuckDB writes for DuckDB, over rows r of `requests` and, for LogHas, rows m with one row of flags for each load.
type DuckDB struct{}

var _ Dialect = DuckDB{}

// Column implements Dialect.
func (DuckDB) Column(name string) string { return "r." + name }

// LogHas implements Dialect.
func (DuckDB) LogHas(column string) string { return "m." + strings.TrimSuffix(column, "_ms") }

// Differs implements Dialect.
func (DuckDB) Differs(column, text string) string { return column + " IS DISTINCT FROM '" + text + "'" }

// Count implements Dialect.
func (DuckDB) Count(value, where string) string {
	if value == "" {
		value = "*"
	}
	return "count(" + value + ")" + filter(where)
}

// Sum implements Dialect.
func (DuckDB) Sum(value, where string) string { return "sum(" + value + ")" + filter(where) }

// SumMicros implements Dialect: times are DECIMAL(18,3) milliseconds.
func (d DuckDB) SumMicros(column, where string) string { return d.Sum(column, where) + " * 1000" }

// SumNanos implements Dialect: money is DECIMAL(18,9) USD.
func (d DuckDB) SumNanos(column, where string) string { return d.Sum(column, where) + " * 1000000000" }

func filter(where string) string {
	if where == "" {
		return ""
	}
	return " FILTER (" + where + ")"
}

// Micros implements Dialect. A double holds whole microseconds exactly up to 2^52, and the cast rounds to the nearest.
func (DuckDB) Micros(times string) string {
	return "CAST(CAST(" + times + " AS DOUBLE) * 1000 AS BIGINT)"
}

// Divide implements Dialect.
func (DuckDB) Divide(a, b string) string { return "(" + a + ") // (" + b + ")" }

// Number implements Dialect.
func (DuckDB) Number(n int64) string { return strconv.FormatInt(n, 10) }

const sqlInstant = "2006-01-02 15:04:05.999999"

// Instant implements Dialect.
func (DuckDB) Instant(t time.Time) string { return "TIMESTAMP '" + t.UTC().Format(sqlInstant) + "'" }
