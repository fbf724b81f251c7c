package ingest

import (
	"fmt"
	"testing"

	"switchback/experiment"
)

func TestLoaderStoresWhatItIsGiven(t *testing.T) {
	s := openTemp(t)
	requests := someRequests(50_000, 1)
	row := load(t, s, requests)
	if row.Rows != 50_000 {
		t.Errorf("rows = %d", row.Rows)
	}
	var cost, total, failed, ttft, input int64
	var errors, tools, ttfts int
	for _, r := range requests {
		cost += int64(r.Cost.Value)
		total += int64(r.Total.Value)
		failed += int64(r.Failed.Value)
		ttft += int64(r.TTFT.Value)
		input += r.InputTokens.Value
		if r.TTFT.Known {
			ttfts++
		}
		if r.Status == experiment.StatusError {
			errors++
		}
		if r.ToolCallOK.Known {
			tools++
		}
	}
	got := scalar(t, s, `SELECT concat_ws(' ', count(*), sum(cost_usd), sum(total_ms), sum(failed_ms), sum(ttft_ms), count(ttft_ms), sum(input_tokens),
		count(*) FILTER (status = 'error'), count(tool_call_ok), count(DISTINCT request_id), count(arm_logged), min(ts), max(load_id)) FROM requests`)
	dec := func(v int64, scale int) string {
		d := fmt.Sprintf("%0*d", scale+1, v)
		return d[:len(d)-scale] + "." + d[len(d)-scale:]
	}
	want := fmt.Sprintf("50000 %s %s %s %s %d %d %d %d 50000 0 2026-11-02 00:00:00 1",
		dec(cost, 9), dec(total, 3), dec(failed, 3), dec(ttft, 3), ttfts, input, errors, tools)
	if got != want {
		t.Errorf("table holds\n%s, the rows say\n%s", got, want)
	}
	if got, want := scalar(t, s, "SELECT count(*) FROM attempts"), fmt.Sprint(len(attemptsOf(requests))); got != want {
		t.Errorf("attempts = %s, want %s", got, want)
	}
	if got := scalar(t, s, "SELECT count(*) FROM duckdb_views() WHERE NOT internal"); got != fmt.Sprint(len(views())) {
		t.Errorf("%s views are in the file, want the %d of every file", got, len(views()))
	}
}
