package rules

import (
	"fmt"

	"switchback/stats"
)

// Measure is what a metric is over the rows that the analysis keeps: a quantile of a quantity, or a ratio of the sums Y
// and N. Sums of money are in nano-dollars, of times in microseconds.
type Measure struct {
	ID       string
	Kind     stats.Kind
	Scale    float64 // from sums or quantities to the metric's unit
	PerMille int
	Quantity string
	Y, N     string // aggregates, for the kinds that are ratios of sums; "" where the order of rows matters
}

// Scales of units.
const (
	MicrosToMillis    = 1e-3
	MilliToUnit       = 1e-3
	NanoPerRowToPerK  = 1e-9 * 1e3
	nanoPerTokenToPer = 1e-9 * 1e6 // per million tokens
)

// Retries is the number of attempts after the first, as far as it is known. The greater of an unknown and 0 would be 0 in
// some engines.
func Retries(d Dialect) string {
	attempts := d.Column("attempts")
	return "coalesce(" + d.Column("n_retries") + ", CASE WHEN " + attempts + " IS NOT NULL THEN greatest(" + attempts + " - 1, 0) END)"
}

// Measures defines every metric.
func Measures(d Dialect) []Measure {
	c := d.Column
	tokens, retries := c("input_tokens")+" + "+c("output_tokens"), Retries(d)
	quantile := func(id, quantity string, perMille int, scale float64) Measure {
		return Measure{ID: id, Kind: stats.Quantile, PerMille: perMille, Quantity: quantity, Scale: scale}
	}
	event := func(id, y, n string) Measure { return Measure{ID: id, Kind: stats.Event, Scale: 1, Y: y, N: n} }
	return []Measure{
		quantile("ttft_p50", "ttft", 500, MicrosToMillis),
		quantile("ttft_p95", "ttft", 950, MicrosToMillis),
		quantile("throughput_p50", "throughput", 500, MilliToUnit),
		quantile("caller_ttft_p50", "caller_ttft", 500, MicrosToMillis),
		quantile("caller_ttft_p95", "caller_ttft", 950, MicrosToMillis),
		quantile("total_p50", "total", 500, MicrosToMillis),
		quantile("total_p95", "total", 950, MicrosToMillis),
		{
			ID: "cost_per_1k_requests", Kind: stats.Ratio, Scale: NanoPerRowToPerK,
			Y: d.SumNanos(c("cost_usd"), ""), N: d.Count(c("cost_usd"), ""),
		},
		{
			ID: "cost_per_1m_tokens", Kind: stats.Ratio, Scale: nanoPerTokenToPer,
			Y: d.SumNanos(c("cost_usd"), tokens+" IS NOT NULL"), N: d.Sum(tokens, c("cost_usd")+" IS NOT NULL"),
		},
		event("hit_429", d.Count("", c("n_429")+" >= 1"), d.Count(c("n_429"), "")),
		event("needed_retry", d.Count("", retries+" >= 1"), d.Count(retries, "")),
		{ID: "failed_ms", Kind: stats.Mean, Scale: MicrosToMillis, Y: d.SumMicros(c("failed_ms"), ""), N: d.Count(c("failed_ms"), "")},
		event("events_429", d.Sum(c("n_429"), ""), d.Count(c("n_429"), "")),
		event("retries", d.Sum(retries, ""), d.Count(retries, "")),
		event("error_rate", d.Count("", Failed(d)), d.Count("", c("status")+" <> 'cancelled'")),
		event("tool_call_ok", d.Count("", c("tool_call_ok")), d.Count(c("tool_call_ok"), "")),
		event("cache_hit_tokens", d.Sum(c("cached_tokens"), c("input_tokens")+" IS NOT NULL"), d.Sum(c("input_tokens"), c("cached_tokens")+" IS NOT NULL")),
		event(ProviderSwitches, "", ""),
	}
}

// ProviderSwitches is the id of the metric that needs the order of a session's requests: of the kept requests whose
// provider and whose session's kept request before them have a known provider, the share where the two differ. Requests of
// one session that arrived in the same microsecond are in order of provider (an unknown one first) and then of cell.
const ProviderSwitches = "provider_switches"

// Failed is the condition that a request ended in an error.
func Failed(d Dialect) string { return d.Column("status") + " IN ('error', 'error_midstream')" }

// Quantity is a value of one row that quantiles are taken of, a whole number; rows where it is unknown are out.
type Quantity struct{ Name, Value string }

// Serving is the time of the serving attempt in whole microseconds: from its start, which the two TTFTs tell, to the end;
// else failed attempts are taken off the whole.
func Serving(d Dialect) string {
	total := d.Column("total_ms")
	return d.Micros("coalesce(" + total + " - (" + d.Column("caller_ttft_ms") + " - " + d.Column("ttft_ms") + "), " + total + " - " + d.Column("failed_ms") + ")")
}

// Quantities defines the values that quantiles are taken of. Failed requests rank above every value in the caller's times.
// serving is Serving, or a column that has it.
func Quantities(d Dialect, serving string) []Quantity {
	c, inf := d.Column, d.Number(stats.Inf)
	ttft, caller, total, tokens := c("ttft_ms"), c("caller_ttft_ms"), c("total_ms"), c("output_tokens")
	return []Quantity{
		{"ttft", d.Micros(ttft)},
		{"caller_ttft", `CASE WHEN ` + caller + ` IS NOT NULL THEN ` + d.Micros(caller) + `
			WHEN ` + c("status") + ` = 'error' AND (` + c("streamed") + ` OR NOT ` + d.LogHas("streamed") + `) AND ` + d.LogHas("caller_ttft_ms") + ` THEN ` + inf + ` END`},
		{"throughput", `CASE WHEN ` + c("status") + ` = 'ok' AND ` + tokens + ` BETWEEN 1 AND 2000000000 AND ` + serving + ` > 0
			THEN ` + d.Divide("2000000000 * "+tokens+" + "+serving, "2 * "+serving) + ` END`},
		{"total", `CASE WHEN ` + Failed(d) + ` THEN CASE WHEN ` + d.LogHas("total_ms") + ` THEN ` + inf + ` END
			WHEN ` + d.Differs(c("status"), "cancelled") + ` THEN ` + d.Micros(total) + ` END`},
	}
}

// mixClasses is the number of classes of requests by the share of output among their tokens: what a token costs at given
// prices follows from that share, caches apart.
const mixClasses = 10

// MixClass is the class of a request that cost_per_1m_tokens is standardised over. Its rows have a known cost and tokens.
func MixClass(d Dialect) (class, where string) {
	in, out := d.Column("input_tokens"), d.Column("output_tokens")
	class = fmt.Sprintf("least(%d, %s)", mixClasses-1, d.Divide(fmt.Sprintf("%d * %s", mixClasses, out), in+" + "+out))
	return class, d.Column("cost_usd") + " IS NOT NULL AND " + in + " + " + out + " > 0"
}
