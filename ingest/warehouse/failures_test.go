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

// What is wrong with a configuration is told before any row is read, by the name of what is wrong.
func TestWrongConfigurations(t *testing.T) {
	shards := clustertest.Start(t)
	shards.Create(t, "requests", clustertest.Messy(weekPlan(t), 200, 1))
	with := func(column, expr string) func(*warehouse.Options) {
		return func(o *warehouse.Options) { o.Mapping.Columns[column] = expr }
	}
	for _, c := range []struct {
		name   string
		change func(*warehouse.Options)
		says   []string
	}{
		{"password", func(o *warehouse.Options) { o.Password = "hunter2" }, []string{"user or password refused"}},
		{"user", func(o *warehouse.Options) { o.User = "nobody" }, []string{"user or password refused"}},
		{"table", func(o *warehouse.Options) { o.Table = "request" }, []string{"table request", "doesn't exist"}},
		{"database", func(o *warehouse.Options) { o.Address.Database = "gatewy" }, []string{"gatewy"}},
		{"column", with("ttft_ms", "time_to_first_token"), []string{`column ttft_ms = "time_to_first_token"`, "time_to_first_token"}},
		{"expression", with("cost_usd", "sum("), []string{`column cost_usd = "sum("`, "Syntax error"}},
		{"function", with("cost_usd", "toEuros(cost_nano)"), []string{"column cost_usd", "Unknown function"}},
		{"type", with("total_ms", "model"), []string{"column total_ms: model is String, not a number"}},
		{"type of a count", with("output_tokens", "status"), []string{"column output_tokens: status is String, not a number"}},
		{"type of the arrival", with("ts", "toDecimal64(ts_us, 3)"), []string{"column ts", "not a DateTime"}},
		{"type of a text", with("session_id", "[model]"), []string{"column session_id: [model] is Array(String)", "not a text"}},
		{"unit of the arrival", func(o *warehouse.Options) { o.TSUnit = "" }, []string{"column ts", "ts_unit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t, shards, "requests_all")
			c.change(&o)
			w, err := warehouse.Open(context.Background(), o)
			if err == nil {
				w.Close()
				t.Fatal("it opens")
			}
			if !errors.Is(err, warehouse.ErrConfig) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "Stack trace") {
				t.Errorf("%v", err)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v\ndoes not say %q", err, text)
				}
			}
		})
	}
}

// A shard that does not answer ends the report; a lost connection is tried again.
func TestAShardIsGone(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	shards.Create(t, "requests", clustertest.Messy(plan, 2000, 1))
	o := options(t, shards, "requests_all")
	var waits []time.Duration
	o.Wait = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}
	retried := 0
	o.Retried = func(string, error) { retried++ }
	w := open(t, o)
	shards.Stop(t, 1)
	_, err := w.Rows(context.Background(), plan, fullWindow(plan))
	var e *warehouse.Error
	if !errors.As(err, &e) || errors.Is(err, warehouse.ErrConfig) || e.Question != "rows by model" || !strings.Contains(e.Hint, "does not answer") {
		t.Errorf("without a shard: %v", err)
	}
	if fmt.Sprint(waits) != "[1s 2s 4s]" || retried != 3 {
		t.Errorf("%d retries after %v", retried, waits)
	}
	// It comes back while the question is asked again.
	o.Wait = func(context.Context, time.Duration) error {
		shards.Run(t, 1)
		return nil
	}
	again := open(t, o)
	rows, err := again.Rows(context.Background(), plan, fullWindow(plan))
	if err != nil {
		t.Fatal(err)
	}
	if n := rows.Report().Rows; n != 2000 {
		t.Errorf("%d rows, want 2000", n)
	}
	// The server itself is gone.
	shards.Stop(t, 0)
	waits = nil
	o.Wait = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}
	if _, err := warehouse.Open(context.Background(), o); !errors.As(err, &e) || errors.Is(err, warehouse.ErrConfig) || len(waits) != 3 {
		t.Errorf("without the server, after %v: %v", waits, err)
	}
}

