package main

import (
	"slices"
	"strings"

	"switchback/experiment"
)

// checkModels refuses the first model or stand-in of the configuration that the scenario does not have, and names the nearest one that it has.
func (c *config) checkModels(plan experiment.Plan) error {
	if len(c.Workload.Models)+len(c.Workload.StandIns) == 0 {
		return nil
	}
	cfg := c.driveConfig(driveOrder{plan: plan})
	scenario := cfg.ScenarioName()
	cfg.Models = nil
	flows, err := experiment.ModelFlows(cfg)
	if err != nil {
		return err
	}
	known := make([]string, len(flows))
	for i, f := range flows {
		known[i] = f.Model
	}
	for _, name := range c.Workload.Models {
		if !slices.Contains(known, name) {
			return usageError(didYouMean(name, known), "%s: %w %q of scenario %s", c.file.placeOf("workload.models"), experiment.ErrUnknownModel, name, scenario)
		}
	}
	for _, text := range c.Workload.StandIns {
		_, name, _ := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !slices.Contains(known, name) {
			return usageError(didYouMean(name, known), "%s: %q is no model of scenario %s", c.file.placeOf("workload.stand_ins"), name, scenario)
		}
	}
	return nil
}
