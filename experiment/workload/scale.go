package workload

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"switchback/experiment/random"
)

// scaleTokens fits each model's token scales so that its expected tokens per request meet the targets:
// output means spread around GeoOutput, input means whose geometric mean is GeoMeanInput and whose traffic-weighted mean is MeanInput.
func (w *Workload) scaleTokens(p Params, draw uint64) {
	n := len(w.Models)
	rng := random.New(draw, "workload", "token scales")
	normal := random.Normal()
	share := make([]float64, n)
	total := 0.0
	for i := range w.Models {
		total += w.Models[i].Flow
	}
	for i := range w.Models {
		share[i] = w.Models[i].Flow / total
	}
	// Models with more traffic tend to have longer prompts: the published traffic-weighted mean is above the geometric one.
	inScore, outScore := make([]float64, n), make([]float64, n)
	for i := range n {
		inScore[i] = math.Log(share[i]) + normal.Draw(&rng)
		outScore[i] = normal.Draw(&rng)
	}
	zIn, zOut := spread(inScore, normal), spread(outScore, normal)
	sigma := p.inputSpread(zIn, share)
	var models sync.WaitGroup // each has streams of its own, so their order does not matter
	for i := range w.Models {
		models.Go(func() {
			w.Models[i].fitScales(p.GeoMeanInput*math.Exp(sigma*zIn[i]), p.GeoOutput*math.Exp(p.OutputSpread*zOut[i]), draw)
			w.Models[i].addLoops(draw)
		})
	}
	models.Wait()
}

// spread returns n evenly spread normal quantiles, standard deviation 1, in the order of the scores.
func spread(scores []float64, normal *random.Table) []float64 {
	n := len(scores)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	z := make([]float64, n)
	squares := 0.0
	for rank, i := range order {
		z[i] = normal.At((float64(rank) + 0.5) / float64(n))
		squares += z[i] * z[i] / float64(n)
	}
	for i := range z {
		if squares > 0 {
			z[i] /= math.Sqrt(squares)
		}
	}
	return z
}

// inputSpread solves Σ share·G·exp(σ z) = MeanInput for the spread σ of the models' mean inputs, at most 1.5.
func (p *Params) inputSpread(z, share []float64) float64 {
	if p.MeanInput == 0 {
		return 0.5
	}
	lo, hi := 0.0, 1.5
	for range 50 {
		sigma := (lo + hi) / 2
		mean := 0.0
		for i := range z {
			mean += share[i] * p.GeoMeanInput * math.Exp(sigma*z[i])
		}
		if mean < p.MeanInput {
			lo = sigma
		} else {
			hi = sigma
		}
	}
	return (lo + hi) / 2
}

// fitScales finds the scales that give the model the wanted expected tokens of a sample of conversations. Outputs first, since answers become part of later prompts.
func (m *Model) fitScales(wantInput, wantOutput float64, seed uint64) {
	sample := m.sample(seed, 3000)
	for range 2 { // the cut at MaxOutput makes the mean less than proportional to the scale
		_, output := m.expectTokens(&sample)
		m.outputScale *= wantOutput / output
	}
	// Secant steps on the logarithms. Answers put a floor under the mean input, so the slope is below 1.
	scale, slope := 0.0, 0.5
	last := math.NaN()
	lastScale := 0.0
	for range 5 {
		m.inputScale = math.Exp(scale)
		m.MeanInput, m.MeanOutput = m.expectTokens(&sample)
		off := math.Log(m.MeanInput / wantInput)
		if math.Abs(off) < 0.003 {
			return
		}
		if !math.IsNaN(last) && scale != lastScale {
			slope = min(max((off-last)/(scale-lastScale), 0.1), 1.2)
		}
		last, lastScale = off, scale
		scale = min(max(scale-min(max(off/slope, -2), 2), -5), 5)
	}
}

// sample is conversations at random clients and instants, drawn without a market and without the model's scales.
type sample struct {
	chats, agents, long drawnTurns
}

