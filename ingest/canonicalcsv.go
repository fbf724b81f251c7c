package ingest

import (
	"bytes"
	"io"
	"strings"
)

// readCanonicalCSV reads a CSV file with the columns of `requests`.
func readCanonicalCSV(in io.Reader, from int64, sink *rowSink) ([]string, error) {
	f := csvChunks{csv: csvReader{lines: newLineReader(in)}, header: newCanonicalHeader(), from: from, file: sink.file}
	_, err := readChunks(sink, f.next, func(own *rowSink) func(*logChunk) {
		return (&canonicalCSV{canonicalRows: newCanonicalRows(own)}).parse
	})
	return f.header.unknown, err
}

// canonicalHeader knows the columns of the fields.
type canonicalHeader struct {
	canonicalColumns
	places  []int // by field; nil before the header
	unknown []string
}

func newCanonicalHeader() *canonicalHeader {
	return &canonicalHeader{canonicalColumns: newCanonicalColumns()}
}

// set takes the names of the columns. It reports whether the ones that a row needs are there.
func (h *canonicalHeader) set(fields [][]byte) bool {
	places := make([]int, len(fields))
	var unknown []string
	required := 0
	for i, name := range fields {
		places[i] = h.find(bytes.TrimSpace(name))
		switch {
		case places[i] == columnUnknown:
			unknown = append(unknown, validText(name))
		case isRequired(string(bytes.TrimSpace(name))):
			required++
		}
	}
	if required < len(requiredColumns()) {
		return false
	}
	h.places, h.unknown = places, append(h.unknown, unknown...)
	return true
}

func requiredColumns() []string { return []string{"request_id", "ts", "model"} }

func isRequired(name string) bool { return name == "request_id" || name == "ts" || name == "model" }

// csvChunks cuts a CSV file into chunks that have one header each.
type csvChunks struct {
	csv    csvReader
	header *canonicalHeader
	from   int64 // what lies before was loaded already
	file   string
}

// next fills a chunk with records.
func (f *csvChunks) next(c *logChunk) error {
	c.places = f.header.places
	for !c.full() {
		record, err := f.csv.nextText()
		if err != nil {
			return err
		}
		switch {
		case f.header.places == nil:
			if err := f.first(record); err != nil {
				return err
			}
			c.places = f.header.places
		case f.csv.lines.bytes <= f.from:
		case record.reason == "" && f.isHeader(record.text):
			if len(c.records) > 0 {
				return nil
			}
			c.places = f.header.places
		default:
			c.add(record.line, record.reason, record.text)
		}
	}
	return nil
}

// first takes the header of the file.
func (f *csvChunks) first(record csvRecord) error {
	if record.reason != "" {
		return inputError{f.file, "header: " + record.reason, ""}
	}
	f.csv.split(record.text)
	f.csv.fields[0] = trimBOM(f.csv.fields[0])
	if !f.header.set(f.csv.fields) {
		return inputError{f.file, "header lacks one of " + strings.Join(requiredColumns(), ", "), ""}
	}
	return nil
}

// isHeader takes a further header, of files put one after the other.
func (f *csvChunks) isHeader(text []byte) bool {
	if !bytes.Contains(text, []byte("request_id")) {
		return false
	}
	f.csv.split(text)
	fields := f.csv.fields
	return (len(fields) != len(f.header.places) || string(fields[0]) == "request_id") && f.header.set(fields)
}

// canonicalCSV parses the records of chunks.
type canonicalCSV struct {
	*canonicalRows
	csv csvReader
}

func (c *canonicalCSV) parse(chunk *logChunk) {
	c.lasting = true
	chunk.parse(c.sink, func(line int64, text []byte) { c.record(chunk.places, line, text) })
}

func (c *canonicalCSV) record(places []int, line int64, text []byte) {
	if len(c.csv.buf) > 0 {
		c.csv.buf = nil // a row before has texts in it
	}
	c.csv.split(text)
	fields := c.csv.fields
	if len(fields) != len(places) {
		c.sink.reject(line, reasonFields, text)
		return
	}
	c.begin(line)
	r := c.sink.row()
	for i, place := range places {
		if place < 0 || len(fields[i]) == 0 {
			if place == columnList {
				c.setAttempts(r, fields[i])
			}
			continue
		}
		if reason := c.set(r, place, fields[i]); reason != "" {
			c.sink.drop()
			c.sink.reject(line, reason, text)
			return
		}
	}
	c.finish(r, text)
}
