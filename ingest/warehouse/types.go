package warehouse

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"switchback/experiment"
	"switchback/ingest/rules"
)

// plainType is what is left of a type without its wrappers.
type plainType struct {
	name     string // such as Int32, Decimal(18, 3), DateTime64
	nullable bool
}

var wrapper = regexp.MustCompile(`^(LowCardinality|Nullable)\((.*)\)$`)

func plain(typ string) plainType {
	var p plainType
	p.name = typ
	for {
		m := wrapper.FindStringSubmatch(p.name)
		if m == nil {
			return p
		}
		p.nullable = p.nullable || m[1] == "Nullable"
		p.name = m[2]
	}
}

func (p plainType) is(prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(p.name, prefix) {
			return true
		}
	}
	return false
}

func (p plainType) whole() bool   { return p.is("Int", "UInt", "Bool") && !p.is("Interval") }
func (p plainType) number() bool  { return p.whole() || p.is("Float", "Decimal", "BFloat") }
func (p plainType) text() bool    { return p.is("String", "FixedString", "Enum", "UUID", "IP") }
func (p plainType) nothing() bool { return p.name == "Nothing" }

// maxCount is above every token count; a greater number is none.
const maxCount = 1_000_000_000_000

// reading is how a query reads one canonical column.
type reading struct {
	column canonical
	expr   string // of the user's table
	typ    plainType
	unit   string // of whole numbers that are instants
}

// check returns why an expression cannot give its column, nil when it can.
func (r reading) check() error {
	want := ""
	switch r.column.kind {
	case text:
		if !r.typ.text() && !r.typ.whole() && !r.typ.nothing() {
			want = "a text or a whole number"
		}
	case count, bits:
		if !r.typ.number() && !r.typ.nothing() {
			want = "a number"
		}
	case millis, usd:
		if !r.typ.number() && !r.typ.nothing() {
			want = "a number"
		}
	case flag:
		if !r.typ.whole() && !r.typ.nothing() {
			want = "a whole number or Bool"
		}
	case instant:
		switch {
		case r.typ.whole() && !r.typ.is("Bool"):
			if r.unit == "" {
				return fmt.Errorf("column %s: %s is %s: say in ts_unit whether these are s, ms, us or ns since 1970", r.column.name, r.expr, r.typ.name)
			}
		case !r.typ.is("DateTime", "String"):
			want = "a DateTime, a text in RFC 3339, or a whole number with ts_unit"
		}
	}
	if want == "" {
		return nil
	}
	return fmt.Errorf("column %s: %s is %s, not %s", r.column.name, r.expr, r.typ.name, want)
}

// definition is an expression with the name that queries use for it.
type definition struct{ name, sql string }

// define writes the conversions of a column, the last of which is named as rules.ClickHouse says.
func (r reading) define() []definition {
	name, x := rules.ClickHouseName(r.column.name), "("+r.expr+")"
	if r.expr == "" || r.typ.nothing() {
		if r.column.kind == bits { // quality is defined by all columns together
			return nil
		}
		return []definition{{name, r.unknown()}}
	}
	whole := "CAST(" + x + " AS Nullable(Int64))"
	// Infinite values and those that no whole number can hold end a query of today when they are converted.
	fraction := fmt.Sprintf("if(abs(toFloat64(%[1]s)) <= %[2]d, toFloat64(%[1]s), NULL)", x, int64(maxCount))
	raw := name + "_raw"
	switch r.column.kind {
	case text:
		found := []definition{{name, "nullIf(CAST(" + x + " AS Nullable(String)), '')"}}
		if list := allowedTexts(r.column.name); list != "" {
			found[0].name = raw
			found = append(found, definition{name, "if(" + raw + " IN (" + list + "), " + raw + ", NULL)"})
		}
		return found
	case count:
		if r.typ.whole() {
			return []definition{{raw, whole}, {name, between(raw, raw, maxCount)}}
		}
		return []definition{{raw, fraction}, {name, fmt.Sprintf("if(%[1]s >= 0 AND %[1]s <= %[2]d AND %[1]s = floor(%[1]s), CAST(%[1]s AS Nullable(Int64)), NULL)", raw, int64(maxCount))}}
	case millis:
		if r.typ.whole() {
			return []definition{{raw, whole}, {name, between(raw, raw+" * 1000", maxMillis)}}
		}
		return []definition{{raw, fraction}, {name, between(raw, "CAST(floor("+raw+" * 1000 + 0.5) AS Nullable(Int64))", maxMillis)}}
	case usd:
		if r.typ.whole() {
			return []definition{{name, whole + " * 1000000000"}}
		}
		return []definition{{raw, fraction}, {name, fmt.Sprintf("if(abs(%[1]s) < %[2]d, CAST(floor(%[1]s * 1000000000 + 0.5) AS Nullable(Int64)), NULL)", raw, maxUSD)}}
	case flag:
		return []definition{{name, whole + " <> 0"}}
	case bits:
		return []definition{{raw, "ifNull(" + whole + ", toInt64(0))"}}
	}
	return []definition{{name, r.micros(x)}}
}

