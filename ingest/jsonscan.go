package ingest

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonKind is the kind of a JSON value.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonNested // object or array
)

// maxJSONDepth bounds how deep values may nest.
const maxJSONDepth = 256

// jsonScanner walks over the members of one JSON object (RFC 8259) without building it. A flat log line is
// read several times as fast as by a general decoder, which is what keeps loading as fast as DuckDB's own
// reader.
type jsonScanner struct {
	b   []byte
	i   int
	buf []byte // of the last unescaped string or key
	bad bool
}

// open starts a line. It returns false when the line is no object.
func (s *jsonScanner) open(line []byte) bool {
	s.b, s.i, s.bad = line, 0, false
	s.buf = s.buf[:0]
	s.space()
	return s.take('{')
}

// member returns the next key and value; ok is false at the end of the object or when it is malformed, which
// done tells apart. Key and value are valid until the next call of open.
func (s *jsonScanner) member(first bool) (key []byte, kind jsonKind, value []byte, ok bool) {
	s.space()
	if s.take('}') {
		s.space()
		s.bad = s.bad || s.i != len(s.b)
		return nil, 0, nil, false
	}
	if !first && !s.take(',') {
		s.bad = true
		return nil, 0, nil, false
	}
	if !first {
		s.space()
	}
	key, ok = s.str()
	s.space()
	if !ok || !s.take(':') {
		s.bad = true
		return nil, 0, nil, false
	}
	s.space()
	kind, value, ok = s.value(0)
	s.bad = s.bad || !ok
	return key, kind, value, ok
}

// done tells whether the whole line was one well-formed object.
func (s *jsonScanner) done() bool { return !s.bad }

func (s *jsonScanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *jsonScanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *jsonScanner) word(w string) bool {
	if len(s.b)-s.i >= len(w) && string(s.b[s.i:s.i+len(w)]) == w {
		s.i += len(w)
		return true
	}
	return false
}

// value reads one value. Strings come without quotes and escapes, nested values as their text.
func (s *jsonScanner) value(depth int) (jsonKind, []byte, bool) {
	if s.i >= len(s.b) || depth > maxJSONDepth {
		return 0, nil, false
	}
	start := s.i
	switch c := s.b[s.i]; {
	case c == '"':
		v, ok := s.str()
		return jsonString, v, ok
	case c == '-' || c >= '0' && c <= '9':
		ok := s.number()
		return jsonNumber, s.b[start:s.i], ok
	case c == 't':
		return jsonBool, []byte("true"), s.word("true")
	case c == 'f':
		return jsonBool, []byte("false"), s.word("false")
	case c == 'n':
		return jsonNull, nil, s.word("null")
	case c == '{':
		s.i++
		ok := s.members(depth)
		return jsonNested, s.b[start:s.i], ok
	case c == '[':
		s.i++
		ok := s.elements(depth)
		return jsonNested, s.b[start:s.i], ok
	}
	return 0, nil, false
}

// members skips the rest of a nested object.
func (s *jsonScanner) members(depth int) bool {
	for first := true; ; first = false {
		s.space()
		if s.take('}') {
			return true
		}
		if !first && !s.take(',') {
			return false
		}
		s.space()
		_, ok := s.str()
		s.space()
		if !ok || !s.take(':') {
			return false
		}
		s.space()
		if _, _, ok := s.value(depth + 1); !ok {
			return false
		}
	}
}

// elements skips the rest of an array.
func (s *jsonScanner) elements(depth int) bool {
	for first := true; ; first = false {
		s.space()
		if s.take(']') {
			return true
		}
		if !first && !s.take(',') {
			return false
		}
		s.space()
		if _, _, ok := s.value(depth + 1); !ok {
			return false
		}
	}
}

func (s *jsonScanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *jsonScanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

// str reads a string. Without an escape it is a part of the line, else of buf.
func (s *jsonScanner) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1], true
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return nil, false
		default:
			s.i++
		}
	}
	return nil, false
}

func (s *jsonScanner) escaped(start int) ([]byte, bool) {
	from := len(s.buf)
	s.buf = append(s.buf, s.b[start:s.i]...)
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return s.buf[from:len(s.buf):len(s.buf)], true
		case c < ' ':
			return nil, false
		case c != '\\':
			s.buf = append(s.buf, c)
			continue
		}
		if s.i >= len(s.b) {
			return nil, false
		}
		e := s.b[s.i]
		s.i++
		if k := bytes.IndexByte([]byte(`"\/bfnrt`), e); k >= 0 {
			s.buf = append(s.buf, "\"\\/\b\f\n\r\t"[k])
			continue
		}
		r, ok := s.unicode(e)
		if !ok {
			return nil, false
		}
		s.buf = utf8.AppendRune(s.buf, r)
	}
	return nil, false
}

// unicode reads the rest of a \uXXXX escape, with its second half when it is a surrogate pair.
func (s *jsonScanner) unicode(e byte) (rune, bool) {
	if e != 'u' {
		return 0, false
	}
	r, ok := s.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if s.word(`\u`) {
		low, ok := s.hex4()
		if both := utf16.DecodeRune(r, low); ok && both != utf8.RuneError {
			return both, true
		}
		return utf8.RuneError, ok
	}
	return utf8.RuneError, true
}

func (s *jsonScanner) hex4() (rune, bool) {
	if len(s.b)-s.i < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(s.b[s.i:s.i+4]), 16, 32)
	s.i += 4
	return rune(v), err == nil
}
