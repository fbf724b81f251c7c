package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/marcboeker/go-duckdb"
)

// ErrLocked is wrapped by the error of Open when another process has the file open. The message names the
// process when DuckDB knows it.
var ErrLocked = errors.New("locked by another process")

// ErrDamaged is wrapped by the error of Open when the file is none of DuckDB's, cut short or damaged.
var ErrDamaged = errors.New("cannot be read")

// ErrNewer is wrapped by the error of Open when a newer DuckDB wrote the file in a form that the one inside does not know.
var ErrNewer = errors.New("written by a newer DuckDB")

// Options of a store. See DefaultOptions.
type Options struct {
	Memory   string // most memory that DuckDB may use, such as "1GiB"
	Threads  int    // of DuckDB, and of what is done with its rows; ≤ 0: all processors
	ReadOnly bool   // refuse to write; several processes may read one file
	TempDir  string // where DuckDB spills; "" is beside the file
}

// DefaultOptions returns a writable store with 1 GiB for DuckDB and all processors.
func DefaultOptions() Options { return Options{Memory: "1GiB"} }

func (o Options) threads() int {
	if o.Threads <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Threads
}

// memoryPattern is what DuckDB takes as a size.
var memoryPattern = regexp.MustCompile(`^[0-9]+(\.[0-9]+)? ?([KMGT]i?B)$`)

// Validate reports options that DuckDB would refuse.
func (o Options) Validate() error {
	if o.Memory != "" && !memoryPattern.MatchString(o.Memory) {
		return fmt.Errorf("memory: %q is not a size such as 512MiB or 2GiB", o.Memory)
	}
	return nil
}

// Store is a DuckDB file with the tables of switchback. Its methods may be called by several goroutines.
type Store struct {
	path    string
	db      *sql.DB
	threads int // at least 1

	loading sync.Mutex // held by a load: one writes at a time
}

// InMemory is the path of a store that is kept in memory and gone when it is closed.
const InMemory = ":memory:"

// Open opens the DuckDB file at path and makes its tables when it is new. The error wraps ErrLocked when
// another process holds the file.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	dsn, err := dataSource(path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	connector, err := duckdb.NewConnector(dsn, nil)
	if err != nil {
		return nil, openError(path, err)
	}
	db := sql.OpenDB(connector)
	if err := ensureSchema(ctx, db, o.ReadOnly); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return &Store{path: path, db: db, threads: o.threads()}, nil
}

// ErrPath is wrapped by the error of a path that no DuckDB file can be opened at.
var ErrPath = errors.New("the whole path of a DuckDB file cannot hold '?', '%' or '#'")

// CheckPath returns an error that wraps ErrPath when a DuckDB file cannot lie at path or below it: the driver takes the
// path as the beginning of a URL.
func CheckPath(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if strings.ContainsAny(abs, "?%#") {
		return fmt.Errorf("%s: %w", abs, ErrPath)
	}
	return nil
}

// dataSource builds the name that the driver takes: a path, then settings as a URL query.
func dataSource(path string, o Options) (string, error) {
	abs, temp := "", o.TempDir // DuckDB takes no name as: in memory
	if path != InMemory {
		var err error
		if abs, err = filepath.Abs(path); err != nil {
			return "", err
		}
		if temp == "" {
			temp = abs + ".tmp"
		}
	}
	if err := CheckPath(abs); err != nil {
		return "", err
	}
	settings := url.Values{
		"threads": {strconv.Itoa(o.threads())},
		// Sums are exact in any order: only a load keeps the order of the rows.
		"preserve_insertion_order": {"false"},
		// What is not built in is not fetched: the program needs no network and uses none.
		"autoinstall_known_extensions": {"false"},
		"autoload_known_extensions":    {"false"},
	}
	if temp != "" {
		settings.Set("temp_directory", temp)
	}
	if o.Memory != "" {
		settings.Set("memory_limit", strings.ReplaceAll(o.Memory, " ", ""))
	}
	if o.ReadOnly {
		settings.Set("access_mode", "read_only")
		// A query of a user neither reads nor writes other files, and cannot allow itself to.
		settings.Set("enable_external_access", "false")
		settings.Set("lock_configuration", "true")
	}
	return abs + "?" + settings.Encode(), nil
}

// lockHolder finds the process in DuckDB's message about a lock.
var lockHolder = regexp.MustCompile(`Conflicting lock is held in (.*?\(PID \d+\))`)

func openError(path string, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "Could not set lock"):
		if m := lockHolder.FindStringSubmatch(text); m != nil {
			return fmt.Errorf("open %s: %w: %s", path, ErrLocked, m[1])
		}
		return fmt.Errorf("open %s: %w", path, ErrLocked)
	case strings.Contains(text, "not a valid DuckDB database file"):
		return fmt.Errorf("open %s: %w: it is not a DuckDB file", path, ErrDamaged)
	case strings.Contains(text, "with version number"):
		return fmt.Errorf("open %s: %w", path, ErrNewer)
	case strings.Contains(text, "Corrupt database file"), strings.Contains(text, "Could not read enough bytes"),
		strings.Contains(text, "Serialization Error"), strings.Contains(text, "replaying WAL"):
		return fmt.Errorf("open %s: %w: %s", path, ErrDamaged, plainMessage(text))
	}
	return fmt.Errorf("open %s: %s", path, plainMessage(text)) // the driver has no errors to tell apart
}

// Path returns the path that the store was opened with.
func (s *Store) Path() string { return s.path }

// Close writes everything to the file and closes it.
func (s *Store) Close() error { return s.db.Close() }
