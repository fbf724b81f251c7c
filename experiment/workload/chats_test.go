package workload

import (
	"math"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat"

	"switchback/experiment/random"
)

// eachTurn goes through the turns of so many conversations of every model.
func eachTurn(w *Workload, conversations int, see func(*Session)) {
	for i := range w.Models {
		m := &w.Models[i]
		rng := random.New(1, "test", "turns", m.Name)
		for range conversations {
			var s Session
			m.start(&s, random.Seeded(rng.Uint64()), 0, 0)
			for more := true; more; more = s.More() {
				m.NextTurn(&s, 0)
				see(&s)
			}
		}
	}
}

// reused is the share of the prompts' tokens that a cache without limits would hold, in whole blocks or not, and the turns of a conversation.
func reused(w *Workload, conversations int, whole bool) (share, turns float64) {
	var held, all, n float64
	eachTurn(w, conversations, func(s *Session) {
		tokens := max(s.Prefix, s.Shared)
		if whole {
			tokens -= tokens % BlockTokens
		}
		held += float64(tokens)
		all += float64(s.Prompt)
		n++
	})
	return held / all, n / float64(conversations*len(w.Models))
}

// chats is a week of the recorded chat service's conversations, and what is known of them.
func chats(t *testing.T) (*Workload, ConversationStats) {
	t.Helper()
	known, err := MooncakeStats()
	if err != nil {
		t.Fatal(err)
	}
	p := DefaultParams()
	p.UseChats(ChatsMooncake)
	return build(t, p, 3), known
}

func TestChatsAreThoseOfTheTrace(t *testing.T) {
	w, known := chats(t)
	share, turns := reused(w, 2000, true)
	t.Logf("reused %.3f (trace %.3f), turns %.2f (trace %.2f)", share, known.BlockHitShare, turns, known.Turns.Mean)
	if math.Abs(share-known.BlockHitShare) > 0.1 { // ours 0.44: nobody edits what was said before, as some in the trace do
		t.Errorf("a cache without limits holds %.3f of the prompts, in the trace %.3f of their blocks", share, known.BlockHitShare)
	}
	if math.Abs(turns-float64(known.Turns.Mean)) > 0.05 {
		t.Errorf("conversations have %.2f turns, in the trace %.2f", turns, known.Turns.Mean)
	}
}

// The lengths of prompts and answers are those of the trace, by their means and quantiles.
func TestLengthsOfChats(t *testing.T) {
	w, known := chats(t)
	var prompts, firsts, answers []float64
	eachTurn(w, 2000, func(s *Session) {
		prompts, answers = append(prompts, float64(s.Prompt)), append(answers, float64(s.Output))
		if s.Turn == 0 {
			firsts = append(firsts, float64(s.Prompt))
		}
	})
	for _, v := range [][]float64{prompts, firsts, answers} {
		sort.Float64s(v)
	}
	at := func(v []float64, q float64) float64 { return stat.Quantile(q, stat.Empirical, v, nil) }
	for _, c := range []struct {
		what      string
		got       float64
		want      float64
		atMostOff float64
	}{
		{"mean prompt", stat.Mean(prompts, nil), known.meanInput(), 0.1},
		{"median first prompt", at(firsts, 0.5), float64(known.FirstInput.P50), 0.15},
		{"95th percentile of first prompts", at(firsts, 0.95), float64(known.FirstInput.P95), 0.15},
		{"mean answer", stat.Mean(answers, nil), float64(known.OutputTokens.Mean), 0.05},
		{"median answer", at(answers, 0.5), float64(known.OutputTokens.P50), 0.1},
		{"95th percentile of answers", at(answers, 0.95), float64(known.OutputTokens.P95), 0.1},
	} {
		t.Logf("%s: %.0f tokens, in the trace %.0f", c.what, c.got, c.want)
		if math.Abs(c.got/c.want-1) > c.atMostOff {
			t.Errorf("%s: %.0f tokens, in the trace %.0f", c.what, c.got, c.want)
		}
	}
}

// In the default week a cache without limits holds more than a chat service's (0.37 in Mooncake's trace) and less than coding agents' (0.958 in TraceLab's).
func TestReuseOfTheDefaultWeek(t *testing.T) {
	share, _ := reused(build(t, DefaultParams(), 3), 2000, false)
	t.Logf("reused %.3f", share)
	if share < 0.37 || share > 0.958 {
		t.Errorf("a cache without limits holds %.3f of the prompts", share)
	}
}
