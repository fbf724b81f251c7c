package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"switchback/experiment/random"
)

// Recorded is one request of a log or trace that is played again.
type Recorded struct {
	AtUS         int64  // since the start of the experiment, in microseconds
	Model        string // as the market names it
	Session      string // conversation, of its client; "" = a conversation of its own
	Client       string
	InputTokens  int // whole prompt, cached tokens included
	SharedTokens int // first tokens of the prompt with which all of the client's prompts begin; 0 = not known
	OutputTokens int // of a complete answer
	Tools        bool
}

// turn is a recorded request of one model.
type turn struct {
	at            int64
	input, shared int32
	output        int32
	next          int32 // later turn of the same conversation; −1 none
	left          int32 // turns of the conversation from this one on
	client        int32
	tools         bool
}

// ErrNothingToReplay is wrapped by the error of recorded requests of which none can be played.
var ErrNothingToReplay = errors.New("no recorded request is for a model of the market")

// maxTurns is the number of turns after which a recorded conversation goes on as a new one.
const maxTurns = 1000

// NewReplay makes the demand of recorded requests, for the models that occur among the given ones. The others and
// requests without tokens are left out and counted in the notes, as are tokens over the most that p allows. A turn starts at its recorded
// time, or when the turn before it in the conversation has been answered, if that is later. It goes on from the prompt before it, unless it is
// shorter than that: then the conversation was cut down or begun anew. The error wraps ErrNothingToReplay when
// nothing is left.
func NewReplay(models []string, recorded []Recorded, p Params, seed uint64) (*Workload, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	rows := slices.Clone(recorded)
	slices.SortStableFunc(rows, func(a, b Recorded) int { return cmp.Compare(a.AtUS, b.AtUS) })
	w := &Workload{}
	l := newLaws(p, 1, seed)
	byName := map[string]int{}
	for _, name := range models {
		byName[name] = len(w.Models)
		w.Models = append(w.Models, Model{Name: name, laws: l, recorded: []turn{}})
	}
	unknown, empty, cut := map[string]int{}, 0, 0
	heads := make([]map[conversation]int32, len(w.Models)) // latest turn
	clients := make([]map[string]int32, len(w.Models))
	for m := range heads {
		heads[m], clients[m] = map[conversation]int32{}, map[string]int32{}
	}
	for _, r := range rows {
		m, known := byName[r.Model]
		switch {
		case !known:
			unknown[r.Model]++
			continue
		case r.InputTokens < 1 || r.OutputTokens < 1:
			empty++
			continue
		case r.AtUS < 0:
			return nil, fmt.Errorf("replay: a request of %s starts %d µs before the experiment", r.Model, -r.AtUS)
		}
		if r.InputTokens > p.MaxPrompt || r.OutputTokens > p.MaxOutput {
			cut++
		}
		w.Models[m].record(r, heads[m], clients[m])
	}
	w.Models = slices.DeleteFunc(w.Models, func(m Model) bool { return len(m.recorded) == 0 })
	if len(w.Models) == 0 {
		return nil, fmt.Errorf("replay: %w: %d have no tokens, the others are for %s; it has %s", ErrNothingToReplay, empty, counted(unknown), strings.Join(models, ", "))
	}
	for i := range w.Models {
		w.Models[i].countTurns()
	}
	if len(unknown) > 0 {
		w.Notes = append(w.Notes, "Recorded requests for models that the market does not have, or that were not asked for, were left out: "+counted(unknown)+".")
	}
	if empty > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("Recorded requests without tokens were left out: %d.", empty))
	}
	if cut > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("Recorded requests that were cut to the %d input and %d output tokens that the market allows: %d.", p.MaxPrompt, p.MaxOutput, cut))
	}
	return w, nil
}

// counted lists names with their counts, the most frequent ones first.
func counted(counts map[string]int) string {
	if len(counts) == 0 {
		return "none"
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	const shown = 10
	rest := 0
	for i, name := range names {
		if i >= shown {
			rest += counts[name]
		}
		names[i] = fmt.Sprintf("%s (%d)", cmp.Or(name, "no model"), counts[name])
	}
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more models (%d)", strings.Join(names[:shown], ", "), len(names)-shown, rest)
	}
	return strings.Join(names, ", ")
}

// conversation is what turns have in common. Clients that call theirs by the same name, such as "default", do not share it.
type conversation struct {
	client  int32
	session string
}

// record adds a request, in order of time.
func (m *Model) record(r Recorded, heads map[conversation]int32, clients map[string]int32) {
	client, known := clients[r.Client]
	if !known {
		client = int32(len(m.ClientIDs))
		clients[r.Client] = client
		m.ClientIDs = append(m.ClientIDs, r.Client)
	}
	most := m.laws.params
	at := int32(len(m.recorded))
	m.recorded = append(m.recorded, turn{
		at: r.AtUS, input: int32(min(r.InputTokens, most.MaxPrompt)), shared: int32(min(r.SharedTokens, r.InputTokens, most.MaxPrompt)), output: int32(min(r.OutputTokens, most.MaxOutput)), next: -1, client: client, tools: r.Tools,
	})
	if r.Session == "" {
		m.firsts = append(m.firsts, at)
		return
	}
	key := conversation{client, r.Session}
	if before, open := heads[key]; open {
		m.recorded[before].next = at
	} else {
		m.firsts = append(m.firsts, at)
	}
	heads[key] = at
}

