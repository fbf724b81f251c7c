package reports

import (
	"fmt"
	"math"
	"time"

	"switchback/stats"
)

// wave is a smooth number in [−1, 1], so that the fixtures look like data and never change.
func wave(i, j int) float64 {
	return 0.6*math.Sin(1.7*float64(i)+0.9*float64(j)) + 0.4*math.Cos(0.05*float64(i*i)+2.3*float64(j))
}

// round keeps fixtures free of digits that depend on the processor.
func round(x float64) *float64 {
	r := math.Round(x*1e6) / 1e6
	return &r
}

// withSeries adds the series behind all figures.
func withSeries(doc Document) Document {
	start := doc.Window.Start
	featured := FeaturedMetrics(doc.Decision)
	base := map[string]float64{"ttft_p50": 1000, "throughput_p50": 62, "cost_per_1k_requests": 1.25, "hit_429": .07, "caller_ttft_p95": 6000, "error_rate": .012, "tool_call_ok": .98}
	gain := map[string]float64{"ttft_p50": .83, "throughput_p50": 1.16, "cost_per_1k_requests": 1.06, "hit_429": .45, "caller_ttft_p95": .75, "error_rate": .99, "tool_call_ok": 1.003}
	for i := range 56 {
		arm, treated := doc.Arms.Control, (i/2*7/3+i)%2 == 1
		if treated {
			arm = doc.Arms.Treatment
		}
		from := start.Add(time.Duration(i) * 3 * time.Hour)
		b := BlockPoint{
			BlockID: fmt.Sprint(i + 1), PairID: fmt.Sprint(i/2 + 1), Day: i/8 + 1, Slot: i % 8, Arm: arm,
			Starts: from, BurnInEnds: from.Add(time.Hour), Ends: from.Add(3 * time.Hour),
			Rows: 35_000 + int64(9_000*wave(i, 0)), BurnInRows: 11_800 + int64(3_000*wave(i, 0)),
		}
		for k, id := range featured {
			v := base[id] * (1 + .25*math.Sin(float64(i%8)/8*2*math.Pi)) * (1 + .06*wave(i, k))
			if treated {
				v *= gain[id]
			}
			b.Values = append(b.Values, MetricValue{id, round(v)})
		}
		doc.Blocks = append(doc.Blocks, b)
		for h := range 3 {
			usd := b.Values[0].Value
			doc.Spend = append(doc.Spend, SpendHour{Hour: from.Add(time.Duration(h) * time.Hour), Arm: arm, USD: round(*usd / 70), Requests: b.Rows / 3})
		}
	}
	for k, id := range featured {
		for m := 0; m < 180; m += 10 {
			full := gain[id] - 1
			settled := 1 - math.Exp(-float64(m+5)/18)
			e := full*settled + .004*wave(m, k)
			doc.SinceSwitch = append(doc.SinceSwitch, SinceSwitchPoint{
				Metric: id, FromMinute: float64(m), ToMinute: float64(m + 10), InBurnIn: m < 60, Pairs: 28,
				Relative: stats.Effect{Estimate: round(e), Lo: round(e - .05), Hi: round(e + .055)},
			})
		}
	}
	for i, p := range []string{"deepinfra/fp8", "fireworks", "together", "novita/fp8", "parasail", "nebius/fp8", "groq", "cerebras", "chutes"} {
		s := .3 * math.Exp(-float64(i)/2.5)
		doc.Providers = append(doc.Providers, ProviderRow{
			Provider:  p,
			Control:   ProviderArm{Requests: int64(660_000 * s), Share: round(s), USDPerMTokens: round(.2 + .06*float64(i)), TTFTp50: round(1200 - 90*float64(i)), ThroughputP50: round(40 + 14*float64(i)), Rate429: round(.09 / float64(i+1)), ErrorRate: round(.01 + .001*wave(i, 3))},
			Treatment: ProviderArm{Requests: int64(660_000 * s * .9), Share: round(s * (.7 + .12*float64(i))), USDPerMTokens: round(.2 + .06*float64(i)), TTFTp50: round(1100 - 90*float64(i)), ThroughputP50: round(43 + 14*float64(i)), Rate429: round(.04 / float64(i+1)), ErrorRate: round(.01 + .001*wave(i, 4))},
		})
	}
	doc.Providers = append(doc.Providers, ProviderRow{Provider: "idle|provider", Control: ProviderArm{}, Treatment: ProviderArm{Requests: 3, Share: ptr(.000004)}})
	if doc.Simulated { // a gateway's log does not tell
		doc.Dearer = dearerFixture()
	}
	doc.Diagnostics.Checks = []Check{
		{ID: CheckPredecessor, Metric: "ttft_p50", Value: ptr(.004), Lo: ptr(-.021), Hi: ptr(.030), PValue: ptr(.71), Outcome: CheckOK},
		{ID: CheckOrder, Metric: "ttft_p50", Value: ptr(-.012), Lo: ptr(-.05), Hi: ptr(.027), PValue: ptr(.55), Outcome: CheckOK},
		{ID: CheckPlacebo, Metric: "ttft_p50", Value: ptr(.011), Lo: ptr(-.031), Hi: ptr(.055), PValue: ptr(.60), Outcome: CheckOK},
		{ID: CheckAutocorrelation, Metric: "ttft_p50", Value: ptr(.31), PValue: ptr(.09), Outcome: CheckOK},
		{ID: CheckLeavePairOut, Metric: "hit_429", Subject: "17", Value: ptr(-.64), Lo: ptr(-.68), Hi: ptr(-.64), Outcome: CheckOK},
		{ID: CheckLeaveClientOut, Metric: "cost_per_1k_requests", Subject: "whale|7", Value: ptr(.031), Lo: ptr(.031), Hi: ptr(.064), Outcome: CheckAttention},
		{ID: CheckEffectivePairs, Metric: "hit_429", Value: ptr(11.3), Outcome: CheckAttention},
		{ID: CheckBurnIn, Metric: "ttft_p50", Subject: "30m", Value: ptr(.008), Lo: ptr(.001), Hi: ptr(.016), Outcome: CheckAttention},
		{ID: CheckVolume, Value: ptr(.0016), Lo: ptr(-.02), Hi: ptr(.024), PValue: ptr(.88), Outcome: CheckOK},
		{ID: CheckWidthsHalfSample, Metric: "total_p95", Value: ptr(.04), Outcome: CheckOK},
		{ID: "a_later_check", Metric: "", Outcome: CheckNotMeasurable},
	}
	doc.Metrics = append(doc.Metrics,
		modelRow("deepseek/deepseek-chat-v3", "throughput_p50", "tokens/s", 41, effect(.21, .16, .27), stats.VerdictBetter),
		modelRow("qwen/qwen3-235b-a22b", "throughput_p50", "tokens/s", 88, effect(.06, .02, .11), stats.VerdictBetter))
	return doc
}

