package experiment

import (
	compare "cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// smallModels have little traffic, so a day of them at full flow takes a fraction of a second.
var smallModels = []string{"qwen/qwq-32b", "meta-llama/llama-3-70b-instruct", "deepseek/deepseek-r1-distill-qwen-32b"}

// dayPlan is one day of one-hour blocks with a burn-in of 20 minutes.
func dayPlan(t testing.TB) Plan {
	t.Helper()
	return planOf(t, 1)
}

func planOf(t testing.TB, days int) Plan {
	t.Helper()
	p, err := Draw(Design{Start: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), Days: days, Block: time.Hour, BurnIn: 20 * time.Minute,
		BurnInScope: BurnInBlock, Order: OrderSlotBalanced, Seed: 3}, Arms{Control: "price", Treatment: "routing-cost"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func small(t testing.TB) DriveConfig {
	t.Helper()
	return DriveConfig{Plan: dayPlan(t), Seed: 3, Models: smallModels}
}

// collected is a copy of all rows of a drive, sorted by (ts, request id).
type collected struct {
	summary  DriveSummary
	requests []Request
	attempts map[string][]Attempt
	hash     string
}

func collect(t testing.TB, cfg DriveConfig) collected {
	t.Helper()
	return gather(t, func(emit func(*Batch) error) (DriveSummary, error) { return Drive(context.Background(), cfg, emit) })
}

// inWorld is collect for the small configuration in another world or with another log: it reuses the scene.
func inWorld(t testing.TB, change func(*scene), threads int) collected {
	t.Helper()
	s := *smallScene()
	change(&s)
	return gather(t, func(emit func(*Batch) error) (DriveSummary, error) {
		return s.drive(context.Background(), DriveConfig{Threads: threads}, emit)
	})
}

// smallScene is the scene of the small configuration. It is only read.
var smallScene = sync.OnceValue(func() *scene {
	t := new(fatalOnly)
	s, err := newScene(small(t))
	if err != nil {
		panic(err)
	}
	return s
})

func gather(t testing.TB, drive func(emit func(*Batch) error) (DriveSummary, error)) collected {
	t.Helper()
	c := collected{attempts: map[string][]Attempt{}}
	var hash LogHash
	var err error
	c.summary, err = drive(func(b *Batch) error {
		hash.Add(b)
		c.requests = append(c.requests, b.Requests...)
		for _, a := range b.Attempts {
			c.attempts[a.RequestID] = append(c.attempts[a.RequestID], a)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(c.requests, byTime)
	c.hash = hash.String()
	return c
}

// smallRun is one drive of the small configuration, shared by the tests that only read its rows.
var smallRun = sync.OnceValue(func() collected {
	t := new(fatalOnly)
	return collect(t, small(t))
})

// fatalOnly lets a run that several tests share fail without a test of its own.
type fatalOnly struct{ testing.TB }

func (*fatalOnly) Helper()           {}
func (*fatalOnly) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// A pinned request names the block in which its conversation's endpoint was last chosen: that of the last answer to a request
// that was not pinned, or that another endpoint gave.
func TestPinnedFromBlock(t *testing.T) {
	type choice struct{ provider, block string }
	last := map[string]choice{}
	pinned, again := 0, 0
	for _, r := range smallRun().requests {
		chosen, known := last[r.SessionID]
		if r.PinnedFromBlock != "" {
			if pinned++; !known || r.PinnedFromBlock != chosen.block {
				t.Fatalf("request %s is pinned from block %s, its endpoint was chosen in %q", r.RequestID, r.PinnedFromBlock, chosen.block)
			}
		}
		if r.Status == StatusOK && (r.PinnedFromBlock == "" || r.Provider != chosen.provider) {
			if known && r.Provider == chosen.provider && r.BlockID != chosen.block {
				again++
			}
			last[r.SessionID] = choice{r.Provider, r.BlockID}
		}
	}
	if pinned == 0 || again == 0 {
		t.Errorf("%d pinned requests, %d endpoints chosen again in a later block", pinned, again)
	}
}

func byTime(a, b Request) int {
	return compare.Or(compare.Compare(a.TS, b.TS), compare.Compare(a.RequestID, b.RequestID))
}

func TestDriveIsTheSameAtAnyNumberOfThreads(t *testing.T) {
	want, summary := smallRun().hash, smallRun().summary // at all processors
	for _, threads := range []int{1, 2, 8} {
		c := inWorld(t, func(*scene) {}, threads)
		if c.hash != want {
			t.Errorf("log hash at %d threads %s, at all processors %s", threads, c.hash, want)
		}
		if d := cmp.Diff(summary, c.summary); d != "" {
			t.Errorf("summary at %d threads differs:\n%s", threads, d)
		}
	}
	cfg := small(t)
	cfg.Seed++
	if collect(t, cfg).hash == want {
		t.Error("another seed gives the same log")
	}
}

func TestRequestsInAreRequestsOut(t *testing.T) {
	c := smallRun()
	s := c.summary
	if s.Requests == 0 || s.Logged != s.Requests || int64(len(c.requests)) != s.Requests {
		t.Fatalf("%d requests, %d logged, %d rows", s.Requests, s.Logged, len(c.requests))
	}
	counts := map[string]int64{}
	var input, output int64
	for _, r := range c.requests {
		counts[r.Status]++
		if r.Status == StatusOK {
			input += r.InputTokens.Value
			output += r.OutputTokens.Value
		}
	}
	var served, failed, midstream, cancelled, sum int64
	for _, m := range s.Models {
		served, failed, midstream, cancelled, sum = served+m.Served, failed+m.Errors, midstream+m.Midstream, cancelled+m.Cancelled, sum+m.Requests
		if m.Requests != m.Served+m.Errors+m.Midstream+m.Cancelled {
			t.Errorf("%s: %+v does not add up", m.Model, m)
		}
	}
	want := map[string]int64{StatusOK: served, StatusError: failed, StatusErrorMidstream: midstream, StatusCancelled: cancelled}
	if failed == 0 {
		delete(want, StatusError)
	}
	if d := cmp.Diff(want, counts); d != "" {
		t.Errorf("statuses of the rows against the summary:\n%s", d)
	}
	if sum != s.Requests || input != s.InputTokens || output != s.OutputTokens {
		t.Errorf("summary %d requests, %d input, %d output tokens; rows %d, %d, %d", s.Requests, s.InputTokens, s.OutputTokens, sum, input, output)
	}
	for _, status := range []string{StatusOK, StatusErrorMidstream, StatusCancelled} { // final errors are rarer than one in a small day
		if counts[status] == 0 {
			t.Errorf("no row with status %s", status)
		}
	}
	if s.Skipped == nil || s.Notes == nil {
		t.Error("the summary does not say what was left out of the data and what was repeated")
	}
}

// Every row obeys the rules of the canonical log.
func TestRowsAreWellFormed(t *testing.T) {
	cfg := small(t)
	c := smallRun()
	starts, ends := cfg.Plan.Window()
	ids := map[string]bool{}
	pinned := 0
	for _, r := range c.requests {
		bad := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("%+v: %s", r, fmt.Sprintf(format, args...))
		}
		if len(r.RequestID) == 0 || len(r.RequestID) > 12 || ids[r.RequestID] || !strings.HasPrefix(r.RequestID, r.SessionID) {
			bad("request id")
		}
		ids[r.RequestID] = true
		at := r.TS.Time()
		b := BlockAt(cfg.Plan.Blocks, at)
		if at.Before(starts) || !at.Before(ends) || b == nil || b.ID != r.BlockID || b.Arm != r.Arm || r.InBurnIn != Some(at.Before(b.BurnInEnds)) {
			bad("not in its block")
		}
		if straddles := !at.Add(time.Duration(r.Total.Value) * time.Microsecond).Before(b.Ends); straddles != (r.Quality&QualityStraddlesBlock != 0) {
			bad("straddling bit")
		}
		if r.Attempts.Value < 1 || r.Attempts.Value > 8 || r.Retries.Value != r.Attempts.Value-1 || r.N429.Value > r.Attempts.Value {
			bad("attempts")
		}
		if r.Failed.Value < 0 || r.Total.Value < r.Failed.Value {
			bad("failed time")
		}
		if r.TTFT.Known != r.CallerTTFT.Known || r.TTFT.Known && (r.TTFT.Value > r.CallerTTFT.Value || r.CallerTTFT.Value > r.Total.Value) {
			bad("time to first token")
		}
		if r.CachedTokens.Value > r.InputTokens.Value || r.InputTokens.Value < 1 {
			bad("tokens")
		}
		switch r.Status {
		case StatusOK:
			if !r.TTFT.Known || r.OutputTokens.Value < 1 || r.Provider == "" || r.Cost.Value <= 0 {
				bad("served")
			}
		case StatusError:
			if r.TTFT.Known || r.OutputTokens.Value != 0 || r.Provider != "" || r.Cost != Some[NanoUSD](0) {
				bad("failed")
			}
		case StatusErrorMidstream:
			if !r.TTFT.Known || r.Cost.Value != 0 {
				bad("broken")
			}
		case StatusCancelled:
			if r.ToolCallOK.Known {
				bad("cancelled")
			}
		default:
			bad("status")
		}
		if r.PinnedFromBlock != "" {
			pinned++
		}
		tries := c.attempts[r.RequestID]
		if want := r.Attempts.Value > 1 || r.Status != StatusOK; (len(tries) > 0) != want {
			bad("%d attempt rows", len(tries))
		}
		if len(tries) == 0 {
			continue
		}
		failed, n429 := Micros(0), int32(0)
		seen := map[string]bool{}
		for i, a := range tries {
			if a.N != int32(i+1) || seen[a.Provider] {
				bad("attempt %+v", a)
			}
			seen[a.Provider] = true
			if a.HTTPStatus.Value == 429 {
				n429++
			}
			if a.HTTPStatus.Value == 429 || a.HTTPStatus.Value >= 500 {
				failed += a.Latency.Value
			}
		}
		if int32(len(tries)) != r.Attempts.Value || n429 != r.N429.Value || failed != r.Failed.Value {
			bad("attempt rows %+v", tries)
		}
	}
	if pinned == 0 {
		t.Error("no pinned request")
	}
}

// The rows themselves show that no endpoint ever held more requests than its capacity.
func TestNoEndpointExceedsItsConcurrency(t *testing.T) {
	c := smallRun()
	scene := smallScene()
	type edge struct {
		at    int64
		delta int
	}
	edges := map[string][]edge{}
	hold := func(model, provider string, from, length int64) {
		key := model + " " + provider
		edges[key] = append(edges[key], edge{from, 1}, edge{from + length, -1})
	}
	for _, r := range c.requests {
		tries := c.attempts[r.RequestID]
		for _, a := range tries {
			if a.HTTPStatus.Value != 429 && a.HTTPStatus.Value != 499 { // a cancelled attempt may have waited for a 429
				hold(r.Model, a.Provider, int64(r.TS)+int64(a.Start.Value), int64(a.Latency.Value))
			}
		}
		if len(tries) == 0 {
			hold(r.Model, r.Provider, int64(r.TS)+int64(r.CallerTTFT.Value-r.TTFT.Value), int64(r.Total.Value-r.CallerTTFT.Value+r.TTFT.Value))
		}
	}
	for _, j := range scene.jobs {
		h, err := scene.newHost(j)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.market.Endpoints {
			e := &h.market.Endpoints[i]
			list := edges[j.demand.Name+" "+e.Offer.Slug]
			slices.SortFunc(list, func(a, b edge) int { return compare.Or(compare.Compare(a.at, b.at), compare.Compare(a.delta, b.delta)) })
			held, most := 0, 0
			for _, x := range list {
				held += x.delta
				most = max(most, held)
			}
			if float64(most) > e.Capacity() {
				t.Errorf("%s at %s held %d requests, capacity %.1f", j.demand.Name, e.Offer.Slug, most, e.Capacity())
			}
		}
	}
}

// The log is thinned by whole conversations, and thinning changes nothing else.
func TestThinnedLogIsASubset(t *testing.T) {
	short(t)
	all := smallRun()
	rows := all.summary.Requests / 5
	some := inWorld(t, func(s *scene) { s.logShare = float64(rows) / float64(all.summary.Requests) }, 0)
	if some.summary.Requests != all.summary.Requests {
		t.Errorf("%d requests driven when thinned, %d when not", some.summary.Requests, all.summary.Requests)
	}
	if got, want := float64(len(some.requests)), float64(rows); got < 0.9*want || got > 1.1*want {
		t.Errorf("%d rows, want about %d", len(some.requests), rows)
	}
	turns := map[string]int{}
	full := map[string]Request{}
	for _, r := range all.requests {
		full[r.RequestID] = r
		turns[r.SessionID]++
	}
	logged := map[string]int{}
	for _, r := range some.requests {
		if full[r.RequestID] != r {
			t.Fatalf("row %s differs from that of the full log:\n%s", r.RequestID, cmp.Diff(full[r.RequestID], r))
		}
		logged[r.SessionID]++
	}
	for session, n := range logged {
		if n != turns[session] {
			t.Fatalf("conversation %s has %d of %d turns in the log", session, n, turns[session])
		}
	}
}

// All worlds have the same conversations: same starts, same tokens of the first turn.
func TestWorldsShareTheirArrivals(t *testing.T) {
	short(t)
	type start struct {
		ts     Instant
		client string
		input  int64
	}
	var want map[string]start
	arms := map[string][]string{WorldSwitchback: {"price", "routing-cost"}, WorldAB: {"price", "routing-cost"}, WorldABRequest: {"price", "routing-cost"},
		WorldControl: {"price"}, WorldTreatment: {"routing-cost"}}
	for _, world := range Worlds() {
		c := inWorld(t, func(s *scene) { s.world = world }, 0)
		got := map[string]start{}
		seen := map[string]bool{}
		armOf := map[string]string{}
		for _, r := range c.requests {
			seen[r.Arm] = true
			if strings.HasSuffix(r.RequestID, "00") {
				got[r.SessionID] = start{r.TS, r.ClientID, r.InputTokens.Value}
			}
			if arm, known := armOf[r.SessionID]; world == WorldAB && known && arm != r.Arm {
				t.Fatalf("conversation %s changes its arm in world %s", r.SessionID, world)
			}
			armOf[r.SessionID] = r.Arm
		}
		if d := cmp.Diff(arms[world], slices.Sorted(maps.Keys(seen))); d != "" {
			t.Errorf("arms of world %s:\n%s", world, d)
		}
		if want == nil {
			want = got
		} else if !maps.Equal(want, got) {
			t.Errorf("world %s has other conversations than %s", world, WorldSwitchback)
		}
	}
}

// Between blocks the last arm goes on, and the rows belong to no block.
func TestGapsInThePlan(t *testing.T) {
	short(t)
	plan := small(t).Plan
	gap := plan.Blocks[5]
	before := plan.Blocks[4].Arm
	plan.Blocks = slices.Delete(slices.Clone(plan.Blocks), 5, 6)
	inside := 0
	for _, r := range inWorld(t, func(s *scene) { s.plan = plan }, 0).requests {
		at := r.TS.Time()
		in := !at.Before(gap.Starts) && at.Before(gap.Ends)
		if in != (r.BlockID == "") || in == r.InBurnIn.Known || in && r.Arm != before {
			t.Fatalf("%+v at %v", r, at)
		}
		if in {
			inside++
		}
	}
	if inside == 0 {
		t.Error("no request in the gap")
	}
}

// short skips a test that drives a day of its own when only the fast ones are wanted.
func short(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("drives a day of its own")
	}
}

// The oracle knows the market, so it beats uniform draws on 429s and retries.
func TestOracleBeatsUniform(t *testing.T) {
	short(t)
	cfg := small(t)
	cfg.Redraw = true
	for i := range cfg.Plan.Blocks {
		b := &cfg.Plan.Blocks[i]
		b.Arm = map[string]string{"price": "uniform", "routing-cost": "oracle"}[b.Arm]
	}
	cfg.Plan.Arms = Arms{Control: "uniform", Treatment: "oracle"}
	retried, all := map[string]float64{}, map[string]float64{}
	for _, r := range collect(t, cfg).requests {
		all[r.Arm]++
		if r.Retries.Value > 0 {
			retried[r.Arm]++
		}
	}
	if o, u := retried["oracle"]/all["oracle"], retried["uniform"]/all["uniform"]; o > 0.6*u {
		t.Errorf("the oracle retries %.4f of its requests, uniform draws %.4f", o, u)
	}
}

func TestDriveStopsOnErrors(t *testing.T) {
	cfg := small(t)
	full := errors.New("disk full")
	if _, err := Drive(context.Background(), cfg, func(*Batch) error { return full }); !errors.Is(err, full) {
		t.Errorf("error of emit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cfg.Progress = func(done, total int64) {
		if done > total || done < 0 {
			t.Errorf("progress %d of %d", done, total)
		}
		if done > total/4 {
			cancel()
		}
	}
	if _, err := Drive(ctx, cfg, func(*Batch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted drive: %v", err)
	}
	cancel()
}

func TestDriveRefusesBadInput(t *testing.T) {
	for name, spoil := range map[string]func(*DriveConfig){
		"unknown scenario": func(c *DriveConfig) { c.Scenario = "mars" },
		"unknown world":    func(c *DriveConfig) { c.World = "best" },
		"unknown policy":   func(c *DriveConfig) { c.Plan.Arms.Treatment = "luck" },
		"no model":         func(c *DriveConfig) { c.Models = []string{"no/model"} },
		"no blocks":        func(c *DriveConfig) { c.Plan.Blocks = nil },
	} {
		cfg := small(t)
		spoil(&cfg)
		_, err := Drive(context.Background(), cfg, func(*Batch) error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), "drive: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
