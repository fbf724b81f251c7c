package ingest

import (
	"cmp"
	"fmt"
	"slices"
)

// UnreadField is a column of a file of which values could not be read. They became NULL in rows that are kept.
type UnreadField struct {
	Column string // of `requests`, or attempt_list
	N      int64  // values
	Line   int64  // of the first of them; in files of columns the number of its row
	Text   string // the first of them; cut, and escaped for a terminal
}

// String is the column with the first value, as errors show it.
func (u UnreadField) String() string { return fmt.Sprintf("%s: unreadable, %q", u.Column, u.Text) }

// addUnread counts values that could not be read, and keeps the first of each column by line.
func (t *fileTally) addUnread(fields ...UnreadField) {
	for _, u := range fields {
		if before, known := t.unread[u.Column]; known {
			n := before.N + u.N
			if before.Line <= u.Line {
				u = before
			}
			u.N = n
		}
		t.unread[u.Column] = u
	}
}

// unreadFields lists the columns with values that could not be read, by falling count, then name.
func (t *fileTally) unreadFields() []UnreadField {
	var all []UnreadField
	for _, u := range t.unread {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b UnreadField) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Column, b.Column))
	})
	return all
}
