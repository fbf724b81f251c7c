package reports

import (
	"time"

	"switchback/stats"
)

func ptr[T any](x T) *T { return &x }

func effect(estimate, lo, hi float64) stats.Effect {
	return stats.Effect{Estimate: ptr(estimate), Lo: ptr(lo), Hi: ptr(hi)}
}

// publishedRow makes an overall row whose relative effect is the published one. Levels and interval ends are those of the
// result table of the OpenRouter announcement of 28 Oct 2026.
func publishedRow(id, unit string, control, treatment float64, relative, absolute stats.Effect, verdict string) stats.Estimate {
	w := *relative.Hi - *relative.Lo
	return stats.Estimate{
		ID: id, Unit: unit, Scope: scopeOverall, Estimand: "geometric mean over models of the ratio of treatment to control, minus 1",
		Control: ptr(control), Treatment: ptr(treatment), Relative: relative, Absolute: absolute,
		RatioOfLevels: ptr(treatment/control - 1),
		HalfSample:    stats.Bounds{Lo: ptr(*relative.Lo - .02*w), Hi: ptr(*relative.Hi + .03*w)},
		SlotAdjusted:  effect(*relative.Estimate*.99, *relative.Lo+.1*w, *relative.Hi-.1*w),
		TwoWay:        stats.Bounds{Lo: ptr(*relative.Lo - .2*w), Hi: ptr(*relative.Hi + .2*w)},
		Simultaneous:  stats.Bounds{Lo: ptr(*relative.Lo - .25*w), Hi: ptr(*relative.Hi + .25*w)},
		MCError:       ptr(0.0005), PValue: ptr(0.00019998), PAdjusted: ptr(0.0023998), PMaxT: ptr(0.00059994),
		Pairs: 28, Models: 20, Verdict: verdict,
	}
}

// publishedTable holds the twelve published rows.
func publishedTable() []stats.Estimate {
	const better, worse = stats.VerdictBetter, stats.VerdictWorse
	return []stats.Estimate{
		publishedRow("ttft_p50", "ms", 1007, 837, effect(-.169, -.198, -.139), effect(-170, -201, -139), better),
		publishedRow("ttft_p95", "ms", 4601, 3733, effect(-.189, -.219, -.157), effect(-868, -1010, -720), better),
		publishedRow("throughput_p50", "tokens/s", 62.4, 72.6, effect(.163, .138, .189), effect(10.2, 8.6, 11.8), better),
		publishedRow("cost_per_1k_requests", "USD", 1.25, 1.32, effect(.060, .051, .070), effect(.075, .063, .088), worse),
		publishedRow("cost_per_1m_tokens", "USD", .301, .324, effect(.073, .049, .096), effect(.022, .015, .029), worse),
		publishedRow("caller_ttft_p50", "ms", 1130, 941, effect(-.167, -.197, -.138), effect(-189, -223, -155), better),
		publishedRow("caller_ttft_p95", "ms", 6032, 4504, effect(-.253, -.290, -.216), effect(-1528, -1750, -1300), better),
		publishedRow("total_p50", "ms", 4000, 3240, effect(-.190, -.236, -.142), effect(-760, -950, -570), better),
		publishedRow("total_p95", "ms", 41500, 34900, effect(-.160, -.197, -.122), effect(-6600, -8200, -5000), better),
		publishedRow("hit_429", "fraction", .071, .038, effect(-.67, -.72, -.62), effect(-.034, -.042, -.025), better),
		publishedRow("needed_retry", "fraction", .104, .069, effect(-.47, -.52, -.41), effect(-.035, -.044, -.026), better),
		publishedRow("failed_ms", "ms", 349, 242, effect(-.55, -.60, -.48), effect(-106, -181, -35), better),
	}
}

// modelRow makes a row of one model.
func modelRow(model, id, unit string, control float64, relative stats.Effect, verdict string, warnings ...string) stats.Estimate {
	e := publishedRow(id, unit, control, control*(1+*relative.Estimate), relative, stats.Effect{}, verdict)
	e.Scope, e.Models, e.Warnings = scopeModelPrefix+model, 1, warnings
	e.PAdjusted, e.PMaxT, e.TwoWay, e.Simultaneous = nil, nil, stats.Bounds{}, stats.Bounds{}
	return e
}

