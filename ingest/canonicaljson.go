package ingest

import (
	"bytes"
	"errors"
	"io"

	"switchback/experiment"
)

// readCanonicalJSON reads canonical rows that are one JSON object a line.
func readCanonicalJSON(in io.Reader, from int64, sink *rowSink) ([]string, error) {
	lines := newLineReader(in)
	next := func(c *logChunk) error { return nextLines(lines, from, c) }
	return readChunks(sink, next, func(own *rowSink) func(*logChunk) {
		return (&canonicalJSON{canonicalRows: newCanonicalRows(own)}).parse
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
	members []jsonMember   // keys of the chunk, in the order of their first lines
	index   map[string]int // of members
	unknown []string
}

type jsonMember struct {
	key   string
	place int
}

func (c *canonicalJSON) parse(chunk *logChunk) {
	c.lasting = true
	c.members, c.index, c.unknown = c.members[:0], map[string]int{}, nil
	chunk.parse(c.sink, c.record)
	chunk.unknown = c.unknown
}

// lookAhead is how many keys a line may leave out before its next one is looked up.
const lookAhead = 8

// member reads a key and goes to its value. Lines of one log have their keys in the same order and may leave some out, so it is most often one
// of the next members.
func (c *canonicalJSON) member(next int) (n, place int, ok bool) {
	for n := next; n < min(next+lookAhead, len(c.members)); n++ {
		if c.scan.takeKey(c.members[n].key) {
			return n, c.members[n].place, true
		}
	}
	key, ok := c.scan.str()
	if !ok || !c.scan.colon() {
		return 0, 0, false
	}
	if n, ok := c.index[string(key)]; ok {
		return n, c.members[n].place, true
	}
	m := jsonMember{string(key), c.find(key)}
	if m.place == columnUnknown {
		c.unknown = addUnknown(c.unknown, []string{validText(key)})
	}
	if len(c.members) < maxUnknown && plainBytes(key) == len(key) {
		c.index[m.key] = len(c.members)
		c.members = append(c.members, m)
	}
	return len(c.members) - 1, m.place, true
}

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
	r := c.sink.row()
	reason := ""
	for n, first := -1, true; c.scan.next(first); first = false {
		var place int
		var ok bool
		if n, place, ok = c.member(n + 1); !ok {
			c.scan.bad = true
			break
		}
		if place >= 0 && reason == "" && c.plainNumber(r, place) {
			continue
		}
		kind, value, ok := c.scan.value(0)
		if !ok {
			c.scan.bad = true
			break
		}
		if place < 0 || reason != "" || kind == jsonNull {
			if place == columnList && kind != jsonNull {
				c.setAttempts(r, value)
			}
			continue
		}
		switch {
		case kind == jsonNested:
			r.Quality |= experiment.QualityBadValue
		case kind == jsonNumber && c.columns[place].kind == kindTime:
			reason = reasonNumberTime
		default:
			reason = c.set(r, place, value)
		}
	}
	if !c.scan.done() {
		reason = reasonNotJSON
	}
	if reason != "" {
		c.sink.drop()
		c.sink.reject(line, reason, text)
		return
	}
	c.finish(r, line, text)
}

// plainNumber gives a row the number that comes next, if it is one that needs no more than its digits.
func (c *canonicalJSON) plainNumber(r *request, place int) bool {
	col := &c.columns[place]
	switch col.kind {
	case kindInt, kindBigint, kindMillis, kindMoney:
	default:
		return false
	}
	v, ok := c.scan.plainNumber(col.kind.scale())
	if ok {
		state := parsedValue
		if col.kind == kindInt || col.kind == kindBigint {
			v, state = inCount(v)
		}
		setParsed(r, col, v, state)
	}
	return ok
}
