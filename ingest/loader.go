package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"

	"switchback/experiment"
)

// SourceDrive is requests.source of rows that the drive made.
const SourceDrive = "switchback"

// DriveFile is the name in `loads` that the rows of a drive stand under.
const DriveFile = "drive"

// LoadInfo says what a load is, for its row in `loads`.
type LoadInfo struct {
	File    string    // path of the log, or DriveFile
	Format  string    // name of the log format, or SourceDrive
	Hash    string    // of the decompressed bytes, or of what the rows follow from
	Bytes   int64     // decompressed size, 0 for a drive
	Now     time.Time // when the load happens
	Replace bool      // drop the rows of earlier loads of File in the same transaction
}

// LoadRow is what a finished load put into `loads`.
type LoadRow struct {
	LoadID     string
	Rows       int64 // requests
	Rejects    int64
	Skipped    int64 // records that are no requests
	Duplicates int64 // of Rows: dropped because another row has the same key
}

// Loader streams batches into the DuckDB file in one transaction: all of them arrive with Commit, or none.
// One goroutine uses it at a time.
type Loader struct {
	store *Store
	ctx   context.Context
	conn  *sql.Conn
	info  LoadInfo
	row   LoadRow
	notes []string // for a reader of `loads`
	alloc *recycler
	err   error // first failure; the load can only be aborted then
	done  bool

	replaced int64     // rows of earlier loads of the file, dropped
	alone    bool      // no other load has rows
	keys     *keySet   // of the rows that Write got
	from, to time.Time // arrivals of the rows; zero when duplicates need not be looked for
	found    duplicates
	late     int64  // rows of days before the newest one that was loaded already
	lateDays string // their days

	folds          bool // a request may be put together from several records
	chained        bool // one was
	sessionIsTrace bool // a session id that looks like a UUID and stands once was made up

	requests *recordBuilder[experiment.Request]
	ready    []arrow.Record // of requests, not sent yet
	sending  *insertion     // INSERT that is reading requests, nil between two
	attempts *sideTable[experiment.Attempt]
	rejects  *sideTable[rejected]
	joined   *sideTable[joinedRecord]
}

// NewLoader begins a load. It must end with Commit or Abort; a second one waits for that.
func (s *Store) NewLoader(ctx context.Context, info LoadInfo) (*Loader, error) {
	s.loading.Lock()
	l, err := s.newLoader(ctx, info)
	if err != nil {
		s.loading.Unlock()
		return nil, fmt.Errorf("load %s: %w", info.File, err)
	}
	return l, nil
}

func (s *Store) newLoader(ctx context.Context, info LoadInfo) (*Loader, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	l := &Loader{store: s, ctx: ctx, conn: conn, info: info, alloc: newRecycler(), keys: newKeySet()}
	if info.Format == SourceDrive {
		l.keys.giveUp() // nobody will ask
	}
	if err := l.begin(); err != nil {
		return nil, errors.Join(err, l.rollback(), l.leave())
	}
	l.requests = newRecordBuilder(l.alloc, loadedRequestColumns(l.row.LoadID, info.Format != SourceDrive))
	l.attempts = newSideTable("attempts", l.alloc, loadedAttemptColumns(l.row.LoadID))
	l.rejects = newSideTable("rejects", l.alloc, rejectColumns(l.row.LoadID))
	l.joined = newSideTable("joined", l.alloc, joinedColumns(l.row.LoadID))
	return l, nil
}

func (l *Loader) begin() error {
	if _, err := l.conn.ExecContext(l.ctx, keepOrder(true)); err != nil {
		return err
	}
	if _, err := l.conn.ExecContext(l.ctx, "BEGIN TRANSACTION"); err != nil {
		return err
	}
	const next = "SELECT CAST(coalesce(max(CAST(load_id AS BIGINT)), 0) + 1 AS VARCHAR) FROM loads"
	if err := l.conn.QueryRowContext(l.ctx, next).Scan(&l.row.LoadID); err != nil {
		return err
	}
	if l.info.Replace {
		if err := l.rememberReplaced(); err != nil {
			return err
		}
		const dropped = "SELECT count(*) FROM requests WHERE load_id IN (SELECT load_id FROM loads WHERE file = ?)"
		if err := l.conn.QueryRowContext(l.ctx, dropped, l.info.File).Scan(&l.replaced); err != nil {
			return err
		}
		if err := dropLoads(l.ctx, l.conn, "file = ?", l.info.File); err != nil {
			return err
		}
	}
	return l.conn.QueryRowContext(l.ctx, "SELECT NOT EXISTS (SELECT 1 FROM requests)").Scan(&l.alone)
}

// dropLoads deletes everything that came with the loads that a condition on `loads` selects.
func dropLoads(ctx context.Context, conn *sql.Conn, condition string, args ...any) error {
	for _, table := range []string{"requests", "attempts", "joined", "rejects", "loads"} {
		statement := fmt.Sprintf("DELETE FROM %s WHERE load_id IN (SELECT load_id FROM loads WHERE %s)", table, condition)
		if _, err := conn.ExecContext(ctx, statement, args...); err != nil {
			return fmt.Errorf("replace earlier rows in %s: %w", table, err)
		}
	}
	return nil
}

