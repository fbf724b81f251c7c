package main

import (
	"context"
	"errors"
	"fmt"

	"switchback/experiment"
	"switchback/experiment/workload"
	"switchback/ingest"
	"switchback/reports"
	"switchback/stats"
)

// The one forward pass: plan → drive or load → block summaries → estimates → document → report. Its parts are here in
// the order of the data; run calls all of them, drive, ingest, analyze and report some.

// driveOrder is what a drive is to do besides what the configuration says.
type driveOrder struct {
	plan   experiment.Plan
	world  string              // of experiment.Worlds; "" is the switchback one
	shard  experiment.Shard    // zero: all models
	replay []workload.Recorded // requests to play instead of the scenario's; nil: none
	inTurn bool                // one thread drives, so that the rows come in the same order each time
}

// driven is what is known of rows that the drive made.
type driven struct {
	experiment.DriveSummary
	logHash string // of the rows, in whatever order they came
}

// drive runs the router through the plan and streams the request rows into the store, in one transaction. hash names
// what the rows follow from.
func (j *job) drive(ctx context.Context, store *ingest.Store, order driveOrder, hash string) (driven, error) {
	var d driven
	err := j.stage("drive and load", "requests", func(s *stage) (int64, error) {
		var err error
		d, err = j.collect(ctx, store, order, s, hash)
		return d.Requests, err
	})
	return d, err
}

func (j *job) collect(ctx context.Context, store *ingest.Store, order driveOrder, s *stage, hash string) (driven, error) {
	loader, err := store.NewLoader(ctx, ingest.LoadInfo{
		File: ingest.DriveFile, Format: ingest.SourceDrive, Hash: hash, Now: j.p.now(), Replace: true,
	})
	if err != nil {
		return driven{}, err
	}
	var rows experiment.LogHash
	summary, err := j.runDrive(ctx, order, s, func(b *experiment.Batch) error {
		rows.Add(b)
		return loader.Write(b)
	})
	if err != nil {
		return driven{}, errors.Join(err, loader.Abort())
	}
	_, err = loader.Commit()
	return driven{summary, rows.String()}, err
}

// driveConfig is what the drive is to do by the configuration and the order.
func (c *config) driveConfig(order driveOrder) experiment.DriveConfig {
	cfg := experiment.DriveConfig{
		Plan: order.plan, World: order.world, Replay: order.replay, Scenario: c.Market.Scenario, Redraw: c.Market.Redraw, Seed: c.Seed, Threads: c.Threads,
		Shape: c.Workload.Shape, Agents: c.Workload.Agents, LogRequests: c.Workload.Requests, Models: c.Workload.Models, Shard: order.shard,
	}
	if order.inTurn {
		cfg.Threads = 1
	}
	return cfg
}

// runDrive is Drive with the job's configuration and display.
func (j *job) runDrive(ctx context.Context, order driveOrder, s *stage, emit func(*experiment.Batch) error) (experiment.DriveSummary, error) {
	c := j.config
	cfg := c.driveConfig(order)
	cfg.Progress = s.set
	if err := c.checkModels(order.plan); err != nil {
		return experiment.DriveSummary{}, err
	}
	summary, err := experiment.Drive(ctx, cfg, emit)
	switch {
	case errors.Is(err, workload.ErrNothingToReplay):
		return summary, usageError("workload.stand_ins names models of the market that stand in for those of the log", "%s: %w", c.file.placeOf("workload.trace"), err)
	case errors.Is(err, experiment.ErrAutoAlone):
		place := c.file.placeOf("workload.models")
		if order.replay != nil {
			place = c.file.placeOf("workload.trace")
		}
		return summary, usageError("name models beside it, or take a log of them", "%s: %w", place, err)
	case errors.Is(err, experiment.ErrShard):
		return summary, usageError("take at most as many shards as there are models, those that fallback lists join counted as one", "--shard: %w", err)
	case err != nil:
		return summary, err
	}
	for _, skipped := range summary.Skipped {
		j.log.Debug("left out", "what", skipped)
	}
	return summary, nil
}

// estimates is what the analysis found in the rows of a window.
type estimates struct {
	plan    experiment.Plan
	window  window
	looks   []float64
	applied ingest.PlanReport
	blocks  ingest.BlockHealth
	pairs   []stats.Pair
	models  []string
	found   stats.Analysis
	volume  stats.VolumeTest
}

