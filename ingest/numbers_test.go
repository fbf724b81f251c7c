package ingest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/stats"
)

// Numbers come back as they were, also those that four bytes do not hold.
func TestNumbers(t *testing.T) {
	values := []int64{0, 1, math.MaxUint32 - 3, math.MaxUint32 - 2, math.MaxUint32 - 1, math.MaxUint32, math.MaxInt64 - 1, stats.Inf, -1, math.MinInt64}
	n := newNumbers(len(values) + 1)
	for i, v := range values {
		n.set(i, v)
	}
	for i, want := range values {
		if got, known := n.at(i); got != want || !known {
			t.Errorf("%d came back as %d, known: %v", want, got, known)
		}
	}
	if v, known := n.at(len(values)); known {
		t.Errorf("an unknown number came back as %d", v)
	}
}

// Every row lies in one slice, also those outside the plan.
func TestSlices(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	load(t, s, messyRequests(3_000, 8))
	plan := weekPlan(t)
	for _, rows := range []int{0, 10 * rowsAtATime} {
		var counts []int64
		var mu sync.Mutex
		err := s.eachSlice(ctx, plan, rows, func(ctx context.Context, condition string) error {
			var n int64
			err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM requests r WHERE true"+condition).Scan(&n)
			mu.Lock()
			defer mu.Unlock()
			counts = append(counts, n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		all := int64(0)
		for _, n := range counts {
			all += n
			if n == 0 {
				t.Errorf("an empty slice among %v", counts)
			}
		}
		if diff := cmp.Diff([]int{1 + rows/rowsAtATime, 3_000}, []int{len(counts), int(all)}); diff != "" {
			t.Errorf("slices and rows (-want +got):\n%s", diff)
		}
	}
}

// Each log says for itself whether requests were streamed: one that has no such column cannot say that a failed request was not.
func TestLogsThatDiffer(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	plan := weekPlan(t)
	failed := func(id string, streamed experiment.Opt[bool]) experiment.Request {
		return experiment.Request{
			RequestID: id, TS: experiment.InstantOf(plan.Blocks[0].BurnInEnds), Model: "m", Status: "error", Source: "canonical", Streamed: streamed,
		}
	}
	served := failed("served", experiment.Opt[bool]{})
	served.Status, served.CallerTTFT = "ok", experiment.Some[experiment.Micros](900_000)
	loadLog(t, s, []experiment.Request{served, failed("a", experiment.Some(false)), failed("b", experiment.Some(true))})
	for i, rows := range [][]experiment.Request{{failed("c", experiment.Opt[bool]{})}, {served, failed("d", experiment.Opt[bool]{})}} {
		l, err := s.NewLoader(ctx, LoadInfo{File: fmt.Sprint(i, ".csv"), Format: "canonical", Now: someStart})
		if err != nil {
			t.Fatal(err)
		}
		for k := range rows {
			rows[k].SourceRowID = fmt.Sprint(i, k)
		}
		if err := l.Write(&experiment.Batch{Requests: rows}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.ApplyPlan(ctx, plan); err != nil {
		t.Fatal(err)
	}
	sum, err := s.Summaries(ctx, Window{Arms: testArms})
	if err != nil {
		t.Fatal(err)
	}
	defer sum.Close()
	bins, err := sum.Histogram(ctx, "caller_ttft")
	if err != nil {
		t.Fatal(err)
	}
	infinite := int64(0)
	for _, b := range bins {
		if b.Bin == stats.BinInf {
			infinite += b.N
		}
	}
	if infinite != 2 { // b, which was streamed, and d, of a log that does not say
		t.Errorf("%d failed requests above every time to the first token, want 2: %+v", infinite, bins)
	}
}
