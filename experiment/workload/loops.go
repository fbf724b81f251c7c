package workload

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"switchback/experiment/random"
)

// AgentsTraceLab is the name of the agent loops of recorded coding agents.
const AgentsTraceLab = "tracelab"

// AgentLaws returns the names of the laws that agent loops can follow.
func AgentLaws() []string { return []string{AgentsTraceLab} }

// UseAgents makes agent loops follow one of [AgentLaws], and a third of the requests agents'. Their prompts are compacted at three quarters
// of a window of 128,000 tokens, where the recorded agents do.
func (p *Params) UseAgents(name string) {
	p.Agents, p.AgentShare = name, 0.02
	p.CompactAt, p.CompactTo = 96_000, 24_000
}

// mostToolSeconds is where a tool is stopped: through its published quantiles goes a tail of days. With it the mean is the published one.
const mostToolSeconds = 3600

// loops is the laws of recorded agent loops: a person asks, the agent calls tools step by step until it is done, and the person asks
// again. Every step sends the whole conversation with what the tools added.
type loops struct {
	asks      *random.Table // requests of the person in a session, beyond the first, before rounding down
	expo      *random.Table
	steps     geometric     // tool steps of a request
	first     *random.Table // tokens of the first prompt: instructions, tools, the first request
	text      *random.Table // tokens that a later step adds
	output    *random.Table // tokens of an answer
	toolWait  *random.Table // seconds
	humanWait *random.Table // seconds
	turns     float64       // mean steps of a session, within maxTurns
}

// LoopStatistics returns the published statistics of coding agents' sessions, by "quantity statistic". Source: TraceLab (arXiv 2606.30560),
// 357,161 model calls of 43 developers; data/NOTICE.md.
func LoopStatistics() (map[string]float64, error) {
	known := map[string]float64{}
	err := readTable("tracelab-loops.csv", func(r row) { known[r.cell("quantity")+" "+r.cell("statistic")] = r.float("value") })
	return known, err
}

// newLoops fits the laws to the published statistics: lognormals through two of them each, bent at a third where there is one.
func newLoops(expo *random.Table) (*loops, error) {
	known, err := LoopStatistics()
	if err != nil {
		return nil, err
	}
	missing := ""
	of := func(name string) float64 {
		x, found := known[name]
		if !found || x <= 0 {
			missing = name
		}
		return x
	}
	output := math.Sqrt(of("output_tokens p50_claude") * of("output_tokens p50_codex"))
	meanOutput := of("output_tokens mean")
	l := &loops{
		expo:      expo,
		asks:      throughQuantiles(quantile{of("requests_per_session single_share"), 1}, quantile{0.99, of("requests_per_session p99") - 1}),
		steps:     geometricOf(of("tool_steps_per_request mean")),
		first:     throughQuantiles(quantile{0.16, of("first_prompt example_codex")}, quantile{0.84, of("first_prompt example_claude")}),
		text:      withMean(of("new_tokens p50"), of("input_growth mean")-meanOutput),
		output:    withMean(output, meanOutput),
		toolWait:  throughQuantiles(quantile{0.5, of("tool_wait_s p50")}, quantile{0.9, of("tool_wait_s p90")}),
		humanWait: throughQuantiles(quantile{0.5, of("human_wait_s p50")}, quantile{0.9, of("human_wait_s p90")}, quantile{0.99, of("human_wait_s p99")}),
	}
	if missing != "" {
		return nil, fmt.Errorf("read tracelab-loops.csv: no value of %s", missing)
	}
	const sessions = 20_000
	rng := random.New(0, "workload", "loops")
	for range sessions {
		turns, _ := l.draw(&rng)
		l.turns += float64(turns) / sessions
	}
	return l, nil
}

// quantile is a value x > 0 that a share p of a distribution lies below.
type quantile struct{ p, x float64 }

