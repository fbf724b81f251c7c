package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// DriveWorlds drives several worlds of one configuration, one after the other, and returns their summaries in the order
// of the names. All worlds have the same arrivals, token lengths and incidents (common random numbers), so that they
// differ by what the routers do. cfg.World is not used; emit is told whose rows a batch holds and has the terms of Drive.
func DriveWorlds(ctx context.Context, cfg DriveConfig, worlds []string, emit func(world string, b *Batch) error) ([]DriveSummary, error) {
	for _, w := range worlds {
		if !slices.Contains(Worlds(), w) {
			return nil, fmt.Errorf("drive: unknown world %q (known: %s)", w, strings.Join(Worlds(), ", "))
		}
	}
	scene, err := newScene(cfg)
	if err != nil {
		return nil, fmt.Errorf("drive: %w", err)
	}
	summaries := make([]DriveSummary, len(worlds))
	for i, w := range worlds {
		in := *scene // a scene is only read, so the worlds share its parts
		in.world = w
		summaries[i], err = in.drive(ctx, cfg, func(b *Batch) error { return emit(w, b) })
		if err != nil {
			return nil, fmt.Errorf("drive %s: %w", w, err)
		}
	}
	return summaries, nil
}

// ModelFlow is a model of a scenario and its traffic.
type ModelFlow struct {
	Model string
	Flow  float64 // mean requests per second
}

// ModelFlows returns the models that a configuration drives, the one with the most traffic first.
func ModelFlows(cfg DriveConfig) ([]ModelFlow, error) {
	scene, err := newScene(cfg)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	flows := make([]ModelFlow, len(scene.jobs))
	for i, j := range scene.jobs {
		flows[i] = ModelFlow{Model: j.demand.Name, Flow: j.demand.Flow}
	}
	return flows, nil
}
