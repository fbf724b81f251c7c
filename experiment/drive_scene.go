package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"switchback/experiment/market"
	"switchback/experiment/workload"
	"switchback/router"
	"switchback/router/request"
)

// scene is all that the worlds of a drive share: the scenario, the demand and the endpoints' offers. It is only read.
type scene struct {
	scenario Scenario
	world    string
	plan     Plan
	arms     [2]string // their names
	policies [2]string // that decide for them
	start    time.Time
	horizon  int64 // length of the experiment, µs
	seed     uint64
	logShare float64 // of the conversations
	builder  *market.Builder
	jobs     []job   // by flow, largest first
	units    [][]job // the jobs that are driven together, by flow
	skipped  []string
	notes    []string
}

// job is one model of a drive.
type job struct {
	demand *workload.Model
	offers []market.Offer // none for openrouter/auto
	number int            // of the model in the scenario, for ids
	orders [][]string     // models that a request tries, in turn; one list for each of the first's models, where conversations keep theirs
	listed float64        // share of the conversations that may leave their first model
	guests float64        // requests per second that another model's clients send here, as planned
}

// newScene checks the configuration and builds the demand.
func newScene(cfg DriveConfig) (*scene, error) {
	if len(cfg.Plan.Blocks) == 0 {
		return nil, fmt.Errorf("the plan has no blocks")
	}
	scenario, err := ScenarioByName(cfg.Scenario)
	if err != nil {
		return nil, err
	}
	scenario.Name = cfg.ScenarioName()
	if cfg.Shape != "" {
		scenario.Workload.UseShape(cfg.Shape)
	}
	if cfg.Agents != "" {
		scenario.Workload.UseAgents(cfg.Agents)
	}
	if cfg.Redraw {
		scenario.Draw = 0
	}
	return newSceneOf(cfg, scenario)
}

// newSceneOf is newScene with a scenario that need not have a name.
func newSceneOf(cfg DriveConfig, scenario Scenario) (*scene, error) {
	if err := scenario.Lists.Validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", scenario.Name, err)
	}
	if scenario.Lists.Auto && scenario.Workload.LoneModels > 0 {
		return nil, fmt.Errorf("scenario %s: openrouter/auto chooses among models with several providers", scenario.Name)
	}
	start, end := cfg.Plan.Window()
	s := &scene{scenario: scenario, world: cfg.World, plan: cfg.Plan, start: start, horizon: microsSince(start, end), seed: cfg.Seed, logShare: 1}
	if s.world == "" {
		s.world = WorldSwitchback
	}
	if !slices.Contains(Worlds(), s.world) {
		return nil, fmt.Errorf("unknown world %q (known: %s)", s.world, strings.Join(Worlds(), ", "))
	}
	for _, arm := range []string{cfg.Plan.Arms.Control, cfg.Plan.Arms.Treatment} {
		if err := router.CheckPolicy(arm); err != nil {
			return nil, err
		}
	}
	if cfg.Replay != nil {
		s.scenario.Market.ScarceModels = 0 // which models are short is known of the built-in week only
	}
	s.arms = [2]string{control: cfg.Plan.Arms.Control, treatment: cfg.Plan.Arms.Treatment}
	if s.policies = s.arms; scenario.SameArms {
		s.policies[treatment] = s.policies[control]
	}
	groups, err := s.pickModels()
	if err != nil {
		return nil, err
	}
	if err := s.addJobs(groups, cfg.Models, cfg.Replay); err != nil {
		return nil, err
	}
	if err := s.linkModels(); err != nil {
		return nil, err
	}
	if s.builder, err = market.NewBuilder(s.scenario.Market, s.horizon, s.draw(), s.seed); err != nil {
		return nil, err
	}
	if cfg.LogRequests > 0 {
		s.logShare = min(1, float64(cfg.LogRequests)/s.expected())
	}
	return s, s.keepShard(cfg.Shard)
}