// throughQuantiles tabulates a distribution whose logarithm is normal between neighbouring ones of at least two quantiles, and beyond the outer ones
// goes on as beside them.
func throughQuantiles(q ...quantile) *random.Table {
	return random.NewTable(func(p float64) float64 {
		at := 0
		for at < len(q)-2 && p > q[at+1].p {
			at++
		}
		lo, hi := q[at], q[at+1]
		z, z0, z1 := distuv.UnitNormal.Quantile(p), distuv.UnitNormal.Quantile(lo.p), distuv.UnitNormal.Quantile(hi.p)
		return lo.x * math.Pow(hi.x/lo.x, (z-z0)/(z1-z0))
	})
}

// withMean tabulates the lognormal distribution of a median and a mean.
func withMean(median, mean float64) *random.Table {
	sigma := math.Sqrt(2 * math.Log(mean/median))
	return random.NewTable(func(p float64) float64 { return median * math.Exp(sigma*distuv.UnitNormal.Quantile(p)) })
}

// draw draws the steps of a session and how many of them follow a person's wait.
func (l *loops) draw(rng *random.Stream) (turns, waits int32) {
	asks := 1 + int32(min(l.asks.Draw(rng), maxTurns))
	for range asks {
		turns += 1 + int32(l.expo.Draw(rng)/float64(l.steps))
		if turns >= maxTurns {
			turns = maxTurns
			break
		}
	}
	return turns, min(asks, turns) - 1
}

// startLoop makes a new conversation a recorded agent's.
func (m *Model) startLoop(s *Session) { s.Turns, s.waits = m.laws.loops.draw(&s.stream) }

// nextStep moves a recorded agent's conversation to its next step.
func (m *Model) nextStep(s *Session) {
	l, p := m.laws.loops, &m.laws.params
	s.Turn++
	text := l.first
	s.Prefix = 0
	if s.Turn > 0 {
		text, s.Prefix = l.text, s.Prompt+s.Output
	}
	prompt := s.Prefix + cut(text.Draw(&s.stream), p.MaxPrompt) + 1
	if int(prompt) > p.CompactAt && s.Turn > 0 {
		prompt, s.Prefix = int32(p.CompactTo), 0
	}
	s.Prompt = min(prompt, int32(p.MaxPrompt))
	s.Prefix = min(s.Prefix, s.Prompt)
	s.Shared = p.sharedOf(s.Prompt)
	s.Output = 1 + cut(l.output.Draw(&s.stream), p.MaxOutput-1)
}

// stepWait draws the seconds from an answer to the next step: a person's at as many of the steps as were drawn, else a tool's.
func (m *Model) stepWait(s *Session) float64 {
	l := m.laws.loops
	if left := s.Turns - 1 - s.Turn; s.stream.Float64()*float64(left) < float64(s.waits) {
		s.waits--
		return l.humanWait.Draw(&s.stream)
	}
	return min(l.toolWait.Draw(&s.stream), mostToolSeconds)
}

// addLoops counts recorded agents' steps among the model's mean tokens.
func (m *Model) addLoops(seed uint64) {
	p := &m.laws.params
	if m.laws.loops == nil || p.AgentShare == 0 {
		return
	}
	const sessions = 300
	rng := random.New(seed, "workload", "expect loops", m.Name)
	var in, out, steps float64
	for range sessions {
		s := Session{stream: random.Seeded(rng.Uint64()), Turn: -1, Agent: true}
		for m.startLoop(&s); s.More(); steps++ {
			m.nextStep(&s)
			in += float64(s.Prompt)
			out += float64(s.Output)
		}
	}
	others := p.meanTurns() - p.AgentShare*p.AgentTurns // of a conversation
	all := others + p.AgentShare*steps/sessions
	m.MeanInput = (others*m.MeanInput + p.AgentShare*in/sessions) / all
	m.MeanOutput = (others*m.MeanOutput + p.AgentShare*out/sessions) / all
}
