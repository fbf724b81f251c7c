package warehouse

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind is what a canonical column holds.
type kind int

const (
	text   kind = iota
	count       // whole number, at least 0
	millis      // becomes whole microseconds
	usd         // becomes whole nano-dollars
	flag
	instant // becomes microseconds since 1970
	bits
)

// canonical is a column that the analysis knows.
type canonical struct {
	name string
	kind kind
}

// Columns that every mapping must have.
const (
	columnID    = "request_id"
	columnTS    = "ts"
	columnModel = "model"
	// columnVersion is no canonical column: the greater of two records of one key is the later one.
	columnVersion = "version"
)

// columnCheapest is known to few tables: Dearer is asked where it is.
const columnCheapest = "cheapest_cost_usd"

// canonicalColumns lists the columns of the canonical log that a table can give, in its order, and version.
func canonicalColumns() []canonical {
	return []canonical{
		{columnID, text},
		{"session_id", text},
		{"client_id", text},
		{columnTS, instant},
		{columnModel, text},
		{"provider", text},
		{"arm", text},
		{"attempts", count},
		{"n_429", count},
		{"n_retries", count},
		{"ttft_ms", millis},
		{"caller_ttft_ms", millis},
		{"total_ms", millis},
		{"failed_ms", millis},
		{"input_tokens", count},
		{"cached_tokens", count},
		{"cache_write_tokens", count},
		{"output_tokens", count},
		{"reasoning_tokens", count},
		{"cost_usd", usd},
		{"cost_source", text},
		{"status", text},
		{"streamed", flag},
		{"is_byok", flag},
		{"tool_call_ok", flag},
		{"pinned_from_block", text},
		{"source", text},
		{"source_row_id", text},
		{"quality", bits},
		{columnCheapest, usd},
		{columnVersion, text},
	}
}

// ColumnNames returns the names that a mapping may use.
func ColumnNames() []string {
	var names []string
	for _, c := range canonicalColumns() {
		names = append(names, c.name)
	}
	return names
}

// Mapping says how a table's rows become canonical rows.
type Mapping struct {
	Columns map[string]string // canonical column → SQL expression of a row of the table
	Where   string            // SQL condition of the rows that are requests; "" is all
	// Names are those of a gateway, so that routing shortcuts, dates and a library's prefix are taken off models.
	Names bool
}

// MapNames returns the names of the ready mappings.
func MapNames() []string { return slices.Sorted(maps.Keys(readyMaps())) }