// Write adds a batch to the load. The batch may be reused when Write returns.
func (l *Loader) Write(b *experiment.Batch) error {
	if l.done {
		return errors.New("load: write after the end of the load")
	}
	if l.err == nil {
		l.err = l.named(l.write(b))
	}
	return l.err
}

// named says which load an error is of.
func (l *Loader) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("load %s: %w", l.info.File, err)
}

func (l *Loader) write(b *experiment.Batch) error {
	l.row.Rows += int64(len(b.Requests))
	l.keys.add(b.Requests)
	for rest := b.Requests; len(rest) > 0; {
		var err error
		if rest, err = l.requests.append(rest); err != nil {
			return err
		}
		if l.requests.full() {
			if err := l.send(); err != nil {
				return err
			}
		}
	}
	if err := l.attempts.append(b.Attempts); err != nil {
		return err
	}
	return l.spill()
}

// reject keeps a line that cannot be read.
func (l *Loader) reject(r rejected) error {
	l.row.Rejects++
	if err := l.rejects.append([]rejected{r}); err != nil {
		return err
	}
	return l.spill()
}

// join keeps records that one request was put together from.
func (l *Loader) join(records []joinedRecord) error {
	l.chained = true
	if err := l.joined.append(records); err != nil {
		return err
	}
	return l.spill()
}

// spill ends the running INSERT to write the side tables when they have grown: a connection runs one statement
// at a time.
func (l *Loader) spill() error {
	if l.attempts.rows+l.joined.rows+l.rejects.rows < sideRows {
		return nil
	}
	return l.flush()
}

func (l *Loader) flush() error {
	if l.requests.rows > 0 {
		l.ready = append(l.ready, l.requests.finish())
	}
	if err := l.sendReady(); err != nil {
		return err
	}
	if err := l.finishInsert(); err != nil {
		return err
	}
	if err := l.attempts.insert(l.ctx, l.conn); err != nil {
		return err
	}
	if err := l.joined.insert(l.ctx, l.conn); err != nil {
		return err
	}
	return l.rejects.insert(l.ctx, l.conn)
}

// recordsAtOnce is how many records go to DuckDB at once. It writes a record to the disk when it is given the next one, on
// as many threads as have one: given one by one, the last record of a load would keep one thread busy and the others idle.
const recordsAtOnce = 2

// send hands the collected requests on when they are enough.
func (l *Loader) send() error {
	l.ready = append(l.ready, l.requests.finish())
	if len(l.ready) < recordsAtOnce {
		return nil
	}
	return l.sendReady()
}

