package experiment

import (
	"context"
	"slices"

	"switchback/experiment/market"
	"switchback/experiment/random"
	"switchback/experiment/workload"
	"switchback/router"
)

// world is the simulation of the requests for one model: its own clock, events and random streams. It shares nothing with
// others, unless requests name more models than one: the worlds of a unit share their hosts and wait for one another.
type world struct {
	*host    // of the model's own endpoints; nil when it has none, as openrouter/auto
	scene    *scene
	job      job
	demand   *workload.Model
	arrivals *workload.Arrivals
	asked    router.Request // what the router is asked
	hosts    []*host        // that requests may be sent to; a new conversation starts with the first
	orders   [][]int8       // places in hosts by turn, for each host that a conversation may keep
	shared   [][]int64      // by host: until when its endpoints hold what the conversations of a client begin with, one client after the other

	blocks   []span
	inside   int   // block of the clock, −1 outside every block
	upcoming int   // block that starts next
	change   int64 // instant of the next start or end of a block
	arm      arm   // of the block of the clock, or the last one
	tick     int64 // instant of the market's next tick

	events   eventQueue
	sessions []session
	further  []place // of the sessions at the hosts after the first, one session after the other
	flights  []flight
	tries    [][]Attempt // of logged requests, by flight
	cheapest []NanoUSD   // of logged requests that are being served, by flight
	freeS    []int32
	freeF    []int32

	log      *rowLog
	logKey   uint64 // of the hash that decides which conversations are written
	listKey  uint64 // of the hash that decides which conversations carry a list
	summary  ModelSummary
	reported int64  // requests that progress knows of
	reveals  bool   // a policy wants to know the market's true state
	onTick   func() // of tests that watch the world; nil otherwise
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
	place       // at the first host
	reach  int8 // hosts that its requests try at most
	kept   int8 // host that answered last, where conversations keep their model
	logged bool
}

// place is what a conversation has at one host.
type place struct {
	cache    market.Cache
	pin      router.Pin
	pinBlock int32 // index of the block in which the pinned endpoint was chosen; −1 outside every block
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
	giveUp   int64      // instant at which the caller cancels
	failed   int64      // µs in failed attempts
	tried    router.Set // endpoints of the host
	block    int32      // of the arrival; −1 outside every block
	pinBlock int32      // of the pin that decided; unpinned when below −1
	arm      arm
	host     int8 // that the running attempt is sent to
	turn     int8 // of the host in the request's order
}

const unpinned = -2

// overhead is the time that the gateway itself takes before the first attempt, µs.
const overhead = 15_000

// newWorld builds the world of one job over the hosts of its unit. It writes its rows to the log.
func (s *scene) newWorld(j job, hosts map[string]*host, log *rowLog) *world {
	w := &world{
		host: hosts[j.demand.Name], scene: s, job: j, demand: j.demand, arrivals: j.demand.Arrivals(s.seed), log: log,
		logKey:  random.Mix(s.seed^0x6c6f67) + uint64(j.number)<<32,
		listKey: random.Mix(s.seed^0x6c697374) + uint64(j.number)<<32,
		summary: ModelSummary{Model: j.demand.Name}, tick: market.TickMicros, inside: -1,
	}
	for _, model := range j.orders[0] {
		w.hosts = append(w.hosts, hosts[model])
	}
	for _, models := range j.orders {
		order := make([]int8, len(models))
		for k, model := range models {
			order[k] = int8(slices.Index(j.orders[0], model))
		}
		w.orders = append(w.orders, order)
	}
	for _, h := range w.hosts {
		shared := []int64(nil)
		if j.demand.Shares() {
			shared = make([]int64, len(j.demand.ClientIDs)*len(h.market.Endpoints))
		}
		w.shared = append(w.shared, shared)
		if w.host == nil || h == w.host {
			w.summary.Endpoints += len(h.market.Endpoints)
		}
	}
	for _, b := range s.plan.ForModel(j.demand.Name) {
		in := span{Block: b, starts: microsSince(s.start, b.Starts), ends: microsSince(s.start, b.Ends), burnInEnds: microsSince(s.start, b.BurnInEnds)}
		if b.Arm == s.plan.Arms.Treatment {
			in.arm = treatment
		}
		w.blocks = append(w.blocks, in)
	}
	w.reveals = w.host != nil && (s.plan.Arms.Control == "oracle" || s.plan.Arms.Treatment == "oracle")
	return w
}

