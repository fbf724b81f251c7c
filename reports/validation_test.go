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
		"- Coverage is 93% to 97%: TTFT p50.",
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

// TestCoverageWarnings: a report tells which of its intervals did not hold the truth as often as they say, and what the
// experiments show of the reason.
func TestCoverageWarnings(t *testing.T) {
	doc := normalDocument()
	v := validationFixture()
	if w := v.CoverageWarnings(doc); len(w) != 0 {
		t.Errorf("95 %% of 200: %v", w)
	}
	missed := func(hits int, share, bias, widthLog float64, below int) Validation {
		v := validationFixture()
		m := &v.Metrics[0]
		m.BurnIns[1].Bias.Log = number64(bias)
		m.Intervals[0].Covers = Share{Hits: hits, Trials: 200, Share: &share, Lo: number64(share - .03), Hi: number64(share + .03)}
		m.Intervals[0].WidthLog, m.Intervals[0].Below, m.Intervals[0].Above = number64(widthLog), below, 200-hits-below
		return v
	}
	// The spread of the fixture is 5.66 log points. Student's t with 27 degrees of freedom is 2.0518 at 97.5 %, so an
	// interval that allows for as much is 0.2323 wide.
	const subject = "TTFT p50: the 95% interval (expanded) held the true effect in "
	for name, c := range map[string]struct {
		v    Validation
		want string
	}{
		"narrow": {missed(180, .90, 0.001, 0.18, 9), "90.0% (87.0–93.0) of 200 simulated experiments of 28 pairs, not in 93% to 97%: the estimates scatter by 5.7 log points about the truth, and the intervals allow for 4.4; the pairs of one experiment"},
		"biased": {missed(180, .90, -0.03, 0.2323, 18), "the estimates are off by −3.0 log points on average, beside a spread of 5.7; the truth lay below the interval 18 times and above it 2 times"},
		"tails":  {missed(180, .90, 0.001, 0.2323, 10), "and the intervals allow for 5.7, enough on average; experiments with a large error"},
		"wide":   {missed(198, .99, 0.001, 0.30, 1), "allow for 7.3; a balanced order of the arms takes noise out"},
		"short":  {missed(198, .99, 0.001, 0.2323, 1), "the errors have shorter tails than normal ones"},
	} {
		w := c.v.CoverageWarnings(doc)
		if len(w) != 1 || w[0].Code != WarningCoverage || !strings.HasPrefix(w[0].Text, subject) || !strings.Contains(w[0].Text, c.want) {
			t.Errorf("%s: %v, want %q", name, w, c.want)
		}
		page, err := RenderValidation(c.v)
		if err != nil || !strings.Contains(string(page[0].Bytes), strings.TrimPrefix(c.want, "90.0% (87.0–93.0) of 200 simulated experiments of 28 pairs, not in 93% to 97%: ")) {
			t.Errorf("%s: the page does not tell the reason (%v)", name, err)
		}
	}
	old := missed(180, .90, 0.001, 0.18, 9)
	old.Metrics[0].Intervals[0].WidthLog = nil
	if w := old.CoverageWarnings(doc); len(w) != 1 || !strings.HasSuffix(w[0].Text, "not in 93% to 97%") {
		t.Errorf("without widths: %v", w)
	}
	narrow := missed(180, .90, 0.001, 0.18, 9)
	for name, change := range map[string]func(*Document){
		"another kind":       func(d *Document) { d.Method.Interval = "t" }, // which holds 95 % in the fixture
		"slot adjustment":    func(d *Document) { d.Method.SlotAdjustment = true },
		"another confidence": func(d *Document) { d.Method.Confidence = 0.9 },
		"other weights":      func(d *Document) { d.Method.Weights = "traffic" },
		"no interval":        func(d *Document) { d.Metrics[0].Relative.Lo = nil },
	} {
		other := normalDocument()
		change(&other)
		if w := narrow.CoverageWarnings(other); len(w) != 0 {
			t.Errorf("%s: %v", name, w)
		}
	}
}

// TestValidated: the validation that the program carries is one of all published measures.
func TestValidated(t *testing.T) {
	v, err := Validated()
	if err != nil {
		t.Fatal(err)
	}
	var ids, want []string
	for _, m := range v.Metrics {
		ids = append(ids, m.ID)
	}
	for _, m := range publishedTable() {
		want = append(want, m.ID)
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
	if _, err := DecodeValidation([]byte(`{"schema_version": 2}`)); err == nil {
		t.Error("another version is read")
	}
}
