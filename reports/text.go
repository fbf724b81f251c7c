package reports

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// style says how a span is set.
type style int

const (
	plain style = iota
	strong
	code  // names that come from outside: models, arms, files, ids
	small // remarks beside a number
	breakLine
)

// span is a piece of text in one style.
type span struct {
	Text  string
	Style style
}

// text is a line of spans.
type text []span

func words(s string) text {
	if s == "" {
		return nil
	}
	return text{{Text: s}}
}

func bold(s string) text  { return text{{Text: s, Style: strong}} }
func aside(s string) text { return text{{Text: s, Style: small}} }
func name(s string) text  { return text{{Text: clean(s), Style: code}} }

// sentence replaces each {} in pattern with the next argument, a string or a text.
func sentence(pattern string, args ...any) text {
	var t text
	for _, arg := range args {
		before, after, _ := strings.Cut(pattern, "{}")
		if before != "" {
			t = append(t, span{Text: before})
		}
		switch a := arg.(type) {
		case text:
			t = append(t, a...)
		case string:
			t = append(t, span{Text: a})
		}
		pattern = after
	}
	if pattern != "" {
		t = append(t, span{Text: pattern})
	}
	return t
}

// lines joins texts with line breaks, leaving out the empty ones.
func lines(parts ...text) text {
	var t text
	for _, p := range parts {
		if len(p) == 0 {
			continue
		}
		if len(t) > 0 {
			t = append(t, span{Style: breakLine})
		}
		t = append(t, p...)
	}
	return t
}

// series joins texts as people do: a, b and c.
func series(items []text) text {
	var t text
	for i, item := range items {
		switch {
		case i == 0:
		case i == len(items)-1:
			t = append(t, span{Text: " and "})
		default:
			t = append(t, span{Text: ", "})
		}
		t = append(t, item...)
	}
	return t
}

// String returns the text without its styles.
func (t text) String() string {
	var b strings.Builder
	for _, s := range t {
		if s.Style == breakLine {
			b.WriteByte(' ')
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

const longestName = 80 // runes of a name that a report prints whole

// clean makes a name from outside safe to print: on one line, and cut in the middle when it is long.
func clean(s string) string { return clip(oneLine(s), longestName) }

// oneLine makes text from outside safe to print on one line: broken UTF-8, control characters and characters that nobody sees,
// or that turn the direction of writing, become U+FFFD, white space becomes spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point), r == '\u2028', r == '\u2029':
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// clip cuts the middle of a string that is wider than n letters.
func clip(s string, n int) string {
	if letters(s) <= n {
		return s
	}
	r := []rune(s)
	room := (n - 1) * 2 / 3
	head := fitting(r, room)
	slices.Reverse(r)
	tail := fitting(r, n-1-room)
	slices.Reverse(r)
	return string(r[:head]) + "…" + string(r[len(r)-tail:])
}

// fitting is how many of the first runes fit into so many letters.
func fitting(runes []rune, room int) int {
	for i, r := range runes {
		if room -= letters(string(r)); room < 0 {
			return i
		}
	}
	return len(runes)
}
