package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"switchback/ingest"
)

// storeOptions returns how the DuckDB file is opened.
func (c *config) storeOptions() ingest.Options {
	o := ingest.DefaultOptions()
	o.Threads = c.Threads
	if c.Memory != "" {
		o.Memory = c.Memory
	}
	return o
}

// openStore opens a DuckDB file. One that another process holds is an error with exit code 75.
func openStore(ctx context.Context, path string, o ingest.Options) (*ingest.Store, error) {
	store, err := ingest.Open(ctx, path, o)
	switch {
	case errors.Is(err, ingest.ErrLocked):
		return nil, &ExitError{Code: exitLocked, Err: err, Hint: "close the program that has the file open, or retry later"}
	case errors.Is(err, ingest.ErrPath):
		return nil, usageError(pathHint, "%w", err)
	case errors.Is(err, ingest.ErrDamaged):
		return nil, &ExitError{Code: exitFailed, Err: err, Hint: damagedHint}
	case errors.Is(err, ingest.ErrNewer):
		return nil, usageError("choose another --out, or copy its tables into a file of an older form with the DuckDB that wrote it", "%w", err)
	}
	return store, err
}

// pathHint says what to do about a folder whose name the DuckDB driver cannot take.
const pathHint = "choose a folder with another name, or work in one"

// damagedHint says what to do with a DuckDB file that cannot be read.
const damagedHint = "restore it, or move it away and run again: what the logs still hold is loaded anew"

// openFilled opens a DuckDB file that an earlier command has filled.
func openFilled(ctx context.Context, path string, o ingest.Options) (*ingest.Store, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("switchback run or switchback ingest makes it; --out names the folder", "open %s: no such file", path)
	}
	return openStore(ctx, path, o)
}

// removeDatabase removes a database that will not be used.
func removeDatabase(path string) error {
	return errors.Join(os.RemoveAll(path), os.RemoveAll(path+".wal"), os.RemoveAll(path+".tmp"))
}

// scalar returns the only value of a query as text.
func scalar(ctx context.Context, store *ingest.Store, query string) (string, error) {
	rows, err := store.Query(ctx, query)
	if err != nil {
		return "", err
	}
	defer rows.Close() //nolint:errcheck // only read
	value := ""
	if rows.Next() {
		value = fmt.Sprint(rows.Values()[0])
	}
	return value, rows.Err()
}
