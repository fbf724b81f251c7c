package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/stats"
)

// validation is what all experiments of a validation share.
type validation struct {
	config      config
	experiments int
	abTests     int // experiments that run the plain A/B tests too
	metrics     []stats.Metric
	options     stats.Options // of the analysis by the plan
	burnIns     []time.Duration
}

// trial is what one simulated experiment found: overall rows, in the order of the metrics.
type trial struct {
	Requests int64        `json:"requests"` // simulated in all worlds
	Truth    []finding    `json:"truth"`    // the all-treatment world against the all-control world; no intervals
	ByBurnIn [][]finding  `json:"by_burn_in"`
	Same     [2][]finding `json:"same"`  // A/A: the control arm's router in both arms, then the treatment arm's
	Naive    [3][]finding `json:"naive"` // by single requests, in the order of naiveWorlds; nil when they were not run
}

// finding is what counts of an overall row.
type finding struct {
	Relative     stats.Effect            `json:"relative"`
	HalfSample   stats.Bounds            `json:"half_sample,omitzero"`
	SlotAdjusted stats.Effect            `json:"slot_adjusted,omitzero"`
	Others       map[string]stats.Bounds `json:"other_intervals,omitempty"`
	PValue       *float64                `json:"p_value,omitempty"`
}

// overall returns the findings of the rows over all models.
func overall(estimates []stats.Estimate) []finding {
	var found []finding
	for _, e := range estimates {
		if e.Scope == "overall" {
			found = append(found, finding{e.Relative, e.HalfSample, e.SlotAdjusted, e.Others, e.PValue})
		}
	}
	return found
}

// naiveWorlds are the worlds whose requests are analysed one by one.
func naiveWorlds() [3]string {
	return [...]string{experiment.WorldSwitchback, experiment.WorldAB, experiment.WorldABRequest}
}

// run simulates the experiment with the given number, counted from 0, and analyses its worlds. Its seed is the seed of
// the validation plus its number.
//
// A router that is the same in both arms makes the world of that router, whatever the schedule says. So the rows of the
// control and of the treatment world, labelled by the drawn schedule, are two A/A experiments.
func (v *validation) run(ctx context.Context, number int) (t trial, err error) {
	c := v.config
	c.Seed += uint64(number)
	plan, err := experiment.Draw(c.design(), c.arms())
	if err != nil {
		return trial{}, err
	}
	switchback := &sink{layout: asDriven(plan), worlds: []string{experiment.WorldSwitchback}}
	pure := &sink{layout: endToEnd(plan), worlds: []string{experiment.WorldControl, experiment.WorldTreatment}}
	sinks := []*sink{switchback, pure}
	if number < v.abTests {
		for _, world := range naiveWorlds() {
			sinks = append(sinks, &sink{layout: byRequest(plan.Arms, c.design().Start), worlds: []string{world}})
		}
	}
	defer func() {
		for _, s := range sinks {
			err = errors.Join(err, s.close())
		}
	}()
	if t.Requests, err = driveWorlds(ctx, &c, plan, sinks); err != nil {
		return trial{}, err
	}
	options := v.options
	options.Seed = c.Seed
	if t.ByBurnIn, err = v.byBurnIn(ctx, switchback.store, plan, options); err != nil {
		return trial{}, err
	}
	if t.Truth, err = v.estimate(ctx, pure.store, pure.layout.plan, pointOnly(options)); err != nil {
		return trial{}, err
	}
	options.Others = nil
	if t.Same, err = v.sameRouter(ctx, pure.store, plan, options); err != nil {
		return trial{}, err
	}
	options.Order = "" // there is no schedule whose order could be swapped
	for i, s := range sinks[2:] {
		if t.Naive[i], err = v.estimate(ctx, s.store, s.layout.plan, options); err != nil {
			return trial{}, err
		}
	}
	return t, nil
}

