package ingest

import (
	"switchback/experiment"
	"switchback/ingest/rules"
	"switchback/stats"
)

// measure is what a metric is in SQL, over rows r of `requests` that the analysis keeps: a quantile of a
// quantity, or a ratio of the sums y and n.
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
	microsToMillis = rules.MicrosToMillis
	milliToUnit    = rules.MilliToUnit
)

// measures defines every metric, as package rules does.
func measures() []measure {
	var out []measure
	for _, m := range rules.Measures(rules.DuckDB{}) {
		out = append(out, measure{id: m.ID, kind: m.Kind, scale: m.Scale, perMille: m.PerMille, quantity: m.Quantity, y: m.Y, n: m.N})
	}
	return out
}

// micros is an exact DECIMAL(18,3) of milliseconds as whole microseconds.
func micros(expr string) string { return rules.DuckDB{}.Micros(expr) }

// quantity is a value of one row that quantiles are taken of, as a BIGINT; NULL rows are out.
type quantity struct{ name, value string }

// quantities defines the values that quantiles are taken of. m is the row of `measurable` of r's load.
func quantities() []quantity { return quantitiesBy(rules.Serving(rules.DuckDB{})) }

// quantitiesBy is quantities with a column that has the time of the serving attempt, such as that of requestsServing.
func quantitiesBy(serving string) []quantity {
	var out []quantity
	for _, q := range rules.Quantities(rules.DuckDB{}, serving) {
		out = append(out, quantity{q.Name, q.Value})
	}
	return out
}

// servingTime is a column of the rows of requestsServing that is asked for several times in the quantities: DuckDB would
// compute it as often.
const servingTime = "r.serving_us"

// requestsServing are rows r of requests with their servingTime.
func requestsServing() string {
	return "(SELECT r.*, " + rules.Serving(rules.DuckDB{}) + " AS serving_us FROM requests r) r"
}

// measurable says per load which columns its log has at all.
const measurable = `SELECT load_id, count(streamed) > 0 AS streamed, count(caller_ttft_ms) > 0 AS caller_ttft,
	count(total_ms) > 0 AS total FROM requests GROUP BY load_id`

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
