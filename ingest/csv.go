package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

// maxRecordLines bounds how far an opening quote may reach before it is taken for a mistake.
const maxRecordLines = 1000

// csvReader reads comma-separated records (RFC 4180, LF or CRLF, bare quotes taken literally) whose quoted
// fields may hold line ends. A quote that never closes costs one line: reading goes on with the next.
type csvReader struct {
	lines  *lineReader
	queue  []queuedLine // read ahead, to be read again
	fields [][]byte
	buf    []byte // unquoted fields
	text   []byte // of a record of several lines
	line   int64
}

type queuedLine struct {
	text []byte
	err  error // errLongLine or nil
}

// csvRecord is one record with its text and the number of its first line.
type csvRecord struct {
	fields [][]byte
	text   []byte
	line   int64
	reason string // why it cannot be read, "" when it can
}

// next returns the next record that is not empty, valid until the next call. io.EOF ends the file.
func (c *csvReader) next() (csvRecord, error) {
	record, err := c.nextText()
	if err == nil && record.reason == "" && record.fields == nil {
		c.split(record.text)
		record.fields = c.fields
	}
	return record, err
}

// nextText is next without the fields, unless they had to be looked at to find the end of the record.
func (c *csvReader) nextText() (csvRecord, error) {
	for {
		text, err := c.nextLine()
		if err != nil {
			if errors.Is(err, errLongLine) {
				return csvRecord{text: text, line: c.line, reason: reasonLongLine}, nil
			}
			return csvRecord{}, err
		}
		if len(text) == 0 {
			continue
		}
		first := c.line
		if bytes.IndexByte(text, '"') < 0 {
			return csvRecord{text: text, line: first}, nil
		}
		if c.split(text) {
			return csvRecord{fields: c.fields, text: text, line: first}, nil
		}
		return c.nextLong(text, first)
	}
}

func (c *csvReader) nextLine() ([]byte, error) {
	c.line++
	if len(c.queue) > 0 {
		line := c.queue[0]
		c.queue = c.queue[1:]
		return line.text, line.err
	}
	return c.lines.next()
}

// nextLong reads on while a quote is open.
func (c *csvReader) nextLong(text []byte, first int64) (csvRecord, error) {
	head := bytes.Clone(text)
	c.text = append(c.text[:0], text...)
	var more []queuedLine
	for len(more) < maxRecordLines && len(c.text) < maxLine {
		line, err := c.nextLine()
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLongLine) {
			return csvRecord{}, err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		more = append(more, queuedLine{bytes.Clone(line), err})
		if errors.Is(err, errLongLine) {
			break
		}
		c.text = append(append(c.text, '\n'), line...)
		// Only a line with a quote can close the field.
		if bytes.IndexByte(line, '"') >= 0 && c.split(c.text) {
			return csvRecord{fields: c.fields, text: c.text, line: first}, nil
		}
	}
	c.queue = append(more, c.queue...)
	c.line = first
	return csvRecord{text: head, line: first, reason: reasonQuote}, nil
}

// split cuts a record into c.fields. It returns false when a quote is still open at the end.
func (c *csvReader) split(text []byte) bool {
	if bytes.IndexByte(text, '"') < 0 {
		c.fields = appendPlain(c.fields[:0], text)
		return true
	}
	c.fields = c.fields[:0]
	c.buf = c.buf[:0]
	for {
		if len(text) > 0 && text[0] == '"' {
			field, rest, closed := c.quoted(text[1:])
			if !closed {
				return false
			}
			c.fields = append(c.fields, field)
			if len(rest) == 0 {
				return true
			}
			text = rest[1:]
			continue
		}
		i := 0
		for i < len(text) && text[i] != ',' {
			i++
		}
		c.fields = append(c.fields, text[:i])
		if i == len(text) {
			return true
		}
		text = text[i+1:]
	}
}

// appendPlain cuts a record without quotes. It looks at eight bytes at a time: the highest bit of each byte of found tells
// whether it is a comma.
func appendPlain(fields [][]byte, text []byte) [][]byte {
	const low, commas = 0x7f7f7f7f7f7f7f7f, 0x0101010101010101 * ','
	start, n := 0, 0
	for ; n+8 <= len(text); n += 8 {
		w := binary.LittleEndian.Uint64(text[n:]) ^ commas
		for found := ^(w&low + low | w | low); found != 0; found &= found - 1 {
			i := n + bits.TrailingZeros64(found)/8
			fields = append(fields, text[start:i])
			start = i + 1
		}
	}
	for ; n < len(text); n++ {
		if text[n] == ',' {
			fields = append(fields, text[start:n])
			start = n + 1
		}
	}
	return append(fields, text[start:])
}

// quoted reads a field after its opening quote. rest begins with a comma or is empty.
func (c *csvReader) quoted(text []byte) (field, rest []byte, closed bool) {
	start := len(c.buf)
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return nil, nil, false
		}
		end := i + 1
		switch {
		case end == len(text) || text[end] == ',':
			if len(c.buf) == start {
				return text[:i], text[end:], true // nothing was escaped: no copy
			}
			c.buf = append(c.buf, text[:i]...)
			return c.buf[start:len(c.buf):len(c.buf)], text[end:], true
		case text[end] == '"':
			c.buf = append(c.buf, text[:end]...)
			text = text[end+1:]
		default: // a bare quote inside a quoted field
			c.buf = append(c.buf, text[:end]...)
			text = text[end:]
		}
	}
}
