package experiment

import (
	"math"
	"strings"
	"testing"

	"switchback/experiment/market"
)

// biller finds the endpoint of a row, by model and slug.
type biller map[string]*market.Endpoint

func newBiller(t *testing.T, s *scene) biller {
	t.Helper()
	b := biller{}
	for _, j := range s.jobs {
		h, err := s.newHost(j)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.market.Endpoints {
			b[j.demand.Name+" "+h.market.Endpoints[i].Offer.Slug] = &h.market.Endpoints[i]
		}
	}
	return b
}

// charges tells whether a cost is that of so many tokens at the endpoint's prices: the uncached input, the input from its cache and the output.
func charges(e *market.Endpoint, cost NanoUSD, input, cached, output int64) bool {
	// In units of 1e-12 USD, before rounding to 1e-9.
	exact := (input-cached)*int64(e.Price.Input) + cached*int64(e.Price.CacheRead) + output*int64(e.Price.Output)
	off := int64(cost)*1000 - exact
	return off >= -500 && off <= 500
}

// outputBilled is the output that a cost charges for beside so much input.
func outputBilled(e *market.Endpoint, cost NanoUSD, input, cached int64) int64 {
	exact := int64(cost)*1000 - (input-cached)*int64(e.Price.Input) - cached*int64(e.Price.CacheRead)
	return int64(math.Round(float64(exact) / float64(e.Price.Output)))
}

// billsWhole tells whether an endpoint bills the whole of an answer that its caller broke off.
func billsWhole(e *market.Endpoint) bool { return e.BillCancelled(0, 0, 0, 1000) > 0 }

// Tokens billed are tokens served, class by class, whatever became of the request. A served one pays for its tokens and for none
// of its failed attempts; an answer that broke off and a request that nobody served are free. One whose caller went away pays for its prompt and, depending on
// the provider, for what was made of the answer or for the whole of it; and for nothing when it was waiting for a failure.
func TestBillsMatchTheTokens(t *testing.T) {
	c := smallRun()
	endpoints := newBiller(t, smallScene())
	whole := patientAnswers(t)
	seen := map[string]int{}
	for _, r := range c.requests {
		bad := func(why string) {
			t.Helper()
			t.Fatalf("%+v\n%+v: %s", r, c.attempts[r.RequestID], why)
		}
		if !r.Cost.Known || !r.CachedTokens.Known || r.CacheWriteTokens != Some[int64](0) || r.CostSource != CostBilled {
			bad("a row without a bill")
		}
		tries := c.attempts[r.RequestID]
		for _, a := range tries {
			if a.Cost.Known {
				bad("an attempt with a bill of its own")
			}
		}
		provider := r.Provider
		if len(tries) > 0 {
			provider = tries[len(tries)-1].Provider
		}
		e := endpoints[r.Model+" "+provider]
		if e == nil {
			bad("an unknown endpoint")
		}
		cost, input, cached, output := r.Cost.Value, r.InputTokens.Value, r.CachedTokens.Value, r.OutputTokens.Value
		kind := r.Status
		switch r.Status {
		case StatusOK:
			if !charges(e, cost, input, cached, output) {
				bad("the cost is not that of its tokens")
			}
			if len(tries) > 0 {
				kind += ", after failed attempts"
			}
			if cached > 0 {
				seen["ok, with tokens from the cache"]++
			}
		case StatusErrorMidstream, StatusError:
			if cost != 0 {
				bad("a failure is billed")
			}
		case StatusCancelled:
			switch {
			case cost == 0:
				if kind += ", no answer under way"; r.TTFT.Known || cached > 0 || output > 0 {
					bad("what was served is not billed")
				}
			case billsWhole(e):
				kind += ", billed in full"
				if answer, known := whole[r.RequestID]; known {
					kind += ", whole answer known"
					if made := outputBilled(e, cost, input, cached); made < answer {
						kind = "cancelled, billed in full, would have broken off" // at so many tokens
						answer = made
					}
					if output > answer || !charges(e, cost, input, cached, answer) {
						bad("the cost is not that of the whole answer")
					}
				} else if charges(e, cost, input, cached, output) {
					bad("the cost is that of what was made")
				}
			default:
				kind += ", billed as made"
				if !charges(e, cost, input, cached, output) {
					bad("the cost is not that of what was made")
				}
			}
			if !r.TTFT.Known && output > 0 {
				bad("output before the first token")
			}
			if !r.TTFT.Known && cost > 0 {
				seen["cancelled, prompt billed before the first token"]++
			}
		}
		seen[kind]++
	}
	for _, kind := range []string{
		"ok", "ok, after failed attempts", "ok, with tokens from the cache", "error_midstream", "cancelled, no answer under way",
		"cancelled, prompt billed before the first token",
		"cancelled, billed in full", "cancelled, billed in full, whole answer known", "cancelled, billed as made",
	} {
		if seen[kind] == 0 {
			t.Errorf("no row of the kind %q: %v", kind, seen)
		}
	}
	if broken, all := seen["cancelled, billed in full, would have broken off"], seen["cancelled, billed in full, whole answer known"]; broken*20 > all {
		t.Errorf("%d of %d cancelled answers are billed for less than the whole", broken, all)
	}
}

// patientAnswers are the output tokens of the first turns in a world whose callers never go away. It has the same conversations, and
// so tells how long an answer would have been that was broken off.
func patientAnswers(t *testing.T) map[string]int64 {
	t.Helper()
	scenario, err := ScenarioByName("")
	if err != nil {
		t.Fatal(err)
	}
	scenario.Workload.CancelShare = 0
	s, err := newSceneOf(small(t), scenario)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]int64{}
	for _, r := range driven(t, s, 0).requests {
		if r.Status == StatusOK && strings.HasSuffix(r.RequestID, "00") {
			answers[r.RequestID] = r.OutputTokens.Value
		}
	}
	return answers
}

// A request that nobody serves costs nothing. With one try each there are many.
func TestFinalErrorsAreFree(t *testing.T) {
	short(t)
	errors := 0
	for _, r := range inWorld(t, func(s *scene) { s.scenario.Attempts = 1 }, 0).requests {
		if r.Status != StatusError {
			continue
		}
		errors++
		if r.Cost != Some[NanoUSD](0) || r.CachedTokens != Some[int64](0) || r.OutputTokens != Some[int64](0) || r.CheapestCost.Known {
			t.Fatalf("%+v: a failure is billed", r)
		}
	}
	if errors < 100 {
		t.Errorf("%d final errors with one try each", errors)
	}
}
