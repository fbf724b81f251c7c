package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"

	"switchback/experiment"
	"switchback/ingest"
)

// driveSettings are the flags of drive.
type driveSettings struct {
	settings
	write  string
	format string
	world  string
	shard  string
}

// Formats of the request log that drive writes: containers of the canonical format. Those of gateways come beside them.
const (
	formatParquet = "parquet"
	formatJSONL   = "jsonl"
	formatCSV     = "csv"
	formatArrow   = "arrow"
)

// driveFormats returns every format that drive writes.
func driveFormats() []string {
	return append([]string{formatParquet, formatJSONL, formatCSV, formatArrow}, ingest.WritableFormats()...)
}

// driveCommand writes the request logs of a simulated experiment.
func (p *process) driveCommand() command {
	var s driveSettings
	fs := pflag.NewFlagSet("drive", pflag.ContinueOnError)
	fs.StringVar(&s.write, "write", "", "`folder` that the request log and its plan.csv are written to; required")
	fs.StringVar(&s.format, "format", formatParquet, "parquet, jsonl, csv or arrow, which are canonical and hold everything, or the log of a gateway, a `name`: "+strings.Join(ingest.WritableFormats(), ", "))
	fs.StringVar(&s.world, "world", experiment.WorldSwitchback, "who routes, a `word`: switchback (the plan's blocks decide the arm), ab or ab-request (a hash of the conversation or the request), control or treatment (one arm routes everything)")
	fs.StringVar(&s.shard, "shard", "", "drive only share `K/N` of the models, K from 0 to N-1; the logs of all N shares together are that of the whole")
	s.configFlag(fs)
	s.simulationFlags(fs)
	s.limitFlags(fs)
	s.logFlags(fs)
	return command{
		use:   "drive",
		short: "Drive the built-in router through the plan and write request logs",
		long: "switchback ingest, or a configuration with [logs], reads the log back, with plan.csv as the schedule that ran. A\n" +
			"canonical log has every row and attempt as run has them; that of a gateway has what its format can carry.\n" +
			"Parquet is sorted by time. The rows of other formats come as requests end, one model after the other but for those that\n" +
			"fallback lists join; one thread drives them, so that their order is always the same. Every --world has the same arrivals,\n" +
			"token lengths and incidents: control and treatment show the true effect, ab what a plain A/B test makes of it. Their logs\n" +
			"are named after the world and have no plan.csv, for no schedule decided their arms.",
		example: "  switchback drive --write logs\n  switchback drive --config small.toml --write logs --format jsonl\n  switchback drive --write logs --format openrouter-generation\n  switchback drive --write logs --world control\n  switchback drive --write logs --shard 0/4",
		args:    noArguments,
		flags:   fs,
		run: func(ctx context.Context, _ []string) error {
			if err := checkWords("format", s.format, driveFormats()); err != nil {
				return err
			}
			if err := checkWords("world", s.world, experiment.Worlds()); err != nil {
				return err
			}
			shard, err := parseShard(s.shard)
			if err != nil {
				return err
			}
			if s.write == "" {
				return usageError("name a folder, such as --write logs", "--write is missing")
			}
			if err := ingest.CheckPath(s.write); err != nil && s.format == formatParquet {
				return usageError(pathHint, "--write: %w", err)
			}
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			if !c.simulated() {
				return usageError("drive runs the built-in router; the logs are there already", "%s: the experiment reads logs", c.file.place("logs"))
			}
			return p.drive(ctx, &s, c, shard)
		},
	}
}

func (p *process) drive(ctx context.Context, s *driveSettings, c config, shard experiment.Shard) (err error) {
	plan, err := c.plan()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.write, 0o755); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	j := &job{p: p, config: c, out: outDir{s.write}}
	j.progress, j.log = p.newProgress(&s.settings)
	again, err := j.openReplay(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, again.close()) }()
	asked, err := j.replayed(ctx, again, plan)
	if err != nil {
		return err
	}
	path := filepath.Join(s.write, logName(s.world, shard, s.format))
	shown := j.progress.begin("drive", "requests")
	summary, err := j.writeLog(ctx, driveOrder{plan: plan, world: s.world, shard: shard, replay: asked.requests}, shown, path, s.format)
	seconds := shown.end()
	if err != nil {
		return err
	}
	notes := asked.notes
	if asked.requests != nil {
		notes = append(notes, summary.Notes...)
	}
	written := "Log   " + path
	if s.world == experiment.WorldSwitchback {
		if err := j.out.writePlan(plan); err != nil {
			return err
		}
		written += "\nPlan  " + j.out.plan()
	}
	if _, err := fmt.Fprintf(p.stdout, "%s\n\n%s\n%s\n", driveTable(summary), wrap(strings.Join(append(notes, driveNote(summary)), " ")), written); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	j.log.Info("done: "+path, "rows", summary.Logged, "seconds", hundredths(seconds))
	if asked.unread != "" {
		return &ExitError{Code: exitIncomplete, Err: errors.New(asked.unread), Hint: "the log was driven all the same; mend the one that is replayed, or allow more in workload.max_rejects"}
	}
	return nil
}

