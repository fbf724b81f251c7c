package reports

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"time"

	"switchback/stats"
)

// longestWindow bounds what a report can show by day.
const longestWindow = 10 * 366 * 24 * time.Hour

// largestNumber bounds what a report can draw: no time, amount or rate of an experiment comes near it.
const largestNumber = 1e18

// Validate returns every reason why doc cannot be rendered: a wrong schema version, unnamed arms, a date that is none, times that
// run backwards or on for more than ten years, a confidence outside (0,1), two rows of one metric and scope, an unknown verdict,
// or a number that is not finite.
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
	doc.validateSeries(bad)
	for _, path := range notFinite(reflect.ValueOf(doc), "") {
		bad(path, "not a finite number below %g", largestNumber)
	}
	return errors.Join(problems...)
}

// validateSeries checks the times of the window and of the series behind the figures.
func (doc Document) validateSeries(bad func(field, format string, args ...any)) {
	if w := doc.Window; w.End.Before(w.Start) || w.End.Sub(w.Start) > longestWindow {
		bad("window", "from %s to %s", instant(w.Start), instant(w.End))
	}
	for i, b := range doc.Blocks {
		if !b.Starts.Before(b.Ends) || b.BurnInEnds.Before(b.Starts) || b.BurnInEnds.After(b.Ends) || b.Ends.Sub(b.Starts) > longestWindow {
			bad(fmt.Sprintf("blocks[%d]", i), "from %s to %s with a burn-in until %s", instant(b.Starts), instant(b.Ends), instant(b.BurnInEnds))
		}
	}
	for i, p := range doc.SinceSwitch {
		if !(0 <= p.FromMinute && p.FromMinute < p.ToMinute && p.ToMinute <= longestWindow.Minutes()) {
			bad(fmt.Sprintf("since_switch[%d]", i), "from minute %v to minute %v", p.FromMinute, p.ToMinute)
		}
	}
	for i, h := range doc.History {
		if _, err := time.Parse(time.DateOnly, h.ReportDate); err != nil {
			bad(fmt.Sprintf("history[%d].report_date", i), "%q is not a date like 2026-11-08", h.ReportDate)
		}
	}
}

func knownVerdict(v string) bool {
	switch v {
	case stats.VerdictBetter, stats.VerdictWorse, stats.VerdictHigher, stats.VerdictLower, stats.VerdictNone, stats.VerdictNotMeasurable:
		return true
	}
	return false
}

// notFinite returns the JSON-like paths of all floats under v that are NaN, infinite or too large to draw.
func notFinite(v reflect.Value, path string) []string {
	var found []string
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.Abs(f) > largestNumber {
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
	case reflect.Map:
		for _, key := range v.MapKeys() {
			found = append(found, notFinite(v.MapIndex(key), fmt.Sprintf("%s[%v]", path, key))...)
		}
		sort.Strings(found)
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
