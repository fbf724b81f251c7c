package main

import (
	"fmt"
	"slices"
	"strings"

	"switchback/experiment"
)

// unknownModel names the first model of the configuration that the scenario of a drive does not have, and the one that is nearest to it.
func unknownModel(c *config, cfg experiment.DriveConfig) error {
	wanted := cfg.Models
	known, err := marketModels(cfg)
	if err != nil {
		return err
	}
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return usageError(didYouMean(name, known), "%s: %w %q of scenario %s", c.file.placeOf("workload.models"), experiment.ErrUnknownModel, name, cfg.ScenarioName())
		}
	}
	return fmt.Errorf("%s: %w", c.file.placeOf("workload.models"), experiment.ErrUnknownModel)
}

// marketModels are the names of all models of the scenario of a drive.
func marketModels(cfg experiment.DriveConfig) ([]string, error) {
	cfg.Models, cfg.Replay, cfg.Shard = nil, nil, experiment.Shard{}
	flows, err := experiment.ModelFlows(cfg)
	var names []string
	for _, f := range flows {
		names = append(names, f.Model)
	}
	return names, err
}

// checkStandIns refuses a stand-in that the scenario does not have.
func (c *config) checkStandIns(plan experiment.Plan) error {
	known, err := marketModels(c.driveConfig(driveOrder{plan: plan}))
	if err != nil {
		return err
	}
	for _, text := range c.Workload.StandIns {
		_, name, _ := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !slices.Contains(known, name) {
			return usageError(didYouMean(name, known), "%s: %q is no model of scenario %s", c.file.placeOf("workload.stand_ins"), name, c.driveConfig(driveOrder{}).ScenarioName())
		}
	}
	return nil
}
