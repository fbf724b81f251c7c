package main

import (
	"fmt"
	"slices"

	"switchback/experiment"
)

// unknownModel names the first model of the configuration that the scenario of a drive does not have, and the one that is nearest to it.
func unknownModel(c *config, cfg experiment.DriveConfig) error {
	wanted := cfg.Models
	cfg.Models, cfg.Replay, cfg.Shard = nil, nil, experiment.Shard{}
	flows, err := experiment.ModelFlows(cfg)
	if err != nil {
		return err
	}
	var known []string
	for _, f := range flows {
		known = append(known, f.Model)
	}
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return usageError(didYouMean(name, known), "%s: %w %q of scenario %s", c.file.placeOf("workload.models"), experiment.ErrUnknownModel, name, cfg.ScenarioName())
		}
	}
	return fmt.Errorf("%s: %w", c.file.placeOf("workload.models"), experiment.ErrUnknownModel)
}
