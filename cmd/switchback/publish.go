package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"switchback/reports"
)

// publish builds a report folder aside and swaps it in, so that readers see the former report or the new one, and
// points latest at it. manifest is the successful run's record.
func (o outDir) publish(runID, date string, files reports.Files, manifest []byte) error {
	aside := filepath.Join(o.reports(), tmpMark+runID)
	if err := os.Mkdir(aside, 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	all := append(files[:len(files):len(files)], reports.File{Name: manifestName, Bytes: manifest})
	for _, f := range all {
		if err := writeSynced(filepath.Join(aside, f.Name), f.Bytes); err != nil {
			return errors.Join(fmt.Errorf("write report: %w", err), os.RemoveAll(aside))
		}
	}
	if err := o.swapReport(aside, date); err != nil {
		return errors.Join(fmt.Errorf("publish report: %w", err), os.RemoveAll(aside))
	}
	return o.pointLatest(date)
}

const manifestName = "manifest.json"

// swapReport puts a finished folder in the place of a date's report. Rename cannot replace a folder that is not
// empty, so the former one steps aside first; a run that dies between the two renames is mended by tidy.
func (o outDir) swapReport(aside, date string) error {
	target, old := o.report(date), filepath.Join(o.reports(), oldMark+date)
	switch err := os.Rename(target, old); {
	case errors.Is(err, os.ErrNotExist):
		return os.Rename(aside, target)
	case err != nil:
		return err
	}
	if err := os.Rename(aside, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return os.RemoveAll(old)
}

// pointLatest links latest to a date's report, unless it shows a later date of the same experiment.
func (o outDir) pointLatest(date string) error {
	if shown, err := os.Readlink(o.latest()); err == nil {
		if filepath.Base(shown) > date && o.experimentOf(filepath.Base(shown)) == o.experimentOf(date) {
			return nil
		}
	}
	if err := renameio.Symlink(filepath.Join(filepath.Base(o.reports()), date), o.latest()); err != nil {
		return fmt.Errorf("link latest: %w", err)
	}
	return nil
}

// experimentOf returns the name of the experiment that a report folder is of, or "" when it cannot be told.
func (o outDir) experimentOf(date string) string {
	r, err := o.manifest(date)
	if err != nil {
		return ""
	}
	return r.Experiment
}

// manifest reads the record of the run that wrote a date's report.
func (o outDir) manifest(date string) (record, error) {
	text, err := os.ReadFile(filepath.Join(o.report(date), manifestName))
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, fmt.Errorf("read %s of %s: %w", manifestName, date, err)
	}
	return r, nil
}

// replaceDatabase puts a finished database in the place of the former one.
func (o outDir) replaceDatabase(aside string) error {
	// A write-ahead log of the former file must not be replayed into the new one.
	if err := os.Remove(o.database() + ".wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace database: %w", err)
	}
	if err := os.Rename(aside, o.database()); err != nil {
		return fmt.Errorf("replace database: %w", err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
