package ingest

import (
	"errors"
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

// readArrow reads a canonical Arrow IPC stream or file. A file is a stream between a magic word and a footer.
func readArrow(in io.Reader, _ int64, sink *rowSink) (unknown []string, err error) {
	defer recoverDamage(sink.file, &err)
	var magic [8]byte
	if _, err := io.ReadFull(in, magic[:]); err != nil {
		return nil, damaged(sink.file, ended(err))
	}
	isFile := string(magic[:len(arrowMagic)]) == arrowMagic
	if !isFile {
		in = io.MultiReader(strings.NewReader(string(magic[:])), in)
	}
	messages := &ipcMessages{in: in, isFile: isFile}
	records, err := ipc.NewReaderFromMessageReader(messages, ipc.WithAllocator(ipcAllocator{memory.DefaultAllocator, messages}))
	if err != nil {
		return nil, noSchema(messages, damaged(sink.file, ended(err)))
	}
	defer records.Release()
	if unknown, err = readRecords(sink.file, records, sink); err != nil {
		return unknown, err
	}
	if err := messages.end(); err != nil {
		return unknown, damaged(sink.file, err)
	}
	return unknown, nil
}

// noSchema says what to do about a refused file that has its schema at the end alone.
func noSchema(m *ipcMessages, err error) error {
	var input inputError
	if m.isFile && !m.marked && errors.As(err, &input) {
		input.hint = "a file must begin with its schema, which not all writers give it: a stream has it (in Polars: write_ipc_stream), and so has Parquet"
		return input
	}
	return err
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
