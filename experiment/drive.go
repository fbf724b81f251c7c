package experiment

import (
	"context"
	"errors"
	"fmt"
)

// Worlds that a drive can run. All use the same arrivals, token lengths and incidents.
const (
	WorldSwitchback = "switchback" // the plan's blocks decide the arm
	WorldAB         = "ab"         // a hash of the conversation decides the arm
	WorldABRequest  = "ab-request" // a hash of the request decides the arm
	WorldControl    = "control"    // the control arm routes everything
	WorldTreatment  = "treatment"  // the treatment arm routes everything
)

// DriveConfig says what Drive runs.
type DriveConfig struct {
	Plan        Plan                    // blocks and arms; arm names are policy names of package router
	Scenario    string                  // a name of Scenarios; "" is the default one
	World       string                  // a World… constant; "" is WorldSwitchback
	LogRequests int                     // about how many requests are written; 0 or at least the flow: all
	Seed        uint64                  // of every random stream
	Threads     int                     // ≤ 0: all processors; never changes a result
	Models      []string                // only these models; empty: all of the scenario
	Progress    func(done, total int64) // virtual requests, from any goroutine, may be nil
}

// DriveSummary says what a drive did.
type DriveSummary struct {
	Requests     int64 // driven
	Logged       int64 // emitted rows
	InputTokens  int64
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
	Errors       int64 // requests that no endpoint served
	InputTokens  int64
	OutputTokens int64
}

// ErrUnknownScenario is wrapped by the error of a scenario name that does not exist.
var ErrUnknownScenario = errors.New("unknown scenario")

// Drive runs the router through the plan over the simulated market and hands on the rows of the logged
// requests. emit is called by one goroutine at a time; a batch is valid only during the call. An error of
// emit or of ctx ends the drive.
func Drive(ctx context.Context, cfg DriveConfig, emit func(*Batch) error) (DriveSummary, error) {
	if len(cfg.Plan.Blocks) == 0 {
		return DriveSummary{}, fmt.Errorf("drive: the plan has no blocks")
	}
	return DriveSummary{}, fmt.Errorf("drive %q: %w", cfg.Scenario, ErrUnknownScenario)
}
