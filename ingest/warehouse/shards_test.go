package warehouse_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"switchback/experiment"
	"switchback/ingest/warehouse"
	"switchback/ingest/warehouse/clustertest"
	"switchback/stats"
)

// What belongs together may lie on several shards: rows of one record, and the requests of a session. The numbers are counted
// by hand; every other row lies on the second shard, whatever its id and session.
func TestWhatShardsShare(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	block := plan.Blocks[0]
	at := block.BurnInEnds.Add(time.Minute)
	request := func(id string, minute int, provider, session string, nano int64) experiment.Request {
		r := experiment.Request{
			RequestID: id, TS: experiment.Instant(at.Add(time.Duration(minute) * time.Minute).UnixMicro()), Model: "m", Provider: provider, SessionID: session,
			Status: "ok", Source: "canonical", Cost: experiment.Some(experiment.NanoUSD(nano)),
		}
		return r
	}
	without := func(r experiment.Request) experiment.Request {
		r.Cost = experiment.Opt[experiment.NanoUSD]{}
		return r
	}
	twice, more, thrice := request("twice", 0, "p", "", 1), request("more", 1, "p", "", 10), request("thrice", 2, "p", "", 100)
	rows := []experiment.Request{
		twice, twice, // the same row on both shards
		more, without(more), // the first says more
		without(thrice), thrice, thrice, without(thrice), // two of each, crosswise
		request("s1", 10, "p", "s", 1000), request("s2", 11, "q", "s", 1000), // one session: p q | q p, with an unknown provider between
		request("s4", 13, "q", "s", 1000), request("s3", 12, "q", "s", 1000),
		request("s6", 15, "p", "s", 1000), request("s5", 14, "", "s", 1000),
		request("s7", 16, "p", "s", 1000), request("s7", 16, "p", "s", 1000), // and a repeated row in it
	}
	shards.Create(t, "requests", rows)
	found, err := open(t, options(t, shards, "requests_all")).Rows(context.Background(), plan, fullWindow(plan))
	if err != nil {
		t.Fatal(err)
	}
	health := found.Health()
	if got, want := fmt.Sprint(health.Rows, health.Files[0].Duplicate, health.Conflicts, health.ReusedIDs), "10 6 3 0"; got != want {
		t.Errorf("records, rows left out, of these differing, reused ids: %s, want %s", got, want)
	}
	s, err := found.Summaries(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]stats.Sum{
		"cost_per_1k_requests": {N: 10, Y: 7111},
		"provider_switches":    {N: 4, Y: 1}, // s1→s2 differ; s2→s3→s4, s6→s7 do not; nothing is known around s5
	} {
		sums, err := s.Sums(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(sums) != 1 || sums[0].N != want.N || sums[0].Y != want.Y {
			t.Errorf("sums of %s: %+v, want N %d, Y %d", id, sums, want.N, want.Y)
		}
	}
}

// How far a question is comes from both shards, and a question that is done says so.
func TestProgressOfQuestions(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	shards.Create(t, "requests", clustertest.Messy(plan, 3000, 1))
	o := options(t, shards, "requests_all")
	furthest := map[string]warehouse.Reading{}
	var last warehouse.Reading
	o.Progress = func(r warehouse.Reading) {
		if last.Question == "" && (r.Question == "" || r.Rows != 0) || last.Question == r.Question && (r.Rows < last.Rows || r.Of < last.Of) {
			t.Errorf("%+v behind %+v", r, last)
		}
		last = r
		if r.Question != "" {
			furthest[r.Question] = r
		}
	}
	if _, err := open(t, o).Rows(context.Background(), plan, fullWindow(plan)); err != nil {
		t.Fatal(err)
	}
	if r := furthest["rows by model"]; r.Rows != 3000 || r.Of < r.Rows { // a server tells of whole granules that it is about to read
		t.Errorf("%+v, want 3000 rows", r)
	}
	if last != (warehouse.Reading{}) || len(furthest) < 3 {
		t.Errorf("the last word is %+v, questions: %v", last, furthest)
	}
}

// A limit of the user's profile that is met ends a question, and does not cut its answer short.
func TestLimitsEndAQuestion(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	shards.Create(t, "requests", nil)
	shards.Exec(t, 0, fmt.Sprintf("INSERT INTO gateway.requests (request_id, model, ts_us) SELECT toString(number), 'm', %d + number FROM numbers(%d)",
		plan.Blocks[0].Starts.UnixMicro(), 2*clustertest.MostRows))
	_, err := open(t, options(t, shards, "requests_all")).Rows(context.Background(), plan, fullWindow(plan))
	var e *warehouse.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "rows") || !strings.Contains(e.Hint, "profile") {
		t.Errorf("beyond a limit: %v", err)
	}
}

// Only the partitions of a window are read: those of its hours where the arrival says which these are, and those of its days
// and one on each side where the mapping names the day of a row.
func TestOnlyTheWindowIsRead(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	rows := clustertest.Messy(plan, 7000, 3)
	shards.Create(t, "requests", rows)
	for i := range shards.Conns {
		shards.Exec(t, i, `CREATE TABLE gateway.by_day ENGINE = MergeTree PARTITION BY day ORDER BY request_id AS
			SELECT *, concat(toString(toDateTime(intDiv(ts_us, 1000000), 'UTC'), 'UTC'), '.000') AS text_ts, toDate(toDateTime(intDiv(ts_us, 1000000), 'UTC'), 'UTC') AS day FROM gateway.requests`)
		shards.Exec(t, i, "CREATE TABLE gateway.by_day_all AS gateway.by_day ENGINE = Distributed(two, gateway, by_day)")
	}
	w := fullWindow(plan)
	w.Since = w.Since.Add(48 * time.Hour)
	w.Until = w.Since.Add(24 * time.Hour)
	ofDay := func(from, to time.Time) (n int64) {
		for _, r := range rows {
			if at := r.TS.Time(); !at.Before(from) && at.Before(to) {
				n++
			}
		}
		return n
	}
	for table, c := range map[string]struct {
		ts, day string
		want    int64
	}{
		"requests_all": {"ts_us", "", ofDay(w.Since, w.Until)},
		"by_day_all":   {"text_ts", "day", ofDay(w.Since.Add(-24*time.Hour), w.Until.Add(48*time.Hour))},
	} {
		o := options(t, shards, table)
		o.Mapping.Columns["ts"], o.Day = c.ts, c.day
		read := map[string]int64{}
		o.Progress = func(r warehouse.Reading) { read[r.Question] = max(read[r.Question], r.Rows) }
		if _, err := open(t, o).Rows(context.Background(), plan, w); err != nil {
			t.Fatal(err)
		}
		if got := read["rows by model"]; got != c.want || c.want == 0 {
			t.Errorf("%s: %d rows were read, want the %d of the window's partitions", table, got, c.want)
		}
	}
}
