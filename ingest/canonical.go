package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
	"unsafe"

	"switchback/experiment"
)

// FormatCanonical is the name of this program's own log format: the columns of `requests`.
const FormatCanonical = "canonical"

// canonicalColumns are the columns that a canonical log may have, with the ones that a load writes itself.
type canonicalColumns struct {
	columns []column[request]
	index   map[string]int
}

const (
	columnUnknown = -1
	columnOurs    = -2 // written by the load; a log made from the table has it
	columnList    = -3 // the attempts of the request
)

func newCanonicalColumns() canonicalColumns {
	c := canonicalColumns{columns: requestColumns(), index: map[string]int{"load_id": columnOurs, "arm_logged": columnOurs, attemptList: columnList}}
	for i, col := range c.columns {
		c.index[col.name] = i
	}
	return c
}

// find returns the place of a column by its name in the log.
func (c canonicalColumns) find(name []byte) int {
	if i, ok := c.index[string(name)]; ok {
		return i
	}
	return columnUnknown
}

// canonicalRows fills rows from the texts of their columns.
type canonicalRows struct {
	canonicalColumns
	sink  *rowSink
	words []interner // by column
	lists listReader

	line   int64         // of the row that is being read …
	unread []UnreadField // … and its values that cannot be

	lasting bool // the bytes of texts stay as they are: rows may share them
}

func newCanonicalRows(sink *rowSink) *canonicalRows {
	c := &canonicalRows{canonicalColumns: newCanonicalColumns(), sink: sink, lists: listReader{columns: listedColumns()}}
	c.words = make([]interner, len(c.columns))
	return c
}

// begin makes ready for the values of the next row.
func (c *canonicalRows) begin(line int64) { c.line, c.unread = line, nil }

// set gives a row the value of a column. It returns the reason to reject the row, if there is one.
func (c *canonicalRows) set(r *request, i int, text []byte) (reason string) {
	col := &c.columns[i]
	switch col.kind {
	case kindText:
		*col.text(r) = c.textOf(text)
		return ""
	case kindDict:
		*col.text(r) = c.words[i].intern(text)
		return ""
	case kindTime:
		if isFiller(text) {
			return reasonNoTime
		}
		at, ok := parseInstant(text)
		if !ok {
			c.sink.unread = text
			return reasonBadTime
		}
		col.set(r, at)
		return ""
	}
	v, state := parseKind(col.kind, text)
	if !setParsed(r, col, v, state) {
		c.unreadable(r, col.name, text)
	}
	return ""
}

// textOf is a text of a row. Most rows have ids that no other row has: copying each would take longer than reading it.
func (c *canonicalRows) textOf(text []byte) string {
	if c.lasting && utf8.Valid(text) {
		return unsafe.String(unsafe.SliceData(text), len(text))
	}
	return validText(text)
}

// setAttempts takes the attempts that a row lists.
func (c *canonicalRows) setAttempts(r *request, text []byte) {
	var ok bool
	if c.sink.tries, ok = c.lists.read(c.sink.tries[:0], text); !ok {
		c.unreadable(r, attemptList, text)
	}
}

// setParsed gives a row a value that was read. It is false for one that could not be.
func setParsed(r *request, col *column[request], v int64, state parsed) bool {
	if state == parsedValue {
		col.set(r, v)
	}
	return state != parsedBad
}

// unreadable marks a row that has a value which cannot be read. It counts when the row is kept. Inlined, it
// would slow down the rows without one.
//
//go:noinline
func (c *canonicalRows) unreadable(r *request, column string, text []byte) {
	r.Quality |= experiment.QualityBadValue
	c.unread = append(c.unread, UnreadField{Column: column, N: 1, Line: c.line, Text: clip(text)})
}

func parseKind(kind columnKind, text []byte) (int64, parsed) {
	switch kind {
	case kindBool:
		return parseBool(text)
	case kindMillis:
		return parseDecimal(text, 3)
	case kindMoney:
		return parseDecimal(text, 9)
	}
	v, state := parseWhole(text)
	if state != parsedValue {
		return v, state
	}
	return inCount(v)
}

// inCount checks a count or a number of tokens; -1 stands for none.
func inCount(v int64) (int64, parsed) {
	switch {
	case v >= 0 && v <= maxTokens:
		return v, parsedValue
	case v == -1:
		return 0, parsedFiller
	}
	return 0, parsedBad
}

// maxTokens bounds counts and tokens of one request: what is above is no count but a mistake.
const maxTokens = 1<<31 - 1

// finish checks what the canonical format asks of a row and hands it on.
func (c *canonicalRows) finish(r *request, text []byte) {
	if !knownStatus(r.Status) {
		c.unreadable(r, "status", []byte(r.Status))
		r.Status = ""
	}
	if !knownCostSource(r.CostSource) {
		c.unreadable(r, "cost_source", []byte(r.CostSource))
		r.CostSource = ""
	}
	if isNone(r.RequestID) && r.RequestID != "" {
		r.RequestID = rowHash(text)
	}
	if r.Source == "" {
		r.Source = FormatCanonical
	}
	if isNone(r.SourceRowID) {
		r.SourceRowID = r.RequestID
	}
	if c.sink.keep(c.line, text) {
		c.sink.tally.addUnread(c.unread...)
	}
}

func knownStatus(s string) bool {
	switch s {
	case "", experiment.StatusOK, experiment.StatusError, experiment.StatusErrorMidstream, experiment.StatusCancelled, experiment.StatusGatewayCache:
		return true
	}
	return false
}

func knownCostSource(s string) bool {
	switch s {
	case "", experiment.CostBilled, experiment.CostUpstream, experiment.CostBreakdown, experiment.CostBook:
		return true
	}
	return false
}

// isNone tells whether an id stands for no id.
func isNone(id string) bool { return id == "" || id == "None" || id == "null" }

// interner gives equal texts one string, as long as there are few of them.
type interner struct {
	last  string
	words map[string]string
}

const maxInterned = 8192

func (n *interner) intern(b []byte) string {
	if string(b) == n.last {
		return n.last
	}
	s, ok := n.words[string(b)]
	if !ok {
		s = validText(b)
		if n.words == nil {
			n.words = map[string]string{}
		}
		if len(n.words) < maxInterned {
			n.words[string(b)] = s
		}
	}
	n.last = s
	return s
}

// validText is a text with bytes that are no UTF-8 replaced.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// rowHash names a row that has no id by its text.
func rowHash(text []byte) string {
	sum := sha256.Sum256(bytes.TrimSpace(text))
	return "row-" + hex.EncodeToString(sum[:8])
}
