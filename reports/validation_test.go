package reports

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func number64(x float64) *float64 { return &x }

// validationFixture has one measure that the intervals hold and one that nobody could measure.
func validationFixture() Validation {
	mean := func(log float64) LogMean {
		return LogMean{Experiments: 200, Relative: number64(math.Expm1(log)), Log: number64(log), SE: number64(0.004), SD: number64(0.0566)}
	}
	share := func(hits int, p, lo, hi float64) Share {
		return Share{Hits: hits, Trials: 200, Share: number64(p), Lo: number64(lo), Hi: number64(hi)}
	}
	good, low := share(190, .95, .9104, .9726), share(170, .85, .7939, .8929)
	kind := func(kind string, s Share, width float64) IntervalValidation {
		return IntervalValidation{Kind: kind, Covers: s, CoversMean: low, Width: number64(width), RMSE: number64(0.03)}
	}
	known := MetricValidation{ID: "ttft_p50", Truth: mean(-0.2),
		BurnIns: []EstimateValidation{
			{What: "switchback", BurnIn: 0, Estimate: mean(-0.15), Bias: mean(0.05)},
			{What: "switchback", BurnIn: 3600, Estimate: mean(-0.199), Bias: mean(0.001)},
		},
		Intervals: []IntervalValidation{kind("expanded", good, 0.10), kind("half-sample", good, 0.104), kind("percentile", low, 0.094),
			kind("basic", low, 0.094), kind("bca", low, 0.09), kind("t", good, 0.102), kind("slot-adjusted", good, 0.08)},
		SameArms: []AlarmValidation{
			{Router: "price", ByInterval: share(10, .05, .0274, .0896), ByPValue: share(8, .04, .0204, .0769), SlotAdjusted: share(30, .15, .1071, .2061), Effect: mean(0)},
			{Router: "routing-cost", ByInterval: share(30, .15, .1071, .2061), ByPValue: share(8, .04, .0204, .0769), SlotAdjusted: share(10, .05, .0274, .0896), Effect: mean(0)},
		},
	}
	for _, world := range []string{"switchback", "ab", "ab-request"} {
		interval := kind("expanded", low, 0.02)
		known.Naive = append(known.Naive, EstimateValidation{What: world, Estimate: mean(-0.24), Bias: mean(-0.04), Interval: &interval})
	}
	none := MetricValidation{ID: "hit_429", BurnIns: []EstimateValidation{{What: "switchback"}, {What: "switchback", BurnIn: 3600}},
		Intervals: []IntervalValidation{{Kind: "expanded", NotMeasured: 200}}, SameArms: []AlarmValidation{{Router: "price"}, {Router: "routing-cost"}}}
	for _, world := range []string{"switchback", "ab", "ab-request"} {
		none.Naive = append(none.Naive, EstimateValidation{What: world, Interval: &IntervalValidation{Kind: "expanded"}})
	}
	return Validation{
		SchemaVersion: ValidationSchema, Scenario: "openrouter-week", Arms: Arms{Control: "price", Treatment: "routing-cost"},
		Experiments: 200, ABTests: 50, FirstSeed: 7, Requests: 600_000_000, Logged: 40_000, Models: []string{"a/b", "c/d"},
		Days: 7, Pairs: 28, Block: 10800, BurnIn: 3600, Order: "slot-balanced", Interval: "expanded", Confidence: 0.95, Replicates: 2000, Weights: "equal",
		Metrics: []MetricValidation{known, none}, Command: "switchback validate", Version: "1.0.0",
	}
}

func TestValidationPage(t *testing.T) {
	files, err := RenderValidation(validationFixture())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"validation.md", "validation.json", "coverage.svg"}, names); diff != "" {
		t.Fatal(diff)
	}
	text := string(files[0].Bytes)
	for _, want := range []string{
		"200 experiments were simulated in scenario `openrouter-week` (600,000,000 requests in all)",
		"- Coverage agrees with 93% to 97%: TTFT p50.",
		"- The measured shares run from 95.0% (TTFT p50) to 95.0% (TTFT p50).",
		"- Nothing was measured of Hit at least one 429.",
		"- **False alarms are outside 3% to 7%:** TTFT p50 with `routing-cost` (15.0% (10.7–20.6)).",
		"| TTFT p50 | −18.1% | −18.0% | +0.1 ± 0.4 | 95.0% (91.0–97.3) | 10.0 pt | 3.0 |",
		"| Hit at least one 429 | n/a | n/a | n/a | n/a | n/a | n/a |",
		"| TTFT p50 | 95.0% (91.0–97.3) | 95.0% (91.0–97.3) | **85.0% (79.4–89.3)** |",
		"| Width against expanded | ×1.00 | ×1.04 | ×0.94 | ×0.94 | ×0.90 | ×1.02 |",
		"the intervals are ×0.80 as wide and the errors ×1.00 as large",
		"| TTFT p50 | −18.1% | +5.0 ± 0.4 | +0.1 ± 0.4 |",
		"| TTFT p50 | −18.1% | −21.3% | −4.0 ± 0.4 | −21.3% | −4.0 ± 0.4 |",
		"Seeds 7 to 206, one experiment each: 28 pairs of 7 days, blocks of 3 h",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a number that is none on the page")
	}
	var again Validation
	if err := json.NewDecoder(bytes.NewReader(files[1].Bytes)).Decode(&again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(validationFixture(), again); diff != "" {
		t.Errorf("the JSON reads back as something else:\n%s", diff)
	}
}

// TestValidationWithoutABTests: the sections about A/B tests are left out.
func TestValidationWithoutABTests(t *testing.T) {
	v := validationFixture()
	v.ABTests = 0
	for i := range v.Metrics {
		v.Metrics[i].Naive = nil
	}
	files, err := RenderValidation(v)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(files[0].Bytes, []byte("A/B test")) {
		t.Error("the page speaks of A/B tests that did not run")
	}
}

func TestPowerTexts(t *testing.T) {
	days := 8
	p := Power{Source: "a pilot", Power: 0.8, Confidence: 0.95, PairsPerDay: 4, Days: []int{1, 7}, Effect: -0.05, Rows: []PowerRow{
		{ID: "ttft_p50", PairSD: number64(0.092), Pairs: 28, Smallest: []*float64{number64(0.21), number64(0.0519)}, DaysNeeded: &days},
		{ID: "hit_429", Smallest: []*float64{nil, nil}},
	}}
	want := PowerTable{
		Head: []string{"Measure", "Pair SD, log", "1 day", "7 days", "Days for −5%"}, Right: []bool{false, true, true, true, true},
		Rows: [][]string{{"TTFT p50", "0.092", "21.0%", "5.2%", "8"}, {"Hit at least one 429", "n/a", "n/a", "n/a", "n/a"}},
	}
	if diff := cmp.Diff(want, p.Table()); diff != "" {
		t.Error(diff)
	}
	if text := string(PowerMarkdown(p)); !strings.Contains(text, "| TTFT p50 | 0.092 | 21.0% | 5.2% | 8 |") {
		t.Error(text)
	}
	image, err := PowerFigure(p)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(image, []byte("NaN")) || bytes.Contains(image, []byte("Inf")) {
		t.Error("a coordinate that is no number")
	}
}
