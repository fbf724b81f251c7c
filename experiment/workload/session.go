package workload

import (
	"math"

	"switchback/experiment/random"
)

// Session is a conversation with its current turn.
type Session struct {
	stream random.Stream

	Number uint32 // of the model's conversations, from 0 in order of their start; the same in every world
	Client int32  // index into Model.ClientIDs
	Turn   int32  // of the current turn, from 0; −1 before the first
	Turns  int32  // of the whole conversation

	Prompt int32 // input tokens of the current turn
	Prefix int32 // of those, the ones that the previous turn's prompt and answer end with
	Shared int32 // of those, the first ones, with which all of the client's conversations begin
	Output int32 // tokens that a complete answer of the current turn has

	waits int32 // of a recorded agent's later steps that follow a person's wait
	row   int32 // recorded turn of a replay
	Agent bool  // a loop of tool calls rather than a person
	Long  bool  // a conversation about a long text
	Tools bool  // the answers call tools
}

// start begins a conversation. Its stream decides all of its turns, whatever happens to the requests.
func (m *Model) start(s *Session, stream random.Stream, from int32, number uint32) {
	p := &m.laws.params
	*s = Session{}
	s.stream, s.Number, s.Client, s.Turn, s.Turns = stream, number, from, -1, 1
	u := s.stream.Float64()
	switch {
	case u < p.AgentShare:
		s.Agent = true
		if m.laws.loops != nil {
			m.startLoop(s)
			break
		}
		s.Turns = 1 + m.drawTurns(s, m.laws.agentTurns)
	case u < p.AgentShare+p.DocumentShare:
		s.Long = true
		s.Turns = 1 + m.drawTurns(s, m.laws.chatTurns)
	case u < p.AgentShare+p.DocumentShare+(1-p.AgentShare-p.DocumentShare)*(1-p.SingleShare):
		s.Turns = 1 + m.drawTurns(s, m.laws.chatTurns)
	}
	s.Tools = s.stream.Chance(p.ToolShare) || s.Agent
}

// geometric is the law of a geometric number from 0: the rate of the exponential law that it is the whole part of; 0 = always 0.
type geometric float64

func geometricOf(mean float64) geometric {
	if mean <= 0 {
		return 0
	}
	return geometric(math.Log1p(1 / mean))
}

// drawTurns draws the number of further turns.
func (m *Model) drawTurns(s *Session, law geometric) int32 {
	if law == 0 {
		return 0
	}
	return int32(m.laws.expo.Draw(&s.stream) / float64(law))
}

// NextTurn moves the conversation to its next turn, which starts at now, µs since the start of the experiment.
func (m *Model) NextTurn(s *Session, now int64) {
	if m.recorded != nil {
		m.replayTurn(s)
		return
	}
	if s.Agent && m.laws.loops != nil {
		m.nextStep(s)
		return
	}
	mix := m.laws.mix
	text, answer := m.drawTurn(s, now, float64(mix[uint32(now/(WindowSeconds*1e6))%uint32(len(mix))]))
	m.addTurn(s, text, answer)
}

// drawTurn draws the length of what the caller adds to the conversation and of the answer, tokens before the model's scales,
// which long texts do not have, and before the growth of answers with the prompt. A share of the answers is short.
func (m *Model) drawTurn(s *Session, now int64, share float64) (text, answer float64) {
	l := m.laws
	p := &l.params
	rng := s.stream // in a register
	cell := int32(-1)
	if token := m.clients[s.Client].token; len(token) > 0 && rng.Chance(p.OwnTokens) {
		cell = token[uint32(now/(TokenWindowSeconds*1e6))%uint32(len(token))]
	}
	size := m.input.rank(cell, rng.Uint64())
	if s.Long && s.Turn < 0 {
		text = l.document.At(size)
	} else {
		text = p.textMedian() * l.text.At(size)
	}
	rank := m.output.rank(cell, rng.Uint64())
	s.stream = rng
	if rank < share {
		answer = p.ShortMedian * l.short.At(rank/share)
	} else {
		answer = p.LongMedian * l.long.At((rank-share)/(1-share))
	}
	return text, answer
}

// addTurn makes the next turn of the conversation from its drawn lengths.
func (m *Model) addTurn(s *Session, text, answer float64) {
	p := &m.laws.params
	most := p.CompactAt
	if s.Long {
		most = p.MaxPrompt
	}
	s.Turn++
	s.Prefix = 0
	if s.Turn > 0 {
		text *= m.inputScale * p.FollowUpText
		s.Prefix = s.Prompt + s.Output
	} else if !s.Long {
		text *= m.inputScale
	}
	prompt := s.Prefix + cut(text, p.MaxPrompt) + 1
	if int(prompt) > most && s.Turn > 0 {
		prompt, s.Prefix = int32(p.CompactTo), 0
	}
	s.Prompt = min(prompt, int32(p.MaxPrompt))
	s.Prefix = min(s.Prefix, s.Prompt)
	s.Shared = p.sharedOf(s.Prompt)
	s.Output = 1 + cut(answer*m.outputScale*m.laws.growth.at(s.Prompt), p.MaxOutput-1)
}

// sharedOf is how many tokens of a prompt are those that the client's prompts share: none of one that is shorter.
func (p *Params) sharedOf(prompt int32) int32 {
	if int(prompt) < p.SharedPrompt {
		return 0
	}
	return int32(p.SharedPrompt)
}

// cut rounds tokens down, to most at most.
func cut(tokens float64, most int) int32 {
	if tokens < float64(most) {
		return int32(tokens)
	}
	return int32(most)
}

// textMedian is the median of a first prompt before the models' scales, tokens. Only its ratio to the outputs matters
// where the scales are fitted to a mean.
func (p *Params) textMedian() float64 { return 256 }

// More reports whether the conversation has another turn.
func (s *Session) More() bool { return s.Turn+1 < s.Turns }

// NextAt returns when the next turn starts after an answer at now, µs since the start of the experiment.
func (m *Model) NextAt(s *Session, now int64) int64 {
	if m.recorded != nil {
		return max(now, m.recorded[m.recorded[s.row].next].at)
	}
	median := m.laws.params.GapMedianS
	if s.Agent {
		if m.laws.loops != nil {
			return now + int64(1e6*m.stepWait(s))
		}
		median = m.laws.params.AgentGapS
	}
	return now + int64(1e6*median*m.laws.gap.Draw(&s.stream))
}

// Patience draws how long the caller waits before giving up, µs; Never for most.
func (m *Model) Patience(s *Session) int64 {
	p := &m.laws.params
	if !s.stream.Chance(p.CancelShare) {
		return Never
	}
	return int64(1e6 * p.PatienceS * math.Exp(0.8*m.laws.normal.Draw(&s.stream)))
}
