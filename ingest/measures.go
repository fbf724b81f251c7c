package ingest

import (
	"fmt"

	"switchback/experiment"
	"switchback/stats"
)

// measure is what a metric is in SQL, over rows r of `requests` that the analysis keeps: a quantile of a
// quantity, or a ratio of the sums y and n. Sums of money are in nano-dollars, of times in microseconds.
type measure struct {
	id       string
	kind     stats.Kind
	scale    float64 // from sums or quantities to the metric's unit
	perMille int
	quantity string
	y, n     string // aggregates, for the kinds that are ratios of sums
}

// Scales of units.
const (
	microsToMillis    = 1e-3
	milliToUnit       = 1e-3
	nanoPerRowToPerK  = 1e-9 * 1e3
	nanoPerTokenToPer = 1e-9 * 1e6 // per million tokens
)

// retries is the number of attempts after the first, as far as it is known; greatest() alone would turn an
// unknown into 0.
const retries = "coalesce(r.n_retries, CASE WHEN r.attempts IS NOT NULL THEN greatest(r.attempts - 1, 0) END)"

// measures defines every metric. The row rules of the analysis live in this file: which rows count (here and
// in quantities), which are kept at all (Window.kept).
func measures() []measure {
	return []measure{
		{id: "ttft_p50", kind: stats.Quantile, perMille: 500, quantity: "ttft", scale: microsToMillis},
		{id: "ttft_p95", kind: stats.Quantile, perMille: 950, quantity: "ttft", scale: microsToMillis},
		{id: "throughput_p50", kind: stats.Quantile, perMille: 500, quantity: "throughput", scale: milliToUnit},
		{id: "caller_ttft_p50", kind: stats.Quantile, perMille: 500, quantity: "caller_ttft", scale: microsToMillis},
		{id: "caller_ttft_p95", kind: stats.Quantile, perMille: 950, quantity: "caller_ttft", scale: microsToMillis},
		{id: "total_p50", kind: stats.Quantile, perMille: 500, quantity: "total", scale: microsToMillis},
		{id: "total_p95", kind: stats.Quantile, perMille: 950, quantity: "total", scale: microsToMillis},
		{
			id: "cost_per_1k_requests", kind: stats.Ratio, scale: nanoPerRowToPerK,
			y: "sum(r.cost_usd) * 1000000000", n: "count(r.cost_usd)",
		},
		{
			id: "cost_per_1m_tokens", kind: stats.Ratio, scale: nanoPerTokenToPer,
			y: "sum(r.cost_usd) FILTER (r.input_tokens + r.output_tokens IS NOT NULL) * 1000000000",
			n: "sum(r.input_tokens + r.output_tokens) FILTER (r.cost_usd IS NOT NULL)",
		},
		{id: "hit_429", kind: stats.Event, scale: 1, y: "count(*) FILTER (r.n_429 >= 1)", n: "count(r.n_429)"},
		{id: "needed_retry", kind: stats.Event, scale: 1, y: "count(*) FILTER (" + retries + " >= 1)", n: "count(" + retries + ")"},
		{id: "failed_ms", kind: stats.Mean, scale: microsToMillis, y: "sum(r.failed_ms) * 1000", n: "count(r.failed_ms)"},
		{id: "events_429", kind: stats.Event, scale: 1, y: "sum(r.n_429)", n: "count(r.n_429)"},
		{id: "retries", kind: stats.Event, scale: 1, y: "sum(" + retries + ")", n: "count(" + retries + ")"},
		{
			id: "error_rate", kind: stats.Event, scale: 1,
			y: "count(*) FILTER (r.status IN ('error', 'error_midstream'))", n: "count(*) FILTER (r.status <> 'cancelled')",
		},
		{id: "tool_call_ok", kind: stats.Event, scale: 1, y: "count(*) FILTER (r.tool_call_ok)", n: "count(r.tool_call_ok)"},
		{
			id: "cache_hit_tokens", kind: stats.Event, scale: 1,
			y: "sum(r.cached_tokens) FILTER (r.input_tokens IS NOT NULL)", n: "sum(r.input_tokens) FILTER (r.cached_tokens IS NOT NULL)",
		},
		// Needs the order of a session's requests: see Summaries.switches.
		{id: "provider_switches", kind: stats.Event, scale: 1},
	}
}

// quantity is a value of one row that quantiles are taken of, as a BIGINT; NULL rows are out.
type quantity struct{ name, value string }

// micros is an exact DECIMAL(18,3) of milliseconds as whole microseconds. A double holds them exactly up to
// 2^52 µs, and the cast rounds to the nearest.
func micros(expr string) string { return "CAST(CAST(" + expr + " AS DOUBLE) * 1000 AS BIGINT)" }

// quantities defines the values that quantiles are taken of. Failed requests rank above every value in the
// caller's times. m is the row of `measurable` of r's load: a log without a column cannot say that a request
// without a value failed it.
func quantities() []quantity {
	inf := fmt.Sprint(stats.Inf)
	// The serving attempt lasted from its start, which the two TTFTs tell, to the end; else failed attempts are
	// taken off the whole.
	serving := micros("coalesce(r.total_ms - (r.caller_ttft_ms - r.ttft_ms), r.total_ms - r.failed_ms)")
	return []quantity{
		{"ttft", micros("r.ttft_ms")},
		{"caller_ttft", `CASE WHEN r.caller_ttft_ms IS NOT NULL THEN ` + micros("r.caller_ttft_ms") + `
			WHEN r.status = 'error' AND (r.streamed OR NOT m.streamed) AND m.caller_ttft THEN ` + inf + ` END`},
		{"throughput", `CASE WHEN r.status = 'ok' AND r.output_tokens BETWEEN 1 AND 2000000000 AND ` + serving + ` > 0
			THEN (2000000000 * r.output_tokens + ` + serving + `) // (2 * ` + serving + `) END`},
		{"total", `CASE WHEN r.status IN ('error', 'error_midstream') THEN CASE WHEN m.total THEN ` + inf + ` END
			WHEN r.status IS DISTINCT FROM 'cancelled' THEN ` + micros("r.total_ms") + ` END`},
	}
}

// measurable says per load which columns its log has at all.
const measurable = `SELECT load_id, count(streamed) > 0 AS streamed, count(caller_ttft_ms) > 0 AS caller_ttft,
	count(total_ms) > 0 AS total FROM requests GROUP BY load_id`

// bin numbers the logarithmic bins of a quantity, 64 to a factor of e. Equal values share a bin and larger
// ones never have a smaller one, which is all that the exact quantiles ask of it.
func bin(value string) string {
	return fmt.Sprintf("CASE WHEN %[1]s <= 0 THEN %[2]d WHEN %[1]s = %[3]d THEN %[4]d ELSE CAST(floor(ln(%[1]s) * 64) AS INTEGER) END",
		value, stats.BinZero, stats.Inf, stats.BinInf)
}

// StatsMetrics returns the metrics of the analysis in report order: the names and units of package experiment
// with what the sums and quantiles of a Store mean for them.
func StatsMetrics() []stats.Metric {
	byID := map[string]measure{}
	for _, m := range measures() {
		byID[m.id] = m
	}
	var out []stats.Metric
	for _, m := range experiment.Metrics() {
		d, ok := byID[m.ID]
		if !ok {
			continue
		}
		out = append(out, stats.Metric{
			ID: m.ID, Kind: d.kind, PerMille: d.perMille, Quantity: d.quantity, Unit: m.Unit, Scale: d.scale,
			Better: int(m.Better), Published: m.Published,
		})
	}
	return out
}
