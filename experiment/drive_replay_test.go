package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"switchback/experiment/workload"
)

// A log that is replayed in a world of its own market gives back the requests that it holds.
func TestReplayOfALogKeepsItsRequests(t *testing.T) {
	short(t)
	cfg := small(t)
	cfg.LogRequests = 20_000
	log := collect(t, cfg)
	starts, ends := cfg.Plan.Window()
	cfg.LogRequests = 0
	want := map[string]int{} // prompts and answers of each conversation and model
	for i := range log.requests {
		r := &log.requests[i]
		if rec, ok := Recorded(r, starts, ends); ok {
			cfg.Replay = append(cfg.Replay, rec)
			want[r.Model] += rec.InputTokens + rec.OutputTokens
		}
	}
	again := collect(t, cfg)
	// Turns that the new world answers too late to go on before the end are not asked any more.
	if got := len(again.requests); got > len(cfg.Replay) || got < len(cfg.Replay)*99/100 {
		t.Errorf("%d of %d requests replayed", got, len(cfg.Replay))
	}
	first := map[Instant]bool{}
	for _, r := range again.requests {
		if strings.HasSuffix(r.RequestID, "00") {
			first[r.TS] = true
		}
	}
	seen := map[string]bool{}
	for _, rec := range cfg.Replay {
		if at := InstantOf(starts) + Instant(rec.AtUS); !seen[rec.Session] && !first[at] {
			t.Fatalf("no conversation starts at %v", at.Time())
		}
		seen[rec.Session] = true
	}
	if hash := collect(t, cfg).hash; hash != again.hash {
		t.Error("the same replay gives another log")
	}
}

func TestReplayOfPublicTraces(t *testing.T) {
	short(t)
	cfg := small(t)
	cfg.Models = nil
	for _, c := range []struct {
		name  string
		least int64
	}{
		{workload.TraceAzure, 24 * 3600 / 3502 * 19_366}, // 19,366 requests in 3,502 s, repeated over a day
		{workload.TraceMooncake, 24 * 3600 / 400 * 1_000},
	} {
		recorded, err := workload.PublicTrace(c.name, "mistralai/mistral-nemo", 24*3600e6)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Replay = recorded
		s, err := Drive(context.Background(), cfg, func(*Batch) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Models) != 1 || s.Requests > int64(len(recorded)) || s.Requests < c.least {
			t.Errorf("%s: %d of %d requests driven in %d models, want at least %d in one", c.name, s.Requests, len(recorded), len(s.Models), c.least)
		}
	}
	if _, err := workload.PublicTrace("moon", "m", 1); err == nil || !strings.Contains(err.Error(), `"moon"`) {
		t.Errorf("unknown trace: %v", err)
	}
}

func TestReplayLeavesOutWhatItCannotPlay(t *testing.T) {
	cfg := small(t)
	cfg.Models = nil
	cfg.Replay = []workload.Recorded{
		{AtUS: 1e6, Model: "mistralai/mistral-nemo", InputTokens: 100, OutputTokens: 10},
		{AtUS: 2e6, Model: "no/model", InputTokens: 100, OutputTokens: 10},
		{AtUS: 3e6, Model: "mistralai/mistral-nemo", InputTokens: 100},
	}
	s, err := Drive(context.Background(), cfg, func(*Batch) error { return nil })
	if err != nil || s.Requests != 1 || len(s.Notes) != 2 {
		t.Errorf("%d requests, notes %q, %v; want 1 request and two notes", s.Requests, s.Notes, err)
	}
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, "left out: no/model (1).") {
		t.Errorf("notes %q do not name the model that was left out", notes)
	}
	nothing := func(why string) {
		t.Helper()
		_, err := Drive(context.Background(), cfg, func(*Batch) error { return nil })
		if !errors.Is(err, workload.ErrNothingToReplay) {
			t.Errorf("%s: %v", why, err)
		}
	}
	cfg.Models = []string{"qwen/qwq-32b"}
	nothing("a replay without a wanted model")
	cfg.Models, cfg.Replay = nil, cfg.Replay[1:2]
	nothing("a replay without a model of the market")
	starts, ends := cfg.Plan.Window()
	if _, ok := Recorded(&Request{TS: InstantOf(ends), InputTokens: Some[int64](1), OutputTokens: Some[int64](1)}, starts, ends); ok {
		t.Error("a request at the end of the window is replayed")
	}
	if _, ok := Recorded(&Request{TS: InstantOf(starts.Add(time.Second))}, starts, ends); ok {
		t.Error("a request without tokens is replayed")
	}
}
