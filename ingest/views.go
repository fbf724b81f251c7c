package ingest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"switchback/experiment"
	"switchback/ingest/rules"
	"switchback/stats"
)

// view is a stored view: what people ask of the tables most often, under plain names. Views are kept in the file, so that
// whoever opens it with another program sees them too. They use nothing that a DuckDB without extensions lacks.
type view struct {
	name  string
	about string
	query string
}

// views returns every view of the file. Those about the analysis speak of the latest report date.
func views() []view {
	return []view{
		{
			"effects", "the latest report's effects, all models together: levels of both arms, effects with intervals, verdict",
			effectsQuery("overall", ""),
		},
		{
			"per_model", "the same for every model alone",
			effectsQuery("model:", "substr(relative.scope, length('model:') + 1) AS model, "),
		},
		{"by_block", "one row per block of the schedule: its requests in the analysis, and their times, costs and failures, all models as one", byBlockQuery()},
		{"by_provider", "one row per arm and provider: requests in the analysis that it served, its share, and their times, costs and failures", byProviderQuery()},
		{"requests_in_analysis", "the requests that the latest report rests on: in a whole pair of its window, past the burn-in, not from a gateway's cache", inAnalysisQuery()},
	}
}

// latestReport is the SQL of the newest report date.
const latestReport = "(SELECT max(report_date) FROM runs)"

// effectsQuery selects the relative and absolute effects of a scope, side by side, in report order.
func effectsQuery(scope, model string) string {
	var measures []string
	for i, m := range experiment.Metrics() {
		measures = append(measures, fmt.Sprintf("(%d, %s, %s)", i+1, quote(m.ID), quote(m.Title)))
	}
	order := "m.place"
	if model != "" {
		order = "model, m.place"
	}
	return `SELECT relative.report_date, ` + model + `relative.metric, m.title AS measure, relative.unit, relative.control, relative.treatment,
	relative.estimate AS relative_effect, relative.lo AS relative_lo, relative.hi AS relative_hi,
	absolute.estimate AS absolute_effect, absolute.lo AS absolute_lo, absolute.hi AS absolute_hi,
	relative.p_value, relative.p_adjusted, relative.pairs, relative.models, relative.verdict
FROM results relative
JOIN results absolute ON absolute.report_date = relative.report_date AND absolute.scope = relative.scope AND absolute.metric = relative.metric
JOIN (VALUES ` + strings.Join(measures, ", ") + `) AS m(place, metric, title) ON m.metric = relative.metric
WHERE relative.report_date = ` + latestReport + ` AND starts_with(relative.scope, ` + quote(scope) + `)
	AND relative.estimand = ` + quote(EstimandRelative) + ` AND absolute.estimand = ` + quote(EstimandAbsolute) + `
ORDER BY ` + order
}

// inAnalysisQuery selects the rows that the estimates of the latest report rest on, as Window.kept does: before a first
// report, those of every block.
func inAnalysisQuery() string {
	var columns []string
	for _, c := range requestColumns() {
		switch c.name {
		case "in_burn_in", "quality", "source_row_id":
		default:
			columns = append(columns, "r."+c.name)
		}
	}
	return `WITH report AS (
	SELECT coalesce(max(CAST(text AS TIMESTAMP)) FILTER (name = ` + quote(diagnosticSince) + `), TIMESTAMP '-infinity') AS since,
		coalesce(max(CAST(text AS TIMESTAMP)) FILTER (name = ` + quote(diagnosticUntil) + `), TIMESTAMP 'infinity') AS until
	FROM diagnostics WHERE report_date = ` + latestReport + ` AND name IN (` + quote(diagnosticSince) + `, ` + quote(diagnosticUntil) + `)),
inside AS (SELECT b.*, report.since, report.until FROM blocks b, report WHERE b.starts < report.until AND b.ends > report.since),
paired AS (
	SELECT * FROM inside b WHERE EXISTS (
		SELECT 1 FROM inside other WHERE other.pair_id = b.pair_id AND other.model IS NOT DISTINCT FROM b.model AND other.arm <> b.arm))
SELECT ` + strings.Join(columns, ", ") + `, b.pair_id, b.day, b.slot, b.model AS schedule_model,
	` + quantityNamed("throughput") + ` / 1000.0 AS throughput_tokens_per_s
FROM requests r JOIN paired b
	ON b.block_id = r.block_id AND b.model IS NOT DISTINCT FROM CASE WHEN r.model IN (SELECT model FROM blocks WHERE model IS NOT NULL) THEN r.model END
WHERE r.ts >= b.since AND r.ts < b.until AND r.in_burn_in = false AND r.status IS DISTINCT FROM ` + quote(experiment.StatusGatewayCache)
}

