package main

import (
	"regexp"
	"strings"
)

// tomlFault is what the TOML library may find wrong, a pattern of its words, and what to do about it.
type tomlFault struct{ reason, hint string }

// tomlFaults lists them; the first that fits counts.
func tomlFaults() []tomlFault {
	return []tomlFault{
		{`^expected value but found '\\n'|unexpected EOF; expected value`, `give the key a value, or leave the line out`},
		{`^expected value but found '='`, `one = stands between a key and its value`},
		{`^expected value but found '[“”‘’]`, `write straight quotes: "`},
		{`^expected value but found|^invalid float|^expected a digit`, `text stands in quotes: control = "price"`},
		{`strings cannot contain newlines|expected '"'|expected "'"`, `close the quotes on the same line`},
		{`to end table name|table name`, `a table stands in brackets on a line of its own: [design]`},
		{`expected '\.' or '='|key separator|^unexpected '[=.]'`, `a key and its value stand on one line: days = 7`},
		{`^expected a comma|^unexpected comma`, `a list is files = ["a.csv", "b.csv"], with commas between and ] at its end`},
		{`^expected a top-level item to end`, `one key on a line; text and lengths of time stand in quotes: block = "3h"`},
		{`invalid datetime`, `write an instant without quotes: start = 2026-11-02T00:00:00Z`},
		{`hexadecimal digits|invalid escape|Escaped character`, `a path with backslashes stands in single quotes: 'C:\logs\a.csv'`},
		{`already been defined|already created`, `a key, and a [table], stands once in the file`},
		{`leading zeroes|floats must start with a digit`, `write numbers as 3 and 0.95`},
		{`is not a metric id`, `write ids of metrics in quotes: ["error_rate"]`},
		{`destination has type slice`, `write a list: ["a.csv"]`},
		{`TOML value has type string; destination has type (integer|float)`, `write a number without quotes`},
		{`destination has type integer`, `write a whole number`},
		{`destination has type string`, `write text in quotes`},
		{`invalid UTF-8|control characters|NUL`, `save the file as UTF-8 text`},
	}
}

// tomlHint returns the hint for what the TOML library finds wrong with a key, "" when it names none.
func tomlHint(key, reason string) string {
	for _, h := range tomlFaults() {
		if regexp.MustCompile(h.reason).MatchString(reason) {
			if isLength(key) {
				return strings.ReplaceAll(h.hint, lengthExample(""), lengthExample(key))
			}
			return h.hint
		}
	}
	return "the file is TOML: strings and lengths of time stand in quotes, instants and numbers do not"
}

// plainReason tells a reason of the TOML library without the words of its own code.
func plainReason(reason string) string {
	reason = regexp.MustCompile(`type mismatch for \S+: `).ReplaceAllString(reason, "")
	reason = strings.Replace(reason, "incompatible types: TOML value has type ", "incompatible types: the value is a ", 1)
	reason = strings.Replace(reason, "; destination has type ", ", not a ", 1)
	reason = strings.NewReplacer("is a integer", "is an integer", "not a integer", "not an integer", "not a slice", "not a list", "is a int64", "is an integer", "is a float64", "is a float").Replace(reason)
	if strings.HasPrefix(reason, "Key '") || strings.HasPrefix(reason, "Invalid ") {
		reason = strings.ToLower(reason[:1]) + strings.TrimSuffix(reason[1:], ".")
	}
	return reason
}
