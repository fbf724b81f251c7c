package experiment

import (
	"context"
	"slices"
	"testing"

	"switchback/experiment/market"
)

// What a request would have cost at the cheapest eligible endpoint is known of those that were served, is never above what
// they cost, and is some endpoint's bill; some requests of both arms paid more, and some did not.
func TestCheapestCost(t *testing.T) {
	scenario, err := ScenarioByName("")
	if err != nil {
		t.Fatal(err)
	}
	scenario.Workload.SharedPrompt = 0 // so that no cache holds a part of a first prompt
	s, err := newSceneOf(small(t), scenario)
	if err != nil {
		t.Fatal(err)
	}
	c := gather(t, func(emit func(*Batch) error) (DriveSummary, error) {
		return s.drive(context.Background(), DriveConfig{}, emit)
	})
	markets := map[string]*market.Market{}
	for _, j := range s.jobs {
		m, err := s.builder.New(j.offers, market.Demand{Flow: j.demand.Flow, MeanOutput: j.demand.MeanOutput, MeanInput: j.demand.MeanInput, Rank: j.number})
		if err != nil {
			t.Fatal(err)
		}
		markets[j.demand.Name] = m
	}
	known := map[string]bool{} // conversations that were seen to begin
	first, dearer, not := 0, map[string]int{}, map[string]int{}
	for i := range c.requests {
		r := &c.requests[i]
		isFirst := !known[r.SessionID]
		known[r.SessionID] = true
		if r.Status != StatusOK {
			if r.CheapestCost.Known {
				t.Fatalf("request %s with status %s has a cheapest cost", r.RequestID, r.Status)
			}
			continue
		}
		switch {
		case !r.CheapestCost.Known:
			t.Fatalf("request %s has no cheapest cost", r.RequestID)
		case r.CheapestCost.Value > r.Cost.Value:
			t.Fatalf("request %s cost %d, at the cheapest endpoint %d", r.RequestID, r.Cost.Value, r.CheapestCost.Value)
		case r.CheapestCost.Value < r.Cost.Value:
			dearer[r.Arm]++
		default:
			not[r.Arm]++
		}
		if !isFirst {
			continue // some cache may hold a part of the prompt
		}
		first++
		input, output := int32(r.InputTokens.Value), int32(r.OutputTokens.Value)
		if !slices.ContainsFunc(markets[r.Model].Endpoints, func(e market.Endpoint) bool {
			return NanoUSD(e.Bill(input, 0, output)) == r.CheapestCost.Value
		}) {
			t.Fatalf("request %s: no endpoint of %s charges %d", r.RequestID, r.Model, r.CheapestCost.Value)
		}
	}
	for _, arm := range []string{"price", "routing-cost"} {
		if dearer[arm] == 0 || not[arm] == 0 {
			t.Errorf("%s: %d requests served dearer than needed, %d not", arm, dearer[arm], not[arm])
		}
	}
	if first < 1000 {
		t.Errorf("%d first requests", first)
	}
}
