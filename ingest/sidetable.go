package ingest

import (
	"context"
	"database/sql"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"switchback/experiment"
)

// sideRows is the number of rows that the side tables of a load keep in memory, about 64 MiB. It is no multiple of a record: DuckDB
// 1.1 failed to commit a table of 39 row groups that had come, two full ones at a time, in statements of one transaction. It
// is large enough for the attempts of a few million requests, because a small row group between others is put together with them
// at the commit, which takes longer than to write it.
const sideRows = 512 << 10

// sideTable collects the few rows of a second table while the requests stream by.
type sideTable[Row any] struct {
	table   string
	builder *recordBuilder[Row]
	records []arrow.Record
	rows    int
}

func newSideTable[Row any](table string, alloc memory.Allocator, cols []column[Row]) *sideTable[Row] {
	return &sideTable[Row]{table: table, builder: newRecordBuilder(alloc, cols)}
}

func (t *sideTable[Row]) append(rows []Row) error {
	t.rows += len(rows)
	for len(rows) > 0 {
		var err error
		if rows, err = t.builder.append(rows); err != nil {
			return err
		}
		if t.builder.full() {
			t.records = append(t.records, t.builder.finish())
		}
	}
	return nil
}

func (t *sideTable[Row]) insert(ctx context.Context, conn *sql.Conn) error {
	if t.builder.rows > 0 {
		t.records = append(t.records, t.builder.finish())
	}
	if len(t.records) == 0 {
		return nil
	}
	records := make(chan arrow.Record, len(t.records))
	for _, r := range t.records {
		records <- r
	}
	close(records)
	t.records, t.rows = nil, 0
	err := insertRecords(ctx, conn, t.table, &recordStream{schema: t.builder.schema, records: records})
	for r := range records { // left over by a failed INSERT
		r.Release()
	}
	return err
}

func (t *sideTable[Row]) release() {
	for _, r := range t.records {
		r.Release()
	}
	t.records = nil
	t.builder.release()
}

// rejected is a line of a log that could not be read.
type rejected struct {
	file   string
	line   int64
	reason string
	text   string
}

func rejectColumns(loadID string) []column[rejected] {
	return []column[rejected]{
		textColumn("file", kindDict, func(r *rejected) *string { return &r.file }),
		plainColumn("line", kindBigint, func(r *rejected) *int64 { return &r.line }),
		textColumn("reason", kindDict, func(r *rejected) *string { return &r.reason }),
		textColumn("text", kindText, func(r *rejected) *string { return &r.text }),
		sameColumn[rejected]("load_id", loadID),
	}
}

// joinedRecord is a record of a log that was put together with others to one request.
type joinedRecord struct {
	recordKey
	source string
	id     string             // of the request
	starts experiment.Instant // the request
}

func joinedColumns(loadID string) []column[joinedRecord] {
	return []column[joinedRecord]{
		textColumn("source", kindDict, func(r *joinedRecord) *string { return &r.source }),
		textColumn("source_row_id", kindText, func(r *joinedRecord) *string { return &r.rowID }),
		plainColumn("ts", kindTime, func(r *joinedRecord) *experiment.Instant { return &r.ts }),
		textColumn("request_id", kindText, func(r *joinedRecord) *string { return &r.id }),
		plainColumn("request_ts", kindTime, func(r *joinedRecord) *experiment.Instant { return &r.starts }),
		sameColumn[joinedRecord]("load_id", loadID),
	}
}

// rejectText cuts a line to 200 characters and escapes what could harm a terminal.
func rejectText(line []byte) string {
	const limit = 200
	var b strings.Builder
	for n := 0; n < limit && len(line) > 0; n++ {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size == 1, r < ' ', r >= 0x7f && r < 0xa0:
			const hex = "0123456789abcdef"
			for _, c := range line[:size] {
				b.WriteString(`\x`)
				b.WriteByte(hex[c>>4])
				b.WriteByte(hex[c&15])
			}
		default:
			b.WriteRune(r)
		}
		line = line[size:]
	}
	return b.String()
}