// countTurns cuts very long conversations and fills what the market needs to know.
func (m *Model) countTurns() {
	for i := 0; i < len(m.firsts); i++ { // grows while conversations are cut
		n := int32(1)
		for at := m.firsts[i]; m.recorded[at].next >= 0; n++ {
			if n == maxTurns {
				m.firsts = append(m.firsts, m.recorded[at].next)
				m.recorded[at].next = -1
				break
			}
			at = m.recorded[at].next
		}
		for at, left := m.firsts[i], min(n, maxTurns); at >= 0; at, left = m.recorded[at].next, left-1 {
			m.recorded[at].left = left
		}
	}
	slices.SortStableFunc(m.firsts, func(a, b int32) int { return cmp.Compare(a, b) }) // rows are in order of time
	seconds := float64(m.recorded[len(m.recorded)-1].at-m.recorded[0].at)/1e6 + 1
	m.Flow = float64(len(m.recorded)) / seconds
	m.PeakFlow = m.Flow
	for _, t := range m.recorded {
		m.MeanInput += float64(t.input) / float64(len(m.recorded))
		m.MeanOutput += float64(t.output) / float64(len(m.recorded))
	}
}

// Expected returns about how many requests come up to the horizon, µs, with the hours, days and flash crowds that lie before it.
func (m *Model) Expected(horizon int64) float64 {
	if m.recorded == nil {
		const window = WindowSeconds * 1e6
		weeks, week := 0.0, m.weekShare() // of the mean flow
		for w := range int((horizon + window - 1) / window) {
			weeks += m.rateAt(w) / week * m.laws.volume(w) * min(1, float64(horizon-int64(w)*window)/window)
		}
		return m.Flow * weeks * weekWindows * WindowSeconds
	}
	n, _ := slices.BinarySearchFunc(m.recorded, horizon, func(t turn, at int64) int { return cmp.Compare(t.at, at) })
	return float64(n)
}

// replayStart is the conversation that begins at a recorded turn.
func (m *Model) replayStart(s *Session, stream random.Stream, at int32, number uint32) {
	t := &m.recorded[at]
	*s = Session{stream: stream, Number: number, Client: t.client, Turn: -1, Turns: t.left, Tools: t.tools, row: at}
}

// replayTurn moves a recorded conversation to its next turn.
func (m *Model) replayTurn(s *Session) {
	if s.Turn++; s.Turn > 0 {
		s.row = m.recorded[s.row].next
	}
	t := &m.recorded[s.row]
	s.Prefix = 0
	if s.Turn > 0 && t.input >= s.Prompt {
		s.Prefix = min(s.Prompt+s.Output, t.input)
	}
	s.Prompt, s.Shared, s.Output, s.Tools = t.input, t.shared, t.output, t.tools
}

// Trace names that PublicTrace knows.
const (
	TraceAzure    = "azure-conversation"
	TraceMooncake = "mooncake-conversation"
)

// PublicTrace returns a public trace as requests for one model, repeated until the horizon, µs. Prompts of the Mooncake trace
// that begin with the blocks of an earlier prompt go on its conversation; its first block is the same in all of them.
func PublicTrace(name, model string, horizon int64) ([]Recorded, error) {
	var arrivals []Arrival
	var err error
	switch name {
	case TraceAzure:
		arrivals, err = AzureConversation()
	case TraceMooncake:
		arrivals, err = MooncakeConversation()
	default:
		return nil, fmt.Errorf("unknown trace %q (known: %s, %s)", name, TraceAzure, TraceMooncake)
	}
	if err != nil {
		return nil, err
	}
	sessions := conversations(arrivals)
	length := arrivals[len(arrivals)-1].AtUS + 1e6
	var recorded []Recorded
	for round := int64(0); round*length < horizon; round++ {
		for i, a := range arrivals {
			if at := round*length + a.AtUS; at < horizon {
				r := Recorded{AtUS: at, Model: model, Client: name, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens}
				if len(a.Blocks) > 1 {
					r.SharedTokens = BlockTokens
				}
				if sessions[i] >= 0 {
					r.Session = fmt.Sprintf("%d/%d", round, sessions[i])
				}
				recorded = append(recorded, r)
			}
		}
	}
	return recorded, nil
}

// conversations numbers the arrivals' conversations: an arrival goes on the latest one whose prompt, but for its last block, it begins
// with. −1 where the trace has no blocks.
func conversations(arrivals []Arrival) []int {
	of := make([]int, len(arrivals))
	latest := map[[2]int32]int{} // by the last full block of a prompt and its place
	n := 0
	for i, a := range arrivals {
		of[i] = -1
		if len(a.Blocks) < 2 {
			continue
		}
		for place := len(a.Blocks) - 1; place >= 1 && of[i] < 0; place-- {
			if c, found := latest[[2]int32{a.Blocks[place], int32(place)}]; found {
				of[i] = c
			}
		}
		if of[i] < 0 {
			of[i] = n
			n++
		}
		last := len(a.Blocks) - 2
		if last >= 1 {
			latest[[2]int32{a.Blocks[last], int32(last)}] = of[i]
		}
	}
	return of
}
