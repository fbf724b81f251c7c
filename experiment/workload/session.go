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
	Output int32 // tokens that a complete answer of the current turn has

	row   int32 // recorded turn of a replay
	Agent bool  // a loop of tool calls rather than a person
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
		s.Turns = 1 + m.drawTurns(s, p.AgentTurns-1)
	case u < p.AgentShare+(1-p.AgentShare)*(1-p.SingleShare):
		s.Turns = 1 + m.drawTurns(s, p.ChatTurns-1)
	}
	s.Tools = s.stream.Chance(p.ToolShare) || s.Agent
}

// drawTurns draws a geometric number of further turns, from 0, with the given mean.
func (m *Model) drawTurns(s *Session, mean float64) int32 {
	if mean <= 0 {
		return 0
	}
	return int32(m.laws.expo.Draw(&s.stream) / math.Log1p(1/mean))
}

// NextTurn moves the conversation to its next turn, which starts at now, µs since the start of the experiment.
func (m *Model) NextTurn(s *Session, now int64) {
	if m.recorded != nil {
		m.replayTurn(s)
		return
	}
	l := m.laws
	p := &l.params
	c := &m.clients[s.Client]
	cell := int32(-1)
	if len(c.token) > 0 && s.stream.Chance(p.OwnTokens) {
		cell = c.token[int(now/(TokenWindowSeconds*1e6))%len(c.token)]
	}
	text := p.textMedian() * l.text.At(m.input.draw(cell, &s.stream)) * m.inputScale
	s.Turn++
	s.Prefix = 0
	if s.Turn > 0 {
		text *= p.FollowUpText
		s.Prefix = s.Prompt + s.Output
	}
	prompt := s.Prefix + int32(min(text, float64(p.MaxPrompt))) + 1
	if int(prompt) > p.CompactAt && s.Turn > 0 {
		prompt, s.Prefix = int32(p.CompactTo), 0
	}
	s.Prompt = min(prompt, int32(p.MaxPrompt))
	s.Prefix = min(s.Prefix, s.Prompt)

	share := float64(l.mix[int(now/(WindowSeconds*1e6))%len(l.mix)])
	rank := m.output.draw(cell, &s.stream)
	var answer float64
	if rank < share {
		answer = p.ShortMedian * l.short.At(rank/share)
	} else {
		answer = p.LongMedian * l.long.At((rank-share)/(1-share))
	}
	s.Output = 1 + int32(min(answer*m.outputScale, float64(p.MaxOutput-1)))
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
