package ingest

import (
	"bytes"
	"encoding/binary"
	"math/bits"
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
	if !s.next(first) {
		return nil, 0, nil, false
	}
	key, ok = s.str()
	if !ok || !s.colon() {
		s.bad = true
		return nil, 0, nil, false
	}
	kind, value, ok = s.value(0)
	s.bad = s.bad || !ok
	return key, kind, value, ok
}

// next goes to the key of the next member. It returns false at the end of the object or when it is malformed.
func (s *jsonScanner) next(first bool) bool {
	if i := s.i; !first && i+1 < len(s.b) && s.b[i] == ',' && s.b[i+1] == '"' {
		s.i++
		return true
	}
	s.space()
	if s.take('}') {
		s.space()
		s.bad = s.bad || s.i != len(s.b)
		return false
	}
	if !first {
		if !s.take(',') {
			s.bad = true
			return false
		}
		s.space()
	}
	return true
}

// colon goes from a key to its value.
func (s *jsonScanner) colon() bool {
	s.space()
	if !s.take(':') {
		return false
	}
	s.space()
	return true
}

// takeText goes behind a text if it comes next and does not end the line.
func (s *jsonScanner) takeText(text string) bool {
	end := s.i + len(text)
	if end >= len(s.b) || string(s.b[s.i:end]) != text {
		return false
	}
	s.i = end
	return true
}

// plainString reads a string without escapes, as part of the line. Of all else it reads nothing.
func (s *jsonScanner) plainString() (text []byte, ok bool) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return nil, false
	}
	rest := s.b[s.i+1:]
	n := plainBytes(rest)
	if n == len(rest) || rest[n] != '"' {
		return nil, false
	}
	s.i += n + 2
	return rest[:n:n], true
}

// plainNumber reads a number that is not negative, has no exponent and no more decimals than scale, as a whole number of
// 10^-scale. Of all else it reads nothing.
func (s *jsonScanner) plainNumber(scale int) (int64, bool) {
	v, n := leadingDecimal(s.b[s.i:], scale)
	end := s.i + n
	if n == 0 || end == len(s.b) || s.b[end] != ',' && s.b[end] != '}' || s.b[s.i] == '0' && n > 1 && s.b[s.i+1] != '.' {
		return 0, false
	}
	s.i = end
	return v, true
}

// plainBool reads true as 1 and false as 0. Of all else it reads nothing.
func (s *jsonScanner) plainBool() (v int64, ok bool) {
	if s.word("true") {
		return 1, true
	}
	return 0, s.word("false")
}

// done tells whether the whole line was one well-formed object.
func (s *jsonScanner) done() bool { return !s.bad }

func (s *jsonScanner) space() {
	if s.i < len(s.b) && s.b[s.i] > ' ' {
		return
	}
	s.spaces()
}

func (s *jsonScanner) spaces() {
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
		ok := s.word("true")
		return jsonBool, s.b[start:s.i], ok
	case c == 'f':
		ok := s.word("false")
		return jsonBool, s.b[start:s.i], ok
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
	s.i += plainBytes(s.b[start:])
	if s.i == len(s.b) {
		return nil, false
	}
	switch s.b[s.i] {
	case '"':
		s.i++
		return s.b[start : s.i-1], true
	case '\\':
		return s.escaped(start)
	}
	return nil, false
}

// plainBytes counts the bytes before the first quote, backslash or control character. It looks at eight at a time: the
// highest bit of each byte of found tells whether it is one. Bits above the first may be wrong.
func plainBytes(b []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		found := ((quote-ones)&^quote | (backslash-ones)&^backslash | (w-ones*' ')&^w) & high
		if found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for ; n < len(b); n++ {
		if c := b[n]; c == '"' || c == '\\' || c < ' ' {
			break
		}
	}
	return n
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
