package router_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"switchback/router"
)

func perMillion(input, output, cached float64) router.Price {
	return router.Price{Input: input * 1e-6, Output: output * 1e-6, CacheRead: cached * 1e-6, CacheWrite: input * 1e-6}
}

// A gateway keeps one router per model, picks an endpoint for each try and says how it went.
func Example() {
	endpoints := []router.Endpoint{
		{Slug: "deepinfra/fp8", Provider: "deepinfra", Price: perMillion(0.24, 0.96, 0.05)},
		{Slug: "together", Provider: "together", Price: perMillion(0.30, 1.20, 0.06)},
		{Slug: "novita/bf16", Provider: "novita", Price: perMillion(0.28, 1.10, 0.05)},
	}
	r, err := router.New("minimax/m3", endpoints, router.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	gateway := router.NewShared(r, rand.NewPCG(5, 7))
	now := router.InstantOf(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)) // a real one reads its clock

	// send stands for the call to the provider: the cheapest one is full.
	send := func(endpoint string) router.Outcome {
		if endpoint == "deepinfra/fp8" {
			return router.Outcome{Kind: router.Classify(router.Answer{Status: 429}), Duration: 80 * router.Millisecond}
		}
		return router.Outcome{TTFT: 700 * router.Millisecond, Duration: 3 * router.Second, Input: 1200, Output: 250}
	}

	var pin router.Pin // kept beside the conversation
	for turn := range 3 {
		req := router.Request{InputTokens: 1200, Pin: pin}
		var tries router.Tries
		var last *router.Outcome
		for {
			decision, stop := gateway.Pick(now, &req, &tries, last, true)
			if stop != router.StopNot {
				fmt.Printf("turn %d: %v after %d\n", turn+1, stop, tries.Count)
				break
			}
			endpoint := endpoints[decision.Endpoint].Slug
			outcome := send(endpoint)
			now += router.Instant(outcome.Duration)
			gateway.Observe(now, decision.Endpoint, &outcome)
			pin = router.UpdatePin(pin, now, decision.Endpoint, &outcome)
			pin.Warm = true // the caller named the conversation
			last = &outcome
			fmt.Printf("turn %d: %s, pinned %v, ok %v\n", turn+1, endpoint, decision.Pinned, outcome.Kind == router.OutcomeOK)
		}
	}
	// Output:
	// turn 1: deepinfra/fp8, pinned false, ok false
	// turn 1: together, pinned false, ok true
	// turn 1: answered after 2
	// turn 2: together, pinned true, ok true
	// turn 2: answered after 1
	// turn 3: together, pinned true, ok true
	// turn 3: answered after 1
}

// BerriAI/litellm#2994 and others: checking and counting in two steps let five concurrent requests through a limit of one. Run with -race.
func TestSharedCountsEveryPick(t *testing.T) {
	endpoints := make([]router.Endpoint, 4)
	for i := range endpoints {
		endpoints[i] = router.Endpoint{Slug: fmt.Sprint(i), Price: perMillion(1, 1, 1)}
	}
	cfg := router.DefaultConfig()
	cfg.Share.Choices = 2
	r, err := router.New("m", endpoints, cfg)
	if err != nil {
		t.Fatal(err)
	}
	shared := router.NewShared(r, rand.NewPCG(1, 1))
	const goroutines, each = 16, 200
	counts := make([][4]int, goroutines)
	var picked, done sync.WaitGroup
	picked.Add(goroutines)
	for g := range goroutines {
		done.Go(func() {
			var held []int32
			for range each {
				var tries router.Tries
				d, stop := shared.Pick(1, &router.Request{}, &tries, nil, true)
				if stop != router.StopNot {
					t.Error(stop)
				}
				counts[g][d.Endpoint]++
				held = append(held, d.Endpoint)
			}
			picked.Done()
			picked.Wait() // all are in flight now
			for _, e := range held {
				shared.Observe(2, e, &router.Outcome{TTFT: router.Second, Duration: router.Second, Output: 1})
			}
		})
	}
	picked.Wait()
	total := [4]int{}
	for _, c := range counts {
		for e := range c {
			total[e] += c[e]
		}
	}
	done.Wait()
	for e, n := range total {
		if n < goroutines*each/4-10 || n > goroutines*each/4+10 {
			t.Errorf("endpoint %d got %d of %d concurrent picks, want a quarter", e, n, goroutines*each)
		}
	}
	shared.Do(func(r *router.Router) {
		for e := range endpoints {
			if n := r.InFlight(int32(e)); n != 0 {
				t.Errorf("endpoint %d: %d in flight after all ended", e, n)
			}
		}
	})
}
