package experiment

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"switchback/experiment/workload"
)

// Worlds that a drive can run. All use the same arrivals, token lengths and incidents.
const (
	WorldSwitchback = "switchback" // the plan's blocks decide the arm
	WorldAB         = "ab"         // a hash of the conversation decides the arm
	WorldABRequest  = "ab-request" // a hash of the request decides the arm
	WorldControl    = "control"    // the control arm routes everything
	WorldTreatment  = "treatment"  // the treatment arm routes everything
)

// Worlds lists the names of all worlds.
func Worlds() []string {
	return []string{WorldSwitchback, WorldAB, WorldABRequest, WorldControl, WorldTreatment}
}

// DriveConfig says what Drive runs.
type DriveConfig struct {
	Plan        Plan                    // blocks and arms; arm names are policy names of package router
	Scenario    string                  // a name of Scenarios; "" is the first one
	Shape       string                  // hours of the week in place of the scenario's, one of workload.Shapes; "": the scenario's
	Agents      string                  // agent loops in place of the scenario's, one of workload.AgentLaws; "": the scenario's
	World       string                  // a World… constant; "" is WorldSwitchback
	LogRequests int                     // about how many requests are written; 0 or at least the flow: all
	Seed        uint64                  // of every random stream of what happens
	Redraw      bool                    // the seed also draws what stays from week to week, in place of the scenario's own draw: another market for every seed
	Threads     int                     // ≤ 0: all processors; never changes a result
	Models      []string                // only these models of the scenario, with unchanged flow; fallback lists choose among them; empty: all
	Shard       Shard                   // only this share of the models; zero: all
	Replay      []workload.Recorded     // requests to replay instead of the scenario's workload; nil: none
	Progress    func(done, total int64) // requests so far and expected, from any goroutine, about once per virtual hour of a model; may be nil
}

// ScenarioName names the scenario with what is put in its place.
func (c DriveConfig) ScenarioName() string {
	name := c.Scenario
	if name == "" {
		name = Scenarios()[0].Name
	}
	if c.Shape != "" {
		name += ", shape " + c.Shape
	}
	if c.Agents != "" {
		name += ", agents " + c.Agents
	}
	if c.Redraw {
		name += ", redrawn"
	}
	return name
}

// DriveSummary says what a drive did.
type DriveSummary struct {
	Scenario     string
	World        string
	Requests     int64 // driven
	Logged       int64 // rows handed to emit
	InputTokens  int64 // of served requests
	OutputTokens int64
	Models       []ModelSummary // sorted by name
	Skipped      []string       // endpoints and models of the source data left out, with the reason
	Notes        []string       // what a reader of the results should know of the data
}

// ModelSummary is one model's part of a drive.
type ModelSummary struct {
	Model        string
	Endpoints    int
	Requests     int64
	Logged       int64
	Served       int64
	FellBack     int64 // served by a later model of a list than the first
	Errors       int64 // no endpoint served
	Midstream    int64 // the answer broke off
	Cancelled    int64 // the caller gave up
	InputTokens  int64 // of served requests
	OutputTokens int64
}

// batchRows is the number of request rows that are handed on together: few enough for a processor's cache.
const batchRows = 1024

// Drive runs the router through the plan over the simulated market and hands on the rows of the logged
// requests, in an order that depends on the threads; sorted by (ts, request_id) they do not. emit is called by one
// goroutine at a time; a batch is valid only during the call. An error of emit or of ctx ends the drive.
func Drive(ctx context.Context, cfg DriveConfig, emit func(*Batch) error) (DriveSummary, error) {
	scene, err := newScene(cfg)
	if err != nil {
		return DriveSummary{}, fmt.Errorf("drive: %w", err)
	}
	summary, err := scene.drive(ctx, cfg, emit)
	if err != nil {
		return DriveSummary{}, fmt.Errorf("drive: %w", err)
	}
	return summary, nil
}

// drive runs all units of the scene.
func (s *scene) drive(ctx context.Context, cfg DriveConfig, emit func(*Batch) error) (DriveSummary, error) {
	summary := DriveSummary{Scenario: s.scenario.Name, World: s.world, Skipped: s.skipped, Notes: s.notes}

	var done atomic.Int64
	total := int64(s.expected())
	progress := func(more int64) {
		if n := done.Add(more); cfg.Progress != nil {
			cfg.Progress(min(n, total), total)
		}
	}

	threads := cfg.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	over := newHandover(threads + spareBatches)
	emitted := make(chan error, 1)
	go func() { emitted <- over.read(emit, stop) }()

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	models := make([][]ModelSummary, len(s.units))
	for i, jobs := range s.units { // largest first
		group.Go(func() error {
			u, err := s.newUnit(jobs, over)
			if err != nil {
				return err
			}
			models[i], err = u.run(ctx, progress)
			return err
		})
	}
	err := group.Wait()
	close(over.full)
	if failed := <-emitted; failed != nil {
		err = failed // the worlds only know that they were stopped
	}
	if err != nil {
		return DriveSummary{}, err
	}
	summary.Models = slices.Concat(models...)
	slices.SortFunc(summary.Models, func(a, b ModelSummary) int { return cmp.Compare(a.Model, b.Model) })
	for _, m := range summary.Models {
		summary.Requests += m.Requests
		summary.Logged += m.Logged
		summary.InputTokens += m.InputTokens
		summary.OutputTokens += m.OutputTokens
	}
	if late := total - summary.Requests; cfg.Replay != nil && late > 0 {
		summary.Notes = append(slices.Clip(summary.Notes), fmt.Sprintf("Recorded requests that were not asked, since the answers before them in their conversations came too late for them to start before the end: %d.", late))
	}
	return summary, nil
}

// microsSince is the time from the start of the experiment in µs.
func microsSince(start, t time.Time) int64 { return t.Sub(start).Microseconds() }

// Recorded turns a row of a canonical log into a request to replay in an experiment that starts at start. It is false
// for rows that can't be replayed: outside the experiment's window, or without tokens.
func Recorded(r *Request, start, end time.Time) (workload.Recorded, bool) {
	at := r.TS.Time()
	if at.Before(start) || !at.Before(end) || r.InputTokens.Value < 1 || r.OutputTokens.Value < 1 {
		return workload.Recorded{}, false
	}
	return workload.Recorded{
		AtUS: microsSince(start, at), Model: r.Model, Session: r.SessionID, Client: r.ClientID,
		InputTokens: int(r.InputTokens.Value), OutputTokens: int(r.OutputTokens.Value), Tools: r.ToolCallOK.Known,
	}, true
}
