package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment/random"
)

// Conversations of the same name belong to their clients, and a prompt that is shorter than the one before goes on from none.
func TestReplayedConversations(t *testing.T) {
	w, err := NewReplay([]string{"m"}, []Recorded{
		{AtUS: 1, Model: "m", Session: "default", Client: "a", InputTokens: 100, OutputTokens: 10},
		{AtUS: 2, Model: "m", Session: "default", Client: "b", InputTokens: 70, OutputTokens: 20},
		{AtUS: 3, Model: "m", Session: "default", Client: "a", InputTokens: 150, OutputTokens: 30},
		{AtUS: 4, Model: "m", Session: "default", Client: "a", InputTokens: 60, OutputTokens: 5},
		{AtUS: 5, Model: "m", Session: "default", Client: "b", InputTokens: 80, OutputTokens: 6}, // the answer was longer than what was kept of it
		{AtUS: 6, Model: "m", Session: "default", Client: "a", InputTokens: 65, OutputTokens: 7},
		{AtUS: 7, Model: "m", Client: "b", InputTokens: 300, OutputTokens: 8},
	}, DefaultParams(), 1)
	if err != nil {
		t.Fatal(err)
	}
	type turn struct {
		client         string
		prompt, prefix int32
	}
	var got [][]turn
	m := &w.Models[0]
	for i, at := range m.firsts {
		var s Session
		var turns []turn
		m.replayStart(&s, random.Seeded(1), at, uint32(i))
		for s.More() {
			m.NextTurn(&s, 0)
			turns = append(turns, turn{m.ClientIDs[s.Client], s.Prompt, s.Prefix})
		}
		got = append(got, turns)
	}
	want := [][]turn{
		{{"a", 100, 0}, {"a", 150, 110}, {"a", 60, 0}, {"a", 65, 65}},
		{{"b", 70, 0}, {"b", 80, 80}},
		{{"b", 300, 0}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(turn{})); diff != "" {
		t.Error(diff)
	}
}
