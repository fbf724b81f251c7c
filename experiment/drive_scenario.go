package experiment

import (
	"errors"
	"fmt"
	"strings"

	"switchback/experiment/market"
	"switchback/experiment/workload"
	"switchback/router"
)

// ErrUnknownScenario is wrapped by the error of a scenario name that does not exist.
var ErrUnknownScenario = errors.New("unknown scenario")

// ErrUnknownModel is wrapped by the error of a model that a scenario does not have.
var ErrUnknownModel = errors.New("unknown model")

// Scenario is a world to run an experiment in.
type Scenario struct {
	Name     string
	Purpose  string // one line: what it is for
	Models   int    // the models with the most endpoints take part, so many
	Attempts int    // endpoints that a request tries at most
	Market   market.Params
	Workload workload.Params
	Router   router.Config
}

// Scenarios returns all scenarios; the first is the default.
func Scenarios() []Scenario {
	week := Scenario{
		Name:     "openrouter-week",
		Purpose:  "a week of 24 million requests calibrated to the published result table",
		Models:   20,
		Attempts: 8,
		Market:   market.DefaultParams(),
		Workload: workload.DefaultParams(),
		Router:   router.DefaultConfig(),
	}
	return []Scenario{week}
}

// ScenarioByName returns the scenario of that name; "" is the default one.
func ScenarioByName(name string) (Scenario, error) {
	all := Scenarios()
	names := make([]string, len(all))
	for i, s := range all {
		if s.Name == name || name == "" {
			return s, nil
		}
		names[i] = s.Name
	}
	return Scenario{}, fmt.Errorf("%w %q (known: %s)", ErrUnknownScenario, name, strings.Join(names, ", "))
}
