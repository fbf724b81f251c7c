package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// configReader fills a configuration from a TOML document value by value, so that a value that cannot be read hides no
// other fault of the file.
type configReader struct {
	meta   toml.MetaData
	faults []keyFault
}

// keyFault is what is wrong with a key as it stands in the file.
type keyFault struct {
	key  string
	text string // with the key
	hint string
}

// readTables fills a configuration from the text of a file. The error is one of syntax; all else that is wrong is returned
// as faults, whose keys keep the values that they had, or none.
func readTables(text string, c *config) (toml.MetaData, []keyFault, error) {
	var top map[string]toml.Primitive
	meta, err := toml.Decode(text, &top)
	if err != nil {
		return meta, nil, err
	}
	r := configReader{meta: meta}
	r.table(top, reflect.ValueOf(c).Elem(), "")
	return r.meta, r.faults, nil
}

func (r *configReader) fault(key, hint, format string, args ...any) {
	r.faults = append(r.faults, keyFault{key, key + ": " + fmt.Sprintf(format, args...), hint})
}

// table fills a struct. prefix is what its keys begin with.
func (r *configReader) table(values map[string]toml.Primitive, into reflect.Value, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key := prefix + name
		field, known := fieldOf(into, name)
		if !known {
			r.faults = append(r.faults, keyFault{key, "unknown key " + key, nearestKey(key, configKeys())})
			continue
		}
		r.value(key, values[name], field)
	}
}

// fieldOf returns the field of a struct with a name in the file.
func fieldOf(into reflect.Value, name string) (reflect.Value, bool) {
	for field, value := range into.Fields() {
		if keyOf(field) == name && name != "" {
			return value, true
		}
	}
	return reflect.Value{}, false
}

func (r *configReader) value(key string, v toml.Primitive, into reflect.Value) {
	if into.Kind() == reflect.Pointer { // a table that may be absent
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	isTime := into.Type() == reflect.TypeFor[time.Time]()
	if isTable := into.Kind() == reflect.Struct && !isTime || into.Kind() == reflect.Map; isTable {
		if value := r.plain(v); kindOfValue(value) != kindTable {
			r.fault(key, fmt.Sprintf("it is a table: write [%s] on a line of its own, its keys below", key), "is %s, not a table", kindOfValue(value))
			return
		}
	}
	switch {
	case into.Type() == reflect.TypeFor[time.Duration]():
		into.SetInt(int64(r.length(key, r.plain(v))))
	case isTime:
		into.Set(reflect.ValueOf(r.instant(key, r.plain(v))))
	case into.Kind() == reflect.Struct:
		var values map[string]toml.Primitive
		if err := r.meta.PrimitiveDecode(v, &values); err != nil {
			panic("decode table: " + err.Error()) // takes every value
		}
		r.table(values, into, key+".")
	default:
		if err := r.meta.PrimitiveDecode(v, into.Addr().Interface()); err != nil {
			_, at, reason := tomlParts(err)
			if at == "" {
				at = key
			}
			r.fault(at, tomlHint(at, reason), "%s", plainReason(reason))
		}
	}
}

// plain returns a value as the library reads it: string, int64, float64, bool, time.Time, a list or a map.
func (r *configReader) plain(v toml.Primitive) (value any) {
	if err := r.meta.PrimitiveDecode(v, &value); err != nil {
		panic("decode into any: " + err.Error()) // takes every value
	}
	return value
}

// length reads a length of time, which has a unit: what a number without one means, the next reader could not know.
func (r *configReader) length(key string, value any) time.Duration {
	hint := "write a number with its unit in quotes: " + lengthExample(key)
	switch v := value.(type) {
	case string:
		d, err := time.ParseDuration(v)
		if err == nil {
			return d
		}
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			r.fault(key, hint, "%q has no unit", v)
		} else {
			r.fault(key, hint+", in h, m and s", "%q is not a length of time", v)
		}
	case int64, float64:
		r.fault(key, hint, "%v has no unit", v)
	default:
		r.fault(key, hint, "is %s, not a length of time", kindOfValue(v))
	}
	return 0
}

// lengthExample shows how the length of time under a key is written.
func lengthExample(key string) string {
	_, name, _ := strings.Cut(key, ".")
	for _, example := range []struct{ name, value string }{{"burn_in", "1h"}, {"max_time", "10m"}} {
		if name == example.name {
			return fmt.Sprintf("%s = %q", name, example.value)
		}
	}
	return `block = "3h"`
}

// isLength tells whether a key holds a length of time.
func isLength(key string) bool {
	table := reflect.TypeFor[config]()
	for name := range strings.SplitSeq(key, ".") {
		if table.Kind() == reflect.Pointer {
			table = table.Elem()
		}
		if table.Kind() != reflect.Struct {
			return false
		}
		field, known := fieldOf(reflect.Zero(table), name)
		if !known {
			return false
		}
		table = field.Type()
	}
	return table == reflect.TypeFor[time.Duration]()
}

// instant reads an instant. One without a zone is UTC.
func (r *configReader) instant(key string, value any) time.Time {
	example := "2026-11-02T00:00:00Z"
	switch v := value.(type) {
	case time.Time:
		if v.Location().String() != "time-local" {
			return asUTC(v)
		}
		r.fault(key, "write an instant with its date: "+lastWord(key)+" = "+example, "is a time of day without a date")
		return time.Time{}
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t.UTC()
		}
		for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.DateTime} {
			if _, err := time.Parse(layout, v); err == nil {
				example = v
			}
		}
		r.fault(key, "write an instant without quotes: "+lastWord(key)+" = "+example, "%q is text, not an instant", v)
	default:
		r.fault(key, "write an instant without quotes: "+lastWord(key)+" = "+example, "is %s, not an instant", kindOfValue(v))
	}
	return time.Time{}
}

// lastWord is a dotted key without its table.
func lastWord(key string) string { return key[strings.LastIndex(key, ".")+1:] }

const kindTable = "a table"

// kindOfValue names what a value of a TOML file is.
func kindOfValue(value any) string {
	switch value.(type) {
	case string:
		return "text"
	case int64, float64:
		return "a number"
	case bool:
		return "true or false"
	case time.Time:
		return "an instant"
	case map[string]any:
		return kindTable
	}
	return "a list"
}
