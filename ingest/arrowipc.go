package ingest

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"switchback/experiment"
)

// What files of Arrow IPC begin with: the file format, and the stream format.
const (
	arrowMagic       = "ARROW1"
	arrowStreamMagic = "\xff\xff\xff\xff"
)

// readArrow reads a canonical Arrow IPC stream or file.
func readArrow(in io.Reader, _ int64, sink *rowSink) (unknown []string, err error) {
	defer recoverDamage(sink.file, &err)
	var magic [8]byte
	if _, err := io.ReadFull(in, magic[:]); err != nil {
		return nil, inputError{sink.file, "unreadable Arrow: " + err.Error(), ""}
	}
	if string(magic[:6]) != arrowMagic { // a file is a stream between a magic word and a footer
		in = io.MultiReader(strings.NewReader(string(magic[:])), in)
	}
	records, err := ipc.NewReaderFromMessageReader(&ipcMessages{in: in}, ipc.WithAllocator(boundedAllocator{memory.DefaultAllocator}))
	if err != nil {
		return nil, inputError{sink.file, "unreadable Arrow: " + err.Error(), ""}
	}
	defer records.Release()
	unknown, err = readRecords(sink.file, records, sink)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // the footer is part of the file's hash
	}
	return unknown, err
}

// recoverDamage turns a panic of a reader over a damaged file into an error.
func recoverDamage(path string, err *error) {
	if p := recover(); p != nil {
		*err = inputError{path, fmt.Sprintf("damaged: %v", p), ""}
	}
}

// ArrowWriter writes requests with their attempts as a canonical Arrow IPC stream.
type ArrowWriter struct {
	builder *recordBuilder[listedRequest]
	lister  lister
	out     *ipc.Writer
	closed  bool
}

// NewArrowWriter returns a writer of a canonical Arrow IPC stream. Close completes it and leaves w open.
func NewArrowWriter(w io.Writer) *ArrowWriter {
	builder := newRecordBuilder(memory.DefaultAllocator, listedRequestColumns())
	return &ArrowWriter{builder: builder, lister: lister{columns: listedColumns()}, out: ipc.NewWriter(w, ipc.WithSchema(builder.schema), ipc.WithZstd())}
}

// Write appends the requests of a batch.
func (a *ArrowWriter) Write(b *experiment.Batch) error {
	for rest := a.lister.list(b); len(rest) > 0; {
		var err error
		if rest, err = a.builder.append(rest); err != nil {
			return fmt.Errorf("write arrow: %w", err)
		}
		if a.builder.full() {
			if err := a.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *ArrowWriter) flush() error {
	record := a.builder.finish()
	defer record.Release()
	if err := a.out.Write(record); err != nil {
		return fmt.Errorf("write arrow: %w", err)
	}
	return nil
}

// Close writes what is left and completes the stream.
func (a *ArrowWriter) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	if err := a.flush(); err != nil {
		return err
	}
	return a.out.Close()
}
