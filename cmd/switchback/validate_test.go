package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"switchback/experiment"
	"switchback/stats"
)

// Wilson's intervals as printed in Newcombe, Two-sided confidence intervals for the single proportion, Statistics in
// Medicine 17 (1998), table I, method 3.
func TestShareOf(t *testing.T) {
	for _, c := range []struct {
		hits, trials int
		lo, hi       float64
	}{{81, 263, .2553, .3662}, {15, 148, .0624, .1605}, {0, 20, 0, .1611}, {1, 29, .0061, .1718}, {20, 20, .8389, 1}} {
		s := shareOf(c.hits, c.trials)
		if math.Abs(*s.Lo-c.lo) > 5e-5 || math.Abs(*s.Hi-c.hi) > 5e-5 || *s.Share != float64(c.hits)/float64(c.trials) {
			t.Errorf("%d of %d: %v (%v, %v), want (%v, %v)", c.hits, c.trials, *s.Share, *s.Lo, *s.Hi, c.lo, c.hi)
		}
	}
	if s := shareOf(0, 0); s.Share != nil || s.Lo != nil {
		t.Errorf("0 of 0: %+v", s)
	}
}

func TestLogMean(t *testing.T) {
	m := logMean([]float64{math.Log(0.5), math.Log(2), math.NaN(), math.Log(8)})
	// Logarithms −1, 1, 3 in units of ln 2: mean 1, standard deviation 2.
	if m.Experiments != 3 || math.Abs(*m.Relative-1) > 1e-12 || math.Abs(*m.SD-2*math.Ln2) > 1e-12 || math.Abs(*m.SE-2*math.Ln2/math.Sqrt(3)) > 1e-12 {
		t.Errorf("got %+v", m)
	}
	if one := logMean([]float64{0.1}); one.SE != nil || *one.Log != 0.1 {
		t.Errorf("one value: %+v", one)
	}
	if none := logMean(nil); none.Relative != nil || none.Experiments != 0 {
		t.Errorf("no value: %+v", none)
	}
}

// handMade returns four experiments of one metric, whose truths are 0, 0, 1 and unknown.
func handMade() (*validation, []trial) {
	effect := func(estimate, lo, hi float64) stats.Effect {
		return stats.Effect{Estimate: &estimate, Lo: &lo, Hi: &hi}
	}
	row := func(e stats.Effect) []finding {
		return []finding{{Relative: e, HalfSample: stats.Bounds{Lo: e.Lo, Hi: e.Hi}, SlotAdjusted: e}}
	}
	truth := func(x float64) []finding { return []finding{{Relative: stats.Effect{Estimate: &x}}} }
	p := func(x float64, e stats.Effect) []finding {
		r := row(e)
		r[0].PValue = &x
		return r
	}
	none := []finding{{}}
	v := &validation{experiments: 4, metrics: []stats.Metric{{ID: "ttft_p50"}}, burnIns: []time.Duration{0, time.Hour}}
	v.options = stats.DefaultOptions()
	v.config = defaultConfig()
	same := [2][]finding{p(0.5, effect(0, -0.1, 0.1)), none}
	trials := []trial{
		{Truth: truth(0), ByBurnIn: [][]finding{row(effect(1, 0, 0)), row(effect(0, -0.5, 0.5))}, Same: same},
		{Truth: truth(0), ByBurnIn: [][]finding{row(effect(1, 0, 0)), row(effect(1, 0.5, 1.5))}, Same: [2][]finding{p(0.01, effect(0.2, 0.1, 0.3)), none}},
		{Truth: truth(1), ByBurnIn: [][]finding{row(effect(1, 0, 0)), row(effect(1, 0.2, 1.2))}, Same: same},
		{Truth: none, ByBurnIn: [][]finding{none, none}, Same: [2][]finding{none, none}},
	}
	return v, trials
}

