package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"switchback/reports"
	"switchback/stats"
)

// Statuses of a run.
const (
	statusRunning     = "running"
	statusDone        = "done"
	statusUpToDate    = "up_to_date"
	statusFailed      = "failed"
	statusInterrupted = "interrupted"
	statusLost        = "lost" // it died without a word; written by the next run
)

// record is what is known of one run: runs/RUN_ID.json, written from the first second to the last, also on failure.
// The copy of a successful run is manifest.json in its report folder. Wall-clock facts stand nowhere else.
type record struct {
	SchemaVersion int             `json:"schema_version"`
	RunID         string          `json:"run_id"`
	Command       string          `json:"command"`
	Args          []string        `json:"args"`
	Status        string          `json:"status"`
	ExitCode      *int            `json:"exit_code"` // null while it runs
	Error         string          `json:"error,omitempty"`
	Started       time.Time       `json:"started"`
	Ended         *time.Time      `json:"ended"`
	PID           int             `json:"pid"`
	Host          string          `json:"host"`
	Program       program         `json:"program"`
	Experiment    string          `json:"experiment"`
	ReportDate    string          `json:"report_date,omitempty"`
	Seed          uint64          `json:"seed"`
	ConfigFile    string          `json:"config_file,omitempty"`
	Config        string          `json:"config"` // effective, as TOML: file, environment and flags together
	Fingerprint   string          `json:"fingerprint,omitempty"`
	Inputs        []reports.Input `json:"inputs,omitempty"`
	Stages        []stageRecord   `json:"stages"`
	Warnings      []stats.Warning `json:"warnings,omitempty"`
	Outputs       []outputFile    `json:"outputs,omitempty"`
	Breached      []string        `json:"breached,omitempty"` // guardrail metrics
	PeakRSSBytes  int64           `json:"peak_rss_bytes,omitempty"`
}

// stageRecord is one finished stage of a run.
type stageRecord struct {
	Name    string  `json:"name"`
	Count   int64   `json:"count"` // of what the stage works on, such as rows
	Unit    string  `json:"unit"`
	Seconds float64 `json:"seconds"`
}

// outputFile is one file of a report folder.
type outputFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// newRunID names a run by its start, with a random tail for runs of the same second.
func newRunID(start time.Time) string {
	tail := make([]byte, 3)
	rand.Read(tail) // never fails since Go 1.24
	return start.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(tail)
}

// encode renders the record as it is written.
func (r *record) encode() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode run record: %w", err)
	}
	return append(text, '\n'), nil
}

// save writes the record into the output folder, replacing its former state.
func (r *record) save(o outDir) error {
	text, err := r.encode()
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(o.runs(), r.RunID+".json"), text, 0o644); err != nil {
		return fmt.Errorf("write run record: %w", err)
	}
	return nil
}

// end fills in how the run ended.
func (r *record) end(now time.Time, err error) {
	code := codeOf(err)
	ended := now.UTC()
	r.ExitCode, r.Ended, r.PeakRSSBytes = &code, &ended, peakRSS()
	switch {
	case reported(err):
		if r.Status == statusRunning {
			r.Status = statusDone
		}
	case code == exitInterrupted:
		r.Status = statusInterrupted
	default:
		r.Status = statusFailed
	}
	if err != nil {
		r.Error = err.Error()
	}
}

// endedWith reports whether the record says already that the run ended with err.
func (r *record) endedWith(err error) bool {
	return r.ExitCode != nil && *r.ExitCode == codeOf(err)
}

// markLost gives the records of runs that died without a word their end. The caller, whose record is own, holds the lock, so
// another run of the folder that is alive is about to meet it and will write its own end.
func (o outDir) markLost(own *record) error {
	files, err := filepath.Glob(filepath.Join(o.runs(), "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read run record: %w", err)
		}
		var r record
		if json.Unmarshal(text, &r) != nil || r.Status != statusRunning || r.RunID == own.RunID {
			continue
		}
		if r.Host == own.Host && r.PID > 0 && r.PID != own.PID && syscall.Kill(r.PID, 0) == nil {
			continue
		}
		r.Status = statusLost
		if err := r.save(o); err != nil {
			return err
		}
	}
	return nil
}

// upToDate reports whether a date's report was made by the same program from the same inputs, and is whole.
func (o outDir) upToDate(date, fingerprint string) (record, bool) {
	r, err := o.manifest(date)
	if err != nil || r.Fingerprint != fingerprint || r.Status != statusDone || r.ExitCode == nil {
		return record{}, false
	}
	for _, out := range r.Outputs {
		if sum, err := hashFile(filepath.Join(o.report(date), out.Name)); err != nil || sum != out.SHA256 {
			return record{}, false
		}
	}
	if _, err := os.Stat(o.database()); errors.Is(err, os.ErrNotExist) {
		return record{}, false
	}
	return r, true
}