// withNights adds another report to compare with, and the nights before.
func withNights(doc Document) Document {
	other := doc
	other.ReportDate, other.Method.Seed = "2026-11-01", 8
	other.Metrics = append([]stats.Estimate{}, doc.Metrics...)
	for i := range other.Metrics {
		r := other.Metrics[i].Relative
		if r.Estimate != nil {
			other.Metrics[i].Relative = stats.Effect{Estimate: round(*r.Estimate * .9), Lo: round(*r.Lo - .01), Hi: round(*r.Hi + .01)}
		}
	}
	c := Compare(doc, other)
	doc.Comparison = &c
	var earlier []Document
	for night := range 6 {
		d := doc
		d.ReportDate = fmt.Sprintf("2026-11-%02d", night+2)
		d.Provisional, d.Incomplete = true, night == 3
		d.Metrics = append([]stats.Estimate{}, doc.Metrics...)
		for i := range d.Metrics {
			e := &d.Metrics[i]
			if e.Relative.Estimate == nil {
				continue
			}
			w := (*e.Relative.Hi - *e.Relative.Lo) * math.Sqrt(7/float64(night+1)) / 2
			x := *e.Relative.Estimate + .3*w*wave(night, i)
			e.Relative = stats.Effect{Estimate: round(x), Lo: round(x - w), Hi: round(x + w)}
			e.Pairs = 4 * (night + 1)
		}
		earlier = append(earlier, d)
	}
	doc.History = HistoryOf(doc, earlier)
	return doc
}

// manyModelsDocument is a report of n models.
func manyModelsDocument(n int) Document {
	doc := withSeries(normalDocument())
	doc.Metrics = publishedTable()
	for i := range n {
		model := fmt.Sprintf("lab-%02d/some-model-%03d-instruct", i%17, i)
		for k, e := range publishedTable() {
			x := *e.Relative.Estimate * (1 + .8*wave(i, k))
			w := math.Abs(*e.Relative.Estimate) * (.5 + .4*wave(i+3, k))
			verdict := e.Verdict
			if (x-w)*(x+w) < 0 {
				verdict = stats.VerdictNone
			}
			row := modelRow(model, e.ID, e.Unit, *e.Control, stats.Effect{Estimate: round(x), Lo: round(x - w), Hi: round(x + w)}, verdict)
			doc.Metrics = append(doc.Metrics, row)
		}
	}
	return doc
}

// dearerFixture has a busy model, one that the treatment never served, and one whose name tries to break out of its cell.
func dearerFixture() *Dearer {
	return &Dearer{
		Control:   DearerArm{660_102, 140_221, ptr(.21242), ptr(24.1273), ptr(.036551), ptr(.030011)},
		Treatment: DearerArm{659_340, 309_778, ptr(.46983), ptr(72.9102), ptr(.110580), ptr(.083402)},
		Models: []DearerModel{
			{"deepseek/deepseek-chat-v3", DearerArm{640_000, 130_000, ptr(.203125), ptr(23.9), ptr(.037344), ptr(.031)}, DearerArm{650_000, 309_000, ptr(.475385), ptr(72.4), ptr(.111385), ptr(.0841)}},
			{"free|`model`", DearerArm{9_340, 0, ptr(0.), ptr(0.), ptr(0.), nil}, DearerArm{9_340, 778, ptr(.083298), ptr(.5102), ptr(.054625), ptr(.0208)}},
			{"qwen/qwen3-235b-a22b", DearerArm{20_102, 10_221, ptr(.508457), ptr(.2273), ptr(.011307), ptr(.0042)}, DearerArm{}},
		},
	}
}