// normalDocument is a report in its normal state: everything measured, nothing missing.
func normalDocument() Document {
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	metrics := publishedTable()
	metrics = append(metrics,
		publishedRow("error_rate", "fraction", .0121, .0119, effect(-.012, -.051, .028), effect(-.0002, -.0008, .0004), stats.VerdictNone),
		publishedRow("tool_call_ok", "fraction", .981, .984, effect(.0031, .0012, .0050), effect(.003, .0012, .0049), stats.VerdictBetter),
		publishedRow("provider_switches", "fraction", .021, .034, effect(.61, .48, .77), effect(.013, .010, .016), stats.VerdictHigher),
		publishedRow("ttft_p50_pooled_models", "ms", 954, 812, effect(-.149, -.181, -.115), effect(-142, -174, -110), stats.VerdictBetter),
		modelRow("deepseek/deepseek-chat-v3", "ttft_p50", "ms", 1320, effect(-.28, -.33, -.22), stats.VerdictBetter),
		modelRow("deepseek/deepseek-chat-v3", "cost_per_1k_requests", "USD", 1.9, effect(.041, .022, .061), stats.VerdictWorse),
		modelRow("deepseek/deepseek-chat-v3", "hit_429", "fraction", .12, effect(-.71, -.79, -.60), stats.VerdictBetter),
		modelRow("qwen/qwen3-235b-a22b", "ttft_p50", "ms", 740, effect(-.02, -.06, .03), stats.VerdictNone),
		modelRow("qwen/qwen3-235b-a22b", "cost_per_1k_requests", "USD", .8, effect(.012, -.004, .029), stats.VerdictNone),
		modelRow("qwen/qwen3-235b-a22b", "hit_429", "fraction", .002, effect(-.2, -.6, .5), stats.VerdictNone, "few_events"),
	)
	return Document{
		SchemaVersion: SchemaVersion,
		Experiment:    "openrouter-week",
		ReportDate:    "2026-11-08",
		Simulated:     true,
		Window:        Window{start, start.AddDate(0, 0, 7)},
		Arms:          Arms{"price", "routing-cost"},
		Design: Design{
			Start: start, Days: 7, BlockSeconds: 3 * 3600, BurnInSeconds: 3600, BurnInScope: "block", Order: "slot-balanced",
			Schedule: ScheduleDrawn, Pairs: 28, Blocks: 56, BlocksControl: 28, TreatmentFirst: 14,
		},
		Method:  Method{Interval: "expanded", Replicates: 10_000, Confidence: .95, Weights: "equal", Seed: 7, MinPairs: 2},
		Metrics: metrics,
		Diagnostics: Diagnostics{
			Health: Health{
				Read: 2_000_112, Kept: 1_331_046, KeptControl: 664_981, KeptTreatment: 666_065,
				BurnInDropped: 668_950, BurnInControl: 334_120, BurnInTreatment: 334_830, OutsideWindow: 116,
				ByStatus:      []Count{{"ok", 1_312_004}, {"error", 14_102}, {"error_midstream", 1_840}, {"cancelled", 3_100}},
				Quality:       []Count{{"straddles_block", 4_210}},
				Nulls:         []NullShare{{"tool_call_ok", ptr(.8205), ptr(.82), ptr(.821)}, {"ttft_ms", ptr(.0105), ptr(.0107), ptr(.0103)}},
				BornElsewhere: ArmCount{ptr(int64(21_034)), ptr(int64(19_872))},
				Straddling:    ArmCount{ptr(int64(2_300)), ptr(int64(1_910))},
			},
			Excluded: []stats.Exclusion{{Metric: "hit_429", Model: "mistralai/mistral-nemo", Reason: "no events in either arm"}},
		},
		Notes: []string{"The arrivals of one real day are repeated daily."},
		Provenance: Provenance{
			Command: "switchback run --seed 7", Version: "v0.1.0", Commit: "257b578", GoVersion: "go1.26.8", Platform: "linux/amd64", DuckDB: "v1.1.2",
			ConfigHash:   "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
			ScheduleHash: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
			LogHash:      "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13",
			PriceBook:    "2025-07-15",
		},
	}
}