// readyMaps are for the tables of Langfuse (observations, with its columns of release 3) and Helicone
// (request_response_rmt).
func readyMaps() map[string]Mapping {
	// Of usage_details the keys that begin with a word, added.
	usage := func(condition string) string {
		return "arraySum(arrayMap((k, v) -> if(" + condition + ", toInt64(v), 0), mapKeys(usage_details), mapValues(usage_details)))"
	}
	known := func(condition string) string {
		return "arrayExists(k -> " + condition + ", mapKeys(usage_details))"
	}
	const input, output = "startsWith(k, 'input') OR startsWith(k, 'cache_') OR k = 'prompt_tokens'", "startsWith(k, 'output') OR k = 'completion_tokens'"
	const cached = "(" + input + ") AND position(k, 'cache') > 0 AND position(k, 'creation') = 0 AND position(k, 'write') = 0"
	const written = "(" + input + ") AND (position(k, 'creation') > 0 OR position(k, 'write') > 0)"
	between := func(to string) string {
		return "if(" + to + " IS NULL, NULL, toFloat64(dateDiff('millisecond', start_time, " + to + ")))"
	}
	return map[string]Mapping{
		"langfuse": {
			Where: "type = 'GENERATION' AND is_deleted = 0",
			Names: true,
			Columns: map[string]string{
				columnID:             "id",
				"session_id":         "trace_id",
				"client_id":          "metadata['user_id']",
				columnTS:             "start_time",
				columnModel:          "provided_model_name",
				"arm":                "metadata['arm']",
				"caller_ttft_ms":     between("completion_start_time"),
				"total_ms":           between("end_time"),
				"input_tokens":       "if(" + known(input) + ", " + usage(input) + ", NULL)",
				"cached_tokens":      "if(" + known(cached) + ", " + usage(cached) + ", NULL)",
				"cache_write_tokens": "if(" + known(written) + ", " + usage(written) + ", NULL)",
				"output_tokens":      "if(" + known(output) + ", " + usage(output) + ", NULL)",
				"cost_usd":           "nullIf(total_cost, 0)",
				"cost_source":        "'billed'",
				"status":             "multiIf(level = 'ERROR', if(completion_start_time IS NULL, 'error', 'error_midstream'), end_time IS NULL, 'cancelled', 'ok')",
				"source":             "'langfuse'",
				columnVersion:        "toString(event_ts)",
			},
		},
		"helicone": {
			Names: true,
			Columns: map[string]string{
				columnID:             "request_id",
				"session_id":         "properties['Helicone-Session-Id']",
				"client_id":          "user_id",
				columnTS:             "request_created_at",
				columnModel:          "model",
				"provider":           "lower(provider)",
				"arm":                "properties['arm']",
				"caller_ttft_ms":     "time_to_first_token",
				"total_ms":           "latency",
				"input_tokens":       "if(prompt_tokens < 0, NULL, prompt_tokens + greatest(prompt_cache_read_tokens, 0) + greatest(prompt_cache_write_tokens, 0))",
				"cached_tokens":      "if(prompt_tokens < 0, NULL, greatest(prompt_cache_read_tokens, 0))",
				"cache_write_tokens": "if(prompt_tokens < 0, NULL, greatest(prompt_cache_write_tokens, 0))",
				"output_tokens":      "if(completion_tokens < 0, NULL, completion_tokens)",
				"cost_usd":           "nullIf(cost, 0) / 1000000000",
				"cost_source":        "'billed'",
				"status":             "multiIf(cache_enabled AND cache_reference_id != '00000000-0000-0000-0000-000000000000', 'ok_gateway_cache', status BETWEEN 200 AND 299, 'ok', status IN (-3, 499), 'cancelled', 'error')",
				"source":             "'helicone'",
				columnVersion:        "toString(updated_at)",
			},
		},
	}
}

// NewMapping lays the expressions of a configuration over a ready mapping. ready is its name, or "" for none.
func NewMapping(ready string, columns map[string]string) (Mapping, error) {
	m := Mapping{Columns: map[string]string{}}
	if ready != "" {
		base, ok := readyMaps()[ready]
		if !ok {
			return m, fmt.Errorf("map %q: there are %s", ready, strings.Join(MapNames(), " and "))
		}
		m.Where, m.Names = base.Where, base.Names
		maps.Copy(m.Columns, base.Columns)
	}
	known := ColumnNames()
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if !slices.Contains(known, name) {
			return m, fmt.Errorf("column %s: not a column of the canonical log", name)
		}
		if err := plainExpression(columns[name]); err != nil {
			return m, fmt.Errorf("column %s: %w", name, err)
		}
		if m.Columns[name] = columns[name]; columns[name] == "" {
			delete(m.Columns, name) // takes a column of the ready mapping back
		}
	}
	for _, name := range []string{columnID, columnTS, columnModel} {
		if m.Columns[name] == "" {
			return m, fmt.Errorf("column %s: needs an expression", name)
		}
	}
	return m, nil
}

// plainExpression refuses what would not stay inside its parentheses, for better messages than the server's.
func plainExpression(sql string) error {
	depth := 0
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; c {
		case '\'', '"', '`':
			end := quoteEnd(sql, i)
			if end < 0 {
				return fmt.Errorf("%q has no closing %c", sql, c)
			}
			i = end
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ';':
			return fmt.Errorf("%q is more than one expression", sql)
		case '-', '/':
			if strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "/*") {
				return fmt.Errorf("%q holds a comment", sql)
			}
		case ',':
			if depth == 0 {
				return fmt.Errorf("%q is more than one expression", sql)
			}
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return fmt.Errorf("%q has unbalanced parentheses", sql)
	}
	return nil
}

// quoteEnd is the place of the quote that closes the one at start.
func quoteEnd(sql string, start int) int {
	for i := start + 1; i < len(sql); i++ {
		switch sql[i] {
		case '\\':
			i++
		case sql[start]:
			return i
		}
	}
	return -1
}