func TestTallyCounts(t *testing.T) {
	v, trials := handMade()
	m := v.tally(trials, 0)
	headline := m.Intervals[0]
	// The truth lies in the intervals of the first and third experiment. The mean truth is √[3]2 − 1 = 0.26, in the first
	// and third interval; widths are 1, 1, 1; the errors are 0, ln 2, 0.
	if headline.Kind != "expanded" || headline.Covers.Hits != 2 || headline.Covers.Trials != 3 || headline.NotMeasured != 1 || headline.CoversMean.Hits != 2 {
		t.Errorf("headline: %+v", headline)
	}
	if math.Abs(*headline.Width-1) > 1e-12 || math.Abs(*headline.RMSE-math.Ln2/math.Sqrt(3)) > 1e-12 {
		t.Errorf("width %v, error %v", *headline.Width, *headline.RMSE)
	}
	// The truth of the second experiment lies below its interval; on the log scale the intervals are log(1.5/.5),
	// log(2.5/1.5) and log(2.2/1.2) wide.
	if want := (math.Log(3) + math.Log(5./3) + math.Log(2.2/1.2)) / 3; headline.Below != 1 || headline.Above != 0 || math.Abs(*headline.WidthLog-want) > 1e-12 {
		t.Errorf("truth below %d, above %d, width %v", headline.Below, headline.Above, *headline.WidthLog)
	}
	if b := m.BurnIns[0].Bias; math.Abs(*b.Log-2*math.Ln2/3) > 1e-12 || b.Experiments != 3 {
		t.Errorf("bias without burn-in: %+v", b)
	}
	if b := m.BurnIns[1].Bias; math.Abs(*b.Log-math.Ln2/3) > 1e-12 || m.BurnIns[1].BurnIn != 3600 {
		t.Errorf("bias with burn-in: %+v", b)
	}
	if a := m.SameArms[0]; a.ByInterval.Hits != 1 || a.ByInterval.Trials != 3 || a.ByPValue.Hits != 1 || a.SlotAdjusted.Hits != 1 || a.Router != "price" {
		t.Errorf("alarms: %+v", a)
	}
	if a := m.SameArms[1]; a.ByInterval.Trials != 0 || a.ByInterval.Share != nil {
		t.Errorf("alarms without an interval: %+v", a)
	}
	if m.Naive != nil {
		t.Errorf("A/B tests that did not run: %+v", m.Naive)
	}
}

// TestLayouts: the schedule of a layout gives a row what the layout gave it.
func TestLayouts(t *testing.T) {
	design := experiment.DefaultDesign()
	design.Days = 2
	plan, err := experiment.Draw(design, experiment.Arms{Control: "price", Treatment: "routing-cost"})
	if err != nil {
		t.Fatal(err)
	}
	layouts := []layout{asDriven(plan), endToEnd(plan), byRequest(plan.Arms, design.Start)}
	rapid.Check(t, func(t *rapid.T) {
		ts := design.Start.Add(time.Duration(rapid.Int64Range(0, int64(50*time.Hour)).Draw(t, "ts")))
		world := rapid.SampledFrom(experiment.Worlds()).Draw(t, "world")
		row := experiment.Request{TS: experiment.InstantOf(ts), RequestID: rapid.StringN(1, 9, 9).Draw(t, "id"), Arm: plan.Arms.Control}
		if b := experiment.BlockAt(plan.Blocks, ts); b != nil {
			row.BlockID, row.InBurnIn = b.ID, experiment.Some(ts.Before(b.BurnInEnds))
			if world == experiment.WorldSwitchback {
				row.Arm = b.Arm
			}
		}
		for i, l := range layouts {
			r := row
			if i == 0 && world != experiment.WorldSwitchback {
				continue
			}
			placed := l.place(world, &r)
			b := experiment.BlockAt(l.plan.Blocks, r.TS.Time())
			if placed != (row.BlockID != "" && (i != 2 || world != experiment.WorldSwitchback || !row.InBurnIn.Value)) {
				t.Fatalf("layout %d: row at %s placed: %v", i, ts, placed)
			}
			if placed && (b == nil || b.ID != r.BlockID || b.Arm != r.Arm || r.InBurnIn.Value != r.TS.Time().Before(b.BurnInEnds)) {
				t.Fatalf("layout %d: row of %s in block %+v: %+v", i, world, b, r)
			}
		}
	})
	for i, l := range layouts {
		if pairs, lone := l.plan.Pairs(""); len(lone) > 0 || len(pairs) != len(l.plan.Blocks)/2 {
			t.Errorf("layout %d: %d pairs, %d lone blocks of %d", i, len(pairs), len(lone), len(l.plan.Blocks))
		}
	}
}