// unknown is the value of a column that a table does not have. It is no constant: what follows from a constant is computed
// early, and servers of today then expect a constant where they find a column.
func (r reading) unknown() string {
	switch r.column.kind {
	case text:
		return "materialize(CAST(NULL AS Nullable(String)))"
	case flag:
		return "materialize(CAST(NULL AS Nullable(UInt8)))"
	}
	return "materialize(CAST(NULL AS Nullable(Int64)))"
}

// Values from these on are not believed.
const (
	maxMillis = 1_000_000_000_000
	maxUSD    = 9_000_000
)

func between(raw, value string, most int64) string {
	return fmt.Sprintf("if(%[1]s >= 0 AND %[1]s <= %[2]d, %[3]s, NULL)", raw, most, value)
}

func allowedTexts(column string) string {
	var words []string
	switch column {
	case "status":
		words = []string{experiment.StatusOK, experiment.StatusError, experiment.StatusErrorMidstream, experiment.StatusCancelled, experiment.StatusGatewayCache}
	case "cost_source":
		words = []string{experiment.CostBilled, experiment.CostUpstream, experiment.CostBreakdown, experiment.CostBook}
	}
	for i, w := range words {
		words[i] = quote(w)
	}
	return strings.Join(words, ", ")
}

// micros is an instant in microseconds since 1970.
func (r reading) micros(x string) string {
	switch {
	case r.typ.is("DateTime64"):
		return "toUnixTimestamp64Micro(toDateTime64(" + x + ", 6))"
	case r.typ.is("DateTime"):
		return "toInt64(toUnixTimestamp(" + x + ")) * 1000000"
	case r.typ.whole():
		if r.unit == "ns" {
			return "intDiv(CAST(" + x + " AS Nullable(Int64)), 1000)"
		}
		return fmt.Sprintf("CAST(%s AS Nullable(Int64)) * %d", x, microsPer(r.unit))
	}
	// A text in RFC 3339 or without a zone, which is UTC then. The function stops at whole seconds.
	s := "nullIf(CAST(" + x + " AS Nullable(String)), '')"
	return "toInt64(toUnixTimestamp(parseDateTimeBestEffortOrNull(" + s + ", 'UTC'))) * 1000000" +
		" + toInt64OrZero(substring(concat(extract(ifNull(" + s + ", ''), '[0-9][.,]([0-9]+)'), '000000'), 1, 6))"
}

// microsPer is the length of a unit in microseconds; 0 for one that is shorter or unknown.
func microsPer(unit string) int64 {
	switch unit {
	case "s":
		return 1_000_000
	case "ms":
		return 1_000
	case "us":
		return 1
	}
	return 0
}

// bound is an instant as the user's own column has it, for a condition that the table's partitions and index understand;
// "" when there is none.
func (r reading) bound(micros int64) string {
	switch {
	case r.typ.is("DateTime64"):
		return "fromUnixTimestamp64Micro(toInt64(" + strconv.FormatInt(micros, 10) + "), 'UTC')"
	case r.typ.is("DateTime"):
		return fmt.Sprintf("toDateTime(%d)", micros/1_000_000)
	case r.typ.whole() && r.unit == "ns":
		return strconv.FormatInt(micros*1000, 10)
	case r.typ.whole():
		return strconv.FormatInt(micros/microsPer(r.unit), 10)
	}
	return ""
}

// TSUnits are the units of an instant that is a whole number.
func TSUnits() []string { return []string{"s", "ms", "us", "ns"} }

// quote writes a text literal.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