// drawnTurns is the turns of n conversations, one after the other.
type drawnTurns struct {
	n     int
	turns []drawnTurn
}

// drawnTurn is what drawTurn draws.
type drawnTurn struct {
	text, answer float64
	opens        bool // its conversation
	long         bool // it is about a long text
}

// sample draws n conversations, whose share of short answers is that of any week, not of the one that the seed makes. Agent loops and long
// texts are sampled apart, so that their small number does not blur the mean.
func (m *Model) sample(seed uint64, n int) sample {
	p := &m.laws.params
	rng := random.New(seed, "workload", "expect", m.Name)
	pick := m.picker()
	draw := func(n int, agent, long bool) drawnTurns {
		c := drawnTurns{n: n}
		for range n {
			client, window := pick(&rng)
			s := Session{stream: random.Seeded(rng.Uint64()), Client: client, Turn: -1, Turns: 1, Agent: agent, Long: long}
			switch {
			case agent:
				s.Turns = 1 + m.drawTurns(&s, m.laws.agentTurns)
			case long || s.stream.Chance(1-p.SingleShare):
				s.Turns = 1 + m.drawTurns(&s, m.laws.chatTurns)
			}
			now := int64(window) * WindowSeconds * 1e6
			share := p.mixAt(window, m.laws.normal.Draw(&rng))
			for turn := range s.Turns {
				text, answer := m.drawTurn(&s, now, share)
				c.turns = append(c.turns, drawnTurn{text, answer, turn == 0, long})
				s.Turn++
			}
		}
		return c
	}
	s := sample{chats: draw(n, false, false)}
	if p.AgentShare > 0 && m.laws.loops == nil { // recorded agents have sizes of their own
		s.agents = draw(n/10, true, false)
	}
	if p.DocumentShare > 0 {
		s.long = draw(n/10, false, true)
	}
	return s
}

// expectTokens estimates the mean tokens of a request under the model's scales.
func (m *Model) expectTokens(of *sample) (input, output float64) {
	p := &m.laws.params
	kinds := []struct {
		turns *drawnTurns
		share float64
	}{{&of.chats, 1 - p.AgentShare - p.DocumentShare}, {&of.agents, p.AgentShare}, {&of.long, p.DocumentShare}}
	turns := 0.0
	for _, k := range kinds {
		if k.share > 0 && k.turns.n > 0 {
			in, out, n := m.meanTokens(k.turns)
			input, output, turns = input+k.share*in, output+k.share*out, turns+k.share*n
		}
	}
	return input / turns, output / turns
}

// meanTokens are the mean tokens and turns of a conversation.
func (m *Model) meanTokens(of *drawnTurns) (in, out, turns float64) {
	var s Session
	for i := range of.turns {
		t := &of.turns[i]
		if t.opens {
			s.Turn, s.Long = -1, t.long
		}
		m.addTurn(&s, t.text, t.answer)
		in += float64(s.Prompt)
		out += float64(s.Output)
	}
	n := float64(of.n)
	return in / n, out / n, float64(len(of.turns)) / n
}

// picker returns a function that draws a client and a window of the first week in proportion to the client's starts.
func (m *Model) picker() func(rng *random.Stream) (client int32, window int) {
	type place struct {
		client int32
		window int
	}
	var places []place
	var upTo []float64
	sum := 0.0
	for i := range m.clients {
		c := &m.clients[i]
		for w := 0; w < weekWindows; w += 6 { // hourly is fine enough
			if r := float64(c.rate[w%len(c.rate)]); r > 0 {
				sum += r
				places = append(places, place{int32(i), w})
				upTo = append(upTo, sum)
			}
		}
	}
	return func(rng *random.Stream) (int32, int) {
		x := rng.Float64() * sum
		lo, hi := 0, len(upTo)-1
		for lo < hi {
			if mid := (lo + hi) / 2; upTo[mid] <= x {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return places[lo].client, places[lo].window
	}
}
