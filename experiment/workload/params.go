package workload

import (
	"errors"
	"fmt"
	"math"
)

// Params says how the real traces become the demand. See DefaultParams.
type Params struct {
	RequestsPerWeek float64 // all turns of all models in the first week, > 0
	ModelSkew       float64 // exponent of the Zipf law of the models' flows, ≥ 0
	LoneModels      int     // the last so many of the models, those with one provider, get …
	LoneShare       float64 // … this share of all requests, in (0, 1), whatever the law says
	PeakToMean      float64 // a model's 10-minute flow is cut at this multiple of its mean, > 1
	MaxCV           float64 // burstiness of a client's starts is cut here; 1 is Poisson-like, ≥ 0.5
	Whale           float64 // the largest client of each model sends this times its share; 1 = as recorded
	Flash           []Flash // extra volume, as a flash crowd brings it
	Shape           string  // hours of the week that the whole flow follows, one of [Shapes]; "" = as recorded

	SingleShare   float64 // share of the conversations with one turn
	ChatTurns     float64 // mean turns of the others, ≥ 1
	AgentShare    float64 // share of the conversations that are long agent loops
	AgentTurns    float64 // mean turns of an agent loop, ≥ 1
	Agents        string  // laws of agent loops, one of [AgentLaws], in place of AgentTurns, AgentGapS and the laws of all turns' tokens; "" = those
	Chats         string  // laws of the other conversations, one of [ChatLaws], in place of SingleShare, ChatTurns, the gaps and the mean tokens; "" = those
	DocumentShare float64 // share of the conversations that are about a long text, which is never compacted
	DocumentFrom  float64 // length of the shortest such text, tokens, > 0 …
	DocumentTo    float64 // … and of the longest; the logarithm is spread evenly between them
	GapMedianS    float64 // from an answer to the next turn, seconds
	GapSigma      float64 // log standard deviation of the gaps
	AgentGapS     float64 // median of an agent's gap (a tool runs), seconds
	CompactAt     int     // a prompt longer than this, tokens, is compacted …
	CompactTo     int     // … to this
	ToolShare     float64 // share of the conversations that call tools
	CancelShare   float64 // share of the requests whose caller has limited patience
	PatienceS     float64 // median of that patience, seconds
	MaxPrompt     int     // tokens
	MaxOutput     int     // tokens
	FollowUpText  float64 // length of a later turn's new text relative to a first prompt
	SharedPrompt  int     // tokens that all conversations of a client begin with, where they are as long; 0 = none

	MeanInput    float64 // mean input tokens of a request, over all traffic; 0 = no scaling to a mean
	GeoMeanInput float64 // geometric mean over models of the models' mean input tokens
	InputSigma   float64 // log standard deviation of new text inside a model
	GeoOutput    float64 // geometric mean over models of the models' mean output tokens, before the models' prompts are scaled: the growth of answers makes it less
	OutputSpread float64 // log standard deviation of the models' mean output tokens
	OwnTokens    float64 // share of the token counts that follow the client's own law; the others follow all clients'
	ShortShare   float64 // share of the answers that are short, at drift 0, in (0, 1)
	ShortMedian  float64 // median of the short answers, before the model's scale
	ShortSigma   float64
	LongMedian   float64 // median of the long answers, before the model's scale
	LongSigma    float64
	AnswerGrowth float64 // how far an answer grows with its prompt: exponent of AnswerAt, 0 = not at all. On average over clients, of whom those with long prompts need not have long answers, growth by prompt is less

	MixDrift  float64 // amplitude of the daily wave of logit(ShortShare), common to all models
	MixNoise  float64 // standard deviation of its random part
	MixHours  float64 // correlation time of the random part, hours
	MixPhaseH float64 // hour of the day of the wave's upward crossing
}

// Flash is a spell of extra volume in all models.
type Flash struct {
	StartH, Hours float64 // since the start of the experiment
	Factor        float64 // > 0
}

// DefaultParams returns the parameters fitted for the default scenario.
func DefaultParams() Params {
	return Params{
		RequestsPerWeek: 24e6,
		ModelSkew:       0.9,
		PeakToMean:      2.5,
		MaxCV:           2,
		Whale:           1,

		SingleShare:   0.5,
		ChatTurns:     4,
		AgentShare:    0.002,
		AgentTurns:    50,
		DocumentShare: 0.0004,
		DocumentFrom:  20_000,
		DocumentTo:    670_000,
		GapMedianS:    35,
		GapSigma:      1.1,
		AgentGapS:     4,
		CompactAt:     32_000,
		CompactTo:     8_000,
		ToolShare:     0.25,
		CancelShare:   0.02,
		PatienceS:     12,
		MaxPrompt:     700_000,
		MaxOutput:     16_000,
		FollowUpText:  1,
		SharedPrompt:  BlockTokens,

		MeanInput:    4292,
		GeoMeanInput: 3211,
		InputSigma:   1.45,
		GeoOutput:    1005,
		OutputSpread: 0.3,
		OwnTokens:    0.2,
		ShortShare:   0.47,
		ShortMedian:  340.9,
		ShortSigma:   0.9,
		LongMedian:   647,
		LongSigma:    1.65,
		AnswerGrowth: 1.2,

		MixDrift:  0.5077,
		MixNoise:  0.2167,
		MixHours:  3,
		MixPhaseH: 21.5,
	}
}

