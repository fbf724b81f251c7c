package ingest

import (
	"bufio"
	"io"
	"strconv"
	"unicode/utf8"

	"switchback/experiment"
)

// JSONLWriter writes requests with their attempts as canonical JSON lines. Unknown values are left out. Errors of the underlying
// writer are returned by Write or Close.
type JSONLWriter struct {
	w    *bufio.Writer
	cols []column[request]
	list []column[attempt]
	line []byte
}

// NewJSONLWriter returns a writer of canonical JSON lines. Close flushes it and leaves w open.
func NewJSONLWriter(w io.Writer) *JSONLWriter {
	return &JSONLWriter{w: bufio.NewWriterSize(w, 1<<20), cols: requestColumns(), list: listedColumns()}
}

// Write appends the requests of a batch with their attempts, one a line.
func (j *JSONLWriter) Write(b *experiment.Batch) error {
	left := triesOf{b.Attempts}
	for i := range b.Requests {
		j.line = appendJSONRow(j.line[:0], j.cols, &b.Requests[i])
		if tries := left.next(b.Requests[i].RequestID); len(tries) > 0 {
			j.line = append(j.line[:len(j.line)-2], `,"`+attemptList+`":`...) // in place of the end of the object
			j.line = append(appendAttempts(j.line, j.list, tries), '}', '\n')
		}
		if _, err := j.w.Write(j.line); err != nil {
			return err
		}
	}
	return nil
}

// Close writes what is buffered.
func (j *JSONLWriter) Close() error { return j.w.Flush() }

func appendJSONRow[Row any](line []byte, cols []column[Row], r *Row) []byte {
	line = append(line, '{')
	for i := range cols {
		c := &cols[i]
		if c.text != nil {
			if s := *c.text(r); s != "" {
				line = append(line, '"')
				line = append(line, c.name...)
				line = append(line, '"', ':')
				line = append(appendJSONString(line, s), ',')
			}
			continue
		}
		v, known := c.number(r)
		if !known {
			continue
		}
		line = append(line, '"')
		line = append(line, c.name...)
		line = append(line, '"', ':')
		if c.kind == kindTime {
			line = append(line, '"')
			line = appendNumber(line, c.kind, v)
			line = append(line, '"')
		} else {
			line = appendNumber(line, c.kind, v)
		}
		line = append(line, ',')
	}
	if line[len(line)-1] == ',' {
		line = line[:len(line)-1]
	}
	return append(line, '}', '\n')
}

// appendNumber writes a number in the units of its column.
func appendNumber(b []byte, kind columnKind, v int64) []byte {
	switch kind {
	case kindBool:
		return strconv.AppendBool(b, v != 0)
	case kindTime:
		return experiment.Instant(v).Time().AppendFormat(b, "2006-01-02T15:04:05.999999Z")
	case kindMillis:
		return appendDecimal(b, v, 3)
	case kindMoney:
		return appendDecimal(b, v, 9)
	}
	return strconv.AppendInt(b, v, 10)
}

// appendDecimal writes v · 10^-scale without zeros at the end.
func appendDecimal(b []byte, v int64, scale int) []byte {
	if v < 0 {
		b = append(b, '-')
		v = -v
	}
	unit := int64(1)
	for range scale {
		unit *= 10
	}
	b = strconv.AppendInt(b, v/unit, 10)
	fraction := v % unit
	if fraction == 0 {
		return b
	}
	b = append(b, '.')
	for unit /= 10; fraction > 0; unit /= 10 {
		b = append(b, byte('0'+fraction/unit))
		fraction %= unit
	}
	return b
}

func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