// pickModels takes the models with the most endpoints and lists what is left out.
func (s *scene) pickModels() ([][]market.Offer, error) {
	offers, skipped, err := market.Offers()
	if err != nil {
		return nil, err
	}
	for _, row := range skipped {
		if row.Reason != market.SkipFewEndpoints {
			s.skipped = append(s.skipped, fmt.Sprintf("endpoint %s of %s: %s", row.ProviderName, row.Model, row.Reason))
		}
	}
	byModel := map[string]int{}
	var groups [][]market.Offer
	for _, o := range offers {
		at, seen := byModel[o.Model]
		if !seen {
			at = len(groups)
			byModel[o.Model] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], o)
	}
	// Closed models have one price everywhere, so there is nothing for a price policy to choose.
	groups = slices.DeleteFunc(groups, func(g []market.Offer) bool {
		one := slices.MinFunc(g, byInput).Price.Input == slices.MaxFunc(g, byInput).Price.Input
		if one {
			s.skipped = append(s.skipped, fmt.Sprintf("model %s: one price at all %d endpoints", g[0].Model, len(g)))
		}
		return one
	})
	slices.SortStableFunc(groups, func(a, b []market.Offer) int { return cmp.Compare(len(b), len(a)) })
	if keep := s.scenario.Endpoints; keep > 0 {
		for i, g := range groups {
			g = slices.SortedStableFunc(slices.Values(g), byInput)
			groups[i] = g[:min(keep, len(g))]
		}
	}
	for _, g := range groups[min(s.scenario.Models, len(groups)):] {
		s.skipped = append(s.skipped, fmt.Sprintf("model %s: not among the %d models with the most endpoints", g[0].Model, s.scenario.Models))
	}
	groups = groups[:min(s.scenario.Models, len(groups))]
	lone, err := market.LoneOffers(s.scenario.Workload.LoneModels)
	if err != nil {
		return nil, err
	}
	s.scenario.Workload.LoneModels = len(lone)
	for i := range lone {
		groups = append(groups, lone[i:i+1])
	}
	return groups, nil
}

func byInput(a, b market.Offer) int { return cmp.Compare(a.Price.Input, b.Price.Input) }

// addJobs builds the demand of all models and keeps the wanted ones.
func (s *scene) addJobs(groups [][]market.Offer, wanted []string, replay []workload.Recorded) error {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g[0].Model
	}
	if s.scenario.Lists.Auto {
		names, groups = append(names, request.AutoModel), append(groups, nil)
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("scenario %s: %w %q (it has %s)", s.scenario.Name, ErrUnknownModel, name, strings.Join(names, ", "))
		}
	}
	demand, err := s.demandFor(names, wanted, replay)
	if err != nil {
		return err
	}
	s.notes = demand.Notes
	for i := range demand.Models {
		m := &demand.Models[i]
		if number := slices.Index(names, m.Name); len(wanted) == 0 || slices.Contains(wanted, m.Name) {
			s.jobs = append(s.jobs, job{demand: m, offers: groups[number], number: number})
		}
	}
	slices.SortStableFunc(s.jobs, func(a, b job) int { return cmp.Compare(b.demand.Flow, a.demand.Flow) })
	return nil
}

// demandFor makes the demand: the scenario's, which does not depend on the models that are wanted of it, or that of
// recorded requests.
func (s *scene) demandFor(models, wanted []string, replay []workload.Recorded) (*workload.Workload, error) {
	if replay != nil {
		if len(wanted) > 0 {
			models = wanted
		}
		return workload.NewReplay(models, replay, s.scenario.Workload, s.seed)
	}
	traces, err := workload.Traces()
	if err != nil {
		return nil, err
	}
	days := int(math.Ceil(float64(s.horizon) / 86400e6))
	return workload.New(models, traces, s.scenario.Workload, days, s.draw(), s.seed)
}

// draw is the root of the random streams of what stays from week to week.
func (s *scene) draw() uint64 { return cmp.Or(s.scenario.Draw, s.seed) }

// expected is the expected number of requests of the whole drive.
func (s *scene) expected() float64 {
	total := 0.0
	for _, j := range s.jobs {
		total += j.demand.Expected(s.horizon)
	}
	return total
}
