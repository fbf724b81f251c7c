package rules

import "time"

// Dialect writes what engines spell in different ways. Conditions may be unknown, which counts as not true.
type Dialect interface {
	// Column is a column of the table `requests` in the row at hand. Times may stand in whatever unit Micros reads.
	Column(name string) string
	// LogHas tells whether the log that the row came with says anything in a column: a log without the column cannot
	// say that a request without a value failed it.
	LogHas(column string) string
	// Differs is true unless a column, or nothing, is the text.
	Differs(column, text string) string
	// Count is the number of rows with a value, or of all when value is "", where a condition holds; "" always does.
	Count(value, where string) string
	// Sum adds whole numbers.
	Sum(value, where string) string
	// SumMicros adds a column of times as whole microseconds.
	SumMicros(column, where string) string
	// SumNanos adds a column of money as whole nano-dollars.
	SumNanos(column, where string) string
	// Micros is a difference or sum of columns of times as whole microseconds.
	Micros(times string) string
	// Divide is the whole part of a ≥ 0 divided by b > 0. Other divisors must not end a query that has no use for the result.
	Divide(a, b string) string
	// Number is a whole number of 64 bits.
	Number(n int64) string
	// Instant is an instant to compare Column("ts") with.
	Instant(t time.Time) string
}