// byBurnIn analyses the switchback once for each burn-in. Only the design's own has intervals.
func (v *validation) byBurnIn(ctx context.Context, store *ingest.Store, plan experiment.Plan, options stats.Options) ([][]finding, error) {
	var all [][]finding
	for _, burnIn := range v.burnIns {
		cut := experiment.Plan{Arms: plan.Arms, Blocks: slices.Clone(plan.Blocks)}
		experiment.SetBurnIn(cut.Blocks, burnIn, v.config.design().BurnInScope)
		with := options
		if burnIn != v.config.Design.BurnIn {
			with = pointOnly(options)
		}
		found, err := v.estimate(ctx, store, cut, with)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// sameRouter analyses the two pure worlds by the drawn schedule.
func (v *validation) sameRouter(ctx context.Context, store *ingest.Store, plan experiment.Plan, options stats.Options) (found [2][]finding, err error) {
	if _, err := store.ApplyPlan(ctx, twice(plan)); err != nil {
		return found, err
	}
	starts, ends := plan.Window()
	windows := [2]ingest.Window{
		{Since: starts, Until: ends, Arms: plan.Arms},
		{Since: ends, Until: ends.Add(length(plan)), Arms: plan.Arms},
	}
	for i, w := range windows {
		if found[i], err = v.analyse(ctx, store, w, options); err != nil {
			return found, err
		}
	}
	return found, nil
}

// pointOnly keeps one replicate: the point estimates do not depend on them.
func pointOnly(o stats.Options) stats.Options {
	o.Replicates, o.Others, o.Order = 1, nil, ""
	return o
}

// estimate labels the rows of a store by the plan and analyses all of them.
func (v *validation) estimate(ctx context.Context, store *ingest.Store, plan experiment.Plan, o stats.Options) ([]finding, error) {
	if _, err := store.ApplyPlan(ctx, plan); err != nil {
		return nil, err
	}
	return v.analyse(ctx, store, ingest.Window{Arms: plan.Arms}, o)
}

// analyse takes the labelled rows of a window through the steps of every analysis and returns the overall rows.
func (v *validation) analyse(ctx context.Context, store *ingest.Store, w ingest.Window, o stats.Options) ([]finding, error) {
	pairs, _, err := store.Pairs(ctx, w)
	if err != nil {
		return nil, err
	}
	source, err := store.Summaries(ctx, w)
	if err != nil {
		return nil, err
	}
	analysis, err := stats.Analyze(ctx, source, v.metrics, pairs, o)
	if err := errors.Join(err, source.Close()); err != nil {
		return nil, err
	}
	return overall(analysis.Estimates), nil
}

// sink takes the rows of its worlds into a store in memory.
type sink struct {
	layout layout
	worlds []string
	store  *ingest.Store
	loader *ingest.Loader
	rows   []experiment.Request
}

// driveWorlds runs the worlds of all sinks, each world once, and loads their rows. It returns the number of requests.
func driveWorlds(ctx context.Context, c *config, plan experiment.Plan, sinks []*sink) (int64, error) {
	var worlds []string
	for _, s := range sinks {
		if err := s.open(ctx, c); err != nil {
			return 0, err
		}
		for _, w := range s.worlds {
			if !slices.Contains(worlds, w) {
				worlds = append(worlds, w)
			}
		}
	}
	summaries, err := experiment.DriveWorlds(ctx, experiment.DriveConfig{
		Plan: plan, Scenario: c.Market.Scenario, Seed: c.Seed, Redraw: c.Market.Redraw, Threads: 1, Shape: c.Workload.Shape, Agents: c.Workload.Agents, LogRequests: c.Workload.Requests, Models: c.Workload.Models,
	}, worlds, func(world string, b *experiment.Batch) error {
		for _, s := range sinks {
			if err := s.write(world, b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	requests := int64(0)
	for _, s := range summaries {
		requests += s.Requests
	}
	for _, s := range sinks {
		if _, err := s.loader.Commit(); err != nil {
			return 0, err
		}
	}
	return requests, nil
}

func (s *sink) open(ctx context.Context, c *config) (err error) {
	o := c.storeOptions()
	o.Threads = 1 // experiments run side by side
	if s.store, err = ingest.Open(ctx, ingest.InMemory, o); err != nil {
		return err
	}
	s.loader, err = s.store.NewLoader(ctx, ingest.LoadInfo{File: ingest.DriveFile, Format: ingest.SourceDrive})
	return err
}

// write loads the rows of a batch that the sink wants. The attempts are left out: no metric is made from them.
func (s *sink) write(world string, b *experiment.Batch) error {
	if !slices.Contains(s.worlds, world) {
		return nil
	}
	s.rows = s.rows[:0]
	for _, r := range b.Requests {
		if s.layout.place(world, &r) {
			s.rows = append(s.rows, r)
		}
	}
	return s.loader.Write(&experiment.Batch{Requests: s.rows})
}

// close drops the store.
func (s *sink) close() error {
	var errs []error
	if s.loader != nil {
		errs = append(errs, s.loader.Abort()) // nothing after a commit
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}
