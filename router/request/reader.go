package request

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// reader reads the fields of an object strictly, and collects every mistake.
type reader struct {
	file   string
	path   string
	fields []field
	used   []bool
	known  []string
	line   int
	errs   *[]error
}

// newReader starts at the root of a file.
func newReader(file string, v value) (*reader, *[]error) {
	errs := &[]error{}
	r := &reader{file: file, errs: errs, line: v.line}
	if v.is != isObject {
		r.fail(v.line, "", "want an object, got "+kindNames[v.is], "")
		return r, errs
	}
	r.fields, r.used = v.fields, make([]bool, len(v.fields))
	return r, errs
}

func (r *reader) fail(line int, name, problem, hint string) {
	*r.errs = append(*r.errs, &FieldError{File: r.file, Line: line, Field: join(r.path, name), Problem: problem, Hint: hint})
}

// take returns the field, nil when it is absent or null.
func (r *reader) take(name string) *value {
	r.known = append(r.known, name)
	for i := range r.fields {
		if r.fields[i].name == name {
			r.used[i] = true
			if r.fields[i].is == isNull {
				return nil
			}
			return &r.fields[i].value
		}
	}
	return nil
}

// close reports the fields that nobody took.
func (r *reader) close() {
	for i := range r.fields {
		if !r.used[i] {
			r.fail(r.fields[i].line, r.fields[i].name, "unknown key", hintFor(r.fields[i].name, r.known))
		}
	}
}

func (r *reader) typed(name string, want kind) *value {
	v := r.take(name)
	if v != nil && v.is != want {
		r.fail(v.line, name, fmt.Sprintf("want %s, got %s", kindNames[want], kindNames[v.is]), "")
		return nil
	}
	return v
}

func (r *reader) text(name string) string {
	if v := r.typed(name, isText); v != nil {
		return v.text
	}
	return ""
}

// choice is a text out of a list; empty when absent.
func (r *reader) choice(name string, allowed ...string) string {
	v := r.typed(name, isText)
	if v == nil {
		return ""
	}
	return r.oneOf(v, name, allowed)
}

func (r *reader) oneOf(v *value, name string, allowed []string) string {
	for _, a := range allowed {
		if v.text == a {
			return a
		}
	}
	hint := hintFor(v.text, allowed)
	if !strings.HasPrefix(hint, "did you") {
		hint = "one of " + strings.Join(allowed, ", ")
	}
	r.fail(v.line, name, fmt.Sprintf("unknown value %q", v.text), hint)
	return ""
}

func (r *reader) flag(name string) *bool {
	if v := r.typed(name, isBool); v != nil {
		return &v.truth
	}
	return nil
}

func (r *reader) truth(name string) bool {
	b := r.flag(name)
	return b != nil && *b
}

// number is a number in [least, most], given as a number or, when quoted is set, as a string that holds one.
func (r *reader) number(name string, least, most float64, quoted bool) (float64, bool) {
	v := r.take(name)
	if v == nil {
		return 0, false
	}
	return r.inRange(v, name, least, most, quoted)
}

func (r *reader) inRange(v *value, name string, least, most float64, quoted bool) (float64, bool) {
	x := v.number
	switch {
	case v.is == isText && quoted:
		var err error
		if x, err = strconv.ParseFloat(v.text, 64); err != nil || strings.ContainsAny(v.text, "xX_") {
			r.fail(v.line, name, fmt.Sprintf("%q is not a number", v.text), "")
			return 0, false
		}
	case v.is != isNumber:
		r.fail(v.line, name, "want a number, got "+kindNames[v.is], "")
		return 0, false
	}
	if !(x >= least && x <= most) {
		r.fail(v.line, name, fmt.Sprintf("%v is not in [%v, %v]", x, least, most), "")
		return 0, false
	}
	return x, true
}

func (r *reader) orZero(name string, least, most float64) float64 {
	x, _ := r.number(name, least, most, false)
	return x
}

func (r *reader) count(name string, most int) int {
	v := r.take(name)
	if v == nil {
		return 0
	}
	x, ok := r.inRange(v, name, 0, float64(most), false)
	if ok && x != float64(int(x)) {
		r.fail(v.line, name, fmt.Sprintf("%v is not a whole number", x), "")
		return 0
	}
	return int(x)
}

// texts is a list of texts that are not empty.
func (r *reader) texts(name string) []string {
	v := r.typed(name, isList)
	if v == nil {
		return nil
	}
	list := make([]string, 0, len(v.list))
	for i := range v.list {
		item := &v.list[i]
		at := fmt.Sprintf("%s[%d]", name, i)
		switch {
		case item.is != isText:
			r.fail(item.line, at, "want a string, got "+kindNames[item.is], "")
		case item.text == "":
			r.fail(item.line, at, "empty", "")
		default:
			list = append(list, item.text)
		}
	}
	return list
}

// object reads a nested object with f.
func (r *reader) object(name string, f func(*reader)) bool {
	v := r.typed(name, isObject)
	if v == nil {
		return false
	}
	r.nested(v, name, f)
	return true
}

func (r *reader) nested(v *value, name string, f func(*reader)) {
	n := &reader{file: r.file, path: join(r.path, name), fields: v.fields, used: make([]bool, len(v.fields)), line: v.line, errs: r.errs}
	f(n)
	n.close()
}

// objects reads a list of objects with f.
func (r *reader) objects(name string, f func(i int, n *reader)) {
	v := r.typed(name, isList)
	if v == nil {
		return
	}
	for i := range v.list {
		item, at := &v.list[i], fmt.Sprintf("%s[%d]", name, i)
		if item.is != isObject {
			r.fail(item.line, at, "want an object, got "+kindNames[item.is], "")
			continue
		}
		r.nested(item, at, func(n *reader) { f(i, n) })
	}
}

// ignore takes fields that are allowed and not used.
func (r *reader) ignore(names ...string) {
	for _, name := range names {
		r.take(name)
	}
}

// hintFor names the nearest known word, or lists all when none is near.
func hintFor(word string, known []string) string {
	best, distance := "", 1+len(word)/3
	for _, k := range known {
		if len(word) > 2*len(k)+3 {
			continue // nothing like it, and dear to compare
		}
		if d := editDistance(strings.ToLower(word), k); d <= distance && (best == "" || d < distance) {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	if len(known) > 0 && len(known) <= 20 {
		return "known: " + strings.Join(known, ", ")
	}
	return ""
}

// editDistance is the Levenshtein distance.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// joined is all mistakes as one error, nil when there are none.
func joined(errs *[]error) error { return errors.Join(*errs...) }
