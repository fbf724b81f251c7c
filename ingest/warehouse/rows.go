package warehouse

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/ingest/rules"
)

// Names that queries have besides those of canonical columns.
const (
	nameRowID     = "sb_row_id"    // of the record in its source
	nameIDHash    = "sb_id_hash"   // of source and row id; records of one key share it
	nameComplete  = "sb_complete"  // how many columns a record fills
	nameContent   = "sb_content"   // hash of everything a record says
	nameValid     = "sb_valid"     // a record has what every request must have
	namePlace     = "sb_place"     // model, as places name it
	nameBucket    = "sb_bucket"    // of time
	nameTime      = "sb_ts_us"     // never unknown where nameValid holds
	nameStep      = "sb_step"      // since the block's start
	nameClient    = "sb_client"    // singled out, from 1; 0 for any other
	nameOrigin    = "sb_origin"    // of a kept row, as a fragment names it; 0 of another
	nameSlice     = "sb_slice"     // nameStep, and nameOrigin once more for a kept row
	nameCell      = "place_cell"   // −1 in a lone block and without a model
	nameBlock     = "place_block"  // index in the plan
	nameStraddles = "sb_straddles" // still running when its block ended
	nameMismatch  = "sb_mismatch"  // labelled with another arm than the schedule's
	nameBits      = "sb_bits"      // of quality, under the schedule
	nameBorn      = "sb_born"      // 1: no earlier block chose the endpoint
	nameSession   = "sb_session"   // hash
	nameProvider  = "sb_served_by" // "" when unknown
)

// table is the user's table seen as canonical rows.
type table struct {
	name     string
	readings []reading // of every canonical column, in order
	where    string    // of the mapping
	day      string
	defs     []definition
}

// baseNames are what a row keeps when duplicates are resolved: everything later names follow from these.
func (t table) baseNames() []string {
	var names []string
	for _, r := range t.readings {
		names = append(names, rules.ClickHouseName(r.column.name))
	}
	return append(names, nameRowID, nameIDHash, nameComplete, nameContent)
}

// newTable writes the definitions of the canonical columns.
func newTable(name string, readings []reading, where, day string) table {
	t := table{name: name, readings: readings, where: where, day: day}
	for _, r := range readings {
		t.defs = append(t.defs, r.define()...)
	}
	c := rules.ClickHouseName
	t.defs = append(t.defs,
		definition{c("quality"), t.quality()},
		definition{nameRowID, "coalesce(" + c("source_row_id") + ", " + c(columnID) + ", '')"},
		definition{nameIDHash, "cityHash64(ifNull(" + c("source") + ", ''), " + nameRowID + ")"},
		definition{nameComplete, t.complete()},
		definition{nameContent, t.content()},
		definition{nameValid, fmt.Sprintf("if(%s IS NOT NULL AND %s IS NOT NULL AND (%s IS NOT NULL OR ifNull(%s = '%s', 0)), 1, 0)",
			c(columnID), nameTime, c(columnModel), c("status"), experiment.StatusError)},
	)
	return t
}

// quality adds the bits that a load into DuckDB sets to those that the table has.
func (t table) quality() string {
	c := rules.ClickHouseName
	var negative, bad []string
	for _, r := range t.readings {
		if r.expr == "" || r.typ.nothing() {
			continue
		}
		raw := c(r.column.name) + "_raw"
		switch r.column.kind {
		case millis:
			negative = append(negative, raw+" < 0")
		case count:
			bad = append(bad, "("+raw+" IS NOT NULL AND "+c(r.column.name)+" IS NULL AND "+raw+" <> -1)")
		case text:
			if allowedTexts(r.column.name) != "" {
				bad = append(bad, "("+raw+" IS NOT NULL AND "+c(r.column.name)+" IS NULL)")
			}
		}
	}
	bad = append(bad, c("n_429")+" > "+c("attempts"))
	ttft, caller, total := c("ttft_ms"), c("caller_ttft_ms"), c("total_ms")
	parts := []string{}
	for _, b := range []struct {
		conditions []string
		bit        int64
	}{
		{negative, experiment.QualityNegativeTime},
		{[]string{ttft + " > " + caller, caller + " > " + total, ttft + " > " + total}, experiment.QualityTTFTOverTotal},
		{[]string{c("cached_tokens") + " > " + c("input_tokens")}, experiment.QualityCachedOverInput},
		{[]string{"(" + c("status") + " = 'ok' AND " + c("output_tokens") + " = 0)"}, experiment.QualityEmptySuccess},
		{bad, experiment.QualityBadValue},
	} {
		for i, condition := range b.conditions {
			b.conditions[i] = "ifNull(" + condition + ", 0)"
		}
		if len(b.conditions) > 0 {
			parts = append(parts, fmt.Sprintf("if(%s, %d, 0)", strings.Join(b.conditions, " OR "), b.bit))
		}
	}
	given := "toInt64(0)"
	for _, r := range t.readings {
		if r.column.kind == bits && r.expr != "" && !r.typ.nothing() {
			given = c("quality") + "_raw"
		}
	}
	for _, p := range parts {
		given = "bitOr(" + given + ", toInt64(" + p + "))"
	}
	return given
}

