package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// otherNames are what exports call canonical columns, letters and digits only.
func otherNames() map[string]string {
	return map[string]string{
		"id": "request_id", "reqid": "request_id", "uuid": "request_id", "requestuuid": "request_id", "generationid": "request_id",
		"timestamp": "ts", "time": "ts", "datetime": "ts", "date": "ts", "createdat": "ts", "created": "ts", "starttime": "ts", "startedat": "ts", "requesttime": "ts",
		"modelname": "model", "modelid": "model", "modelslug": "model", "providername": "provider",
		"session": "session_id", "conversationid": "session_id", "traceid": "session_id", "user": "client_id", "userid": "client_id", "customerid": "client_id",
		"latency": "total_ms", "latencyms": "total_ms", "duration": "total_ms", "durationms": "total_ms", "elapsedms": "total_ms",
		"timetofirsttoken": "ttft_ms", "timetofirsttokenms": "ttft_ms", "firsttokenms": "ttft_ms",
		"prompttokens": "input_tokens", "completiontokens": "output_tokens", "cachereadtokens": "cached_tokens",
		"price": "cost_usd", "spend": "cost_usd", "totalcost": "cost_usd", "costdollars": "cost_usd", "stream": "streamed", "variant": "arm", "group": "arm",
		"num429": "n_429", "count429": "n_429", "retries": "n_retries", "retrycount": "n_retries",
	}
}

// nearColumn returns the canonical column that a name stands for in some other log, that it is without its unit, or that it
// differs from by one letter; "" when there is none.
func nearColumn(name string) string {
	plain := lettersOf(name)
	if len(plain) == 0 || strings.HasSuffix(name, "_s") || strings.HasSuffix(name, "_us") { // of another unit
		return ""
	}
	var columns []string
	for _, c := range requestColumns() {
		columns = append(columns, c.name)
	}
	for _, c := range columns {
		whole := lettersOf(c)
		if plain == whole || plain == strings.TrimSuffix(whole, "ms") || plain == strings.TrimSuffix(whole, "usd") || plain == strings.TrimSuffix(whole, "tokens") {
			return c
		}
	}
	if c, known := otherNames()[plain]; known {
		return c
	}
	if len(plain) > 3 {
		for _, c := range columns {
			if oneLetterOff(plain, lettersOf(c)) {
				return c
			}
		}
	}
	return ""
}

// lettersOf is a name in lower case without what is neither a letter nor a digit.
func lettersOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// oneLetterOff tells whether one letter more, less or other, or two that changed places, make b of a.
func oneLetterOff(a, b string) bool {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	a, b = a[start:], b[start:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// unknownColumns lists names that a format does not know, in a canonical log each with the column that may be meant, of
// those without a value.
func unknownColumns(format string, unknown, missing []string) string {
	var words []string
	for _, name := range unknown {
		word := rejectText([]byte(name))
		if near := nearColumn(name); near != "" && format == FormatCanonical && slices.Contains(missing, near) {
			word += " (did you mean " + near + "?)"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// mostlyCanonical tells whether names are, or stand for, two of the required columns, or half of them for any.
func mostlyCanonical(names []string) bool {
	known, required := 0, 0
	for _, name := range names {
		column := nearColumn(name)
		if column != "" {
			known++
		}
		if isRequired(column) {
			required++
		}
	}
	return required >= 2 || known >= 2 && 2*known >= len(names)
}

// almostCanonical tells what keeps a log of these names from being canonical, when most of them are canonical ones: the
// required columns that it lacks, and the names that may stand for them.
func almostCanonical(what string, names []string) (reason, hint string) {
	if !mostlyCanonical(names) {
		return "", ""
	}
	var lacks, renames []string
	for _, column := range requiredColumns() {
		if slices.Contains(names, column) {
			continue
		}
		at := slices.IndexFunc(names, func(name string) bool { return nearColumn(name) == column })
		if at < 0 {
			lacks = append(lacks, fmt.Sprintf("%s %s is missing", what, column))
			continue
		}
		name := rejectText([]byte(names[at]))
		lacks = append(lacks, fmt.Sprintf("%s %s is missing (it has %s)", what, column, name))
		renames = append(renames, name+" to "+column)
	}
	if len(lacks) == 0 {
		return "", ""
	}
	hint = "a canonical log has at least " + strings.Join(requiredColumns(), ", ")
	if len(renames) > 0 {
		hint = "rename " + strings.Join(renames, ", ")
	}
	return "looks canonical, but " + strings.Join(lacks, ", "), hint
}

// refuseColumns returns an error when a file of columns lacks a required one.
func refuseColumns(path string, names []string) error {
	for _, column := range requiredColumns() {
		if slices.Contains(names, column) {
			continue
		}
		reason, hint := almostCanonical("column", names)
		if reason == "" {
			reason, hint = "column "+column+" is missing", "a canonical log has at least "+strings.Join(requiredColumns(), ", ")
		}
		return inputError{path, reason, hint}
	}
	return nil
}

// nearFormat tells what keeps the first lines of a file from being of a format, "" when nothing of them looks like one.
func nearFormat(lines [][]byte) (reason, hint string) {
	if lines[0][0] == '[' {
		return "a JSON array; canonical JSON has one object per line", "write its records one below the other: jq -c '.[]' FILE > FILE.jsonl"
	}
	if v, ok := parseJSON(lines[0]); ok {
		return almostCanonical("key", v.keys())
	}
	for _, separator := range []struct{ sign, name string }{{",", ""}, {";", "semicolons"}, {"\t", "tabs"}, {"|", "|"}} {
		names := headerNames(lines[0], separator.sign)
		if separator.name == "" {
			if reason, hint = almostCanonical("column", names); reason != "" {
				return reason, hint
			}
			continue
		}
		if mostlyCanonical(names) {
			return "its fields are separated by " + separator.name + ", not by commas", "export it as CSV with commas, or as JSON lines"
		}
	}
	return "", ""
}

// keys are the names of the members of an object.
func (n node) keys() []string {
	var names []string
	for _, m := range n.members {
		names = append(names, m.key)
	}
	return names
}

func headerNames(line []byte, separator string) []string {
	var names []string
	for field := range bytes.SplitSeq(line, []byte(separator)) {
		names = append(names, strings.Trim(strings.TrimSpace(validText(field)), `"`))
	}
	return names
}
