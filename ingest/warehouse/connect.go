package warehouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"switchback/ingest"
)

// Options say what to connect to and how gently to ask.
type Options struct {
	Address        Address
	User, Password string
	Table          string
	Mapping        Mapping
	Day            string        // SQL expression of a row's day (a Date) that the table is partitioned by; "" for none
	TSUnit         string        // of a ts that is a whole number: one of TSUnits
	Dedupe         bool          // whether records may stand in the table twice
	MaxTime        time.Duration // of one query; 0 leaves it to the server
	MaxMemory      int64         // bytes of one query on each server; 0 leaves it to the server
	Attempts       int           // at a query whose connection is lost, at least 1
	Wait           func(ctx context.Context, d time.Duration) error
	Progress       func(Reading)       // told how far the cluster is with a question, and the zero value when it is done; may be nil
	Asked          func(Question)      // told of every query before it is sent; may be nil
	Retried        func(string, error) // told of every query that is sent again; may be nil
}

// DefaultOptions ask four times at most, for ten minutes each.
func DefaultOptions() Options {
	return Options{Dedupe: true, MaxTime: 10 * time.Minute, Attempts: 4, Wait: wait}
}

// wait waits without a clock.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Question is a query and what it is for.
type Question struct{ Name, SQL string }

// Reading says how far the cluster is with a question.
type Reading struct {
	Question string
	Rows     int64 // read so far
	Of       int64 // to be read, as far as the servers know; 0: not known yet
}

// Warehouse answers questions about the rows of a table.
type Warehouse struct {
	options Options
	conn    driver.Conn
	table   table
	version string

	mu     sync.Mutex // one question at a time
	survey *survey    // of the last window
}

