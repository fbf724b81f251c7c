package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"switchback/experiment"
)

// FileHead is what the beginning of a log file shows.
type FileHead struct {
	Path       string
	Format     string // "" for an empty file
	Size       int64  // on disk
	Compressed bool
	Whole      bool  // the file is no longer than what was read
	Rows       int64 // requests in what was read
	Rejects    int64
	Skipped    int64         // records that are no requests
	Reasons    []Count       // of the rejects, most first
	Examples   []Reject      // the first of each reason, in the order of Reasons
	Unread     []UnreadField // most values first
	Unreadable int64         // of Rows: a replay cannot play them, as Recorded.Unreadable counts them at any time
	From, To   time.Time
	Unknown    string // columns that the reader does not know, with those that may be meant; "" for none
}

// headLength is how much of a decompressed file Inspect reads.
const headLength = 1 << 20

// Inspect reads the beginning of every file that the patterns name, about a megabyte, and loads nothing. Faults are all
// that is wrong, each wrapping ErrInput: patterns without a file, files of no format, damaged ones. The error is one of ctx.
func Inspect(ctx context.Context, patterns []string, o LoadOptions) (heads []FileHead, faults []error, err error) {
	if err := o.Validate(); err != nil {
		return nil, []error{fmt.Errorf("load: %w: %w", ErrInput, err)}, nil
	}
	inputs, _ := expand(patterns)
	for _, in := range inputs {
		if in.fault != nil {
			faults = append(faults, in.fault)
			continue
		}
		head, err := inspectFile(ctx, in.path, o)
		switch {
		case ctx.Err() != nil:
			return heads, faults, ctx.Err()
		case err != nil:
			faults = append(faults, inputFault(in.path, err))
		default:
			heads = append(heads, head)
		}
	}
	return heads, faults, nil
}

// inputFault is an error about a file as one that wraps ErrInput.
func inputFault(path string, err error) error {
	if errors.Is(err, ErrInput) {
		return err
	}
	var unknown formatError
	errors.As(err, &unknown)
	hint := unknown.hint
	if errors.Is(err, errCutShort) {
		hint = "load it again when it is whole"
	}
	return inputError{path, cause(err).Error(), hint}
}

func inspectFile(ctx context.Context, path string, o LoadOptions) (FileHead, error) {
	head := FileHead{Path: path}
	src, err := openSource(path, nil)
	if err != nil {
		return head, openFailure(path, err)
	}
	defer src.Close() //nolint:errcheck // only read
	head.Size, head.Compressed = src.size, src.compressed
	f, in, empty, err := recogniseStream(o.Format, contextReader{ctx, src})
	if err != nil || empty {
		head.Whole = empty
		return head, err
	}
	head.Format = f.name
	if f.parquet {
		return head, inspectParquet(ctx, path, o, &head)
	}
	head.Whole, err = readHead(f, in, o, &head)
	return head, err
}

// readHead reads the records that lie whole in the first bytes of a file. What the cut does to the last one is no fault.
func readHead(f format, in io.Reader, o LoadOptions, head *FileHead) (whole bool, err error) {
	text, err := io.ReadAll(io.LimitReader(in, headLength+1))
	if err != nil {
		return false, err
	}
	whole = len(text) <= headLength
	if end := bytes.LastIndexByte(text, '\n'); !whole && end > 0 {
		text = text[:end+1]
	}
	look := func(b *experiment.Batch) error {
		for i := range b.Requests {
			if unreadable(&b.Requests[i]) {
				head.Unreadable++
			}
		}
		return nil
	}
	sink := newRowSink(head.Path, newClock(o.Now), look, func(rejected) error { return nil })
	sink.costUnit, sink.byTime = o.CostUnit, true
	unknown, err := f.read(bytes.NewReader(text), 0, sink)
	t := &sink.tally
	head.Unknown = unknownColumns(f.name, unknown, sink.missingColumns())
	if !whole && t.rows > 0 {
		err = nil
	}
	head.fill(t)
	head.From, head.To = t.span()
	return whole, err
}

// fill takes what was counted.
func (h *FileHead) fill(t *fileTally) {
	h.Rows, h.Rejects, h.Skipped = t.rows, t.rejects, t.skipped
	h.Reasons, h.Examples, h.Unread = counts(t.reasons), t.examples(), t.unreadFields()
}

// inspectParquet reads the columns of a Parquet file, and its number of rows.
func inspectParquet(ctx context.Context, path string, o LoadOptions, head *FileHead) error {
	store, err := Open(ctx, InMemory, DefaultOptions())
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // it holds nothing
	loader, err := store.NewLoader(ctx, LoadInfo{File: path, Format: head.Format, Now: o.Now})
	if err != nil {
		return err
	}
	defer loader.Abort() //nolint:errcheck // nothing was loaded
	p := parquetLoad{loader: loader, from: parquetRows(path), clock: newClock(o.Now)}
	unknown, err := p.describe(path)
	if err != nil {
		return err
	}
	var missing []string
	for _, c := range requestColumns() {
		if _, ok := p.columns[c.name]; !ok {
			missing = append(missing, c.name)
		}
	}
	head.Whole, head.Unknown = true, unknownColumns(head.Format, unknown, missing)
	t := newFileTally()
	if err := loader.conn.QueryRowContext(ctx, "SELECT count(*) FROM "+p.from).Scan(&t.rows); err != nil {
		return damaged(path, err)
	}
	// The whole file is only looked at when its beginning asks for it.
	for _, rows := range []int64{headRows, t.rows} {
		t.rejects = 0
		err := p.countRejects(&t, "(SELECT line, reason, text FROM "+p.rejected(fmt.Sprintf("(FROM %s LIMIT %d)", p.from, rows))+" WHERE reason IS NOT NULL)")
		if err != nil {
			return damaged(path, err)
		}
		if t.rejects == 0 || t.rows <= headRows {
			break
		}
	}
	t.rows -= t.rejects
	head.fill(&t)
	return nil
}

// headRows is how many rows of a file of columns are tried.
const headRows = 10_000
