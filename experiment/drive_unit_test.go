package experiment

import (
	compare "cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment/market"
	"switchback/experiment/prices"
	"switchback/router"
	"switchback/router/request"
)

// listedScene is the scene of the small models and openrouter/auto in the scenario with fallback lists.
func listedScene(t testing.TB, models ...string) *scene {
	t.Helper()
	cfg := small(t)
	cfg.Scenario = "fallback-lists"
	cfg.Models = slices.Concat(smallModels, models)
	s, err := newScene(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func driven(t testing.TB, s *scene, threads int) collected {
	t.Helper()
	return gather(t, func(emit func(*Batch) error) (DriveSummary, error) {
		return s.drive(context.Background(), DriveConfig{Threads: threads}, emit)
	})
}

// Models that lists join are driven on one clock, whatever the number of threads.
func TestUnitsAreTheSameAtAnyNumberOfThreads(t *testing.T) {
	short(t)
	s := listedScene(t, request.AutoModel, "google/gemma-3-27b-it", "qwen/qwen3-30b-a3b-04-28")
	if len(s.units) != 2 || len(s.units[0])+len(s.units[1]) != 6 {
		t.Fatalf("%d units, want two of six models", len(s.units))
	}
	one := driven(t, s, 1)
	for _, threads := range []int{2, 8} {
		c := driven(t, s, threads)
		if c.hash != one.hash {
			t.Errorf("log hash at %d threads %s, at one %s", threads, c.hash, one.hash)
		}
		if d := cmp.Diff(one.summary, c.summary); d != "" {
			t.Errorf("summary at %d threads differs:\n%s", threads, d)
		}
	}
}

// One clock for several models changes nothing as long as no request leaves its model.
func TestUnitsWithoutListedRequestsAreTheirModels(t *testing.T) {
	short(t)
	s := *smallScene()
	s.units = [][]job{slices.Concat(s.units...)}
	if len(s.units[0]) != len(smallModels) {
		t.Fatalf("a unit of %d models", len(s.units[0]))
	}
	c := driven(t, &s, 1)
	if c.hash != smallRun().hash {
		t.Errorf("log hash of one unit %s, of its models alone %s", c.hash, smallRun().hash)
	}
	if d := cmp.Diff(smallRun().summary, c.summary); d != "" {
		t.Errorf("summary differs:\n%s", d)
	}
}

// A request leaves a model only for the reasons that the guide to model fallbacks gives, which request.After knows, and after it had its tries
// there; it is answered by a model of its list, at that model's price; and every request comes to one end.
func TestRequestsFallBackInTurn(t *testing.T) {
	c := scenarioRun(t, "fallback-lists")
	s := listedScene(t, request.AutoModel)
	tries := s.scenario.Attempts
	orders := map[string][]string{}
	listed := map[string]bool{}
	type offer struct{ model, slug string }
	bills := map[offer]prices.Price{}
	for _, j := range s.jobs {
		orders[j.demand.Name] = j.orders[0]
		listed[j.demand.Name] = j.listed > 0
		if len(j.offers) == 0 {
			continue
		}
		h, err := s.newHost(j)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.market.Endpoints {
			e := &h.market.Endpoints[i]
			bills[offer{h.model, e.Offer.Slug}] = e.Price
		}
	}
	requests, statuses, fellBack := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for i := range c.requests {
		r := &c.requests[i]
		bad := func(why string) {
			t.Helper()
			t.Fatalf("%+v\n%+v: %s", *r, c.attempts[r.RequestID], why)
		}
		requests[r.Model]++
		statuses[r.Model+" "+r.Status]++
		order, answered := orders[r.Model], compare.Or(r.ModelRaw, r.Model)
		if r.TTFT.Known && (!slices.Contains(order, answered) || bills[offer{answered, r.Provider}].Input == 0) {
			bad("answered by a model outside its list, or one that has no such endpoint")
		}
		if r.Attempts.Value > int32(tries*len(order)) || r.Attempts.Value < 1 {
			bad("number of attempts")
		}
		attempts := c.attempts[r.RequestID]
		for k, a := range attempts {
			next := request.After(router.Answer{
				Status: int(a.HTTPStatus.Value), Cancelled: a.ErrorType == "cancelled",
				Started: a.HTTPStatus.Value == 200, Finished: a.HTTPStatus.Value == 200 && a.ErrorType == "", Output: 1,
			})
			if last := k == len(attempts)-1; !last && next == request.NextNothing || last && next != request.NextNothing && r.Status != StatusError {
				bad("attempt after an end")
			}
		}
		if r.Model != request.AutoModel && r.ModelRaw != "" {
			if int(r.Attempts.Value) <= tries {
				bad("left its model too early")
			}
			if r.Status == StatusOK {
				fellBack[r.Model]++
			}
		}
		if r.Status == StatusOK {
			p := bills[offer{answered, r.Provider}]
			exact := (r.InputTokens.Value-r.CachedTokens.Value)*int64(p.Input) + r.CachedTokens.Value*int64(p.CacheRead) + r.OutputTokens.Value*int64(p.Output)
			if off := int64(r.Cost.Value)*1000 - exact; off > 500 || off < -500 {
				bad("not billed at the answering model's price")
			}
		}
	}
	for _, m := range c.summary.Models {
		if m.Requests != m.Served+m.Errors+m.Midstream+m.Cancelled || m.Requests != requests[m.Model] {
			t.Errorf("%+v does not add up; %d rows", m, requests[m.Model])
		}
		for status, n := range map[string]int64{StatusOK: m.Served, StatusError: m.Errors, StatusErrorMidstream: m.Midstream, StatusCancelled: m.Cancelled} {
			if rows := statuses[m.Model+" "+status]; rows != n {
				t.Errorf("%s: %d rows with status %s, summary %d", m.Model, rows, status, n)
			}
		}
		if m.Model != request.AutoModel && (m.FellBack != fellBack[m.Model] || m.FellBack == 0) {
			t.Errorf("%s: %d answers of other models in the summary, %d in the rows", m.Model, m.FellBack, fellBack[m.Model])
		}
		if !listed[m.Model] {
			t.Errorf("%s is not listed", m.Model)
		}
	}
}

// names are the models with endpoints of their own.
func (s *scene) names() []string {
	var names []string
	for _, j := range s.jobs {
		if len(j.offers) > 0 {
			names = append(names, j.demand.Name)
		}
	}
	return names
}

// A conversation with openrouter/auto starts with the first model of the ranking and keeps the one that answered while that one answers.
func TestAutoKeepsItsModel(t *testing.T) {
	s := listedScene(t, request.AutoModel)
	// Bands of the cost tier low take one of three models, so the conversations have no choice; with all three they may move.
	for i := range s.jobs {
		if j := &s.jobs[i]; j.demand.Name == request.AutoModel {
			names := s.names()
			j.orders = [][]string{names, {names[1], names[0], names[2]}, {names[2], names[0], names[1]}}
		}
	}
	s.units = units(s.jobs)
	s.scenario.Attempts = 1
	first := s.names()[0]
	kept := map[string]string{}
	moved, stayed := 0, 0
	for _, r := range driven(t, s, 0).requests {
		if r.Model != request.AutoModel || r.Status != StatusOK {
			continue
		}
		was, known := kept[r.SessionID]
		if !known {
			was = first
		}
		switch {
		case r.ModelRaw == was && r.Attempts.Value == 1:
			if was != first {
				stayed++
			}
		case r.ModelRaw != was && r.Attempts.Value > 1:
			moved++
		default:
			t.Fatalf("request %s: answered by %s at attempt %d, its conversation kept %s", r.RequestID, r.ModelRaw, r.Attempts.Value, was)
		}
		kept[r.SessionID] = r.ModelRaw
	}
	if moved == 0 || stayed == 0 {
		t.Errorf("%d conversations moved, %d requests stayed with a later model", moved, stayed)
	}
}

// A shard holds whole units: its rows are those of the unsplit drive.
func TestShardsHoldWholeUnits(t *testing.T) {
	short(t)
	models := []string{request.AutoModel, "google/gemma-3-27b-it", "qwen/qwen3-30b-a3b-04-28"}
	whole := driven(t, listedScene(t, models...), 0)
	var parts LogHash
	rows := 0
	for k := range 2 {
		s := listedScene(t, models...)
		if err := s.keepShard(Shard{Number: k, Of: 2}); err != nil {
			t.Fatal(err)
		}
		if len(s.units) != 1 {
			t.Errorf("shard %d has %d units", k, len(s.units))
		}
		if _, err := s.drive(context.Background(), DriveConfig{}, func(b *Batch) error {
			rows += len(b.Requests)
			parts.Add(b)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if parts.String() != whole.hash || rows != len(whole.requests) {
		t.Errorf("the %d rows of the shards have hash %s, the %d of the whole %s", rows, parts.String(), len(whole.requests), whole.hash)
	}
	if err := listedScene(t, models...).keepShard(Shard{Number: 0, Of: 3}); !errors.Is(err, ErrShard) || !strings.Contains(err.Error(), "0/3 of 2 ") {
		t.Errorf("three shards of two units: %v", err)
	}
}

// A conversation that was cut down begins anew: an endpoint's cache holds no more of it than was sent and answered there since.
func TestCompactedConversationsAreForgotten(t *testing.T) {
	scenario, err := ScenarioByName("")
	if err != nil {
		t.Fatal(err)
	}
	scenario.Workload.CompactAt, scenario.Workload.CompactTo, scenario.Workload.SharedPrompt = 6000, 3000, 0
	s, err := newSceneOf(small(t), scenario)
	if err != nil {
		t.Fatal(err)
	}
	type conversation struct {
		prompt int64            // the last
		held   map[string]int64 // by provider: the longest prompt that it served, with its answer
		unsure bool             // whether the conversation was cut down, or grew to as many tokens
	}
	conversations := map[string]*conversation{}
	compacted, reused := 0, 0
	for _, r := range driven(t, s, 2).requests {
		c, later := conversations[r.SessionID]
		if !later {
			c = &conversation{held: map[string]int64{}}
			conversations[r.SessionID] = c
		}
		if prompt := r.InputTokens.Value; later && prompt == 3000 {
			c.unsure = c.unsure || c.prompt < prompt
			compacted++
			clear(c.held)
		}
		c.prompt = r.InputTokens.Value
		if r.Provider == "" || c.unsure {
			continue
		}
		if r.CachedTokens.Value > c.held[r.Provider] {
			t.Fatalf("request %s: %d tokens from a cache of %s, which was sent %d since the conversation was cut down",
				r.RequestID, r.CachedTokens.Value, r.Provider, c.held[r.Provider])
		}
		if r.CachedTokens.Value > 0 {
			reused++
		}
		c.held[r.Provider] = max(c.held[r.Provider], r.InputTokens.Value+r.OutputTokens.Value)
	}
	if compacted < 100 || reused < 1000 {
		t.Errorf("only %d conversations were cut down, %d requests read from a cache", compacted, reused)
	}
}

// What the caches hold of a conversation, and the endpoint that it keeps, belong to a model.
func TestPlacesBelongToAModel(t *testing.T) {
	w := &world{hosts: make([]*host, 3)}
	a, b := w.newSession(), w.newSession()
	seen := map[*market.Cache]bool{}
	for _, at := range []int32{a, b} {
		for h := range w.hosts {
			p := w.placeOf(&flight{session: at, host: int8(h)}, &w.sessions[at])
			if seen[&p.cache] {
				t.Fatalf("session %d shares its place at host %d", at, h)
			}
			seen[&p.cache] = true
		}
	}
}
