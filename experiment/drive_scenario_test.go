package experiment

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"switchback/experiment/market"
	"switchback/router"
)

// A day of each scenario shows what it is for: the tests of this file compare it with the default one on the same arrivals. They ask for the
// mechanism, with room for other parameters, and not for the numbers of today.

// sceneIn is the scene of the small configuration in a scenario and a world.
func sceneIn(t testing.TB, scenario, world string) *scene {
	t.Helper()
	cfg := small(t)
	cfg.Scenario, cfg.World = scenario, world
	s, err := newScene(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// streamed drives a scene and hands its rows on without keeping them.
func streamed(t testing.TB, s *scene, each func(*Batch)) {
	t.Helper()
	if _, err := s.drive(context.Background(), DriveConfig{}, func(b *Batch) error { each(b); return nil }); err != nil {
		t.Fatal(err)
	}
}

// pureWorlds is what comes out when either arm routes everything.
type pureWorlds struct {
	levelTable
	served [2]map[string]float64 // requests that got an answer, by arm, model and endpoint
}

func inPureWorlds(t testing.TB, scenario string) pureWorlds {
	t.Helper()
	l, w := newLevels(), pureWorlds{}
	for a, world := range []string{WorldControl, WorldTreatment} {
		served := map[string]float64{}
		streamed(t, sceneIn(t, scenario, world), func(b *Batch) {
			l.add(b, true)
			for i := range b.Requests {
				if r := &b.Requests[i]; r.TTFT.Known {
					served[r.Model+" "+r.Provider]++
				}
			}
		})
		w.served[a] = served
	}
	w.levelTable = l.table("price", "routing-cost")
	return w
}

// usualWorlds are those of the default scenario, shared by the tests that compare another one with it. They are only read.
var usualWorlds = sync.OnceValue(func() pureWorlds { return inPureWorlds(new(fatalOnly), "") })

// shareOf is the part of an arm's requests that endpoints of a set answered.
func (w *pureWorlds) shareOf(a arm, endpoints map[string]bool) float64 {
	in, all := 0.0, 0.0
	for endpoint, n := range w.served[a] {
		if all += n; endpoints[endpoint] {
			in += n
		}
	}
	return in / all
}

// Endpoints that halve the price of their input and double that of their output draw the router that looks at the input price, and lose
// the one that looks at the whole bill.
func TestPriceGamesCatchThePriceRouter(t *testing.T) {
	short(t)
	usual, games := usualWorlds(), inPureWorlds(t, "price-games")
	honest, playing := newBiller(t, smallScene()), newBiller(t, sceneIn(t, "price-games", ""))
	players := map[string]bool{}
	for name, e := range playing {
		if e.Price.Output != honest[name].Price.Output {
			players[name] = true
		}
	}
	if part := float64(len(players)) / float64(len(playing)); part < 0.15 || part > 0.6 {
		t.Errorf("%d of %d endpoints play games", len(players), len(playing))
	}
	price, cost := games.shareOf(control, players), games.shareOf(treatment, players)
	usualPrice, usualCost := usual.shareOf(control, players), usual.shareOf(treatment, players)
	t.Logf("share of the endpoints that play: price %.3f, without games %.3f; routing-cost %.3f, without games %.3f", price, usualPrice, cost, usualCost)
	if price < 1.3*usualPrice {
		t.Errorf("the price router sends %.3f of the requests to endpoints that play games, %.3f when they do not play", price, usualPrice)
	}
	if cost > usualCost || cost > 0.6*price {
		t.Errorf("the new router sends %.3f of the requests to endpoints that play games, %.3f when they do not play; the price router %.3f", cost, usualCost, price)
	}
	const perToken = 4
	dearer, newDearer := games.control[perToken]/usual.control[perToken], games.treatment[perToken]/usual.treatment[perToken]
	t.Logf("cost of a token with games over that without: price %.3f, routing-cost %.3f", dearer, newDearer)
	if dearer < 1.05 || dearer <= newDearer {
		t.Errorf("games make a token %.3f times as dear with the price router, %.3f times with the new one", dearer, newDearer)
	}
}

// Where endpoints differ in their price alone, the new router does not pay more than the price router, nor get anything for it; where they differ in speed it does both.
func TestBatchIsNotWorthPaying(t *testing.T) {
	short(t)
	usual, batch := usualWorlds(), inPureWorlds(t, "batch")
	const ttft, rate, perToken = 0, 2, 4
	t.Logf("effects in %%: cost of a token %+.1f, usually %+.1f; TTFT %+.1f, usually %+.1f; throughput %+.1f, usually %+.1f",
		batch.effect[perToken], usual.effect[perToken], batch.effect[ttft], usual.effect[ttft], batch.effect[rate], usual.effect[rate])
	if batch.effect[perToken] > 1 || usual.effect[perToken] < batch.effect[perToken]+3 {
		t.Errorf("the new router costs %+.1f %% a token, %+.1f %% where speeds differ", batch.effect[perToken], usual.effect[perToken])
	}
	for _, level := range []int{ttft, rate} {
		if math.Abs(batch.effect[level]) > 3 || math.Abs(usual.effect[level]) < 3*math.Abs(batch.effect[level]) {
			t.Errorf("%s changes by %+.1f %%, by %+.1f %% where speeds differ", levelNames[level], batch.effect[level], usual.effect[level])
		}
	}
	for _, r := range scenarioRun(t, "batch").requests {
		if !strings.HasSuffix(r.RequestID, "00") {
			t.Fatalf("batch: conversation %s has a second turn", r.SessionID)
		}
	}
}

// domainOutage is a domain outage as one endpoint feels it, in µs since the start.
type domainOutage struct {
	endpoint   string // model and slug
	start, end int64
}

// domainOutages finds them by what the market of the scenario does beyond the default one, which has all its other incidents.
func domainOutages(t *testing.T) []domainOutage {
	t.Helper()
	usual, hit := smallScene(), sceneIn(t, "outage", "")
	var outages []domainOutage
	for i, j := range hit.jobs {
		a, err := usual.newHost(usual.jobs[i])
		if err != nil {
			t.Fatal(err)
		}
		b, err := hit.newHost(j)
		if err != nil {
			t.Fatal(err)
		}
		open := make([]*domainOutage, len(b.market.Endpoints))
		for now := int64(0); now < hit.horizon; now += market.TickMicros {
			a.market.Tick(now)
			b.market.Tick(now)
			for e := range open {
				if down := b.market.State(int32(e), 1000, 100, now).ErrorRate > a.market.State(int32(e), 1000, 100, now).ErrorRate+0.1; !down {
					if open[e] != nil {
						outages = append(outages, *open[e])
					}
					open[e] = nil
				} else if open[e] == nil {
					open[e] = &domainOutage{j.demand.Name + " " + b.market.Endpoints[e].Offer.Slug, now, now + market.TickMicros}
				} else {
					open[e].end = now + market.TickMicros
				}
			}
		}
	}
	return outages
}

// When a failure domain goes down, traffic leaves its endpoints within minutes with either router, and is back soon after it has come up.
func TestTrafficLeavesAnOutageAndComesBack(t *testing.T) {
	short(t)
	outages := domainOutages(t)
	const minute, settle, beside = 60e6, 5 * 60e6, 45 * 60e6
	// Requests that outages' endpoints answered, or tried first, around the outages: before, during and after.
	around := func(c collected) (n [2][3]float64) {
		byEndpoint := map[string][]domainOutage{}
		for _, o := range outages {
			if o.end-o.start > 2*settle {
				byEndpoint[o.endpoint] = append(byEndpoint[o.endpoint], o)
			}
		}
		start := InstantOf(smallScene().start)
		for i := range c.requests {
			r := &c.requests[i]
			slug := r.Provider
			if tries := c.attempts[r.RequestID]; len(tries) > 0 {
				slug = tries[0].Provider
			}
			at, a := int64(r.TS-start), control
			if r.Arm == "routing-cost" {
				a = treatment
			}
			for _, o := range byEndpoint[r.Model+" "+slug] {
				switch {
				case at >= o.start-beside && at < o.start-minute:
					n[a][0]++
				case at >= o.start+settle && at < o.end:
					n[a][1]++
				case at >= o.end+2*settle && at < o.end+2*settle+beside:
					n[a][2]++
				}
			}
		}
		return n
	}
	outage := scenarioRun(t, "outage")
	usual, hit := around(smallRun()), around(outage)
	for a, name := range []string{"price", "routing-cost"} {
		before, during, after := hit[a][0]/usual[a][0], hit[a][1]/usual[a][1], hit[a][2]/usual[a][2]
		t.Logf("%s: of the usual requests %.2f before an outage, %.2f in it (of %.0f), %.2f after it", name, before, during, usual[a][1], after)
		if usual[a][1] < 500 {
			t.Errorf("%s: only %.0f requests would go to endpoints in outages", name, usual[a][1])
		}
		if during > 0.6*before || after < 1.5*during || after < 0.6*before {
			t.Errorf("%s: of the usual requests %.2f come before an outage, %.2f in it, %.2f after it", name, before, during, after)
		}
	}
	retried := func(r *Request) bool { return r.Retries.Value > 0 }
	if o, n := rowShare(outage, retried), rowShare(smallRun(), retried); o <= n {
		t.Errorf("%.3f of the requests are retried, %.3f normally", o, n)
	}
}

func rowShare(c collected, is func(*Request) bool) float64 {
	n := 0
	for i := range c.requests {
		if is(&c.requests[i]) {
			n++
		}
	}
	return float64(n) / float64(len(c.requests))
}

// The volume of a flash crowd comes in its hours and no others, and what breaks is room: of the price router's attempts, more are answered by a 429 than in
// the same hours of the default week.
func TestFlashCrowdsFillTheEndpoints(t *testing.T) {
	short(t)
	crowded := sceneIn(t, "flash-crowd", WorldControl)
	spell := crowded.scenario.Workload.Flash[0]
	type part struct{ requests, n429, attempts float64 }
	var before, in part
	add := func(r *Request) {
		p := &before
		switch h := r.TS.Time().Sub(crowded.start).Hours(); {
		case h >= spell.StartH+spell.Hours:
			return // later turns of the crowd's conversations
		case h >= spell.StartH:
			p = &in
		}
		p.requests++
		p.n429 += float64(r.N429.Value)
		p.attempts += float64(r.Attempts.Value)
	}
	for i := range controlRun().requests {
		add(&controlRun().requests[i])
	}
	usualBefore, usualIn := before, in
	before, in = part{}, part{}
	streamed(t, crowded, func(b *Batch) {
		for i := range b.Requests {
			add(&b.Requests[i])
		}
	})
	more, moreBefore := in.requests/usualIn.requests, before.requests/usualBefore.requests
	rate, usualRate := in.n429/in.attempts, usualIn.n429/usualIn.attempts
	t.Logf("%.2f times the requests in the spell, %.3f before; 429s %.4f of the attempts in the spell, usually %.4f", more, moreBefore, rate, usualRate)
	if math.Abs(more/spell.Factor-1) > 0.1 {
		t.Errorf("%.2f times the usual requests in a spell of factor %v", more, spell.Factor)
	}
	if math.Abs(moreBefore-1) > 0.01 {
		t.Errorf("%.3f times the usual requests before the spell", moreBefore)
	}
	if rate < 2*usualRate {
		t.Errorf("%.4f of the attempts in the spell are answered by a 429, usually %.4f", rate, usualRate)
	}
}

// The largest client of a whale week sends a larger part of the requests; its bursts use up the quotas that endpoints have there; and the router learns caps
// for those endpoints.
func TestWhalesMeetQuotasAndCaps(t *testing.T) {
	short(t)
	const quotaReject = Micros(80_000) // a used-up quota answers at once, others take time
	largest := func(clients map[string]int) float64 {
		most, all := 0, 0
		for _, n := range clients {
			most, all = max(most, n), all+n
		}
		return float64(most) / float64(all)
	}
	clients, atOnce := map[string]int{}, 0
	for _, r := range smallRun().requests {
		clients[r.ClientID]++
	}
	for _, tries := range smallRun().attempts {
		for _, a := range tries {
			if a.HTTPStatus.Value == 429 && a.Latency.Value == quotaReject {
				atOnce++
			}
		}
	}
	usually, usuallyAtOnce := largest(clients), float64(atOnce)/float64(len(smallRun().requests))
	clear(clients)
	atOnce = 0

	s, requests := sceneIn(t, "whale", ""), 0
	var struck, struckCapped, calm, calmCapped float64
	for _, jobs := range s.units {
		arrival, rejected := map[string]int64{}, map[string][]int64{} // ticks of quotas' 429s, by endpoint
		over, wait := reading(func(b *Batch) error {
			for i := range b.Requests {
				r := &b.Requests[i]
				clients[r.ClientID]++
				requests++
				arrival[r.RequestID] = int64(r.TS - InstantOf(s.start))
			}
			for i := range b.Attempts {
				if a := &b.Attempts[i]; a.HTTPStatus.Value == 429 && a.Latency.Value == quotaReject {
					atOnce++
					rejected[a.Provider] = append(rejected[a.Provider], (arrival[a.RequestID]+int64(a.Start.Value))/market.TickMicros)
				}
			}
			return nil
		})
		u, err := s.newUnit(jobs, over)
		if err != nil {
			t.Fatal(err)
		}
		w := u.worlds[0]
		capped := map[string][]bool{} // by endpoint and tick, the first of which is 1
		w.onTick = func() {
			for _, row := range w.router.Rows(router.Instant(w.tick), &router.Request{InputTokens: 1000}) {
				capped[row.Slug] = append(capped[row.Slug], row.CapShare > 0)
			}
		}
		if _, err := u.run(context.Background(), func(int64) {}); err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		for slug, ticks := range rejected {
			for i, on := range capped[slug] {
				recent := 0 // 429s of the last two minutes
				for _, tick := range ticks {
					if since := int64(i+1) - tick; since >= 1 && since <= 6 {
						recent++
					}
				}
				switch {
				case recent >= 5:
					if struck++; on {
						struckCapped++
					}
				case recent == 0:
					if calm++; on {
						calmCapped++
					}
				}
			}
		}
	}
	nowAtOnce := float64(atOnce) / float64(requests)
	t.Logf("429s of quotas %.5f per request, usually %.5f", nowAtOnce, usuallyAtOnce)
	t.Logf("largest client %.3f of the requests, usually %.3f; endpoints have a cap %.3f of the time after a burst of a quota's 429s (%.0f ticks), %.3f of the time else",
		largest(clients), usually, struckCapped/struck, struck, calmCapped/calm)
	if got := largest(clients); got < 1.2*usually {
		t.Errorf("the largest client sends %.3f of the requests, usually %.3f", got, usually)
	}
	if nowAtOnce < 2*usuallyAtOnce {
		t.Errorf("quotas reject %.5f attempts per request, usually %.5f", nowAtOnce, usuallyAtOnce)
	}
	if struck < 100 {
		t.Errorf("only %.0f ticks follow a burst of 429s of a quota", struck)
	} else if struckCapped/struck < 3*calmCapped/calm || struckCapped/struck < 0.5 {
		t.Errorf("endpoints have a cap %.3f of the time after a burst of a quota's 429s, %.3f of the time else", struckCapped/struck, calmCapped/calm)
	}
}

// With long agent loops, conversations of the other arm are still where it pinned them more than an hour after a switch, so that the endpoints' shares are further from what
// they are when one arm routes all the time. In the default scenario an hour of burn-in is enough for the pins; the shares of two worlds differ a little by what happens in them.
func TestSlowRecoveryOutlivesAnHour(t *testing.T) {
	short(t)
	pinned, distance := secondHour(t, "slow-recovery")
	usuallyPinned, usualDistance := secondHour(t, "")
	t.Logf("60 to 120 minutes after a switch: %.4f of the requests pinned from before, usually %.4f; shares %.3f off those of the pure world, usually %.3f",
		pinned, usuallyPinned, distance, usualDistance)
	if pinned < 0.02 || pinned < 5*usuallyPinned {
		t.Errorf("%.4f of the requests are pinned from before the switch an hour later, usually %.4f", pinned, usuallyPinned)
	}
	if distance < 1.1*usualDistance {
		t.Errorf("an hour after a switch the shares of the endpoints are %.3f off those of the same arm in a world of its own, usually %.3f", distance, usualDistance)
	}
}

// secondHour looks at the requests that come 60 to 120 minutes after a switch from the new router to the price router: the part that is pinned from before, and how far the shares of the
// endpoints are from those in a world without the new router (total variation, mean of models and blocks).
func secondHour(t *testing.T, scenario string) (pinned, distance float64) {
	t.Helper()
	type place struct{ model, block string }
	shares := map[string]map[place]map[string]float64{}
	requests, fromBefore := 0.0, 0.0
	for _, world := range []string{WorldSwitchback, WorldControl} {
		cfg := small(t)
		cfg.Plan, cfg.Scenario, cfg.World = weekPlan(t, 1, 3), scenario, world
		s, err := newScene(cfg)
		if err != nil {
			t.Fatal(err)
		}
		of := map[place]map[string]float64{}
		shares[world] = of
		streamed(t, s, func(b *Batch) {
			for i := range b.Requests {
				r := &b.Requests[i]
				at := slices.IndexFunc(s.plan.Blocks, func(x Block) bool { return x.ID == r.BlockID })
				since := r.TS.Time().Sub(s.plan.Blocks[at].Starts)
				if at == 0 || s.plan.Blocks[at].Arm != s.arms[control] || s.plan.Blocks[at-1].Arm == s.arms[control] || since < time.Hour || since >= 2*time.Hour {
					continue
				}
				if world == WorldSwitchback {
					if requests++; r.PinnedFromBlock != "" && r.PinnedFromBlock != r.BlockID {
						fromBefore++
					}
				}
				p := place{r.Model, r.BlockID}
				if of[p] == nil {
					of[p] = map[string]float64{}
				}
				of[p][r.Provider]++
			}
		})
	}
	for p, a := range shares[WorldSwitchback] {
		distance += totalVariation(a, shares[WorldControl][p]) / float64(len(shares[WorldSwitchback]))
	}
	return fromBefore / requests, distance
}

// totalVariation is half the sum of the differences between two distributions that are given by counts.
func totalVariation(a, b map[string]float64) float64 {
	total := func(m map[string]float64) (sum float64) {
		for _, n := range m {
			sum += n
		}
		return sum
	}
	na, nb, d := total(a), total(b), 0.0
	for key, n := range a {
		d += math.Abs(n/na-b[key]/nb) / 2
	}
	for key, n := range b {
		if _, both := a[key]; !both {
			d += n / nb / 2
		}
	}
	return d
}

// With one endpoint for each model nothing is tried twice.
func TestSingleProviderLeavesNoChoice(t *testing.T) {
	short(t)
	run := scenarioRun(t, "single-provider")
	for _, r := range run.requests {
		if r.Attempts.Value != 1 {
			t.Fatalf("request %s was tried %d times", r.RequestID, r.Attempts.Value)
		}
	}
	for _, m := range run.summary.Models {
		if failed := float64(m.Errors+m.Midstream) / float64(m.Requests); failed > 0.025 { // else the 95th percentile is that of failures
			t.Errorf("%s: %.3f of the requests fail", m.Model, failed)
		}
	}
}

// In an A/A world the arms differ in their label only: all requests are as if the control ran everywhere.
func TestSameArmsDifferInTheirLabelOnly(t *testing.T) {
	short(t)
	want, aa := controlRun(), scenarioRun(t, "a-a")
	if len(aa.requests) != len(want.requests) {
		t.Fatalf("a-a has %d requests, all-control %d", len(aa.requests), len(want.requests))
	}
	for i := range aa.requests {
		a, b := aa.requests[i], want.requests[i]
		if a.Arm, b.Arm = "", ""; a != b {
			t.Fatalf("a-a: request %s differs from that of the all-control world", a.RequestID)
		}
	}
}

// controlRun is the small configuration in the all-control world, shared by the tests that only read its rows.
var controlRun = sync.OnceValue(func() collected {
	return inWorld(new(fatalOnly), func(s *scene) { s.world = WorldControl }, 0)
})
