package ingest

import (
	"bytes"
	"errors"
	"io"
)

// readCanonicalJSON reads canonical rows that are one JSON object a line.
func readCanonicalJSON(in io.Reader, from int64, sink *rowSink) ([]string, error) {
	lines := newLineReader(in)
	next := func(c *logChunk) error { return nextLines(lines, from, c) }
	return readChunks(sink, next, func(own *rowSink) func(*logChunk) {
		return newCanonicalJSON(own).parse
	})
}

// nextLines fills a chunk with lines that are not empty.
func nextLines(lines *lineReader, from int64, c *logChunk) error {
	for !c.full() {
		text, err := lines.next()
		reason := ""
		if err != nil {
			if !errors.Is(err, errLongLine) {
				return err
			}
			reason = reasonLongLine
		}
		if lines.bytes <= from {
			continue
		}
		if lines.line == 1 {
			text = trimBOM(text)
		}
		if reason != "" || len(bytes.TrimSpace(text)) > 0 {
			c.add(lines.line, reason, text)
		}
	}
	return nil
}

// canonicalJSON parses the lines of chunks.
type canonicalJSON struct {
	*canonicalRows
	scan    jsonScanner
	members []jsonMember   // in the order of their first lines
	rare    jsonMember     // the last that is not in members
	index   map[string]int // of members, by key
	chunks  int            // so far
	unknown []string       // columns of the chunk
}

// jsonMember is a member of the objects of a log.
type jsonMember struct {
	lead  string // what stood before its value: a comma, its key and a colon, with the spaces that the log has there
	first bool   // of an object: the comma is missing
	key   string
	place int
	chunk int // in which it was seen last
}

func newCanonicalJSON(own *rowSink) *canonicalJSON {
	return &canonicalJSON{canonicalRows: newCanonicalRows(own), index: map[string]int{}}
}

func (c *canonicalJSON) parse(chunk *logChunk) {
	c.lasting = true
	c.chunks++
	c.unknown = nil
	chunk.parse(c.sink, c.record)
	chunk.unknown = c.unknown
}

// lookAhead is how many keys a line may leave out before its next one is looked up.
const lookAhead = 8

// member goes to the value of the next member and returns its place in members, from where to look for the one after it.
// Lines of one log have the same keys in the same order and may leave some out, so it is most often one of the next. At the
// end of the object, and when it is malformed, it returns nil.
func (c *canonicalJSON) member(next int, first bool) (*jsonMember, int) {
	for n := next; n < min(next+lookAhead, len(c.members)); n++ {
		if m := &c.members[n]; m.first == first && c.scan.takeText(m.lead) {
			return m, n
		}
	}
	start := c.scan.i
	if !c.scan.next(first) {
		return nil, 0
	}
	key, ok := c.scan.str()
	if !ok || !c.scan.colon() {
		c.scan.bad = true
		return nil, 0
	}
	if n, ok := c.index[string(key)]; ok {
		return &c.members[n], n
	}
	m := jsonMember{lead: string(c.scan.b[start:c.scan.i]), first: first, key: string(key), place: c.find(key)}
	if n := len(c.members); n < maxMembers && len(m.lead) <= maxLead {
		c.index[m.key] = n
		c.members = append(c.members, m)
		return &c.members[n], n
	}
	c.rare = m
	return &c.rare, next - 1
}

// maxMembers bounds how many keys are kept, and maxLead the bytes of each.
const (
	maxMembers = 256
	maxLead    = 256
)

// maxUnknown bounds how many names of unknown columns are kept.
const maxUnknown = 256

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func (c *canonicalJSON) record(line int64, text []byte) {
	if len(c.scan.buf) > 0 {
		c.scan.buf = nil // a row before has texts in it
	}
	if !c.scan.open(text) {
		c.sink.reject(line, reasonNotJSON, text)
		return
	}
	c.begin(line)
	r := c.sink.row()
	reason := ""
	for n, first := -1, true; ; first = false {
		var m *jsonMember
		if m, n = c.member(n+1, first); m == nil {
			break
		}
		if m.chunk != c.chunks {
			m.chunk = c.chunks
			if m.place == columnUnknown {
				c.unknown = addUnknown(c.unknown, []string{validText([]byte(m.key))})
			}
		}
		if m.place >= 0 && reason == "" {
			var plain bool
			if plain, reason = c.plain(r, m.place); plain {
				continue
			}
		}
		c.scan.space()
		kind, value, ok := c.scan.value(0)
		if !ok {
			c.scan.bad = true
			break
		}
		if m.place < 0 || reason != "" || kind == jsonNull {
			if m.place == columnList && kind != jsonNull {
				c.setAttempts(r, value)
			}
			continue
		}
		switch {
		case kind == jsonNested:
			c.unreadable(r, c.columns[m.place].name, value)
		case kind == jsonNumber && c.columns[m.place].kind == kindTime:
			c.sink.unread, reason = value, reasonNumberTime
		default:
			reason = c.set(r, m.place, value)
		}
	}
	if !c.scan.done() {
		c.sink.unread, reason = nil, reasonNotJSON
	}
	if reason != "" {
		c.sink.drop()
		c.sink.reject(line, reason, text)
		return
	}
	c.finish(r, text)
}

// plain gives a row the value that comes next, if it is written as most are: a number that needs no more than its digits, a
// string without escapes, true or false.
func (c *canonicalJSON) plain(r *request, place int) (ok bool, reason string) {
	col := &c.columns[place]
	switch col.kind {
	case kindInt, kindBigint, kindMillis, kindMoney:
		start := c.scan.i
		v, ok := c.scan.plainNumber(col.kind.scale())
		if ok {
			state := parsedValue
			if col.kind == kindInt || col.kind == kindBigint {
				v, state = inCount(v)
			}
			if !setParsed(r, col, v, state) {
				c.unreadable(r, col.name, c.scan.b[start:c.scan.i])
			}
		}
		return ok, ""
	case kindBool:
		v, ok := c.scan.plainBool()
		if ok {
			col.set(r, v)
		}
		return ok, ""
	case kindText, kindDict, kindTime:
		text, ok := c.scan.plainString()
		if ok {
			reason = c.set(r, place, text)
		}
		return ok, reason
	}
	return false, ""
}
