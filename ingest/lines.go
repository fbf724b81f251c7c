package ingest

import (
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that is read. Longer ones are rejected.
const maxLine = 16 << 20

// errLongLine is returned with the start of a line over maxLine.
var errLongLine = errors.New("line longer than 16 MiB")

// lineReader splits a stream into lines. It keeps one block, and one line when that is longer.
type lineReader struct {
	r     io.Reader
	buf   []byte
	start int // of what was not handed out
	end   int // of what was read
	err   error
	line  int64 // number of the last line, from 1
	bytes int64 // handed out, line ends included
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: r, buf: make([]byte, 512<<10)} }

// next returns the next line without its end (LF or CRLF), valid until the next call. io.EOF ends the stream.
func (l *lineReader) next() ([]byte, error) {
	searched := 0 // bytes after start that hold no line end
	for {
		if i := bytes.IndexByte(l.buf[l.start+searched:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+searched+i]
			l.take(len(line) + 1)
			if len(line) > maxLine {
				return line[:1024], errLongLine
			}
			return trimCR(line), nil
		}
		searched = l.end - l.start
		if l.err != nil {
			return l.last()
		}
		if searched > maxLine {
			return l.skipLong()
		}
		l.fill()
	}
}

func (l *lineReader) take(n int) {
	l.start += n
	l.bytes += int64(n)
	l.line++
}

// last hands out a final line that has no end, then the stream's error.
func (l *lineReader) last() ([]byte, error) {
	if l.start < l.end && errors.Is(l.err, io.EOF) {
		line := l.buf[l.start:l.end]
		l.take(len(line))
		if len(line) > maxLine {
			return line[:1024], errLongLine
		}
		return trimCR(line), nil
	}
	return nil, l.err
}

// fill reads more behind what is kept.
func (l *lineReader) fill() {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, 2*len(l.buf))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// skipLong drops a line that is too long and returns its start with errLongLine.
func (l *lineReader) skipLong() ([]byte, error) {
	head := bytes.Clone(l.buf[l.start : l.start+1024])
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.take(i + 1)
			return head, errLongLine
		}
		l.bytes += int64(l.end - l.start)
		l.start, l.end = 0, 0
		if l.err != nil {
			if !errors.Is(l.err, io.EOF) {
				return nil, l.err
			}
			l.line++
			return head, errLongLine
		}
		l.fill()
	}
}

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}
