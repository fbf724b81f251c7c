package warehouse_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse"
	"switchback/ingest/warehouse/clustertest"
)

// save keeps a run of a window in a store.
func save(t *testing.T, store *ingest.Store, w ingest.Window, elsewhere *ingest.Elsewhere) {
	t.Helper()
	run := ingest.RunRecord{RunID: "r", ReportDate: "2026-11-08", Since: w.Since, Until: w.Until, Document: []byte("{}"), FinishedAt: w.Until, Elsewhere: elsewhere}
	if err := store.SaveRun(context.Background(), run, nil, nil); err != nil {
		t.Fatal(err)
	}
}

// rowsOf returns the rows of a query with names and types, each as one text.
func rowsOf(t *testing.T, store *ingest.Store, query string) []string {
	t.Helper()
	rows, err := store.Query(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := []string{fmt.Sprint(rows.Columns)}
	for rows.Next() {
		out = append(out, fmt.Sprint(rows.Values()...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// compareViews holds the views of a file that has the rows against those of a file that has what the cluster says of them.
func compareViews(t *testing.T, store *ingest.Store, rows *warehouse.Rows, w ingest.Window) {
	t.Helper()
	ctx := context.Background()
	elsewhere, err := rows.Elsewhere(ctx)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := ingest.Open(ctx, filepath.Join(t.TempDir(), "results.duckdb"), ingest.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	save(t, store, w, nil)
	save(t, empty, w, elsewhere)
	for _, query := range []string{"DESCRIBE by_block", "DESCRIBE by_provider", "FROM by_block", "FROM by_provider"} {
		want, have := rowsOf(t, store, query), rowsOf(t, empty, query)
		if len(want) < 6 {
			t.Errorf("%s: only %d rows", query, len(want)-1)
		}
		if diff := gocmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-DuckDB +ClickHouse):\n%s", query, diff)
		}
	}
	if place, err := empty.RowsElsewhere(ctx); err != nil || place != elsewhere.Place || place == "" {
		t.Errorf("rows lie in %q, %v; want %q", place, err, elsewhere.Place)
	}
	if place, err := store.RowsElsewhere(ctx); err != nil || place != "" {
		t.Errorf("rows of the file lie in %q, %v", place, err)
	}
}

// The views are equal also under schedules with a lone block and with one of a model's own, and of a window that cuts blocks.
func TestViewsOfOddSchedules(t *testing.T) {
	shards := clustertest.Start(t)
	week := weekPlan(t)
	lone := experiment.Plan{Arms: week.Arms, Blocks: week.Blocks[:len(week.Blocks)-1]}
	own := experiment.Plan{Arms: week.Arms, Blocks: append([]experiment.Block(nil), week.Blocks...)}
	for _, b := range week.Blocks {
		b.Model, b.PairID = "model-1", "own-"+b.PairID
		b.Arm = map[string]string{arms.Control: arms.Treatment, arms.Treatment: arms.Control}[b.Arm]
		own.Blocks = append(own.Blocks, b)
	}
	rows := clustertest.Messy(week, 6000, 8)
	for i := range rows { // errors that no model is known of count, too
		if rows[i].Arm = ""; rows[i].Status == experiment.StatusError && i%2 == 0 {
			rows[i].Model = ""
		}
	}
	shards.Create(t, "requests", rows)
	cut := fullWindow(week)
	cut.Since, cut.Until = cut.Since.Add(25*time.Hour), cut.Until.Add(-50*time.Hour)
	for name, c := range map[string]struct {
		plan   experiment.Plan
		window ingest.Window
	}{
		"lone block": {lone, fullWindow(lone)}, "own schedule": {own, fullWindow(own)}, "cut": {week, cut},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := open(t, options(t, shards, "requests_all")).Rows(context.Background(), c.plan, c.window)
			if err != nil {
				t.Fatal(err)
			}
			store := inDuckDB(t, c.plan, rows)
			compareViews(t, store, found, c.window)
			want, err := store.Providers(context.Background(), c.window)
			if err != nil {
				t.Fatal(err)
			}
			have, err := found.Providers(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, have); diff != "" {
				t.Errorf("providers (-DuckDB +ClickHouse):\n%s", diff)
			}
		})
	}
}
