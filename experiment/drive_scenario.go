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
	Name      string
	Purpose   string // one line: what it is for
	Models    int    // the models with the most endpoints take part, so many
	Endpoints int    // only the cheapest so many endpoints of a model take part; 0 = all
	Attempts  int    // endpoints of a model that a request tries at most
	SameArms  bool   // both arms use the control's policy

	// Draw is the root of the random streams of what offers and traces do not state and what stays from week to week: capacity, error rates and caches of the
	// endpoints, the models' clients and text lengths. 0: another world for every seed.
	Draw uint64

	Lists    Lists // requests that may be answered by another model
	Market   market.Params
	Workload workload.Params
	Router   router.Config
}

// Scenarios returns all scenarios; the first is the default, and the others differ from it only in what their purpose says.
func Scenarios() []Scenario {
	variant := func(name, purpose string, change func(*Scenario)) Scenario {
		s := Scenario{Models: 20, Attempts: 8, Draw: 7, Market: market.DefaultParams(), Workload: workload.DefaultParams(), Router: calibratedRouter()}
		s.Name, s.Purpose = name, purpose
		change(&s)
		return s
	}
	return []Scenario{
		variant("openrouter-week", "a week of 24 million requests, calibrated to the published result table", func(*Scenario) {}),
		variant("price-games", "a third of the endpoints look cheap by their input price and are dear by output and cache: does a router fall for it?", func(s *Scenario) {
			s.Market.PriceGames = 0.33
		}),
		variant("outage", "long outages of whole failure domains, in all models at once: does traffic leave in time and come back?", func(s *Scenario) {
			s.Market.DomainOutage = market.Spells{EveryH: 20, MedianMin: 60, Sigma: 0.8, Lo: 0.6, Hi: 1}
		}),
		variant("whale", "one client rules each big model and comes in bursts, against quotas of requests and of tokens per minute: learned caps under stress", func(s *Scenario) {
			s.Workload.PeakToMean, s.Workload.MaxCV = 6, 4
			s.Workload.Whale = 3
			s.Market.QuotaShare, s.Market.TokenQuotaShare = 0.2, 0.2
		}),
		variant("flash-crowd", "four spells of two to four times the volume in all models: what breaks first?", func(s *Scenario) {
			s.Workload.Flash = []workload.Flash{{StartH: 19.5, Hours: 1.5, Factor: 3}, {StartH: 28, Hours: 2, Factor: 4}, {StartH: 76.5, Hours: 4, Factor: 2.5}, {StartH: 130, Hours: 6, Factor: 2}}
		}),
		variant("slow-recovery", "long agent loops and a router with a long memory: carry-over that outlives a burn-in of one hour", func(s *Scenario) {
			s.Workload.AgentShare, s.Workload.AgentTurns, s.Workload.AgentGapS = 0.01, 150, 25
			s.Router.Telemetry.Memory, s.Router.Telemetry.PriceMemory = 60*router.Minute, 240*router.Minute
			s.Router.Cap.Regrow, s.Router.Cap.MaxGrowth, s.Router.Cap.Drift = 240*router.Minute, 0.01, 0.002
			s.Market.Regime = market.Spells{EveryH: 30, MedianMin: 240, Sigma: 0.5, Lo: 0.6, Hi: 2}
		}),
		variant("batch", "endpoints that differ in price but not in speed or reliability: paying more buys nothing, so the new router should not pay", func(s *Scenario) {
			s.Market.SpeedSpread = 0
			s.Market.BackgroundSpread, s.Market.BackgroundCheap, s.Market.ErrorSigma = 0, 0, 0
			s.Market.Storm, s.Market.Slow = market.Spells{}, market.Spells{}
			s.Workload.SingleShare, s.Workload.AgentShare, s.Workload.DocumentShare = 1, 0, 0
		}),
		variant("single-provider", "one endpoint per model: no choice, so no effect may be found", func(s *Scenario) {
			s.Endpoints = 1
			s.Market.Headroom *= 4
			s.Market.ScarceModels = 0
		}),
		variant("a-a", "both arms run the control's policy: every difference found is a false alarm", func(s *Scenario) {
			s.SameArms = true
		}),
		variant("fallback-lists", "half of the conversations name two more models to fall back to, some clients leave the choice to openrouter/auto, and no model gets more than two tries: models that share traffic", func(s *Scenario) {
			s.Lists = Lists{Length: 3, Share: 0.5, Auto: true}
			s.Attempts = 2
		}),
		variant("harsh-days", "days that differ tenfold and hours twelvefold, as in a week of a campus service (BurstGPT): capacity that is short by day and idle at night", func(s *Scenario) {
			s.Workload.UseShape(workload.ShapeBurstGPT)
		}),
		variant("agents", "a third of the requests are steps of coding agents (TraceLab), whose prompts grow to tens of thousands of tokens within seconds: what a lost cache costs", func(s *Scenario) {
			s.Workload.UseAgents(workload.AgentsTraceLab)
		}),
		variant("chat-service", "conversations like those of a chat service (Mooncake): seven of ten have one turn, the others wait minutes between turns, and prompts are long: few pins, and few tokens that caches hold", func(s *Scenario) {
			s.Workload.UseChats(workload.ChatsMooncake)
		}),
		variant("whole-gateway", "all of a gateway's traffic, of which 77 % is for models with several providers and the rest for models with one, where no router has a choice, and with its published length of answers by prompt: what is diluted", func(s *Scenario) {
			s.Workload.LoneModels, s.Workload.LoneShare = 6, 0.23
			s.Workload.UsePublishedAnswers()
		}),
	}
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

// calibratedRouter is the default router with the wait rates that meet the published effects in the default market.
// The rates of the production router are not published.
func calibratedRouter() router.Config {
	c := router.DefaultConfig()
	c.Cost.Throughput, c.Cost.TTFT = 0.1905, 0.4461
	return c
}