// Validate reports every parameter that is out of its range.
func (p Params) Validate() error {
	var problems []error
	check := func(ok bool, name string, value float64, want string) {
		if !ok || math.IsNaN(value) || math.IsInf(value, 0) {
			problems = append(problems, fmt.Errorf("workload %s: %v is not %s", name, value, want))
		}
	}
	positive := func(name string, v float64) { check(v > 0, name, v, "above 0") }
	share := func(name string, v float64) { check(v >= 0 && v <= 1, name, v, "between 0 and 1") }
	atLeast := func(name string, v, least float64) {
		check(v >= least, name, v, fmt.Sprintf("at least %v", least))
	}
	positive("requests per week", p.RequestsPerWeek)
	atLeast("model skew", p.ModelSkew, 0)
	check(p.PeakToMean > 1, "peak to mean", p.PeakToMean, "above 1")
	atLeast("max cv", p.MaxCV, 0.5)
	positive("whale", p.Whale)
	for _, f := range p.Flash {
		positive("flash factor", f.Factor)
		positive("flash hours", f.Hours)
	}
	share("single share", p.SingleShare)
	atLeast("chat turns", p.ChatTurns, 1)
	share("agent share", p.AgentShare)
	atLeast("agent turns", p.AgentTurns, 1)
	share("document share", p.DocumentShare)
	check(p.AgentShare+p.DocumentShare <= 1, "agent and document share", p.AgentShare+p.DocumentShare, "at most 1")
	positive("document length", p.DocumentFrom)
	atLeast("longest document", p.DocumentTo, p.DocumentFrom)
	positive("gap", p.GapMedianS)
	atLeast("gap sigma", p.GapSigma, 0)
	positive("agent gap", p.AgentGapS)
	positive("compacted length", float64(p.CompactTo))
	atLeast("compaction length", float64(p.CompactAt), float64(p.CompactTo))
	share("tool share", p.ToolShare)
	share("cancel share", p.CancelShare)
	positive("patience", p.PatienceS)
	atLeast("lone models", float64(p.LoneModels), 0)
	check(p.LoneModels == 0 || p.LoneShare > 0 && p.LoneShare < 1, "share of the lone models", p.LoneShare, "between 0 and 1")
	positive("max prompt", float64(p.MaxPrompt))
	positive("max output", float64(p.MaxOutput))
	positive("follow-up text", p.FollowUpText)
	atLeast("shared prompt", float64(p.SharedPrompt), 0)
	atLeast("mean input", p.MeanInput, 0)
	positive("geometric mean input", p.GeoMeanInput)
	check(p.MeanInput == 0 || p.MeanInput >= p.GeoMeanInput, "mean input", p.MeanInput, "at least the geometric mean")
	atLeast("input sigma", p.InputSigma, 0)
	positive("output", p.GeoOutput)
	atLeast("output spread", p.OutputSpread, 0)
	share("own tokens", p.OwnTokens)
	check(p.ShortShare > 0 && p.ShortShare < 1, "short share", p.ShortShare, "between 0 and 1")
	positive("short median", p.ShortMedian)
	atLeast("short sigma", p.ShortSigma, 0)
	positive("long median", p.LongMedian)
	atLeast("long sigma", p.LongSigma, 0)
	atLeast("answer growth", p.AnswerGrowth, 0)
	atLeast("mix drift", p.MixDrift, 0)
	atLeast("mix noise", p.MixNoise, 0)
	positive("mix correlation time", p.MixHours)
	problems = append(problems, checkName("shape", p.Shape, Shapes()), checkName("agents", p.Agents, AgentLaws()), checkName("chats", p.Chats, ChatLaws()))
	return errors.Join(problems...)
}

// meanTurns is the expected number of turns of a conversation.
func (p Params) meanTurns() float64 {
	return (1-p.AgentShare-p.DocumentShare)*(p.SingleShare+(1-p.SingleShare)*p.ChatTurns) + p.AgentShare*p.AgentTurns + p.DocumentShare*p.ChatTurns
}
