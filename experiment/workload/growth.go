package workload

import "math"

// answerPoints are the mean answers by mean prompt, tokens, that the announcement of 28 Oct 2026 states: prompts are 2, 8, 90 and 630
// times as long as their answers at 370, 5.7 K, 93 K and 670 K tokens, where answers have about 190 and 1,050 tokens at the ends.
var answerPoints = [...][2]float64{{370, 190}, {5_700, 5_700 / 8.}, {93_000, 93_000 / 90.}, {670_000, 1_050}}

// AnswerAt is the published mean length of an answer to a prompt of the given length, tokens: straight lines between the
// logarithms of the stated points, level beyond the ends.
func AnswerAt(prompt float64) float64 {
	last := len(answerPoints) - 1
	switch {
	case prompt <= answerPoints[0][0]:
		return answerPoints[0][1]
	case prompt >= answerPoints[last][0]:
		return answerPoints[last][1]
	}
	at := 0
	for prompt >= answerPoints[at+1][0] {
		at++
	}
	from, to := answerPoints[at], answerPoints[at+1]
	part := math.Log(prompt/from[0]) / math.Log(to[0]/from[0])
	return from[1] * math.Pow(to[1]/from[1], part)
}

// UsePublishedAnswers makes answers as long as AnswerAt says, which is of all traffic of the gateway. By default they only grow like it:
// the published times of whole requests, of an experiment on some of its models, need longer ones. The two numbers were found by trying
// (TestPublishedAnswers).
func (p *Params) UsePublishedAnswers() { p.GeoOutput, p.AnswerGrowth = 370, 1.1 }

// growth tabulates by how much longer than at the published mean prompt answers are. A step is a sixteenth of a doubling.
type growth [21 * growthSteps]float32

const (
	growthSteps = 16
	growthShift = 23 - 4            // of the bits of a float32, so that its exponent and the first four bits of its fraction remain
	growthFirst = 127 * growthSteps // of a prompt of one token
	usualPrompt = 4_292
)

// newGrowth raises the published curve to an exponent.
func newGrowth(exponent float64) *growth {
	g := new(growth)
	for i := range g {
		middle := float64(math.Float32frombits(uint32(i+growthFirst)<<growthShift + 1<<(growthShift-1)))
		g[i] = float32(math.Pow(AnswerAt(middle)/AnswerAt(usualPrompt), exponent))
	}
	return g
}

// at is the factor for a prompt of at least one token.
func (g *growth) at(prompt int32) float64 {
	return float64(g[min(int(math.Float32bits(float32(prompt))>>growthShift)-growthFirst, len(g)-1)])
}
