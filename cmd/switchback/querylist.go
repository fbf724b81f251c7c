package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"switchback/ingest"
)

// queryExample is a query that runs on every file of this program.
type queryExample struct {
	about string
	sql   string
}

// queryExamples returns the examples that query --list shows; a test runs them.
func queryExamples() []queryExample {
	return []queryExample{
		{"the verdict of every measure", "SELECT measure, relative_effect, relative_lo, relative_hi, verdict FROM effects"},
		{"the models that got dearer", "SELECT model, relative_effect FROM per_model WHERE metric = 'cost_per_1k_requests' AND relative_lo > 0"},
		{"one measure by block, pair by pair", "SELECT pair_id, arm, requests, ttft_p50_ms FROM by_block ORDER BY starts"},
		{"who served how much of each arm", "SELECT provider, arm, share_of_arm, cost_per_1m_tokens_usd FROM by_provider ORDER BY share_of_arm DESC"},
		{"the slowest requests of the analysis", "SELECT request_id, ts, model, provider, arm, ttft_ms FROM requests_in_analysis ORDER BY ttft_ms DESC LIMIT 10"},
		{"how an estimate moved from night to night", "SELECT report_date, estimate, lo, hi FROM results WHERE metric = 'ttft_p50' AND scope = 'overall' AND estimand = 'relative' ORDER BY report_date"},
		{"lines that could not be read", "SELECT file, reason, count(*) AS lines FROM rejects GROUP BY ALL ORDER BY lines DESC"},
		{"the columns of a view", "DESCRIBE requests_in_analysis"},
	}
}

// writeCatalog lists the tables and views of a file, and examples.
func writeCatalog(ctx context.Context, w io.Writer, store *ingest.Store) error {
	relations, err := store.Relations(ctx)
	if err != nil {
		return err
	}
	views, tables := table.NewWriter(), table.NewWriter()
	views.SetStyle(plainTable())
	tables.SetStyle(plainTable())
	tables.AppendHeader(table.Row{"table", "rows", ""})
	tables.SetColumnConfigs(aligned([]bool{false, true, false}))
	views.AppendHeader(table.Row{"view", ""})
	for _, r := range relations {
		if r.View {
			views.AppendRow(table.Row{r.Name, r.About})
		} else {
			tables.AppendRow(table.Row{r.Name, thousands(r.Rows), r.About})
		}
	}
	var examples strings.Builder
	for _, e := range queryExamples() {
		fmt.Fprintf(&examples, "\n%s:\n  switchback query %q\n", e.about, e.sql)
	}
	_, err = fmt.Fprintf(w, "%s\n\n%s\n%s", rendered(views), rendered(tables), examples.String())
	return err
}