// columnsOfRows are the columns that by_block and by_provider make of the rows r of requests_in_analysis.
func columnsOfRows() string {
	quantities := map[string]string{"ttft": "r.ttft_ms", "throughput": "r.throughput_tokens_per_s"}
	var columns []string
	for _, c := range rules.ShownColumns() {
		m, _ := rules.MeasureNamed(rules.DuckDB{}, c.Metric)
		value := fmt.Sprintf("%g * CAST(CAST(%s AS BIGINT) AS DOUBLE) / nullif(%s, 0)", m.Scale, m.Y, m.N)
		switch {
		case m.Kind == stats.Quantile:
			value = fmt.Sprintf("quantile_disc(%s, %g)", quantities[m.Quantity], float64(m.PerMille)/1000)
		case c.Total:
			value = "sum(r.cost_usd)"
		}
		columns = append(columns, value+" AS "+c.Column)
	}
	return strings.Join(columns, ", ")
}

// shownColumns names the columns of columnsOfRows.
func shownColumns(prefix string) string {
	var names []string
	for _, c := range rules.ShownColumns() {
		names = append(names, prefix+c.Column)
	}
	return strings.Join(names, ", ")
}

// summarised is the SQL of what a view says of the latest report's rows by some keys: made of the rows, or kept in a table
// when they lie elsewhere.
func summarised(keysOfRows, keys, where, table string) string {
	kept := table + " WHERE report_date = " + latestReport
	return `SELECT ` + keysOfRows + `, count(*) AS requests, ` + columnsOfRows() + `
	FROM requests_in_analysis r WHERE ` + where + ` AND NOT EXISTS (SELECT 1 FROM ` + kept + `) GROUP BY ALL
	UNION ALL SELECT ` + keys + `, requests, ` + shownColumns("") + ` FROM ` + kept
}

func byBlockQuery() string {
	return `WITH summarised AS (` + summarised("r.block_id, r.schedule_model AS model", "block_id, model", "true", blockSummaries) + `)
SELECT b.block_id, b.pair_id, b.day, b.slot, b.arm, b.starts, b.ends, b.model, coalesce(s.requests, 0) AS requests, ` + shownColumns("s.") + `
FROM blocks b LEFT JOIN summarised s ON s.block_id = b.block_id AND s.model IS NOT DISTINCT FROM b.model
ORDER BY b.starts, b.model`
}

func byProviderQuery() string {
	return `WITH summarised AS (` + summarised("r.arm, r.provider", "arm, provider", "r.provider IS NOT NULL", providerSummaries) + `)
SELECT arm, provider, requests, requests / sum(requests) OVER (PARTITION BY arm) AS share_of_arm, ` + shownColumns("") + `
FROM summarised ORDER BY provider, arm`
}

// quantityNamed returns the SQL of a quantity, in its whole units.
func quantityNamed(name string) string {
	for _, q := range quantities() {
		if q.name == name {
			return q.value
		}
	}
	panic("no quantity " + name)
}

// ensureViews makes the views anew, and the tables that an earlier program did not know, where the file does not hold these ones.
func ensureViews(ctx context.Context, db *sql.DB) error {
	var all strings.Builder
	for _, v := range views() {
		fmt.Fprintln(&all, v.name, v.about, v.query)
	}
	for _, t := range tables() {
		fmt.Fprintln(&all, t.name)
	}
	sum := sha256.Sum256([]byte(all.String()))
	version := hex.EncodeToString(sum[:])
	var have bool
	if err := db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM meta WHERE key = 'views' AND value = ?", version).Scan(&have); err != nil || have {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	if err := createTables(ctx, tx); err != nil {
		return err
	}
	for _, v := range slices.Backward(views()) { // each reads those behind it
		if _, err := tx.ExecContext(ctx, "CREATE OR REPLACE VIEW "+v.name+" AS "+v.query); err != nil {
			return fmt.Errorf("create view %s: %w", v.name, err)
		}
		if _, err := tx.ExecContext(ctx, "COMMENT ON VIEW "+v.name+" IS "+quote(v.about)); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM meta WHERE key = 'views'"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO meta VALUES ('views', ?)", version); err != nil {
		return err
	}
	return tx.Commit()
}
