package ingest

import (
	"slices"

	"switchback/experiment"
)

// What convert reads for a column. A value that is absent, null or a word for "no value" leaves the column unknown. One that
// is there and cannot be read does too, and is told, as it is for the fields of a mapping.

// told returns whether a value was read, and tells one that cannot be.
func (c *canonicalRows) told(r *request, column string, v node, state parsed) bool {
	if state == parsedBad {
		c.unreadableNode(r, column, v)
	}
	return state == parsedValue
}

func (c *canonicalRows) unreadableNode(r *request, column string, v node) {
	text := v.text
	if v.kind == jsonNested {
		text = v.appendJSON(nil)
	}
	c.unreadable(r, column, text)
}

// isUnread tells whether the row has a value of one of the columns that cannot be read.
func (c *canonicalRows) isUnread(columns ...string) bool {
	for i := range c.unread {
		if slices.Contains(columns, c.unread[i].Column) {
			return true
		}
	}
	return false
}

// unlessUnread is a total, unknown when a part of it cannot be read.
func (c *canonicalRows) unlessUnread(total experiment.Opt[int64], parts ...string) experiment.Opt[int64] {
	if c.isUnread(parts...) {
		return experiment.Opt[int64]{}
	}
	return total
}

// whole reads a whole number, such as a status code.
func (c *canonicalRows) whole(r *request, column string, v node) (int64, bool) {
	n, state := v.parseWhole()
	return n, c.told(r, column, v, state)
}

// count reads a count or a number of tokens.
func (c *canonicalRows) count(r *request, column string, v node) (int64, bool) {
	n, state := v.parseCount()
	return n, c.told(r, column, v, state)
}

// decimal reads a number in units of 10^-scale.
func (c *canonicalRows) decimal(r *request, column string, v node, scale int) (int64, bool) {
	n, state := v.parseDecimal(scale)
	return n, c.told(r, column, v, state)
}

// instant reads a time as text, 0 when it is unknown.
func (c *canonicalRows) instant(r *request, column string, v node) experiment.Instant {
	at, ok := parseInstant(v.text)
	if !ok && !v.isNothing() {
		c.unreadableNode(r, column, v)
	}
	return experiment.Instant(at)
}

// flag tells whether a value says yes.
func (c *canonicalRows) flag(r *request, column string, v node) bool {
	n, state := v.parseBool()
	return c.told(r, column, v, state) && n == 1
}

// label reads a text.
func (c *canonicalRows) label(r *request, column string, v node) string {
	if v.kind == jsonNested {
		c.unreadableNode(r, column, v)
	}
	return v.str()
}

// list returns an array, which may stand in a text, and null for anything else.
func (c *canonicalRows) list(r *request, column string, v node) node {
	list := v.inner()
	if list.array {
		return list
	}
	if empty := list.kind == jsonNested && len(list.members) == 0; !empty && !v.isNothing() { // {} is how some libraries write []
		c.unreadableNode(r, column, v)
	}
	return node{}
}

// object returns an object that columns are read from, which may stand in a text.
func (c *canonicalRows) object(r *request, v node, columns ...string) node {
	object := v.inner()
	if (object.kind != jsonNested || object.array && len(object.members) > 0) && !v.isNothing() {
		for _, column := range columns {
			c.unreadableNode(r, column, v)
		}
	}
	return object
}

// cost sets what a request cost and who says so.
func (c *canonicalRows) cost(r *request, v node, source string) {
	if nano, ok := c.decimal(r, "cost_usd", v, 9); ok {
		r.Cost, r.CostSource = experiment.Some(experiment.NanoUSD(nano)), source
	}
}

// mostRetries bounds the attempts of a request: a number above is no count of them.
const mostRetries = 1000

// retries sets the attempts of a request from how often it was tried again.
func (c *canonicalRows) retries(r *request, v node) {
	n, ok := c.count(r, "attempts", v)
	switch {
	case ok && n < mostRetries:
		setAttempts(r, int(n)+1)
	case ok:
		c.unreadableNode(r, "attempts", v)
	}
}

// attemptsOf sets attempts and 429s from the HTTP status of each attempt in a list.
func (c *canonicalRows) attemptsOf(r *request, attempts node) {
	var statuses []int64
	for _, a := range attempts.elements() {
		status, _ := c.whole(r, "n_429", a.value.get("status"))
		statuses = append(statuses, status)
	}
	setAttemptsOf(r, statuses)
	if c.isUnread("n_429") {
		r.N429 = experiment.Opt[int32]{}
	}
}