// Open connects and learns the types of the mapped expressions. Close it.
func Open(ctx context.Context, o Options) (*Warehouse, error) {
	if o.Attempts < 1 || o.Wait == nil || o.Table == "" {
		return nil, errors.New("open warehouse: options without a table, attempts or a way to wait")
	}
	settings := settingsOf(o)
	options := &clickhouse.Options{
		Addr:         o.Address.Hosts,
		Auth:         clickhouse.Auth{Database: o.Address.Database, Username: o.User, Password: o.Password},
		Settings:     settings,
		Compression:  &clickhouse.Compression{Method: clickhouse.CompressionLZ4},
		DialTimeout:  10 * time.Second,
		ReadTimeout:  max(5*time.Minute, o.MaxTime+time.Minute),
		MaxOpenConns: 1, MaxIdleConns: 1,
		ClientInfo: clickhouse.ClientInfo{Products: []struct{ Name, Version string }{{"switchback", "1"}}},
	}
	if o.Address.Secure {
		options.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, explain("", err)
	}
	w := &Warehouse{options: o, conn: conn}
	if err := w.learn(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

// settingsOf are the settings of every query. Those that the user's profile could have otherwise are named even where they are
// the server's default: half of the rows is no answer. Releases from 2018 to today know all of them.
func settingsOf(o Options) clickhouse.Settings {
	settings := clickhouse.Settings{
		"readonly":                                 2, // nothing is written; the limits here can be set
		"skip_unavailable_shards":                  0,
		"distributed_group_by_no_merge":            0, // rows of one id, and of one session, may lie on several shards
		"distributed_aggregation_memory_efficient": 1,
	}
	if o.MaxTime > 0 {
		settings["max_execution_time"] = int(max(1, o.MaxTime.Seconds()))
	}
	if o.MaxMemory > 0 {
		settings["max_memory_usage"] = int(o.MaxMemory)
		settings["max_bytes_before_external_group_by"] = int(o.MaxMemory / 2)
	}
	return settings
}

// whole is what every question ends with: a limit that is met ends it, whatever the user's profile says, and does not cut its
// answer short. They stand in the SQL, since the driver sends words as settings only to servers of today.
const whole = `
SETTINGS timeout_overflow_mode = 'throw', read_overflow_mode = 'throw', group_by_overflow_mode = 'throw', sort_overflow_mode = 'throw', result_overflow_mode = 'throw',
  set_overflow_mode = 'throw', distinct_overflow_mode = 'throw', transfer_overflow_mode = 'throw'`

// Close ends the connection.
func (w *Warehouse) Close() error { return w.conn.Close() }

// Version returns the version of the server.
func (w *Warehouse) Version() string { return w.version }

// String names the warehouse and its table, without user and password.
func (w *Warehouse) String() string { return w.options.Address.String() + " " + w.options.Table }

// learn asks for the version, that the table is there, and for the types of the mapped expressions.
func (w *Warehouse) learn(ctx context.Context) error {
	err := w.retry(ctx, "connect", func() error {
		v, err := w.conn.ServerVersion()
		if err == nil {
			w.version = fmt.Sprintf("%d.%d.%d", v.Version.Major, v.Version.Minor, v.Version.Patch)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := w.types(ctx, "table "+w.options.Table, []string{"1"}); err != nil {
		return err
	}
	var readings []reading
	for _, c := range canonicalColumns() {
		readings = append(readings, reading{column: c, expr: w.options.Mapping.Columns[c.name], unit: w.options.TSUnit})
	}
	if err := w.learnTypes(ctx, readings); err != nil {
		return err
	}
	for _, r := range readings {
		if r.expr == "" {
			continue
		}
		if err := r.check(); err != nil {
			return &Error{Cause: err.Error(), config: true, err: err}
		}
	}
	w.table = newTable(w.options.Table, readings, w.options.Mapping.Where, w.options.Day)
	return nil
}

// learnTypes asks for all types at once, and when that fails one after the other, to name the expression that is wrong.
func (w *Warehouse) learnTypes(ctx context.Context, readings []reading) error {
	var exprs []string
	var of []int
	for i, r := range readings {
		if r.expr != "" {
			exprs, of = append(exprs, r.expr), append(of, i)
		}
	}
	found, err := w.types(ctx, "columns", exprs)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || !e.config {
			return err
		}
		for _, i := range of {
			if _, err := w.types(ctx, fmt.Sprintf("column %s = %q", readings[i].column.name, readings[i].expr), []string{readings[i].expr}); err != nil {
				return err
			}
		}
		return err
	}
	for k, i := range of {
		readings[i].typ = plain(found[k])
	}
	return nil
}

// types returns the types of expressions of the table. No row is read.
func (w *Warehouse) types(ctx context.Context, what string, exprs []string) ([]string, error) {
	sql := "SELECT "
	for i, x := range exprs {
		if i > 0 {
			sql += ", "
		}
		sql += fmt.Sprintf("(%s) AS sb_%d", x, i)
	}
	sql += "\nFROM " + w.options.Table + "\nWHERE 0"
	var types []string
	err := w.retry(ctx, what, func() error {
		types = nil
		w.tell(Question{what, sql})
		rows, err := w.conn.Query(ctx, sql)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err tells
		for _, c := range rows.ColumnTypes() {
			types = append(types, c.DatabaseTypeName())
		}
		for rows.Next() { // there is none; the end must be read
		}
		return rows.Err()
	})
	if err == nil && len(types) != len(exprs) {
		err = &Error{Question: what, Cause: fmt.Sprintf("%d types of %d expressions", len(types), len(exprs)), err: errors.New("types are missing")}
	}
	return types, err
}

func (w *Warehouse) tell(q Question) {
	if w.options.Asked != nil {
		w.options.Asked(q)
	}
}

// retry does what may lose its connection, and again after 1, 2, 4, … seconds.
func (w *Warehouse) retry(ctx context.Context, question string, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := explain(question, do())
		var e *Error
		if err == nil || attempt >= w.options.Attempts || !errors.As(err, &e) || !e.lost {
			return err
		}
		if w.options.Retried != nil {
			w.options.Retried(question, err)
		}
		if err := w.options.Wait(ctx, time.Second<<(attempt-1)); err != nil {
			return err
		}
	}
}

// collect asks a question and returns what read makes of its rows.
func collect[T any](ctx context.Context, w *Warehouse, q Question, tables []*ext.Table, read func(scan func(...any) error) (T, error)) ([]T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.SQL += whole
	var reading Reading
	tellReading := func(r Reading) {
		if reading = r; w.options.Progress != nil {
			w.options.Progress(r)
		}
	}
	defer tellReading(Reading{})
	options := []clickhouse.QueryOption{clickhouse.WithExternalTable(tables...), clickhouse.WithProgress(func(p *clickhouse.Progress) { // what came since the last packet
		tellReading(Reading{q.Name, reading.Rows + int64(p.Rows), reading.Of + int64(p.TotalRows)}) //nolint:gosec // no table has 2^63 rows
	})}
	var out []T
	err := w.retry(ctx, q.Name, func() error {
		out = nil
		w.tell(q)
		tellReading(Reading{Question: q.Name})
		rows, err := w.conn.Query(clickhouse.Context(ctx, options...), q.SQL)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {
			v, err := read(rows.Scan)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return rows.Err()
	})
	return out, err
}

// Files names the warehouse as a loaded file, for the report.
func (w *Warehouse) file(s *survey) ingest.LoadedFile {
	return ingest.LoadedFile{
		File: w.String(), Format: "clickhouse", Hash: s.fingerprint(), Rows: s.kept(), Rejects: s.rejected(), Duplicate: s.duplicates,
	}
}
