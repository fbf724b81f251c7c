package workload

import (
	"math"
	"testing"

	"switchback/experiment/random"
)

// Answers grow with the prompt as the announcement of 28 Oct 2026 shows: from about 190 to 1,050 tokens as prompts grow from 370 to
// 670 K, with prompts 2, 8, 90 and 630 times as long as their answers on the way. By default only the growth is met: at the same length of
// the prompt our answers are more than twice as long, because the announcement's own times of whole requests at its throughput need answers of some
// 700 tokens on average, where its curve gives half of that. Conversations are drawn of all models by their
// traffic, and as many about long texts as those few sizes need.
func TestAnswersGrowAsPublished(t *testing.T) {
	answersGrow(t, DefaultParams(), 1, 2.5)
}

// With the published answers their length is met, too.
func TestPublishedAnswers(t *testing.T) {
	p := DefaultParams()
	p.UsePublishedAnswers()
	answersGrow(t, p, 0.95, 1.05)
}

// answersGrow checks that answers are between least and most times as long as published, and 10 % from that factor at any length of the prompt.
func answersGrow(t *testing.T, p Params, least, most float64) {
	t.Helper()
	w := build(t, p, 1)
	const half = 0.35 // of a bin around a point, of the logarithm
	type sums struct{ n, in, out float64 }
	var bins [len(answerPoints)]sums
	count := func(s *Session) {
		for i, point := range answerPoints {
			if math.Abs(math.Log(float64(s.Prompt)/point[0])) < half {
				bins[i].n++
				bins[i].in += float64(s.Prompt)
				bins[i].out += float64(s.Output)
			}
		}
	}
	flow := 0.0
	for i := range w.Models {
		flow += w.Models[i].Flow
	}
	rng := random.New(1, "test", "growth")
	for i := range w.Models {
		m := &w.Models[i]
		share := m.Flow / flow
		pick := m.picker()
		for n := range uint32(300_000 * share) {
			client, window := pick(&rng)
			var s Session
			m.start(&s, random.Seeded(rng.Uint64()), client, n)
			if n%6 == 0 {
				s.Long = true
			}
			for s.More() {
				m.NextTurn(&s, int64(window)*WindowSeconds*1e6)
				count(&s)
			}
		}
	}
	level := 0.0 // of the logarithm
	for _, b := range bins {
		level += math.Log(b.out/b.n/AnswerAt(b.in/b.n)) / float64(len(bins))
	}
	t.Logf("answers are %.2f times the published ones", math.Exp(level))
	for _, b := range bins {
		in, out := b.in/b.n, b.out/b.n
		off := math.Log(out/AnswerAt(in)) - level
		t.Logf("prompts of %6.0f tokens (%5.0f requests): answers of %4.0f, published %4.0f, so %+.0f %% off the growth", in, b.n, out, AnswerAt(in), 100*math.Expm1(off))
		if b.n < 1000 || math.Abs(off) > math.Log(1.1) {
			t.Errorf("prompts of %.0f tokens: %.0f requests, %+.0f %% off the growth, want 10 %% at most", in, b.n, 100*math.Expm1(off))
		}
	}
	if level < math.Log(least) || level > math.Log(most) {
		t.Errorf("answers are %.2f times the published ones, want %v to %v", math.Exp(level), least, most)
	}
}

// The published curve passes through its points, rises, and is tabulated to 3 %.
func TestGrowthFollowsTheCurve(t *testing.T) {
	for _, point := range answerPoints {
		if got := AnswerAt(point[0]); math.Abs(got/point[1]-1) > 1e-12 {
			t.Errorf("%v tokens: %v, want %v", point[0], got, point[1])
		}
	}
	g, flat := newGrowth(1), newGrowth(0)
	last := 0.0
	for prompt := int32(1); prompt < 2_000_000; prompt += 1 + prompt/50 {
		got, want := g.at(prompt), AnswerAt(float64(prompt))/AnswerAt(usualPrompt)
		if math.Abs(got/want-1) > 0.03 || got < last {
			t.Fatalf("%d tokens: %v after %v, want %v", prompt, got, last, want)
		}
		if flat.at(prompt) != 1 {
			t.Fatalf("%d tokens: %v without growth", prompt, flat.at(prompt))
		}
		last = got
	}
}
