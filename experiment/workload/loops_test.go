package workload

import (
	"math"
	"slices"
	"testing"

	"switchback/experiment/random"
)

// Recorded agents against the statistics that TraceLab publishes of 357,161 model calls, those that made the laws and those that did
// not. Where a tolerance is wide, the reason stands beside it.
func TestLoopsAreThoseOfTheTrace(t *testing.T) {
	known, err := LoopStatistics()
	if err != nil {
		t.Fatal(err)
	}
	p := DefaultParams()
	p.Agents, p.AgentShare, p.CompactAt, p.CompactTo = AgentsTraceLab, 1, 120_000, 20_000
	expo := random.Exponential()
	l, err := newLoops(expo)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Name: "m", laws: newLaws(p, 1, 1), inputScale: 3, outputScale: 3} // the scales are for chats
	m.laws.loops = l
	const sessions = 20_000
	rng := random.New(5, "loops test")
	var requests, outputs, texts, tools, people []float64
	whole, wholeTurns := 0.0, 0.0 // requests and steps of the sessions that were not cut
	turns, single, prompt, prefix := 0.0, 0.0, 0.0, 0.0
	for range sessions {
		var s Session
		m.start(&s, random.Seeded(rng.Uint64()), 0, 0)
		if !s.Agent || !s.Tools || s.Turns < 1 || s.Turns > maxTurns {
			t.Fatalf("%+v", s)
		}
		waits := s.waits
		requests = append(requests, float64(1+waits))
		if waits == 0 {
			single++
		}
		if s.Turns < maxTurns {
			whole, wholeTurns = whole+float64(1+waits), wholeTurns+float64(s.Turns)
		}
		now, last := int64(0), int32(0)
		for s.More() {
			m.NextTurn(&s, now)
			turns++
			if s.Turn > 0 && s.Prefix > 0 {
				texts = append(texts, float64(s.Prompt-s.Prefix))
				if s.Prefix != last {
					t.Fatalf("%+v: the prompt does not go on from %d tokens", s, last)
				}
			}
			last = s.Prompt + s.Output
			outputs = append(outputs, float64(s.Output))
			prompt += float64(s.Prompt)
			prefix += float64(s.Prefix)
			if s.More() {
				before := s.waits
				wait := float64(m.NextAt(&s, now)-now) / 1e6
				if s.waits < before {
					people = append(people, wait)
				} else {
					tools = append(tools, wait)
				}
			}
		}
		if s.waits != 0 {
			t.Fatalf("%d of %d waits are left", s.waits, waits)
		}
	}
	mean := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		return sum / float64(len(x))
	}
	at := func(x []float64, p float64) float64 {
		slices.Sort(x)
		return x[int(p*float64(len(x)))]
	}
	short := 0.0
	for _, x := range people {
		if x < 300 {
			short++
		}
	}
	for _, c := range []struct {
		what      string
		got, want float64
		tolerance float64 // relative
	}{
		{"share of sessions with one request", single / sessions, known["requests_per_session single_share"], 0.05},
		{"p99 of requests", at(requests, 0.99), known["requests_per_session p99"], 0.2},                                             // longer than maxTurns at times
		{"mean requests", mean(requests), known["requests_per_session mean"], 0.1},                                                  // predicted
		{"mean steps of a request", wholeTurns / whole, known["steps_per_session mean"] / known["requests_per_session mean"], 0.03}, // predicted
		{"median output", at(outputs, 0.5), math.Sqrt(known["output_tokens p50_claude"] * known["output_tokens p50_codex"]), 0.03},
		{"mean output", mean(outputs), known["output_tokens mean"], 0.05},
		{"median new tokens", at(texts, 0.5), known["new_tokens p50"], 0.03},
		{"mean growth", mean(texts) + mean(outputs), known["input_growth mean"], 0.12}, // texts that lead to a compaction are not among them
		{"median of a tool's wait", at(tools, 0.5), known["tool_wait_s p50"], 0.03},
		{"p90 of a tool's wait", at(tools, 0.9), known["tool_wait_s p90"], 0.05},
		{"mean of a tool's wait", mean(tools), known["tool_wait_s mean"], 0.06}, // predicted; the source counts calls, of which a step may have several
		{"median of a person's wait", at(people, 0.5), known["human_wait_s p50"], 0.05},
		{"p90 of a person's wait", at(people, 0.9), known["human_wait_s p90"], 0.06},
		{"p99 of a person's wait", at(people, 0.99), known["human_wait_s p99"], 0.2},
		{"share of the prompts that was there before", prefix / prompt, known["prefix_share mean"], 0.03}, // predicted; the source's caches also lapse
	} {
		if math.Abs(c.got/c.want-1) > c.tolerance {
			t.Errorf("%s: %.4g, published %.4g", c.what, c.got, c.want)
		}
	}
	if p90 := at(outputs, 0.9); p90 > known["output_tokens p90_below"] {
		t.Errorf("p90 of the output %v, published below %v", p90, known["output_tokens p90_below"])
	}
	if share := short / float64(len(people)); share < known["human_wait_s below_5min_codex"] || share > known["human_wait_s below_5min_claude"] {
		t.Errorf("%.3f of the persons' waits are below 5 minutes, published %v and %v", share, known["human_wait_s below_5min_codex"], known["human_wait_s below_5min_claude"])
	}
	if math.Abs(l.turns/(turns/sessions)-1) > 0.05 {
		t.Errorf("%.1f steps expected, %.1f drawn", l.turns, turns/sessions)
	}
}

// Agents come on top of the chats: the week keeps its number of requests, and the expected tokens are those drawn.
func TestAgentsCountInTheFlow(t *testing.T) {
	p := DefaultParams()
	p.Agents, p.AgentShare, p.CompactAt, p.CompactTo = AgentsTraceLab, 0.02, 96_000, 24_000
	w := build(t, p, 1)
	total := 0.0
	for i := range w.Models {
		total += w.Models[i].Flow
	}
	if math.Abs(total*7*86400/24e6-1) > 1e-3 {
		t.Errorf("%.4g requests a week, want 24 M", total*7*86400)
	}
	m := &w.Models[3]
	var s Session
	var in, all, agents float64
	for a, n := m.Arrivals(1), 0; n < 60_000; n++ {
		now := a.Next()
		a.Pop(&s)
		for s.More() {
			m.NextTurn(&s, now)
			all++
			in += float64(s.Prompt)
			if s.Agent {
				agents++
			}
		}
	}
	if got := in / all; math.Abs(got/m.MeanInput-1) > 0.15 {
		t.Errorf("%.0f input tokens a request drawn, %.0f expected", got, m.MeanInput)
	}
	if share := agents / all; share < 0.25 || share > 0.42 {
		t.Errorf("%.2f of the requests are agents', want about a third", share)
	}
}

func TestNamesOfOptionsAreChecked(t *testing.T) {
	p := DefaultParams()
	p.Shape, p.Agents = "square", "bond"
	err := p.Validate()
	for _, want := range []string{`workload shape: unknown "square" (known: burstgpt)`, `workload agents: unknown "bond" (known: tracelab)`} {
		if err == nil || !slices.Contains(lines(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func lines(err error) []string {
	var all []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		all = append(all, e.Error())
	}
	return all
}