// estimate labels the rows by the plan, summarises them by block, and estimates every metric.
func (j *job) estimate(ctx context.Context, rows rowSource, plan experiment.Plan, w window) (estimates, error) {
	e := estimates{plan: plan, window: w, looks: looks(plan, j.config.plannedPairs(plan), w)}
	if err := refuseEmpty(ctx, rows, w); err != nil { // before rows are labelled anew for nothing
		return e, err
	}
	err := j.stage("apply plan", "rows", func(*stage) (int64, error) {
		var err error
		e.applied, err = rows.apply(ctx, j.acceptPlan)
		return e.applied.Rows, err
	})
	if err != nil {
		return e, err
	}
	pairs, blocks, err := rows.pairs(ctx)
	if err != nil {
		return e, err
	}
	e.pairs, e.blocks = pairs, blocks
	var source rowSummaries
	err = j.stage("summarise", "blocks", func(*stage) (int64, error) {
		source, err = rows.summaries(ctx)
		return int64(blocks.Blocks), err
	})
	if err != nil {
		return e, err
	}
	err = j.stage("analyse", "metrics", func(*stage) (int64, error) {
		metrics, options := append(ingest.StatsMetrics(), ingest.CheckMetrics(j.config.featured())...), j.config.analysis()
		options.Days, options.Looks = j.config.days(plan), e.looks
		if e.found, err = stats.Analyze(ctx, source, metrics, pairs, options); err != nil {
			return 0, err
		}
		if e.volume, err = stats.CompareVolume(ctx, source, pairs); err != nil {
			return 0, err
		}
		e.models, err = source.Models(ctx)
		return int64(len(metrics)), err
	})
	return e, errors.Join(err, source.Close())
}

// refuseEmpty refuses a window without a row.
func refuseEmpty(ctx context.Context, rows rowSource, w window) error {
	inside, all, err := rows.inside(ctx)
	if err != nil || inside > 0 {
		return err
	}
	rejects, err := rows.rejects(ctx)
	if err != nil {
		return err
	}
	unread := ""
	if len(rejects) > 0 {
		unread = "; lines that cannot be read: " + countsText(rejects)
	}
	if all == 0 && unread != "" {
		return usageError(ingest.Accepted(rejects[0].Name), "analyse: no request is loaded%s", unread)
	}
	return &ExitError{
		Code: exitFailed,
		Err:  fmt.Errorf("analyse: no row in the window %s; %s rows lie outside%s", w, thousands(all), unread),
		Hint: "check the schedule, --date and whether the log's times are UTC",
	}
}

// analysis returns the options of the analysis.
func (c *config) analysis() stats.Options {
	a := c.Analysis
	return stats.Options{
		Confidence: a.Confidence, Replicates: a.Replicates, Interval: a.Interval, Weights: a.Weights,
		SlotAdjustment: a.SlotAdjustment == "on", Order: c.Design.Order, Seed: c.Seed, Threads: c.Threads,
		MinPairs: a.MinPairs, MinRows: a.MinRows,
	}
}

// maxMismatch is the share of rows whose own label may disagree with the schedule.
const maxMismatch = 0.01

// acceptPlan refuses a schedule that no row falls into, or that is not the one that the rows were labelled by.
func (j *job) acceptPlan(p ingest.PlanReport) error {
	if p.Rows > 0 && p.Outside == p.Rows {
		return &ExitError{
			Code: exitFailed,
			Err:  fmt.Errorf("apply plan: no row in the schedule; %s rows lie outside", thousands(p.Rows)),
			Hint: "check the schedule and whether the log's times are UTC",
		}
	}
	if p.Labelled == 0 || float64(p.Mismatches) <= maxMismatch*float64(p.Labelled) {
		return nil
	}
	return usageError("give the schedule that really ran in design.schedule", "%s: schedule and arm labels disagree on %s of %s labelled rows",
		j.config.file.place("design.schedule"), thousands(p.Mismatches), thousands(p.Labelled))
}

// render turns the document into the files of its report.
func (j *job) render(doc reports.Document, o reports.Options) (reports.Files, error) {
	var files reports.Files
	err := j.stage("report", "files", func(*stage) (int64, error) {
		var err error
		files, err = reports.Render(doc, o)
		return int64(len(files)), err
	})
	if err != nil {
		return nil, fmt.Errorf("render report: %w", err)
	}
	for _, f := range files {
		j.record.Outputs = append(j.record.Outputs, outputFile{f.Name, hashBytes(f.Bytes)})
	}
	return files, nil
}
