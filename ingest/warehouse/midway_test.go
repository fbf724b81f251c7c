package warehouse_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse"
	"switchback/ingest/warehouse/clustertest"
	"switchback/stats"
)

// everything asks what a report asks, in its order, and returns the answers.
func everything(o warehouse.Options, plan experiment.Plan, w ingest.Window) (answers []any, err error) {
	ctx := context.Background()
	house, err := warehouse.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, house.Close()) }()
	rows, err := house.Rows(ctx, plan, w)
	if err != nil {
		return nil, err
	}
	answers = append(answers, rows.Report(), rows.Health(), rows.ArmCounts())
	found, err := rows.Summaries(ctx)
	if err != nil {
		return nil, err
	}
	options := stats.DefaultOptions()
	options.Replicates, options.Seed = 50, 7
	analysis, err := stats.Analyze(ctx, found, ingest.StatsMetrics(), rows.Pairs(), options)
	if err != nil {
		return nil, err
	}
	series, err := found.Series(ctx, []string{"ttft_p50", "hit_429"}, 10*time.Minute, 4)
	if err != nil {
		return nil, err
	}
	blocks, err := series.Blocks(ctx, []string{"ttft_p50", "hit_429"})
	if err != nil {
		return nil, err
	}
	metrics := ingest.StatsMetrics()
	ttft := metrics[slices.IndexFunc(metrics, func(m stats.Metric) bool { return m.ID == "ttft_p50" })]
	options.Interval, options.Replicates, options.Order = stats.IntervalT, 1, ""
	parts := []stats.Source{series.Minutes("ttft_p50", 60, 90), series.BornInBlock("ttft_p50")}
	if err := series.Fetch(ctx, parts, func(i int) ([]stats.ModelBin, error) {
		return stats.Touched(ctx, parts[i], ttft, rows.Pairs(), options)
	}); err != nil {
		return nil, err
	}
	answers = append(answers, analysis.Estimates, blocks)
	for _, part := range parts {
		a, err := stats.Analyze(ctx, part, []stats.Metric{ttft}, rows.Pairs(), options)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a.Estimates)
	}
	elsewhere, err := rows.Elsewhere(ctx)
	if err != nil {
		return nil, err
	}
	spend, err := rows.Spend(ctx)
	return append(answers, elsewhere.Blocks, elsewhere.Providers, spend), err
}

// A server that ends in the middle of a question, at any stage, ends the report with what was asked and where the cluster
// broke, unless it is back when the question is asked again. Then, and in the next run, the answers are those of a cluster
// that nothing happened to.
func TestAServerIsLostMidway(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	shards.Create(t, "requests", clustertest.WithRepeats(clustertest.Messy(plan, 4000, 6)))
	o := options(t, shards, "requests_all")
	whole, err := everything(o, plan, fullWindow(plan))
	if err != nil {
		t.Fatal(err)
	}
	for i, question := range []string{
		"rows by block", "values of ttft inside the touched bins", "values of ttft_p50 by minutes since the switch and client inside the touched bins",
		"provider switches, pass 1 of 1", "sums by block and provider", "ttft_p50 by block, values inside the touched bins",
	} {
		t.Run(question, func(t *testing.T) {
			lost := 1 // the shard that was not asked, or the server that was
			if i%4 == 3 {
				lost = 0
			}
			// run asks everything, and breaks the server at the question, once.
			run := func(wait func() error) (answers []any, asked []string, err error) {
				var gone chan struct{}
				o := o
				o.Asked = func(q warehouse.Question) {
					asked = append(asked, q.Name)
					if q.Name == question && gone == nil {
						gone = shards.Break(t, lost)
					}
				}
				o.Wait = func(context.Context, time.Duration) error {
					<-gone
					return wait()
				}
				answers, err = everything(o, plan, fullWindow(plan))
				if gone == nil {
					t.Fatal("never asked")
				}
				<-gone
				return answers, asked, err
			}
			_, asked, err := run(func() error { return nil })
			var e *warehouse.Error
			if !errors.As(err, &e) || errors.Is(err, warehouse.ErrConfig) || e.Question != question || e.Hint == "" {
				t.Errorf("error %v, want one of %q", err, question)
			} else if port := fmt.Sprint(":", shards.Ports[lost]); !strings.Contains(err.Error(), port) || strings.Contains(err.Error(), "Stack trace") || strings.Contains(err.Error(), clustertest.Password) {
				t.Errorf("error %v, want one that names %s", err, port)
			}
			if n := len(slices.DeleteFunc(asked, func(q string) bool { return q != question })); n != o.Attempts {
				t.Errorf("asked %d times, want %d", n, o.Attempts)
			}
			shards.Run(t, lost)
			answers, _, err := run(func() error {
				shards.Run(t, lost)
				return nil
			})
			if err != nil {
				t.Fatal("the server is back, and yet", err)
			}
			if diff := gocmp.Diff(whole, answers); diff != "" {
				t.Errorf("answers (-undisturbed +broken once):\n%.2000s", diff)
			}
		})
	}
}
