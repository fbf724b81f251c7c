package experiment

import (
	"context"

	"switchback/experiment/market"
	"switchback/experiment/random"
	"switchback/experiment/workload"
	"switchback/router"
)

// world is the simulation of one model: its own clock, events and random streams. It shares nothing with others.
type world struct {
	scene    *scene
	job      job
	demand   *workload.Model
	arrivals *workload.Arrivals
	market   *market.Market
	router   *router.Router
	asked    router.Request // what the router is asked
	draws    random.Stream  // of the router's decisions

	blocks   []span
	inside   int   // block of the clock, −1 outside every block
	upcoming int   // block that starts next
	change   int64 // instant of the next start or end of a block
	arm      arm   // of the block of the clock, or the last one
	using    arm   // whose policy decides

	events   eventQueue
	sessions []session
	flights  []flight
	tries    [][]Attempt // of logged requests, by flight
	cheapest []NanoUSD   // of logged requests that are being served, by flight
	freeS    []int32
	freeF    []int32

	log     rowLog
	logKey  uint64 // of the hash that decides which conversations are written
	summary ModelSummary
	reveals bool   // a policy wants to know the market's true state
	onTick  func() // of tests that watch the world; nil otherwise
}

// arm is an index into an array of both arms.
type arm uint8

const (
	control arm = iota
	treatment
)

// span is a block on the world's clock.
type span struct {
	Block
	starts, ends, burnInEnds int64 // µs since the start of the experiment
	arm                      arm
}

// session is a conversation that is under way.
type session struct {
	workload.Session
	cache    market.Cache
	pin      router.Pin
	pinBlock int32 // index of the block in which the pinned endpoint was chosen; −1 outside every block
	logged   bool
}

// flight is a request that is under way. It has no pointers, so that writing one costs no more than its bytes.
type flight struct {
	answer   market.Answer // of the running attempt
	work     market.Work
	session  int32
	started  int64 // of the running attempt
	endpoint int32
	attempts int16
	n429     int16
	arrival  int64
	giveUp   int64 // instant at which the caller cancels
	failed   int64 // µs in failed attempts
	tried    router.Set
	block    int32 // of the arrival; −1 outside every block
	pinBlock int32 // of the pin that decided; unpinned when below −1
	arm      arm
}

const unpinned = -2

// overhead is the time that the gateway itself takes before the first attempt, µs.
const overhead = 15_000

// newWorld builds the world of one model, which hands its rows over.
func (s *scene) newWorld(j job, over *handover) (*world, error) {
	m, err := s.builder.New(j.offers, market.Demand{Flow: j.demand.Flow, MeanOutput: j.demand.MeanOutput, MeanInput: j.demand.MeanInput})
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
	w := &world{
		scene: s, job: j, demand: j.demand, arrivals: j.demand.Arrivals(s.seed), market: m, router: r,
		draws: random.New(s.seed, "router", j.demand.Name), log: rowLog{over: over}, logKey: random.Mix(s.seed^0x6c6f67) + uint64(j.number)<<32,
		summary: ModelSummary{Model: j.demand.Name, Endpoints: len(endpoints)},
	}
	for _, b := range s.plan.ForModel(j.demand.Name) {
		in := span{Block: b, starts: microsSince(s.start, b.Starts), ends: microsSince(s.start, b.Ends), burnInEnds: microsSince(s.start, b.BurnInEnds)}
		if b.Arm == s.plan.Arms.Treatment {
			in.arm = treatment
		}
		w.blocks = append(w.blocks, in)
	}
	w.inside = -1
	w.reveals = s.plan.Arms.Control == "oracle" || s.plan.Arms.Treatment == "oracle"
	return w, nil
}

// use makes the policy of an arm decide from now on. Nothing else changes.
func (w *world) use(a arm) error {
	if a == w.using {
		return nil
	}
	w.using = a
	return w.router.Use(w.scene.policies[a])
}

// run drives the model through the plan. Requests that are under way at its end are finished.
func (w *world) run(ctx context.Context, progress func(int64)) (ModelSummary, error) {
	if err := w.log.begin(ctx); err != nil {
		return ModelSummary{}, err
	}
	end := w.scene.horizon
	tick := int64(market.TickMicros)
	if err := w.router.Use(w.scene.policies[w.using]); err != nil {
		return ModelSummary{}, err
	}
	if err := w.changeBlock(0); err != nil {
		return ModelSummary{}, err
	}
	reported := int64(0)
	for {
		arrival := w.arrivals.Next()
		if arrival >= end {
			arrival = workload.Never
		}
		next := min(arrival, w.events.next())
		if next == workload.Never {
			break
		}
		if control := min(tick, w.change); control <= next {
			if control == tick {
				w.market.Tick(tick)
				if w.reveals {
					w.reveal()
				}
				if w.onTick != nil {
					w.onTick()
				}
				tick += market.TickMicros
				if tick%(3600e6) == 0 {
					progress(w.summary.Requests - reported)
					reported = w.summary.Requests
					if err := ctx.Err(); err != nil {
						return ModelSummary{}, err
					}
				}
			} else if err := w.changeBlock(control); err != nil {
				return ModelSummary{}, err
			}
			continue
		}
		if w.log.full() {
			if err := w.log.next(ctx); err != nil {
				return ModelSummary{}, err
			}
		}
		if err := w.step(next, arrival); err != nil {
			return ModelSummary{}, err
		}
	}
	progress(w.summary.Requests - reported)
	w.log.end()
	w.summary.Logged = w.log.rows
	return w.summary, nil
}

// step handles the next arrival or event.
func (w *world) step(next, arrival int64) error {
	if w.events.next() > next {
		at := w.newSession()
		s := &w.sessions[at]
		*s = session{}
		w.arrivals.Pop(&s.Session)
		s.pinBlock, s.logged = unpinned, w.isLogged(s.Number)
		return w.begin(at, arrival)
	}
	e := w.events.pop()
	if e.what < 0 {
		return w.begin(^e.what, e.at)
	}
	return w.endAttempt(e.what, e.at)
}

// isLogged decides by the conversation's number, whatever the world, whether its requests are written.
func (w *world) isLogged(number uint32) bool {
	if w.scene.logShare >= 1 {
		return true
	}
	x := random.Mix(w.logKey + uint64(number))
	return float64(x>>11)*(1.0/(1<<53)) < w.scene.logShare
}

// nextChange is the instant of the next start or end of a block.
func (w *world) nextChange() int64 {
	change := int64(workload.Never)
	if w.inside >= 0 {
		change = w.blocks[w.inside].ends
	}
	if w.upcoming < len(w.blocks) {
		change = min(change, w.blocks[w.upcoming].starts)
	}
	return change
}

// changeBlock leaves and enters blocks at now. Between blocks the last arm goes on.
func (w *world) changeBlock(now int64) error {
	if w.inside >= 0 && w.blocks[w.inside].ends <= now {
		w.inside = -1
	}
	if w.upcoming < len(w.blocks) && w.blocks[w.upcoming].starts <= now {
		w.inside = w.upcoming
		w.upcoming++
		w.arm = w.blocks[w.inside].arm
	}
	w.change = w.nextChange()
	return w.use(w.arm)
}

// reveal tells the router the true state of every endpoint. Only the policy oracle looks at it.
func (w *world) reveal() {
	for i := range w.market.Endpoints {
		s := w.market.State(int32(i), w.demand.MeanInput, w.demand.MeanOutput)
		w.router.Reveal(int32(i), router.Truth(s))
	}
}