// logName names the log of a world and shard; those of one experiment can lie in one folder.
func logName(world string, shard experiment.Shard, format string) string {
	if slices.Contains(ingest.WritableFormats(), format) {
		format += "." + formatJSONL
	}
	name := "requests"
	if world != experiment.WorldSwitchback {
		name += "-" + world
	}
	if shard.Of > 0 {
		name += fmt.Sprintf("-%d-of-%d", shard.Number, shard.Of)
	}
	return name + "." + format
}

// parseShard reads K/N, K being from 0 to N-1 as Kubernetes and Slurm count; "" is the whole.
func parseShard(text string) (experiment.Shard, error) {
	if text == "" {
		return experiment.Shard{}, nil
	}
	k, n, _ := strings.Cut(text, "/")
	number, err1 := strconv.Atoi(k)
	of, err2 := strconv.Atoi(n)
	if err1 != nil || err2 != nil || number < 0 || of < 1 || number >= of {
		return experiment.Shard{}, usageError("write K/N with K from 0 to N-1, such as 0/4", "--shard: cannot read %q", text)
	}
	return experiment.Shard{Number: number, Of: of}, nil
}

// writeLog drives and writes the rows to path, which appears when it is whole.
func (j *job) writeLog(ctx context.Context, order driveOrder, shown *stage, path, format string) (experiment.DriveSummary, error) {
	if format == formatParquet {
		return j.writeParquet(ctx, order, shown, path)
	}
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return experiment.DriveSummary{}, fmt.Errorf("write log: %w", err)
	}
	defer file.Cleanup() //nolint:errcheck // after the replacement it does nothing
	out, err := newLogWriter(format, file)
	if err != nil {
		return experiment.DriveSummary{}, err
	}
	order.inTurn = true
	summary, err := j.runDrive(ctx, order, shown, out.Write)
	if err != nil {
		return summary, err
	}
	if err := errors.Join(out.Close(), file.CloseAtomicallyReplace()); err != nil {
		return summary, fmt.Errorf("write log: %w", err)
	}
	return summary, nil
}

// logWriter writes request rows in a format.
type logWriter interface {
	Write(*experiment.Batch) error
	Close() error
}

func newLogWriter(format string, w io.Writer) (logWriter, error) {
	switch format {
	case formatJSONL:
		return ingest.NewJSONLWriter(w), nil
	case formatCSV:
		return ingest.NewCSVWriter(w), nil
	case formatArrow:
		return ingest.NewArrowWriter(w), nil
	}
	return ingest.NewGatewayWriter(w, format)
}

// writeParquet collects the rows in a DuckDB file aside, which sorts them into the Parquet file.
func (j *job) writeParquet(ctx context.Context, order driveOrder, shown *stage, path string) (summary experiment.DriveSummary, err error) {
	aside := filepath.Join(filepath.Dir(path), tmpMark+newRunID(j.p.now()))
	if err := os.Mkdir(aside, 0o755); err != nil {
		return summary, fmt.Errorf("write log: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(aside)) }()
	store, err := ingest.Open(ctx, filepath.Join(aside, "rows.duckdb"), j.config.storeOptions())
	if err != nil {
		return summary, err
	}
	whole := filepath.Join(aside, filepath.Base(path))
	d, err := j.collect(ctx, store, order, shown, "")
	if err == nil {
		err = store.WriteParquet(ctx, whole)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		return summary, err
	}
	if err := os.Rename(whole, path); err != nil {
		return summary, fmt.Errorf("write log: %w", err)
	}
	return d.DriveSummary, nil
}

// driveTable says what was driven, a row for each model.
func driveTable(d experiment.DriveSummary) string {
	t := table.NewWriter()
	t.SetStyle(plainTable())
	t.AppendHeader(table.Row{"model", "endpoints", "requests", "logged", "served", "failed", "cancelled"})
	t.SetColumnConfigs(aligned([]bool{false, true, true, true, true, true, true}))
	for _, m := range d.Models {
		t.AppendRow(table.Row{m.Model, m.Endpoints, thousands(m.Requests), thousands(m.Logged), thousands(m.Served), thousands(m.Errors + m.Midstream), thousands(m.Cancelled)})
	}
	return strings.TrimRight(rendered(t), "\n")
}
