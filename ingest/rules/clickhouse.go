package rules

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"switchback/stats"
)

// ClickHouse writes for ClickHouse, over columns that a query names as ClickHouseName says: times in whole microseconds,
// money in whole nano-dollars, instants in microseconds since 1970, booleans as 0 and 1. Every function is one that
// releases from 2018 and from today both know.
type ClickHouse struct {
	Has func(column string) bool // whether any row of the window says something in a column
}

var _ Dialect = ClickHouse{}

// ClickHouseName is the name of a canonical column in a query.
func ClickHouseName(column string) string {
	name := column
	switch {
	case strings.HasSuffix(column, "_ms"):
		name = strings.TrimSuffix(column, "_ms") + "_us"
	case strings.HasSuffix(column, "_usd"):
		name = strings.TrimSuffix(column, "_usd") + "_nano"
	case column == "ts":
		name = "ts_us"
	}
	return "sb_" + name
}

// Column implements Dialect.
func (ClickHouse) Column(name string) string { return ClickHouseName(name) }

// LogHas implements Dialect.
func (c ClickHouse) LogHas(column string) string {
	if c.Has(column) {
		return "1"
	}
	return "0"
}

// Differs implements Dialect.
func (ClickHouse) Differs(column, text string) string {
	return "(" + column + " IS NULL OR " + column + " <> '" + text + "')"
}

// Count implements Dialect.
func (ClickHouse) Count(value, where string) string {
	if where == "" {
		return "count(" + value + ")"
	}
	if value != "" {
		where = "(" + value + ") IS NOT NULL AND (" + where + ")"
	}
	return "countIf(" + known(where) + ")"
}

// Sum implements Dialect.
func (ClickHouse) Sum(value, where string) string {
	if where == "" {
		return "sum(" + value + ")"
	}
	return "sumIf(" + value + ", " + known(where) + ")"
}

// SumMicros implements Dialect.
func (c ClickHouse) SumMicros(column, where string) string { return c.Sum(column, where) }

// SumNanos implements Dialect.
func (c ClickHouse) SumNanos(column, where string) string { return c.Sum(column, where) }

// known makes an unknown condition false: the first releases with conditional aggregates refuse an unknown one.
func known(condition string) string { return "ifNull(" + condition + ", 0)" }

// Micros implements Dialect.
func (ClickHouse) Micros(times string) string { return times }

// Divide implements Dialect. Both branches of a condition are computed for every row, so a division by zero is none here.
func (ClickHouse) Divide(a, b string) string { return "intDivOrZero(" + a + ", " + b + ")" }

// Number implements Dialect.
func (ClickHouse) Number(n int64) string { return "toInt64(" + strconv.FormatInt(n, 10) + ")" }

// Instant implements Dialect.
func (c ClickHouse) Instant(t time.Time) string { return c.Number(t.UnixMicro()) }

// binsPerOctave divides the values between a power of two and the next.
const binsPerOctave = 32

// Bin numbers the histogram bin of a whole number: stats.BinZero for values up to 0, stats.BinInf for stats.Inf, and else a
// number from 0 on. Equal values share a bin and a larger one never has a smaller bin, which is all that exact quantiles ask
// of it. It counts with whole numbers only, for shards may run on processors whose logarithms differ in the last
// digit. Bins start at 1, so that there is a number below them that is not stats.BinZero.
func (c ClickHouse) Bin(value string) string {
	const low = "roundToExp2(greatest(ifNull(v, 1), 1))" // the logarithm is taken of every row, also of those that have a bin already
	return Let([]string{"v"}, []string{value}, fmt.Sprintf("multiIf(v <= 0, %[1]d, v = %[2]s, %[3]d, 1 + %[4]d * toInt32(round(log2(%[5]s))) + toInt32(%[6]s))",
		stats.BinZero, c.Number(stats.Inf), stats.BinInf, binsPerOctave, low, c.Divide(fmt.Sprintf("%d * (v - %s)", binsPerOctave, low), low)))
}

// Let is an expression in ClickHouse's SQL of names that stand for values, each of which is written once: a server needs
// longer to read a query whose values stand in every place than to answer it. Columns are known to an expression by name only.
func Let(names, values []string, expression string) string {
	return "arrayElement(arrayMap((" + strings.Join(names, ", ") + ") -> " + expression + ", [" + strings.Join(values, "], [") + "]), 1)"
}

// BinOf is Bin of a value.
func (ClickHouse) BinOf(value int64) int32 {
	switch {
	case value <= 0:
		return stats.BinZero
	case value == stats.Inf:
		return stats.BinInf
	}
	octave := bits.Len64(uint64(value)) - 1
	low := int64(1) << octave
	return int32(1 + binsPerOctave*octave + int(binsPerOctave*(value-low)/low))
}
