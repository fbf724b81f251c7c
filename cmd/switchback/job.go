package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
)

// job is one command at work in the output folder, under its lock.
type job struct {
	p        *process
	config   config
	out      outDir
	log      *slog.Logger
	progress *progress
	record   *record
	working  atomic.Pointer[stage] // nil between stages
	outcome  string                // last line of the log
	quietly  bool                  // it shows no result, as one night of many
}

// newProgress returns the display of a command and the log that shares its terminal.
func (p *process) newProgress(s *settings) (*progress, *slog.Logger) {
	shown := &progress{w: p.stderr, now: p.now, every: lineEvery, quiet: s.quiet}
	shown.bars = isTerminal(p.stderr) && !s.logJSON
	shown.log = newLogger(shown, s)
	return shown, shown.log
}

// inOutput runs work in the output folder: it makes the folder, keeps the run record from the first second to the
// last, takes the lock, and clears away what dead runs left.
func (p *process) inOutput(ctx context.Context, command string, s *settings, c config, work func(context.Context, *job) error) (err error) {
	out := outDir{c.Out}
	if err := out.create(); err != nil {
		return err
	}
	start := p.now().UTC()
	host, _ := os.Hostname() // a machine without a name is still a machine
	j := &job{p: p, config: c, out: out}
	j.progress, j.log = p.newProgress(s)
	j.record = &record{
		SchemaVersion: schemaVersion, RunID: newRunID(start), Command: command, Args: p.args, Status: statusRunning,
		Started: start, PID: os.Getpid(), Host: host, Program: thisProgram(),
		Experiment: c.Name, Seed: c.Seed, ConfigFile: c.file.path, Config: c.effective(), Stages: []stageRecord{},
	}
	j.log = j.log.With("run_id", j.record.RunID)
	j.progress.log = j.log
	if err := j.record.save(out); err != nil {
		return err
	}
	defer func() {
		switch {
		case ctx.Err() != nil && !reported(err):
			err = &ExitError{Code: exitInterrupted, Err: errInterrupted, Hint: "what was there before is whole; run it again"}
		case isDiskFull(err):
			err = &ExitError{Code: exitFailed, Err: err, Hint: "make room on the disk of " + out.path + " and run it again; what was there before is whole"}
		}
		if !j.record.endedWith(err) {
			j.record.end(p.now(), err)
		}
		if saveErr := j.record.save(out); saveErr != nil {
			err = errors.Join(err, saveErr)
		}
		if err == nil && j.outcome != "" {
			j.log.Info(j.outcome, "seconds", hundredths(p.now().Sub(start).Seconds()))
		}
	}()
	release, err := out.lock(holder{PID: os.Getpid(), Host: host, Start: start})
	if err != nil {
		return err
	}
	defer func() {
		if releaseErr := release(); releaseErr != nil {
			err = errors.Join(err, releaseErr)
		}
	}()
	if err := errors.Join(out.tidy(), out.markLost(j.record)); err != nil {
		return err
	}
	return work(ctx, j)
}

// isDiskFull tells whether an error comes of a disk, a quota or a file that can take no more. DuckDB tells it in words alone.
func isDiskFull(err error) bool {
	if err == nil {
		return false
	}
	for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EFBIG, syscall.EDQUOT} {
		if errors.Is(err, cause) || strings.Contains(strings.ToLower(err.Error()), cause.Error()) {
			return true
		}
	}
	return false
}

// stage runs one stage of the job: it is shown, logged and recorded. do returns how many of unit it worked on.
func (j *job) stage(name, unit string, do func(s *stage) (int64, error)) error {
	s := j.progress.begin(name, unit)
	j.working.Store(s)
	n, err := do(s)
	j.working.Store(nil)
	seconds := s.end()
	if err != nil {
		return err
	}
	j.log.Info(name, unit, n, "seconds", hundredths(seconds))
	if j.record == nil { // drive keeps none
		return nil
	}
	j.record.Stages = append(j.record.Stages, stageRecord{Name: name, Count: n, Unit: unit, Seconds: seconds})
	return j.record.save(j.out)
}

func hundredths(x float64) float64 { return math.Round(x*100) / 100 }
