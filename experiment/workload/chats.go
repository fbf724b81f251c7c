package workload

import (
	"fmt"
	"math"
)

// ChatsMooncake is the name of the conversations of a recorded chat service.
const ChatsMooncake = "mooncake"

// ChatLaws returns the names of the laws that conversations of people can follow.
func ChatLaws() []string { return []string{ChatsMooncake} }

// UseChats makes conversations follow one of [ChatLaws], without long texts and agents beside them. Nothing is compacted.
func (p *Params) UseChats(name string) {
	p.Chats, p.AgentShare, p.DocumentShare = name, 0, 0
	p.CompactAt = p.MaxPrompt
}

// chatsOnce is the share of a chat service's conversations that have one turn by themselves. With the geometric law of the others the
// quantiles of the turns are the recorded ones up to the 95th.
const chatsOnce = 0.5

// followChats sets what the recorded conversations say: turns, gaps (of starts, which answers make a little longer here), lengths of prompts and
// answers, and how much later turns add. Source: [MooncakeStats].
func (p *Params) followChats() error {
	known, err := MooncakeStats()
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	p.SingleShare, p.ChatTurns = chatsOnce, (float64(known.Turns.Mean)-chatsOnce)/(1-chatsOnce)
	p.GapMedianS = float64(known.GapSeconds.P50)
	p.GapSigma = math.Log(float64(known.GapSeconds.P90)/p.GapMedianS) / 1.2816 // the normal distribution's 90th percentile
	p.FollowUpText = float64(known.AddedInput.Mean / known.FirstInput.Mean)
	p.InputSigma = math.Log(float64(known.FirstInput.P95/known.FirstInput.P50)) / 1.6449
	p.MeanInput, p.GeoMeanInput = known.meanInput(), known.meanInput() // all models alike
	p.GeoOutput, p.OutputSpread, p.AnswerGrowth = float64(known.OutputTokens.Mean), 0, 0
	p.ShortShare, p.ShortMedian, p.ShortSigma, p.LongMedian, p.LongSigma = chatAnswers()
	p.MixDrift, p.MixNoise = 0, 0
	return nil
}

// chatAnswers is two lognormal laws of answers, tokens, by hand through the recorded quantiles: three of ten are short.
func chatAnswers() (short, shortMedian, shortSigma, longMedian, longSigma float64) {
	return 0.3, 80, 1, 410, 0.35
}

// meanInput is the mean tokens of a prompt: its later turns hold the first one, what was added and the answers.
func (s *ConversationStats) meanInput() float64 {
	return float64(s.Blocks*BlockTokens) / float64(s.Requests)
}
