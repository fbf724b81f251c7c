package ingest

import "strings"

// FormatField says which keys of a record fill a column of `requests`.
type FormatField struct {
	Column string
	Keys   []string // the first that is not null counts; a dot leads into a nested value, or into JSON in a text
	Unit   string   // of the value where it is not that of the column, such as "s"
}

// FormatFields returns what a gateway's format fills straight from a key, in the order of the columns of its records. Columns that
// follow from several keys, such as a status, are not among them. The canonical format has none.
func FormatFields(name string) []FormatField {
	units := map[unit]string{secondsUnit: "s", unixSeconds: "unix s", unixNanos: "unix ns", nanoDollars: "USD · 10⁻⁹", optionalUnit: "0 is unknown"}
	var fields []FormatField
	for _, m := range mappings() {
		if m.name != name {
			continue
		}
		for _, f := range m.fields {
			field := FormatField{Column: f.column, Unit: units[f.unit]}
			for path := range strings.SplitSeq(f.path, "|") {
				field.Keys = append(field.Keys, strings.ReplaceAll(strings.ReplaceAll(path, "!/", "."), "/", "."))
			}
			known := false
			for i := range fields { // a format with two containers has two mappings
				if fields[i].Column == field.Column && strings.Join(fields[i].Keys, " ") == strings.Join(field.Keys, " ") {
					known = true
				}
			}
			if !known {
				fields = append(fields, field)
			}
		}
	}
	return fields
}
