package warehouse_test

import (
	"context"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse"
	"switchback/ingest/warehouse/clustertest"
	"switchback/stats"
)

// All parts of a metric cost the cluster a histogram and one question for values, and say what they say when each part asks
// for its own.
func TestPartsAreFetchedAtOnce(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	shards.Create(t, "requests", clustertest.Messy(plan, 6000, 9))
	o := options(t, shards, "requests_all")
	var asked []string
	o.Asked = func(q warehouse.Question) { asked = append(asked, q.Name) }
	house := open(t, o)
	ctx := context.Background()
	rows, err := house.Rows(ctx, plan, fullWindow(plan))
	if err != nil {
		t.Fatal(err)
	}
	found, err := rows.Summaries(ctx)
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string]stats.Metric{}
	for _, m := range ingest.StatsMetrics() {
		metrics[m.ID] = m
	}
	options := stats.DefaultOptions()
	options.Interval, options.Replicates, options.Order = stats.IntervalT, 1, ""
	// analyse returns the estimates of all parts, and what was asked for them.
	analyse := func(fetch bool) (all [][]stats.Estimate, questions []string) {
		series, err := found.Series(ctx, seriesMetrics(), 10*time.Minute, 4)
		if err != nil {
			t.Fatal(err)
		}
		asked = nil
		var ids []string
		var parts []stats.Source
		add := func(id string, part stats.Source) { ids, parts = append(ids, id), append(parts, part) }
		for _, id := range []string{"caller_ttft_p95", "throughput_p50", "cost_per_1k_requests"} {
			for from := 0; from < 180; from += 10 {
				add(id, series.Minutes(id, from, from+10))
			}
			add(id, series.BurnIn(id, 0))
			add(id, series.BurnIn(id, 90))
			add(id, series.BornInBlock(id))
			for _, client := range series.Clients() {
				add(id, series.WithoutClient(id, client))
			}
		}
		if fetch {
			touched := func(i int) ([]stats.ModelBin, error) {
				return stats.Touched(ctx, parts[i], metrics[ids[i]], rows.Pairs(), options)
			}
			if err := series.Fetch(ctx, parts, touched); err != nil {
				t.Fatal(err)
			}
		}
		for i, part := range parts {
			a, err := stats.Analyze(ctx, part, []stats.Metric{metrics[ids[i]]}, rows.Pairs(), options)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, a.Estimates)
		}
		return all, asked
	}
	one, questions := analyse(true)
	each, many := analyse(false)
	if diff := gocmp.Diff(each, one); diff != "" {
		t.Errorf("estimates of parts (-asked each +fetched at once):\n%.3000s", diff)
	}
	const by = " by minutes since the switch and client"
	want := []string{
		"histogram of caller_ttft", "histogram of caller_ttft_p95" + by, "histogram of throughput", "histogram of throughput_p50" + by,
		"values of throughput_p50" + by + " inside the touched bins", "values of caller_ttft_p95" + by + " inside the touched bins",
	}
	if diff := gocmp.Diff(want, questions); diff != "" {
		t.Errorf("questions (-want +asked):\n%s", diff)
	}
	if len(many) < 3*len(want) {
		t.Errorf("only %d questions when each part asks for its own", len(many))
	}
}

// What is touched by no part stays in the cluster.
func TestOnlyTouchedRowsLeaveTheCluster(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	rows := clustertest.Messy(plan, 20_000, 10)
	for i := range rows {
		rows[i].Model, rows[i].CallerTTFT, rows[i].Status = "m", experiment.Some(experiment.Micros(1000+37*(i%9000))), experiment.StatusOK
	}
	shards.Create(t, "requests", rows)
	var largest int64
	o := options(t, shards, "requests_all")
	house := open(t, o)
	found, err := house.Rows(context.Background(), plan, fullWindow(plan))
	if err != nil {
		t.Fatal(err)
	}
	summaries, err := found.Summaries(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	series, err := summaries.Series(context.Background(), []string{"caller_ttft_p50"}, 10*time.Minute, 0)
	if err != nil {
		t.Fatal(err)
	}
	part := series.Minutes("caller_ttft_p50", 60, 180)
	bins, err := part.Histogram(context.Background(), "caller_ttft")
	if err != nil {
		t.Fatal(err)
	}
	inside, all := map[int32]int64{}, int64(0)
	for _, b := range bins {
		inside[b.Bin] += b.N
		all += b.N
	}
	for bin, n := range inside {
		values, err := part.Values(context.Background(), "caller_ttft", []stats.ModelBin{{Bin: bin}})
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		for _, v := range values {
			got += v.N
		}
		if got != n {
			t.Errorf("bin %d has %d rows, and %d values", bin, n, got)
		}
		largest = max(largest, n)
	}
	if share := float64(largest) / float64(all); len(inside) < 20 || share > 0.2 {
		t.Errorf("the largest of %d bins has %.2f of the rows", len(inside), share)
	}
}
