package main

import (
	"slices"
	"strconv"
	"time"

	"switchback/experiment"
	"switchback/experiment/random"
)

// layout says by which schedule the rows of simulated worlds are analysed. A validation asks more of rows than the
// schedule that ran: two worlds are compared as if one had run after the other, and a naive analysis takes every request
// for an experiment of its own. The analysis itself stays the same.
type layout struct {
	plan  experiment.Plan
	place func(world string, r *experiment.Request) bool // gives a row its arm and block; false leaves it out
}

// asDriven is the schedule that ran.
func asDriven(plan experiment.Plan) layout {
	return layout{plan: plan, place: func(_ string, r *experiment.Request) bool { return r.BlockID != "" }}
}

// later marks the blocks and pairs of the second of two worlds.
const later = "later-"

// endToEnd sets the treatment world behind the control world. A pair is the same span of time in both, without burn-in:
// the difference is that between the worlds.
func endToEnd(plan experiment.Plan) layout {
	both := twice(plan)
	for i := range both.Blocks {
		b := &both.Blocks[i]
		b.BurnInEnds = b.Starts
		b.Arm, b.PairID = plan.Arms.Control, b.ID
		if i >= len(plan.Blocks) {
			b.Arm, b.PairID = plan.Arms.Treatment, both.Blocks[i-len(plan.Blocks)].ID
		}
	}
	shift := experiment.Instant(length(plan).Microseconds())
	laterID := map[string]string{}
	for _, b := range plan.Blocks {
		laterID[b.ID] = later + b.ID
	}
	return layout{plan: both, place: func(world string, r *experiment.Request) bool {
		if r.BlockID == "" {
			return false
		}
		r.Arm, r.InBurnIn = plan.Arms.Control, experiment.Some(false)
		if world == experiment.WorldTreatment {
			r.Arm, r.BlockID, r.TS = plan.Arms.Treatment, laterID[r.BlockID], r.TS+shift
		}
		return true
	}}
}

// twice is the plan and, behind it, the same plan again.
func twice(plan experiment.Plan) experiment.Plan {
	both := experiment.Plan{Arms: plan.Arms, Blocks: slices.Clone(plan.Blocks)}
	shift := length(plan)
	for _, b := range plan.Blocks {
		b.ID, b.PairID = later+b.ID, later+b.PairID
		b.Day += int(shift / day)
		b.Starts, b.Ends, b.BurnInEnds = b.Starts.Add(shift), b.Ends.Add(shift), b.BurnInEnds.Add(shift)
		both.Blocks = append(both.Blocks, b)
	}
	return both
}

// length is the time that the plan takes, whole days.
func length(plan experiment.Plan) time.Duration {
	starts, ends := plan.Window()
	return ends.Sub(starts)
}

// naiveGroups is the number of groups that requests are dealt out to when each is taken for independent. Resampling
// groups dealt at random estimates what resampling single requests does, with groups − 1 degrees of freedom.
const naiveGroups = 50

// byRequest deals requests out to groups, whatever their time: what an analysis by single requests sees. In a switchback
// world the burn-in is left out.
func byRequest(arms experiment.Arms, start time.Time) layout {
	plan := experiment.Plan{Arms: arms}
	block := map[string][]experiment.Block{}
	for g := range naiveGroups {
		for i, arm := range []string{arms.Control, arms.Treatment} {
			n := 2*g + i
			b := experiment.Block{ID: strconv.Itoa(n + 1), PairID: strconv.Itoa(g + 1), Day: n + 1, Arm: arm,
				Starts: start.AddDate(0, 0, n), Ends: start.AddDate(0, 0, n+1)}
			b.BurnInEnds = b.Starts
			plan.Blocks = append(plan.Blocks, b)
			block[arm] = append(block[arm], b)
		}
	}
	return layout{plan: plan, place: func(world string, r *experiment.Request) bool {
		if r.BlockID == "" || world == experiment.WorldSwitchback && r.InBurnIn.Value {
			return false
		}
		b := &block[r.Arm][random.Hash(0, "group", r.RequestID)%naiveGroups]
		r.TS, r.BlockID, r.InBurnIn, r.Quality = experiment.InstantOf(b.Starts), b.ID, experiment.Some(false), 0
		return true
	}}
}
