package reports

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"switchback/stats"
)

// Validate returns every reason why doc cannot be rendered: a wrong schema version, unnamed arms, a report date that is none,
// a confidence outside (0,1), two rows of one metric and scope, an unknown verdict, or a number that is not finite.
func (doc Document) Validate() error {
	var problems []error
	bad := func(field, format string, args ...any) {
		problems = append(problems, fmt.Errorf("results: %s: %s", field, fmt.Sprintf(format, args...)))
	}
	if doc.SchemaVersion != SchemaVersion {
		bad("schema_version", "is %d, this program reads and writes %d", doc.SchemaVersion, SchemaVersion)
	}
	if doc.Arms.Control == "" || doc.Arms.Treatment == "" || doc.Arms.Control == doc.Arms.Treatment {
		bad("arms", "need two different names, got %q and %q", doc.Arms.Control, doc.Arms.Treatment)
	}
	if _, err := time.Parse(time.DateOnly, doc.ReportDate); err != nil {
		bad("report_date", "%q is not a date like 2026-11-08", doc.ReportDate)
	}
	if c := doc.Method.Confidence; !(c > 0 && c < 1) {
		bad("method.confidence", "%v is outside (0,1)", c)
	}
	seen := map[[2]string]bool{}
	for i, e := range doc.Metrics {
		field := fmt.Sprintf("metrics[%d]", i)
		if e.ID == "" || e.Scope == "" {
			bad(field, "has no id or no scope")
		}
		key := [2]string{e.ID, e.Scope}
		if seen[key] {
			bad(field, "%s in scope %s comes twice", e.ID, e.Scope)
		}
		seen[key] = true
		if !knownVerdict(e.Verdict) {
			bad(field, "unknown verdict %q", e.Verdict)
		}
	}
	for _, path := range notFinite(reflect.ValueOf(doc), "") {
		bad(path, "not a finite number")
	}
	return errors.Join(problems...)
}

func knownVerdict(v string) bool {
	switch v {
	case stats.VerdictBetter, stats.VerdictWorse, stats.VerdictHigher, stats.VerdictLower, stats.VerdictNone, stats.VerdictNotMeasurable:
		return true
	}
	return false
}

// notFinite returns the JSON-like paths of all NaN and infinite floats under v.
func notFinite(v reflect.Value, path string) []string {
	var found []string
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			found = append(found, path)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			found = notFinite(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, notFinite(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			found = append(found, notFinite(v.Field(i), name)...)
		}
	}
	return found
}