// complete counts what a record says besides its key.
func (t table) complete() string {
	sum := []string{"0"}
	for _, r := range t.readings {
		switch r.column.name {
		case columnID, columnTS, columnModel, columnVersion, "source", "source_row_id", "arm", "quality":
		default:
			sum = append(sum, "("+rules.ClickHouseName(r.column.name)+" IS NOT NULL)")
		}
	}
	return "toInt64(" + strings.Join(sum, " + ") + ")"
}

// content names everything that a record says. The first releases hash no NULLs.
func (t table) content() string {
	var parts []string
	for _, r := range t.readings {
		switch r.column.name {
		case columnVersion, "arm", "quality":
		default:
			unknown := "toInt64(-9223372036854775807)"
			if r.column.kind == text {
				unknown = `'\\N'`
			}
			parts = append(parts, "ifNull("+rules.ClickHouseName(r.column.name)+", "+unknown+")")
		}
	}
	return "cityHash64(" + strings.Join(parts, ", ") + ")"
}

// within restricts a query to a window, with conditions on the user's own columns for the table's partitions and index.
func (t table) within(w rules.Window) string {
	var terms []string
	if t.where != "" {
		terms = append(terms, "("+t.where+")")
	}
	for _, r := range t.readings {
		if r.column.kind != instant {
			continue
		}
		x := "(" + r.expr + ")"
		if lo := r.bound(w.Since.UnixMicro()); lo != "" && !w.Since.IsZero() {
			terms = append(terms, x+" >= "+lo)
		}
		if hi := r.bound(w.Until.UnixMicro()); hi != "" && !w.Until.IsZero() {
			terms = append(terms, x+" <= "+hi)
		}
	}
	return strings.Join(append(append(terms, t.ofDays(w)...), w.Inside(rules.ClickHouse{})), "\n  AND ")
}

// ofDays restricts a query to the days of a window and one on each side, for days of other time zones.
func (t table) ofDays(w rules.Window) []string {
	if t.day == "" || w.Since.IsZero() || w.Until.IsZero() {
		return nil
	}
	first, last := w.Since.UTC().AddDate(0, 0, -1), w.Until.UTC().AddDate(0, 0, 1)
	return []string{fmt.Sprintf("(%s) >= toDate('%s') AND (%[1]s) <= toDate('%[3]s')", t.day, first.Format(time.DateOnly), last.Format(time.DateOnly))}
}

// derived are the names that follow from a row and its place. They are the same for rows that come from the table and for
// those that duplicates were resolved to.
func derived(b bucketing, step int64, clients []string) []definition {
	c := rules.ClickHouseName
	singled := make([]string, len(clients))
	for i, name := range clients {
		singled[i] = quote(name)
	}
	client := "toInt64(0)"
	if len(clients) > 0 {
		client = "toInt64(indexOf([" + strings.Join(singled, ", ") + "], ifNull(" + c("client_id") + ", '')))"
	}
	return []definition{
		{namePlace, "ifNull(" + c(columnModel) + ", '')"},
		{nameBucket, fmt.Sprintf("intDiv(toInt64(ifNull(%s, 0)) - %d, %d)", nameTime, b.first, b.width)},
		{c("in_burn_in"), nameTime + " < place_burn_in_ends"},
		{c("block_id"), "place_block_id"},
		{nameStep, number(fmt.Sprintf("intDiv(%s - place_starts, %d)", nameTime, max(1, step)))},
		{nameClient, client},
		{nameBorn, "toInt64(" + rules.Born(rules.ClickHouse{}) + ")"},
		{nameOrigin, fmt.Sprintf("toInt64(if(ifNull(%s, 1), 0, -1 - 2 * %s - ifNull(%s, 0)))", c("in_burn_in"), nameClient, nameBorn)},
		{nameSlice, fmt.Sprintf("arrayJoin(if(%[1]s = 0, [%[2]s], [%[2]s, %[1]s]))", nameOrigin, nameStep)},
		{nameStraddles, "ifNull(" + nameTime + " + " + c("total_ms") + " > place_ends, 0)"},
		{nameMismatch, "ifNull(" + c("arm") + " <> place_arm, 0)"},
		{nameBits, fmt.Sprintf("bitOr(bitAnd(%s, toInt64(%d)), toInt64(%d * %s + %d * %s))", c("quality"), math.MaxInt64&^(experiment.QualityLabelMismatch|experiment.QualityStraddlesBlock),
			experiment.QualityLabelMismatch, nameMismatch, experiment.QualityStraddlesBlock, nameStraddles)},
		{nameSession, "cityHash64(ifNull(" + c("session_id") + ", ''))"},
		{nameProvider, "ifNull(" + c("provider") + ", '')"},
	}
}

// ident finds names of ours in SQL.
var ident = regexp.MustCompile(`\bsb_\w+`)

// with writes the definitions that some SQL needs, in order.
func with(defs []definition, sql string) string {
	needed := map[string]bool{}
	for _, name := range ident.FindAllString(sql, -1) {
		needed[name] = true
	}
	for i := len(defs) - 1; i >= 0; i-- { // a definition uses earlier ones only
		if needed[defs[i].name] {
			for _, name := range ident.FindAllString(defs[i].sql, -1) {
				needed[name] = true
			}
		}
	}
	var lines []string
	for _, d := range defs {
		if needed[d.name] {
			lines = append(lines, "  "+d.sql+" AS "+d.name)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "WITH\n" + strings.Join(lines, ",\n") + "\n"
}
