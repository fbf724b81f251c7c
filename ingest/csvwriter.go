package ingest

import (
	"encoding/csv"
	"fmt"
	"io"

	"switchback/experiment"
)

// CSVWriter writes requests as a canonical CSV file with a header. Unknown values are empty.
type CSVWriter struct {
	w      *csv.Writer
	lister lister
	cols   []column[listedRequest]
	fields []string
	number []byte
}

// NewCSVWriter returns a writer of a canonical CSV file. Close flushes it and leaves w open.
func NewCSVWriter(w io.Writer) *CSVWriter {
	c := &CSVWriter{w: csv.NewWriter(w), lister: lister{columns: listedColumns()}, cols: listedRequestColumns()}
	c.fields = make([]string, len(c.cols))
	for i := range c.cols {
		c.fields[i] = c.cols[i].name
	}
	c.w.Write(c.fields) //nolint:errcheck // the writer keeps the error, Close returns it
	return c
}

// Write appends the requests of a batch with their attempts, one a line.
func (c *CSVWriter) Write(b *experiment.Batch) error {
	rows := c.lister.list(b)
	for r := range rows {
		for i := range c.cols {
			col := &c.cols[i]
			if col.text != nil {
				c.fields[i] = *col.text(&rows[r])
				continue
			}
			c.fields[i] = ""
			if v, known := col.number(&rows[r]); known {
				c.number = appendNumber(c.number[:0], col.kind, v)
				c.fields[i] = string(c.number)
			}
		}
		if err := c.w.Write(c.fields); err != nil {
			return fmt.Errorf("write csv: %w", err)
		}
	}
	return nil
}

// Close writes what is buffered.
func (c *CSVWriter) Close() error {
	c.w.Flush()
	return c.w.Error()
}
