package experiment

import (
	"context"

	"switchback/experiment/market"
	"switchback/experiment/random"
	"switchback/experiment/workload"
	"switchback/router"
)

// unit is the models whose requests may be answered by one another's endpoints, on one clock; nearly always it is a single one.
// It shares nothing with other units, so they run in parallel.
type unit struct {
	worlds []*world
	log    rowLog
}

// host is the endpoints of one model and the router over them. Only the worlds of its unit send requests there.
type host struct {
	model  string
	market *market.Market
	router *router.Router
	draws  random.Stream // of the router's decisions

	policies [2]string
	using    arm // whose policy decides
	failed   error
}

// newUnit builds the worlds of the jobs, which hand their rows over.
func (s *scene) newUnit(jobs []job, over *handover) (*unit, error) {
	u := &unit{log: rowLog{over: over}}
	hosts := map[string]*host{}
	for _, j := range jobs {
		if len(j.offers) == 0 {
			continue
		}
		h, err := s.newHost(j)
		if err != nil {
			return nil, err
		}
		hosts[h.model] = h
	}
	for _, j := range jobs {
		u.worlds = append(u.worlds, s.newWorld(j, hosts, &u.log))
	}
	return u, nil
}

// newHost builds the endpoints of a job's model and their router.
func (s *scene) newHost(j job) (*host, error) {
	m, err := s.builder.New(j.offers, market.Demand{Flow: j.demand.Flow + j.guests, MeanOutput: j.demand.MeanOutput, MeanInput: j.demand.MeanInput, Rank: j.number})
	if err != nil {
		return nil, err
	}
	endpoints := make([]router.Endpoint, len(m.Endpoints))
	for i := range endpoints {
		e := &m.Endpoints[i]
		endpoints[i] = router.Endpoint{
			Slug: e.Offer.Slug, Provider: e.Offer.Provider,
			Price: router.Price{Input: e.Price.Input.PerToken(), Output: e.Price.Output.PerToken(),
				CacheRead: e.Price.CacheRead.PerToken(), CacheWrite: e.Price.CacheWrite.PerToken()},
			CacheTTL: router.Micros(e.CacheMicros),
		}
	}
	r, err := router.New(j.demand.Name, endpoints, s.scenario.Router)
	if err != nil {
		return nil, err
	}
	h := &host{model: j.demand.Name, market: m, router: r, draws: random.New(s.seed, "router", j.demand.Name), policies: s.policies}
	return h, r.Use(h.policies[h.using])
}

// use makes the policy of an arm decide from now on. Nothing else changes.
func (h *host) use(a arm) {
	if a != h.using {
		h.using = a
		h.failed = h.router.Use(h.policies[a]) // never: the names were checked; else the drive fails
	}
}

// run drives the unit through the plan. Requests that are under way at its end are finished.
func (u *unit) run(ctx context.Context, progress func(int64)) ([]ModelSummary, error) {
	if err := u.log.begin(ctx); err != nil {
		return nil, err
	}
	for _, w := range u.worlds {
		w.changeBlock(0)
	}
	for {
		w, until := u.turn()
		if w == nil {
			break
		}
		if err := w.advance(ctx, until, progress); err != nil {
			return nil, err
		}
	}
	u.log.end()
	for _, w := range u.worlds {
		for _, h := range w.hosts {
			if h.failed != nil {
				return nil, h.failed
			}
		}
	}
	models := make([]ModelSummary, len(u.worlds))
	for i, w := range u.worlds {
		w.report(progress)
		models[i] = w.summary
	}
	return models, nil
}

// turn finds the world in which something happens next, the first of several, and the instant up to which nothing happens
// in the others; nil when nothing happens any more but the clocks going on.
func (u *unit) turn() (next *world, until int64) {
	at, least, over := 0, int64(workload.Never), true
	for i, w := range u.worlds {
		over = over && w.nextEvent() == workload.Never
		if due := w.due(); due < least {
			at, least = i, due
		}
	}
	if over {
		return nil, 0
	}
	until = workload.Never
	for i, w := range u.worlds {
		switch {
		case i < at: // this one is first at an instant of both
			until = min(until, w.due()-1)
		case i > at:
			until = min(until, w.due())
		}
	}
	return u.worlds[at], until
}
