package experiment

import (
	"math"
	"strings"
	"testing"
)

// In the whole gateway's traffic 77 % of the requests are for models with several providers (announcement of 28 Oct 2026).
func TestShareOfLoneModels(t *testing.T) {
	cfg := small(t)
	cfg.Scenario, cfg.Models = "whole-gateway", nil
	s, err := newScene(cfg)
	if err != nil {
		t.Fatal(err)
	}
	several, all, lone := 0.0, 0.0, []string(nil)
	for _, j := range s.jobs {
		all += j.demand.Flow
		if len(j.offers) > 1 {
			several += j.demand.Flow
		} else {
			lone = append(lone, j.demand.Name)
		}
	}
	if len(lone) != 6 || math.Abs(several/all-0.77) > 1e-3 {
		t.Errorf("models with one provider: %q; the others have %.4f of the requests", lone, several/all)
	}
	if week := all * 7 * 86400; math.Abs(week/24e6-1) > 1e-3 {
		t.Errorf("%.0f requests a week", week)
	}
	// Nothing is tried twice, and few requests fail, so that every quantile is finite.
	cfg.Models, cfg.LogRequests = lone, 2000
	summary, err := Drive(t.Context(), cfg, func(b *Batch) error {
		for i := range b.Requests {
			if r := &b.Requests[i]; r.Attempts.Value != 1 || strings.Contains(r.Provider, "/") {
				t.Errorf("request %s: %d attempts, the last at %s", r.RequestID, r.Attempts.Value, r.Provider)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range summary.Models {
		if failed := float64(m.Errors+m.Midstream) / float64(m.Requests); failed > 0.025 {
			t.Errorf("%s: %.3f of the requests fail", m.Model, failed)
		}
	}
}

// Seeds differ in what happens, not in the world, unless a new market is asked for.
func TestSeedsShareTheWorld(t *testing.T) {
	flows := func(seed uint64, anew bool) map[string]float64 {
		cfg := small(t)
		cfg.Seed, cfg.Redraw, cfg.Models = seed, anew, nil
		list, err := ModelFlows(cfg)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]float64{}
		for _, f := range list {
			of[f.Model] = f.Flow
		}
		return of
	}
	differ := func(a, b map[string]float64) (n int) {
		for model, flow := range a {
			if flow != b[model] {
				n++
			}
		}
		return n
	}
	if n := differ(flows(1, false), flows(2, false)); n != 0 {
		t.Errorf("%d models have another flow with another seed", n)
	}
	if n := differ(flows(1, true), flows(2, true)); n < 15 {
		t.Errorf("only %d of 20 models have another flow in another market", n)
	}
}