// arrival is the instant of the next start of a conversation, workload.Never when the experiment ends before.
func (w *world) arrival() int64 {
	if at := w.arrivals.Next(); at < w.scene.horizon {
		return at
	}
	return workload.Never
}

// nextEvent is the instant of the next arrival or event, workload.Never when there is none.
func (w *world) nextEvent() int64 { return min(w.arrival(), w.events.next()) }

// due is the instant at which something happens next in the world, be it the tick of its clock.
func (w *world) due() int64 { return min(w.nextEvent(), w.tick, w.change) }

// advance lets everything happen up to and including the instant until; until workload.Never, to the end of the last request.
func (w *world) advance(ctx context.Context, until int64, progress func(int64)) error {
	for {
		arrival := w.arrival()
		next := min(arrival, w.events.next())
		limit := min(next, until)
		if control := min(w.tick, w.change); control <= limit {
			if limit == workload.Never {
				return nil
			}
			if control != w.tick {
				w.changeBlock(control)
			} else if err := w.nextTick(ctx, progress); err != nil {
				return err
			}
			continue
		}
		if next > until {
			return nil
		}
		if w.log.full() {
			if err := w.log.next(ctx); err != nil {
				return err
			}
		}
		w.step(next, arrival)
	}
}

// nextTick moves the market on.
func (w *world) nextTick(ctx context.Context, progress func(int64)) error {
	if w.host != nil {
		w.market.Tick(w.tick)
	}
	if w.reveals {
		w.reveal(w.tick)
	}
	if w.onTick != nil {
		w.onTick()
	}
	w.tick += market.TickMicros
	if w.tick%(3600e6) != 0 {
		return nil
	}
	w.report(progress)
	return ctx.Err()
}

// report tells the requests since the last report.
func (w *world) report(progress func(int64)) {
	progress(w.summary.Requests - w.reported)
	w.reported = w.summary.Requests
}

// step handles the next arrival or event.
func (w *world) step(next, arrival int64) {
	if w.events.next() > next {
		at := w.newSession()
		s := &w.sessions[at]
		*s = session{}
		w.arrivals.Pop(&s.Session)
		s.pinBlock, s.logged, s.reach = unpinned, w.isLogged(s.Number), 1
		if len(w.hosts) > 1 {
			w.listHosts(at)
		}
		w.begin(at, arrival)
		return
	}
	if e := w.events.pop(); e.what < 0 {
		w.begin(^e.what, e.at)
	} else {
		w.endAttempt(e.what, e.at)
	}
}

// isLogged decides by the conversation's number, whatever the world, whether its requests are written.
func (w *world) isLogged(number uint32) bool {
	return w.scene.logShare >= 1 || fraction(w.logKey+uint64(number)) < w.scene.logShare
}

// listHosts decides by the conversation's number, whatever the world, whether its requests carry a list, and empties its further places.
func (w *world) listHosts(at int32) {
	s := &w.sessions[at]
	if fraction(w.listKey+uint64(s.Number)) < w.job.listed {
		s.reach = int8(len(w.hosts))
	}
	more := len(w.hosts) - 1
	places := w.further[int(at)*more:][:more]
	for i := range places {
		places[i] = place{pinBlock: unpinned}
	}
}

// fraction is the number in [0, 1) that a key is hashed to.
func fraction(key uint64) float64 { return float64(random.Mix(key)>>11) * (1.0 / (1 << 53)) }

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
func (w *world) changeBlock(now int64) {
	if w.inside >= 0 && w.blocks[w.inside].ends <= now {
		w.inside = -1
	}
	if w.upcoming < len(w.blocks) && w.blocks[w.upcoming].starts <= now {
		w.inside = w.upcoming
		w.upcoming++
		w.arm = w.blocks[w.inside].arm
	}
	w.change = w.nextChange()
	if w.host != nil {
		w.use(w.arm)
	}
}

// reveal tells the router the true state of every endpoint. Only the policy oracle looks at it.
func (w *world) reveal(now int64) {
	for i := range w.market.Endpoints {
		s := w.market.State(int32(i), w.demand.MeanInput, w.demand.MeanOutput, now)
		w.router.Reveal(int32(i), router.Truth(s))
	}
}
