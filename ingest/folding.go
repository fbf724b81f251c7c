package ingest

import (
	"bytes"
	"cmp"
	"slices"

	"switchback/experiment"
)

// mappedRow is a row on its way from a gateway's log: one attempt or one request.
type mappedRow struct {
	experiment.Request
	attempts []attempt
	rec      node
	line     int64
	text     []byte
	unread   []UnreadField
	link     link
	records  []recordKey // of the attempts that were joined, nil when there is one
}

// recordKey names a record of a log: by its id and its start, since an id alone is reused by some gateways.
type recordKey struct {
	rowID string
	ts    experiment.Instant
}

// parts are the records that a row is made of.
func (r *mappedRow) parts() []recordKey {
	if r.records != nil {
		return r.records
	}
	return []recordKey{{r.SourceRowID, r.TS}}
}

// link says how a row is tied to others of its request.
type link struct {
	key  string // rows of one request share it; "" is tied to none
	open bool   // the row did not end its request: another attempt may follow
	gap  experiment.Micros
	sums bool // the row's number of attempts includes those of the rows before it
}

// anyGap lets attempts follow each other at any distance.
const anyGap = experiment.Micros(1) << 60

// folder tells how a row of a format is tied to others. It reads the record, which is gone when rows are joined.
type folder func(row *mappedRow) link

// chains joins the attempts of a request. Rows are put into the order of their start inside a buffer, so that a
// log need not be sorted exactly; where that is not enough, all rows of the file are sorted before.
type chains struct {
	fold   folder
	emit   func(*mappedRow)
	buffer []mappedRow
	spool  *spool // takes the rows of a file that is sorted as a whole, else nil
	open   map[string]*mappedRow

	joinedTo experiment.Instant // start of the latest row that was joined
	unsorted bool               // a row starts before joinedTo and continued nothing: what it belongs to may be gone
}

const (
	foldBuffer = 8192
	// foldPatience is how long an open request waits for its next attempt, in the time of the log.
	foldPatience = experiment.Micros(10 * 60 * 1_000_000)
)

func newChains(fold folder, emit func(*mappedRow)) *chains {
	return &chains{fold: fold, emit: emit, open: map[string]*mappedRow{}}
}

func (c *chains) add(row *mappedRow) error {
	if c.fold == nil {
		c.emit(row)
		return nil
	}
	row.link = c.fold(row)
	row.rec = node{}
	row.text = bytes.Clone(row.text[:min(len(row.text), 1024)])
	if c.spool != nil {
		return c.spool.add(row)
	}
	c.buffer = append(c.buffer, *row)
	if len(c.buffer) >= foldBuffer {
		c.sort()
		c.join(foldBuffer / 2)
	}
	return nil
}

// flush hands on everything that is left.
func (c *chains) flush() error {
	var err error
	if c.spool != nil {
		n := 0
		err = c.spool.each(func(row *mappedRow) {
			c.step(row)
			if n++; n%foldBuffer == 0 {
				c.expire(row.TS)
			}
		})
	}
	c.sort()
	c.join(len(c.buffer))
	c.expire(1 << 62)
	return err
}

func (c *chains) sort() { slices.SortStableFunc(c.buffer, inTime) }

// join walks over the first n rows of the buffer.
func (c *chains) join(n int) {
	for i := range n {
		row := c.buffer[i]
		c.step(&row)
	}
	if n > 0 {
		c.expire(c.buffer[n-1].TS)
	}
	c.buffer = append(c.buffer[:0], c.buffer[n:]...)
}

// step joins a row with what is open of its request, and hands on what is complete. It keeps the row.
func (c *chains) step(row *mappedRow) {
	if row.link.key == "" {
		c.emit(row)
		return
	}
	before, ok := c.open[row.link.key]
	if ok && slices.Contains(before.parts(), recordKey{row.SourceRowID, row.TS}) {
		c.emit(row) // the log has it twice: no other attempt
		return
	}
	continues := ok && follows(before, row)
	c.unsorted = c.unsorted || row.TS < c.joinedTo && !continues
	c.joinedTo = max(c.joinedTo, row.TS)
	switch {
	case continues:
		*row = joined(before, row)
	case ok:
		c.emit(before)
	}
	if row.link.open {
		c.open[row.link.key] = row
		return
	}
	delete(c.open, row.link.key)
	c.emit(row)
}

// expire hands on the open requests that waited too long, in the order of their start.
func (c *chains) expire(now experiment.Instant) {
	var old []*mappedRow
	for key, row := range c.open {
		if experiment.Micros(now-row.ends()) > foldPatience {
			old = append(old, row)
			delete(c.open, key)
		}
	}
	slices.SortFunc(old, func(a, b *mappedRow) int {
		return cmp.Or(cmp.Compare(a.TS, b.TS), cmp.Compare(a.line, b.line))
	})
	for _, row := range old {
		c.emit(row)
	}
}

func (r *mappedRow) ends() experiment.Instant { return r.TS + experiment.Instant(r.Total.Value) }

func follows(before, row *mappedRow) bool {
	return row.TS >= before.TS && experiment.Micros(row.TS-before.ends()) <= row.link.gap
}

// joined is the request that row continues: it starts where the first attempt started and ends as row did.
func joined(before, row *mappedRow) mappedRow {
	r := *row
	wait := experiment.Micros(row.TS - before.TS)
	r.TS = before.TS
	if r.CallerTTFT.Known {
		r.CallerTTFT.Value += wait
	} else if r.TTFT.Known {
		r.CallerTTFT = experiment.Some(wait + r.TTFT.Value)
	}
	if r.Total.Known {
		r.Total.Value += wait
	}
	r.Failed = sum(before.Failed, row.Failed)
	if !row.link.sums {
		r.Attempts = sum(before.Attempts, row.Attempts)
	}
	r.N429 = sum(before.N429, row.N429)
	if r.Attempts.Known {
		r.Retries = experiment.Some(max(r.Attempts.Value-1, 0))
	}
	r.Quality |= before.Quality
	r.unread = slices.Concat(before.unread, row.unread)
	r.records = append(slices.Clone(before.parts()), row.parts()...)
	r.attempts = slices.Clone(before.attempts)
	for _, a := range row.attempts {
		a.N += int32(len(before.attempts))
		if a.Start.Known {
			a.Start.Value += wait
		}
		r.attempts = append(r.attempts, a)
	}
	return r
}

func sum[T ~int32 | ~int64](a, b experiment.Opt[T]) experiment.Opt[T] {
	if !a.Known || !b.Known {
		return experiment.Opt[T]{}
	}
	return experiment.Some(a.Value + b.Value)
}
