package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// outDir is the output folder: switchback.duckdb, plan.csv, reports/YYYY-MM-DD/, latest, runs/RUN_ID.json and .lock.
type outDir struct {
	path string
}

func (o outDir) database() string          { return filepath.Join(o.path, "switchback.duckdb") }
func (o outDir) plan() string              { return filepath.Join(o.path, "plan.csv") }
func (o outDir) reports() string           { return filepath.Join(o.path, "reports") }
func (o outDir) report(date string) string { return filepath.Join(o.reports(), date) }
func (o outDir) latest() string            { return filepath.Join(o.path, "latest") }
func (o outDir) runs() string              { return filepath.Join(o.path, "runs") }
func (o outDir) lockFile() string          { return filepath.Join(o.path, ".lock") }

// aside returns where the database of a simulated run is built before it takes the place of the former one.
func (o outDir) aside(runID string) string { return o.database() + tmpMark + runID }

// tmpMark marks what a run builds aside; what a dead run left behind is removed by the next one.
const tmpMark = ".tmp-"

// oldMark marks a report folder that is being replaced.
const oldMark = ".old-"

// create makes the folders of an output folder.
func (o outDir) create() error {
	for _, dir := range []string{o.path, o.reports(), o.runs()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create output folder: %w", err)
		}
	}
	return nil
}

// holder says who holds the lock.
type holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Start time.Time `json:"start"`
}

// lock takes the output folder for one run, without waiting. The kernel frees the lock with the process, whatever
// ends it; the file itself stays. A busy folder is an error with exit code 75 that names the holder.
func (o outDir) lock(me holder) (release func() error, err error) {
	lock := flock.New(o.lockFile(), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", o.lockFile(), err)
	}
	if !got {
		return nil, o.busy()
	}
	text, err := json.Marshal(me)
	if err == nil {
		err = os.WriteFile(o.lockFile(), append(text, '\n'), 0o644)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", o.lockFile(), err), lock.Unlock())
	}
	return lock.Unlock, nil
}

// busy returns the error of a folder that another run has taken.
func (o outDir) busy() error {
	who := "another run"
	var h holder
	if text, err := os.ReadFile(o.lockFile()); err == nil && json.Unmarshal(text, &h) == nil {
		who = fmt.Sprintf("process %d on %s, running since %s,", h.PID, h.Host, h.Start.UTC().Format(time.RFC3339))
	}
	return &ExitError{
		Code: exitLocked,
		Err:  fmt.Errorf("lock %s: %s holds it", o.path, who),
		Hint: "retry later, or choose another --out",
	}
}

// tidy removes what dead runs left behind, and puts back a report folder whose replacement did not arrive.
// The caller holds the lock.
func (o outDir) tidy() error {
	olds, err := filepath.Glob(filepath.Join(o.reports(), oldMark+"*"))
	if err != nil {
		return err
	}
	for _, old := range olds {
		date := strings.TrimPrefix(filepath.Base(old), oldMark)
		if _, err := os.Stat(o.report(date)); errors.Is(err, os.ErrNotExist) {
			if err := os.Rename(old, o.report(date)); err != nil {
				return fmt.Errorf("restore report: %w", err)
			}
		}
	}
	for _, pattern := range []string{
		filepath.Join(o.reports(), oldMark+"*"),
		filepath.Join(o.reports(), tmpMark+"*"),
		o.database() + tmpMark + "*",
		filepath.Join(o.path, ".latest*"), // of a link that was being swapped
	} {
		left, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range left {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("remove what an earlier run left: %w", err)
			}
		}
	}
	return nil
}