// Arrivals as texts with and without a zone, as DateTime, and as whole numbers, under wrappers of every kind, are one.
func TestTypesOfColumns(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	rows := clustertest.Messy(plan, 3000, 4)
	for i := range rows { // whole seconds, which a DateTime can hold
		rows[i].TS -= rows[i].TS % 1_000_000
	}
	shards.Create(t, "requests", rows)
	for i := range shards.Conns {
		shards.Exec(t, i, `CREATE TABLE gateway.typed ENGINE = MergeTree ORDER BY request_id AS SELECT *,
			concat(replaceOne(toString(toDateTime(intDiv(ts_us, 1000000) + 7200, 'UTC'), 'UTC'), ' ', 'T'), '+02:00') AS text_zone,
			concat(toString(toDateTime(intDiv(ts_us, 1000000), 'UTC'), 'UTC'), '.000') AS text_plain,
			toDateTime(intDiv(ts_us, 1000000)) AS stamp, toDate(toDateTime(intDiv(ts_us, 1000000))) AS day,
			toNullable(toDateTime(intDiv(ts_us, 1000000))) AS nullable_stamp, CAST(text_zone AS LowCardinality(Nullable(String))) AS low_text,
			toFloat64(total_us) / 1000 AS total_float, toFixedString(substring(request_id, 1, 5), 8) AS fixed_id, toFloat32(attempts) AS attempts_float
			FROM gateway.requests`)
		shards.Exec(t, i, "CREATE TABLE gateway.typed_all AS gateway.typed ENGINE = Distributed(two, gateway, typed)")
	}
	ask := func(t *testing.T, change func(*warehouse.Options)) (report any, sums []stats.Sum) {
		o := options(t, shards, "typed_all")
		change(&o)
		r, err := open(t, o).Rows(context.Background(), plan, fullWindow(plan))
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Summaries(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if sums, err = s.Sums(context.Background(), "needed_retry"); err != nil {
			t.Fatal(err)
		}
		return r.Report(), sums
	}
	wantReport, wantSums := ask(t, func(*warehouse.Options) {})
	for name, change := range map[string]func(*warehouse.Options){
		"text with a zone":         func(o *warehouse.Options) { o.Mapping.Columns["ts"] = "text_zone" },
		"text without a zone":      func(o *warehouse.Options) { o.Mapping.Columns["ts"], o.Day = "text_plain", "day" },
		"LowCardinality(Nullable)": func(o *warehouse.Options) { o.Mapping.Columns["ts"] = "low_text" },
		"DateTime":                 func(o *warehouse.Options) { o.Mapping.Columns["ts"] = "stamp" },
		"Nullable(DateTime)":       func(o *warehouse.Options) { o.Mapping.Columns["ts"] = "nullable_stamp" },
		"seconds":                  func(o *warehouse.Options) { o.Mapping.Columns["ts"], o.TSUnit = "intDiv(ts_us, 1000000)", "s" },
		"nanoseconds":              func(o *warehouse.Options) { o.Mapping.Columns["ts"], o.TSUnit = "ts_us * 1000", "ns" },
		"floats": func(o *warehouse.Options) {
			o.Mapping.Columns["total_ms"], o.Mapping.Columns["attempts"] = "total_float", "attempts_float"
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, sums := ask(t, change)
			if report != wantReport {
				t.Errorf("%+v, want %+v", report, wantReport)
			}
			if fmt.Sprint(sums) != fmt.Sprint(wantSums) {
				t.Error("other sums")
			}
		})
	}
	t.Run("unreadable texts are counted", func(t *testing.T) {
		o := options(t, shards, "typed_all")
		o.Mapping.Columns["ts"] = "if(ifNull(attempts, 0) = 3, 'soon', text_zone)"
		r, err := open(t, o).Rows(context.Background(), plan, fullWindow(plan))
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, row := range rows {
			if row.Attempts == experiment.Some[int32](3) {
				want++
			}
		}
		if got := r.Health().Rejects; len(got) != 1 || got[0].Name != "ts: unreadable" || got[0].N != want {
			t.Errorf("rejects %v, want %d", got, want)
		}
	})
}

// A window without a row has no cells, no models and no error.
func TestEmptyWindow(t *testing.T) {
	shards := clustertest.Start(t)
	plan := weekPlan(t)
	shards.Create(t, "requests", nil)
	r, err := open(t, options(t, shards, "requests_all")).Rows(context.Background(), plan, fullWindow(plan))
	if err != nil {
		t.Fatal(err)
	}
	if report := r.Report(); report.Rows != 0 || len(r.Blocks().Missing) != 56 {
		t.Errorf("%+v, %+v", report, r.Blocks())
	}
	s, err := r.Summaries(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	found, err := stats.Analyze(context.Background(), s, nil, r.Pairs(), stats.DefaultOptions())
	if err != nil || len(found.Estimates) != 0 {
		t.Errorf("%v, %v", found.Estimates, err)
	}
}
