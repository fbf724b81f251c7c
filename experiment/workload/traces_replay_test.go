package workload

import (
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Row count, span, quantiles and first rows of AzureLLMInferenceTrace_conv.csv.
func TestAzureConversation(t *testing.T) {
	trace, err := AzureConversation()
	if err != nil {
		t.Fatal(err)
	}
	if len(trace) != 19_366 {
		t.Errorf("%d requests, want 19,366", len(trace))
	}
	// 18:15:46.6805900,374,44 · 18:15:50.9951690,396,109 · 18:15:51.2224670,879,55
	want := []Arrival{{0, 374, 44, nil}, {4_314_579, 396, 109, nil}, {4_541_877, 879, 55, nil}}
	if d := cmp.Diff(want, trace[:3]); d != "" {
		t.Errorf("first requests (-want +got):\n%s", d)
	}
	if s := trace[len(trace)-1].AtUS / 1e6; s < 3_500 || s > 3_503 {
		t.Errorf("span %d s, want 3,502", s)
	}
	if !slices.IsSortedFunc(trace, func(a, b Arrival) int { return int(a.AtUS - b.AtUS) }) {
		t.Error("arrivals are not sorted by time")
	}
	var in, out []int
	for _, a := range trace {
		in, out = append(in, a.InputTokens), append(out, a.OutputTokens)
	}
	slices.Sort(in)
	slices.Sort(out)
	got := []int{in[len(in)/2], in[len(in)*95/100], out[len(out)/2], out[len(out)*95/100]}
	for i, w := range []int{1020, 4083, 129, 451} {
		if math.Abs(float64(got[i]-w)) > 0.01*float64(w) {
			t.Errorf("token quantiles %v, want 1020 4083 129 451", got)
			break
		}
	}
}

// First line of conversation_trace.jsonl, and the longest id of its first 1,000 lines.
func TestMooncakeConversation(t *testing.T) {
	trace, err := MooncakeConversation()
	if err != nil {
		t.Fatal(err)
	}
	want := Arrival{0, 6758, 500, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}}
	if d := cmp.Diff(want, trace[0]); d != "" {
		t.Errorf("first request (-want +got):\n%s", d)
	}
	if last := trace[len(trace)-1]; len(trace) != 1000 || last.AtUS != 330_000_000 {
		t.Errorf("%d requests until %d µs, want 1,000 until 330 s", len(trace), last.AtUS)
	}
	top := int32(0)
	for i, a := range trace {
		top = max(top, slices.Max(a.Blocks))
		if blocks := (a.InputTokens + 511) / 512; blocks != len(a.Blocks) {
			t.Fatalf("request %d: %d tokens in %d blocks, want %d", i, a.InputTokens, len(a.Blocks), blocks)
		}
	}
	if top != 21_513 {
		t.Errorf("largest block id %d, want 21,513", top)
	}
}

// The published analysis of the same trace: 7,373 conversations of 1.63 turns (p95 4, at most 43), gaps of 123, 480
// and 1,482 s at p50, p90 and p99, and 36.6 % of the blocks found in an unbounded cache.
func TestMooncakeStats(t *testing.T) {
	s, err := MooncakeStats()
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests != 12_031 || s.Conversations != 7_373 || s.MaxTurns != 43 || s.Turns.P95 != 4 {
		t.Errorf("got %+v", s)
	}
	if math.Abs(float64(s.Turns.Mean)-1.63) > 0.005 || math.Abs(s.BlockHitShare-0.366) > 0.0005 {
		t.Errorf("turns %g, hits %g; want 1.63 and 0.366", s.Turns.Mean, s.BlockHitShare)
	}
	gaps := []float64{math.Round(float64(s.GapSeconds.P50)), math.Round(float64(s.GapSeconds.P90)), math.Round(float64(s.GapSeconds.P99))}
	if d := cmp.Diff([]float64{123, 480, 1482}, gaps); d != "" {
		t.Errorf("gaps (-want +got):\n%s", d)
	}
}

func TestAgentSessions(t *testing.T) {
	sessions, err := AgentSessions()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 0
	for i, s := range sessions {
		rounds += len(s.Rounds)
		for k, r := range s.Rounds {
			if last := k == len(s.Rounds)-1; last != (r.ToolWaitMS == 0) {
				t.Errorf("session %d round %d: tool wait %d ms", i, k, r.ToolWaitMS)
			}
			if k > 0 {
				before := s.Rounds[k-1]
				if r.PrefixTokens != before.PrefixTokens+before.NewTokens+before.OutputTokens {
					t.Errorf("session %d round %d: prefix of %d tokens doesn't follow from %+v", i, k, r.PrefixTokens, before)
				}
			}
		}
	}
	if len(sessions) != 48 || rounds != 303 {
		t.Errorf("%d sessions with %d rounds, want 48 and 303", len(sessions), rounds)
	}
	want := AgentSession{117, []AgentRound{{0, 2318, 200, 300}, {2518, 348, 131, 154}, {2997, 812, 104, 0}}}
	if d := cmp.Diff(want, sessions[0]); d != "" {
		t.Errorf("first session (-want +got):\n%s", d)
	}
}

// BurstGPT: 1,429,737 requests in 61 days; the peak hour has 11.7 times the requests of the quietest.
func TestHoursOfDay(t *testing.T) {
	hours, err := HoursOfDay()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, h := range hours {
		sum += h
	}
	if math.Abs(sum*61-1_429_737) > 1000 {
		t.Errorf("%.0f requests in 61 days, want 1,429,737", sum*61)
	}
	if hours[7] != slices.Min(hours[:]) || hours[14] != slices.Max(hours[:]) || math.Abs(hours[14]/hours[7]-11.7) > 0.05 {
		t.Errorf("peak %g, quietest %g", hours[14], hours[7])
	}
}

// Each embedded file has its origin in NOTICE.md, and all together stay small.
func TestEmbeddedFiles(t *testing.T) {
	size := int64(len(notice))
	err := fs.WalkDir(files, "data", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		if name := d.Name(); !strings.Contains(Notice(), "`"+name+"`") {
			t.Errorf("%s: not in NOTICE.md", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > 2<<20 {
		t.Errorf("embedded files have %d bytes, at most 2 MiB are allowed", size)
	}
}
