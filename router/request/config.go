package request

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode"

	"switchback/router"
)

// readConfig overrides constants of the router by the names of their fields in snake case; lengths of time are in seconds and end in _s:
// router.cost.ttft, router.cap.hold_s.
func readConfig(r *reader, c *router.Config) { readStruct(r, reflect.ValueOf(c).Elem()) }

func readStruct(r *reader, v reflect.Value) {
	for i := range v.NumField() {
		f, name := v.Field(i), snake(v.Type().Field(i).Name)
		switch {
		case f.Type() == reflect.TypeFor[router.Micros]():
			if x, ok := r.number(name+"_s", 0, 1e9, false); ok {
				f.SetInt(int64(math.Round(x * float64(router.Second))))
			}
		case f.Kind() == reflect.Struct:
			r.object(name, func(n *reader) { readStruct(n, f) })
		case f.Kind() == reflect.Float64:
			if x, ok := r.number(name, 0, math.MaxFloat64, false); ok {
				f.SetFloat(x)
			}
		case f.Kind() == reflect.Int:
			if v := r.take(name); v != nil {
				if x, ok := r.inRange(v, name, 0, 1e9, false); ok && x == math.Trunc(x) {
					f.SetInt(int64(x))
				} else if ok {
					r.fail(v.line, name, fmt.Sprintf("%v is not a whole number", x), "")
				}
			}
		case f.Kind() == reflect.Bool:
			if b := r.flag(name); b != nil {
				f.SetBool(*b)
			}
		case f.Kind() == reflect.Slice: // sizes in tokens
			if v := r.typed(name, isList); v != nil {
				sizes := make([]int, 0, len(v.list))
				for k := range v.list {
					x, _ := r.inRange(&v.list[k], fmt.Sprintf("%s[%d]", name, k), 1, 1e9, false)
					sizes = append(sizes, int(x))
				}
				f.Set(reflect.ValueOf(sizes))
			}
		}
	}
}

// judge reports what router.Config.Validate found, each constant on its own.
func (r *reader) judge(found error) {
	all, ok := found.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, err := range all.Unwrap() {
		name, problem, _ := strings.Cut(strings.TrimPrefix(err.Error(), "router config: "), ": ")
		line, fields := r.line, r.fields
		for _, part := range strings.Split(name, ".") {
			for i := range fields {
				if fields[i].name == part || fields[i].name == part+"_s" {
					line, fields = fields[i].line, fields[i].fields
					break
				}
			}
		}
		r.fail(line, name, problem, "")
	}
}

// snake turns RateLimitUSD into rate_limit_usd and SnapshotAge into snapshot_age.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, c := range letters {
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