// sendReady hands records to the running INSERT and starts one when none runs.
func (l *Loader) sendReady() error {
	for len(l.ready) > 0 {
		if l.sending == nil {
			l.sending = startInsert(l.ctx, l.conn, "requests", l.requests.schema)
		}
		record := l.ready[0]
		l.ready = l.ready[1:]
		if err := l.sending.send(record); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loader) finishInsert() error {
	if l.sending == nil {
		return nil
	}
	sending := l.sending
	l.sending = nil
	return sending.finish()
}

// Commit writes the row in `loads` and makes the load visible.
func (l *Loader) Commit() (LoadRow, error) {
	if l.done {
		return l.row, errors.New("load: commit after the end of the load")
	}
	if l.err == nil {
		l.err = l.named(l.commit())
	}
	if l.err != nil {
		err := l.err
		return l.row, errors.Join(err, l.Abort())
	}
	return l.row, l.close()
}

func (l *Loader) commit() error {
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.dropDuplicates(); err != nil {
		return err
	}
	if err := l.dropMadeUpSessions(); err != nil {
		return err
	}
	if err := l.reviveDuplicates(); err != nil {
		return err
	}
	if err := l.countLate(); err != nil {
		return err
	}
	l.notes = append(l.notes, l.lateness()...)
	now := l.info.Now.UTC().Truncate(time.Microsecond)
	_, err := l.conn.ExecContext(l.ctx, "INSERT INTO loads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		l.row.LoadID, l.info.File, l.info.Format, l.info.Hash, l.info.Bytes, l.row.Rows, l.row.Rejects,
		l.row.Skipped, l.row.Duplicates, l.found.conflicting, strings.Join(l.notes, noteSeparator), now)
	if err != nil {
		return err
	}
	if _, err := l.conn.ExecContext(l.ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// noteSeparator stands between the notes of a load.
const noteSeparator = "; "

// lateness tells which rows came late, if any did.
func (l *Loader) lateness() []string {
	if l.late == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d rows came late: they belong to %s", l.late, l.lateDays)}
}

// span tells the arrivals of the first and last row and asks to look for duplicates among them.
func (l *Loader) span(from, to time.Time) { l.from, l.to = from, to }

// dropDuplicates leaves one row of every record, and of every request that several records tell of.
func (l *Loader) dropDuplicates() error {
	if l.from.IsZero() {
		return nil
	}
	err := l.dropSameKeys()
	if err == nil && l.folds && (l.chained || !l.alone) {
		err = l.dropPieces()
	}
	l.row.Duplicates = l.found.ours
	return err
}

func (l *Loader) dropSameKeys() error {
	span := l.within(time.Millisecond) // rows of one key may differ inside their millisecond
	if l.keys.tellApart(l.row.Rows) {
		if others, err := l.othersIn(span); err != nil || !others {
			return err
		}
	}
	found, err := dedupe(l.ctx, l.conn, l.row.LoadID, span)
	l.found.add(found)
	return err
}

func (l *Loader) dropPieces() error {
	found, err := dropPieces(l.ctx, l.conn, l.row.LoadID, l.info.Format, l.within(chainReach))
	l.found.add(found)
	return err
}

// within is the SQL of the arrivals of the load's rows, and of those that are no farther from them.
func (l *Loader) within(reach time.Duration) string {
	return fmt.Sprintf("ts BETWEEN %s AND %s", timestamp(l.from.Add(-reach)), timestamp(l.to.Add(reach)))
}

// othersIn tells whether other loads have rows in a span.
func (l *Loader) othersIn(span string) (others bool, err error) {
	if l.alone {
		return false, nil
	}
	err = l.conn.QueryRowContext(l.ctx, "SELECT EXISTS (SELECT 1 FROM requests WHERE "+span+" AND load_id <> ?)", l.row.LoadID).Scan(&others)
	if err != nil {
		return false, fmt.Errorf("find duplicates: %w", err)
	}
	return others, nil
}

// dropMadeUpSessions forgets session ids of this load that a gateway makes up for requests without one.
func (l *Loader) dropMadeUpSessions() error {
	if !l.sessionIsTrace {
		return nil
	}
	_, err := l.conn.ExecContext(l.ctx, `UPDATE requests SET session_id = NULL WHERE load_id = ? AND session_id IN (
		SELECT session_id FROM requests WHERE regexp_full_match(session_id, '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}') GROUP BY session_id HAVING count(*) = 1)`, l.row.LoadID)
	if err != nil {
		return fmt.Errorf("made-up sessions: %w", err)
	}
	return nil
}

// Abort ends the load and leaves nothing of it. After Commit it does nothing.
func (l *Loader) Abort() error {
	if l.done {
		return nil
	}
	if l.sending != nil {
		l.sending.abort()
		l.sending = nil
	}
	return errors.Join(l.rollback(), l.close())
}

// rollback runs without the load's context, which may be what ended the load.
func (l *Loader) rollback() error {
	_, err := l.conn.ExecContext(context.WithoutCancel(l.ctx), "ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	return err
}

func (l *Loader) close() error {
	l.done = true
	for _, r := range l.ready {
		r.Release()
	}
	l.requests.release()
	l.attempts.release()
	l.joined.release()
	l.rejects.release()
	l.alloc.close()
	err := l.leave()
	l.store.loading.Unlock()
	return err
}

// leave gives the connection back.
func (l *Loader) leave() error {
	l.conn.ExecContext(context.WithoutCancel(l.ctx), keepOrder(false)) //nolint:errcheck // what comes after is right in any order
	return l.conn.Close()
}

// keepOrder is the SQL that makes DuckDB keep the order of rows, or not. A load needs it: of duplicates that are equally
// complete the later one counts.
func keepOrder(on bool) string { return fmt.Sprintf("SET GLOBAL preserve_insertion_order = %t", on) }

// insertion is an INSERT that runs in its own goroutine and reads the records that are sent to it.
type insertion struct {
	records chan arrow.Record
	stop    chan struct{}
	ended   chan struct{} // closed when err is set
	err     error
}

func startInsert(ctx context.Context, conn *sql.Conn, table string, schema *arrow.Schema) *insertion {
	in := &insertion{records: make(chan arrow.Record), stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(in.ended)
		in.err = insertRecords(ctx, conn, table, &recordStream{schema: schema, records: in.records, stop: in.stop})
	}()
	return in
}

func (in *insertion) send(record arrow.Record) error {
	select {
	case in.records <- record:
		return nil
	case <-in.ended: // only a failed INSERT ends before its records do
		record.Release()
		in.drain()
		return in.err
	}
}

func (in *insertion) finish() error {
	close(in.records)
	<-in.ended
	in.drain()
	return in.err
}

func (in *insertion) abort() {
	close(in.stop)
	<-in.ended
	in.drain()
}

// drain releases records that nobody will read.
func (in *insertion) drain() {
	for {
		select {
		case record, ok := <-in.records:
			if !ok {
				return
			}
			record.Release()
		default:
			return
		}
	}
}