// small is a validation that takes a second or two.
func small(t testing.TB, experiments, abTests int) *validation {
	t.Helper()
	c := defaultConfig()
	c.fillSimulation()
	c.Design.Days, c.Workload.Requests = 2, 4000
	v, err := newValidation(c, experiments, abTests, 1, 200)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func quietProcess(stdout *bytes.Buffer, args ...string) *process {
	return &process{args: args, stdin: bytes.NewReader(nil), stdout: stdout, stderr: new(bytes.Buffer), now: time.Now}
}

// TestTrialIsRun: an experiment of a validation finds what the command run finds with the same seed.
func TestTrialIsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates the same two days twice")
	}
	dir := t.TempDir()
	v := small(t, 2, 0)
	found, err := v.run(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "same.toml")
	text := "schema_version = 1\nname = \"same\"\nseed = 8\n[design]\ndays = 2\n[workload]\nrequests = 4000\nmodels = [\"" + v.config.Workload.Models[0] + "\"]\n[market]\nredraw = true\n[analysis]\nreplicates = 200\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := quietProcess(new(bytes.Buffer), "run", "--config", file, "--out", dir, "--quiet")
	if code := p.execute(t.Context()); code != exitDone {
		t.Fatalf("run ended with %d: %s", code, p.stderr)
	}
	data, err := os.ReadFile(filepath.Join(dir, "latest", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results struct{ Metrics []stats.Estimate }
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	own := found.ByBurnIn[slices.Index(v.burnIns, v.config.Design.BurnIn)]
	for i, m := range v.metrics {
		at := slices.IndexFunc(results.Metrics, func(e stats.Estimate) bool { return e.ID == m.ID && e.Scope == "overall" })
		if at < 0 {
			t.Errorf("%s is not in results.json", m.ID)
			continue
		}
		if diff := cmp.Diff(results.Metrics[at].Relative, own[i].Relative); diff != "" || results.Metrics[at].Relative.Lo == nil {
			t.Errorf("%s: run (-) and validate (+):\n%s", m.ID, diff)
		}
	}
}

// TestTrialOfSameArms: in the scenario whose arms run one router, the truth is 0 to the last bit, and the pure world
// labelled by the schedule is the experiment itself, as the A/A counts of every validation assume.
func TestTrialOfSameArms(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates two days three times")
	}
	v := small(t, 2, 0)
	v.config.Market.Scenario = "a-a"
	found, err := v.run(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	own := found.ByBurnIn[slices.Index(v.burnIns, v.config.Design.BurnIn)]
	for i, m := range v.metrics {
		if truth := found.Truth[i].Relative.Estimate; truth == nil || *truth != 0 {
			t.Errorf("%s: true effect %v of a router against itself", m.ID, found.Truth[i].Relative.Estimate)
		}
		for arm, same := range found.Same {
			if diff := cmp.Diff(own[i].Relative, same[i].Relative); diff != "" || *own[i].PValue != *same[i].PValue {
				t.Errorf("%s: switchback (-) and world of arm %d (+):\n%s", m.ID, arm, diff)
			}
		}
	}
}

func TestValidateStopsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := small(t, 2, 0)
	if _, err := quietProcess(new(bytes.Buffer)).validate(ctx, v, &settings{quiet: true}, "", nil, nil); err == nil {
		t.Error("an interrupted validation gave a result")
	}
}

// BenchmarkTrial is one experiment of a validation with the default size, without A/B tests.
func BenchmarkTrial(b *testing.B) {
	c := defaultConfig()
	c.fillSimulation()
	c.Workload.Requests = validateRequests
	v, err := newValidation(c, 2, 0, validateModels, validateReplicates)
	if err != nil {
		b.Fatal(err)
	}
	requests := int64(0)
	for b.Loop() {
		t, err := v.run(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		requests += t.Requests
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
}
