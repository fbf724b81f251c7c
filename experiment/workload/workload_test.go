package workload

import (
	"math"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"switchback/experiment/random"
)

func names(n int) []string {
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"}
	return all[:n]
}

func build(t testing.TB, p Params, seed uint64) *Workload {
	t.Helper()
	traces, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(names(20), traces, p, 7, seed, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The published week has 24 million requests and 103 billion input tokens (announcement of 28 Oct 2026).
func TestWeekHasThePublishedSize(t *testing.T) {
	w := build(t, DefaultParams(), 1)
	requests, input := 0.0, 0.0
	for _, m := range w.Models {
		requests += m.Flow * 7 * 86400
		input += m.Flow * 7 * 86400 * m.MeanInput
	}
	if math.Abs(requests/24e6-1) > 1e-3 {
		t.Errorf("%.4g requests a week, want 24 M", requests)
	}
	if math.Abs(input/103e9-1) > 0.03 {
		t.Errorf("%.4g input tokens a week, want 103 G within 3 %%", input)
	}
}

// The models of a market have the same lengths of text in every week: a seed decides what happens in it, not what it is made of.
func TestTokenScalesDoNotDependOnTheWeek(t *testing.T) {
	traces, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	var first *Workload
	for seed, days := range []int{7, 7, 1} {
		w, err := New(names(3), traces, DefaultParams(), days, 7, uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = w
		}
		for i := range w.Models {
			if a, b := &first.Models[i], &w.Models[i]; a.inputScale != b.inputScale || a.outputScale != b.outputScale {
				t.Errorf("model %s in a week of seed %d, %d days: scales %v and %v, were %v and %v", b.Name, seed, days, b.inputScale, b.outputScale, a.inputScale, a.outputScale)
			}
		}
	}
}

func TestClientsStayWholeAndPeaksAreCut(t *testing.T) {
	p := DefaultParams()
	w := build(t, p, 1)
	seen := map[string]string{}
	for i := range w.Models {
		m := &w.Models[i]
		for _, id := range m.ClientIDs {
			if other, dup := seen[id]; dup {
				t.Errorf("client %s sends to %s and %s", id, other, m.Name)
			}
			seen[id] = m.Name
		}
		if m.PeakFlow > m.Flow*p.PeakToMean*1.05 {
			t.Errorf("model %s: peak %.3g requests/s is over %v times the mean %.3g", m.Name, m.PeakFlow, p.PeakToMean, m.Flow)
		}
		at, share := m.whale()
		t.Logf("model %s: %.2f requests/s, peak ×%.2f, %d clients, largest %s %.0f %%, %.0f in, %.0f out", m.Name, m.Flow, m.PeakFlow/m.Flow, len(m.clients), m.ClientIDs[at], 100*share,
			m.MeanInput, m.MeanOutput)
	}
	traces, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	if want := len(sources(traces)); len(seen) != want {
		t.Errorf("%d clients placed, want all %d with traffic in the first week", len(seen), want)
	}
}

func TestDivideFollowsTheSharesAndTheSeed(t *testing.T) {
	traces, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	all := sources(traces)
	parts := divide(all, 20, 0.9, random.New(3))
	again := divide(all, 20, 0.9, random.New(3))
	target := zipf(20, 0.9)
	for m := range parts {
		share := 0.0
		for i, s := range parts[m] {
			share += s.share
			if again[m][i].client != s.client {
				t.Fatalf("model %d client %d: the same seed divides differently", m, i)
			}
		}
		if math.Abs(share-target[m]) > 0.03 {
			t.Errorf("model %d has %.3f of the demand, want about %.3f", m, share, target[m])
		}
	}
}

func TestArrivalsAreOrderedRepeatableAndMeetTheRate(t *testing.T) {
	w := build(t, DefaultParams(), 1)
	m := &w.Models[3]
	const week = int64(7 * 86400 * 1e6)
	a, b := m.Arrivals(9), m.Arrivals(9)
	last, n := int64(0), 0
	for a.Next() < week {
		at := a.Next()
		if at < last {
			t.Fatalf("start %d at %d after one at %d", n, at, last)
		}
		if b.Next() != at {
			t.Fatalf("start %d differs between two runs of one seed", n)
		}
		var got, want Session
		a.Pop(&got)
		b.Pop(&want)
		if got != want {
			t.Fatalf("conversation %d differs between two runs of one seed", n)
		}
		last = at
		n++
	}
	want := m.Flow * 7 * 86400 / m.laws.params.meanTurns()
	if math.Abs(float64(n)/want-1) > 0.05 {
		t.Errorf("%d conversations in a week, want about %.0f", n, want)
	}
}

// CV of Weibull laws: shape 1 is exponential (CV 1); shape ½ has moments 2 and 24, so CV √5.
func TestWeibullShape(t *testing.T) {
	for _, c := range []struct{ cv, shape float64 }{{1, 1}, {math.Sqrt(5), 0.5}} {
		if got := weibullShape(c.cv); math.Abs(got-c.shape) > 1e-6 {
			t.Errorf("shape for CV %v = %v, want %v", c.cv, got, c.shape)
		}
	}
}

func TestRanksOfAllDrawsAreUniform(t *testing.T) {
	traces, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	input, _, _ := poolTokens(traces, nil)
	var weight []float64
	for i := range traces {
		total, first := 0.0, len(weight)
		for j := range traces[i].Clients {
			c := &traces[i].Clients[j]
			for w := range c.Input {
				if c.Input[w].Mean <= 0 || c.Output[w].Mean <= 0 {
					continue
				}
				sum := 0.0
				for k := w * 36; k < min((w+1)*36, traces[i].Windows); k++ {
					sum += float64(c.Rate[k])
				}
				weight = append(weight, sum)
				total += sum
			}
		}
		for k := first; k < len(weight); k++ {
			weight[k] /= total * float64(len(traces))
		}
	}
	upTo := make([]float64, len(weight))
	sum := 0.0
	for i, x := range weight {
		sum += x
		upTo[i] = sum
	}
	rng := random.New(1)
	const draws = 200_000
	var u []float64
	for range draws {
		cell := sort.SearchFloat64s(upTo, rng.Float64()*sum)
		u = append(u, input.rank(int32(min(cell, len(upTo)-1)), rng.Uint64()))
	}
	slices.Sort(u)
	worst := 0.0
	for i, x := range u {
		worst = math.Max(worst, math.Abs(x-float64(i)/draws))
	}
	if worst > 0.01 { // the 1 % point of Kolmogorov's statistic is 0.0036; the pool is discretised to 64 draws a cell
		t.Errorf("ranks are up to %.4f off uniform", worst)
	}
}

func TestTurnsGrowAndAreCompacted(t *testing.T) {
	w := build(t, DefaultParams(), 1)
	p := DefaultParams()
	rapid.Check(t, func(t *rapid.T) {
		m := &w.Models[rapid.IntRange(0, 19).Draw(t, "model")]
		var s Session
		m.start(&s, random.Seeded(rapid.Uint64().Draw(t, "stream")), int32(rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")), 0)
		now := rapid.Int64Range(0, 7*86400*1e6-1).Draw(t, "now")
		before := Session{}
		for s.More() {
			m.NextTurn(&s, now)
			if s.Prompt < 1 || s.Output < 1 || int(s.Prompt) > p.MaxPrompt || int(s.Output) > p.MaxOutput || s.Prefix > s.Prompt {
				t.Fatalf("turn %d: prompt %d, prefix %d, output %d", s.Turn, s.Prompt, s.Prefix, s.Output)
			}
			if s.Turn > 0 && s.Prefix > 0 && s.Prefix != min(before.Prompt+before.Output, s.Prompt) {
				t.Fatalf("turn %d: prefix %d after a prompt of %d and an answer of %d", s.Turn, s.Prefix, before.Prompt, before.Output)
			}
			if s.Prefix == 0 && s.Turn > 0 && int(s.Prompt) != p.CompactTo {
				t.Fatalf("turn %d: a compacted prompt has %d tokens", s.Turn, s.Prompt)
			}
			if m.NextAt(&s, now) < now || m.Patience(&s) < 0 {
				t.Fatal("negative time")
			}
			before = s
		}
		if s.Turn+1 != s.Turns {
			t.Fatalf("%d turns of %d", s.Turn+1, s.Turns)
		}
	})
}

func TestGapsOfTheRecordingsAreFilled(t *testing.T) {
	traces, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	filled, gaps := fillGaps(traces)
	if gaps != 84+37 { // the silent windows of m-mid and m-small
		t.Errorf("%d gaps filled, want 121", gaps)
	}
	for _, tr := range filled {
		if n := tr.CoveredWindows(); n != tr.Windows {
			t.Errorf("trace %s: %d of %d windows are covered", tr.Name, n, tr.Windows)
		}
	}
}

func TestParamsAreChecked(t *testing.T) {
	if err := DefaultParams().Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Params){
		"no requests":     func(p *Params) { p.RequestsPerWeek = 0 },
		"short share 1":   func(p *Params) { p.ShortShare = 1 },
		"mean under geo":  func(p *Params) { p.MeanInput = p.GeoMeanInput / 2 },
		"nan":             func(p *Params) { p.GapSigma = math.NaN() },
		"compaction":      func(p *Params) { p.CompactAt = p.CompactTo - 1 },
		"flash":           func(p *Params) { p.Flash = []Flash{{StartH: 1, Hours: 0, Factor: 2}} },
		"infinite output": func(p *Params) { p.LongMedian = math.Inf(1) },
	} {
		p := DefaultParams()
		spoil(&p)
		if p.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFlashAddsVolume(t *testing.T) {
	p := DefaultParams()
	count := func(p Params) int {
		w := build(t, p, 1)
		a := w.Models[0].Arrivals(1)
		n := 0
		for a.Next() < 4*3600e6 {
			if a.Next() >= 2*3600e6 {
				n++
			}
			a.Pop(new(Session))
		}
		return n
	}
	before := count(p)
	p.Flash = []Flash{{StartH: 2, Hours: 2, Factor: 3}}
	if ratio := float64(count(p)) / float64(before); ratio < 2.6 || ratio > 3.4 {
		t.Errorf("a flash of 3 makes %.2f times the conversations", ratio)
	}
}

func BenchmarkNew(b *testing.B) {
	traces, err := Traces()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := New(names(20), traces, DefaultParams(), 7, 1, 1); err != nil {
			b.Fatal(err)
		}
	}
}
