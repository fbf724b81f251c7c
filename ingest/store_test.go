package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/stats"
)

// lockEnv names the file that a child process of TestLocked tries to open.
const lockEnv = "SWITCHBACK_TEST_LOCKED"

func TestLocked(t *testing.T) {
	if path := os.Getenv(lockEnv); path != "" {
		_, err := Open(context.Background(), path, DefaultOptions())
		if errors.Is(err, ErrLocked) {
			fmt.Print(err)
		}
		return
	}
	s := openTemp(t)
	child := exec.Command(os.Args[0], "-test.run=^TestLocked$")
	child.Env = append(os.Environ(), lockEnv+"="+s.Path())
	out, err := child.Output()
	if err != nil || !strings.Contains(string(out), "locked by another process") || !strings.Contains(string(out), "PID") {
		t.Errorf("a second process: %s %v, want the holder named", out, err)
	}
}

func TestOpenErrors(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for want, open := range map[string]func() (*Store, error){
		"is not a size": func() (*Store, error) { return Open(ctx, filepath.Join(dir, "a"), Options{Memory: "lots"}) },
		"cannot hold":   func() (*Store, error) { return Open(ctx, filepath.Join(dir, "what?"), DefaultOptions()) },
		"open ": func() (*Store, error) {
			return Open(ctx, writeFile(t, filepath.Join(dir, "text"), []byte("hello")), DefaultOptions())
		},
		"schema version": func() (*Store, error) { return Open(ctx, otherVersion(t, filepath.Join(dir, "old")), DefaultOptions()) },
	} {
		s, err := open()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open: %v, want %q", err, want)
		}
		if s != nil {
			t.Error("a store beside the error")
		}
	}
}

func otherVersion(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(context.Background(), path, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(context.Background(), "UPDATE meta SET value = '0'"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// The names and order of the columns are a contract with whoever reads the file.
func TestTablesAreAsDescribed(t *testing.T) {
	s := openTemp(t)
	for name, want := range map[string]string{
		"requests": "request_id session_id client_id ts model provider arm block_id in_burn_in attempts n_429 n_retries ttft_ms caller_ttft_ms total_ms failed_ms " +
			"input_tokens cached_tokens cache_write_tokens output_tokens reasoning_tokens cost_usd cost_source status streamed is_byok tool_call_ok pinned_from_block " +
			"source source_row_id model_raw provider_raw load_id quality arm_logged cheapest_cost_usd",
		"attempts": "request_id attempt provider start_ms latency_ms http_status error_type cost_usd load_id",
		"blocks":   "block_id pair_id day slot arm starts ends burn_in_ends model",
		"results":  "run_id report_date metric unit scope estimand control treatment estimate lo hi p_value p_adjusted pairs models verdict",
	} {
		got := scalar(t, s, "SELECT string_agg(column_name, ' ' ORDER BY column_index) FROM duckdb_columns() WHERE table_name = ?", name)
		if got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	if got := scalar(t, s, "SELECT string_agg(DISTINCT data_type, ' ' ORDER BY data_type) FROM duckdb_columns() WHERE table_name = 'requests'"); got != "BIGINT BOOLEAN DECIMAL(18,3) DECIMAL(18,9) INTEGER TIMESTAMP VARCHAR" {
		t.Errorf("types: %s", got)
	}
	if got := scalar(t, s, "SELECT count(*) FROM quality_bits"); got != "11" {
		t.Errorf("%s quality bits", got)
	}
}

func TestSaveRun(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	v := func(x float64) *float64 { return &x }
	estimate := stats.Estimate{
		ID: "ttft_p50", Unit: "ms", Scope: "overall", Control: v(1007), Treatment: v(837), Relative: stats.Effect{Estimate: v(-0.169), Lo: v(-0.2), Hi: v(-0.1)},
		Absolute: stats.Effect{Estimate: v(-170)}, HalfSample: stats.Bounds{Lo: v(-0.21), Hi: v(-0.09)}, PValue: v(0.001), Pairs: 28, Models: 20, Verdict: stats.VerdictBetter,
	}
	run := RunRecord{RunID: "r1", ReportDate: "2026-11-08", Experiment: "e", InputHash: "h", Document: []byte("{\"a\": \"ü\"}\n"), FinishedAt: someStart}
	if err := s.SaveRun(ctx, run, []stats.Estimate{estimate}, []Diagnostic{{Name: "rows", Value: v(3)}, {Name: "note", Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	run.RunID = "r2" // the same date again replaces
	undefined := stats.Estimate{ID: "hit_429", Unit: "fraction", Scope: "model:m", Verdict: stats.VerdictNotMeasurable}
	if err := s.SaveRun(ctx, run, []stats.Estimate{estimate, undefined}, nil); err != nil {
		t.Fatal(err)
	}
	got := scalar(t, s, "SELECT string_agg(concat_ws(' ', run_id, metric, estimand, estimate, lo, hi, p_value), ', ' ORDER BY metric, estimand) FROM results")
	want := "r2 hit_429 absolute, r2 hit_429 relative, r2 ttft_p50 absolute -170.0, r2 ttft_p50 half_sample -0.169 -0.21 -0.09, r2 ttft_p50 relative -0.169 -0.2 -0.1 0.001"
	if got != want {
		t.Errorf("results:\n%s, want\n%s", got, want)
	}
	document, err := s.Document(ctx, "")
	if err != nil || !bytes.Equal(document, run.Document) {
		t.Errorf("document: %q, %v", document, err)
	}
	if _, err := s.Document(ctx, "2026-11-09"); !errors.Is(err, ErrNoRun) {
		t.Errorf("a date without a run: %v", err)
	}
	if _, err := s.Document(ctx, "'; DROP TABLE runs; --"); !errors.Is(err, ErrNoRun) {
		t.Errorf("a date that is none: %v", err)
	}
	run.ReportDate = "8 Nov"
	if err := s.SaveRun(ctx, run, nil, nil); err == nil {
		t.Error("a report date that is none was saved")
	}
}

func TestQueryTypes(t *testing.T) {
	s := openTemp(t)
	rows, err := s.Query(context.Background(), "SELECT 1::TINYINT a, 1.5::DECIMAL(18,3) b, 170141183460469231731687303715884105727 c, NULL d, 'x' e, TIMESTAMP '2026-11-02' f, true g, 0.1::FLOAT h")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	want := []any{int64(1), Decimal("1.500"), Decimal("170141183460469231731687303715884105727"), nil, "x", someStart, true, float64(float32(0.1))}
	if diff := gocmp.Diff(want, rows.Values()); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if rows.Next() || rows.Err() != nil {
		t.Errorf("a second row, or %v", rows.Err())
	}
	if _, err := s.Query(context.Background(), "SELEC 1"); err == nil {
		t.Error("a syntax error was accepted")
	}
}

func TestHealth(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	loadLog(t, s, []experiment.Request{
		{RequestID: "1", TS: at("2026-11-02 00:10:00"), Model: "m", Status: "ok"},
		{RequestID: "2", TS: at("2026-11-02 02:00:00"), Model: "m", Status: "ok", Total: experiment.Some[experiment.Micros](5), PinnedFromBlock: "b"},
		{RequestID: "3", TS: at("2026-11-02 02:00:00"), Model: "m", Status: "ok_gateway_cache"},
		{RequestID: "4", TS: at("2026-11-02 02:30:00"), Model: "m", Status: "cancelled", Quality: experiment.QualityBadValue, PinnedFromBlock: "a"},
		{RequestID: "5", TS: at("2026-11-02 03:10:00"), Model: "m", Status: "error"},
		{RequestID: "6", TS: at("2026-11-02 09:00:00"), Model: "m", Status: "error"},
		{RequestID: "7", TS: at("2026-11-05 09:00:00"), Model: "m", Status: "error"},
	})
	if _, err := s.ApplyPlan(ctx, twoBlocks()); err != nil {
		t.Fatal(err)
	}
	h, err := s.Health(ctx, Window{Arms: testArms, Until: someStart.AddDate(0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if h.Rows != 7 || h.Outside != 1 || h.NoBlock != 1 || h.BurnIn != 2 || h.Kept != 2 || h.FirstSeen != "2026-11-02T00:10:00Z" || h.LastSeen != "2026-11-02T09:00:00Z" {
		t.Errorf("rows: %+v", h)
	}
	wantArms := []ArmHealth{
		{Arm: testArms.Control, Rows: 4, BurnIn: 1, GatewayCache: 1, Kept: 2, PinnedEarlier: 1, PinnedOtherArm: 1, WithQualityBits: 1, Cancelled: 1},
		{Arm: testArms.Treatment, Rows: 1, BurnIn: 1},
	}
	if diff := gocmp.Diff(wantArms, h.Arms); diff != "" {
		t.Errorf("arms (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]Count{{"cancelled", 1}, {"ok", 1}}, h.Statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(BlockHealth{Blocks: 2, BurnInOnly: []string{"b"}}, h.Blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	for _, c := range h.Columns {
		if c.Column == "total_ms" && (c.Known != 1 || c.NullShare() != 0.5) {
			t.Errorf("total_ms: %+v", c)
		}
	}
}

// A file of version 1 lacks the last column of requests. It gets it when it is opened for writing, keeps its rows, and can
// be read before.
func TestTablesOfVersion1(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "old.duckdb")
	s, err := Open(ctx, path, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	load(t, s, someRequests(10, 1))
	for _, do := range []string{
		"DROP VIEW by_provider", "DROP VIEW by_block", "DROP VIEW requests_in_analysis", "ALTER TABLE requests DROP COLUMN " + cheapestCost,
		"UPDATE meta SET value = '1' WHERE key = 'schema_version'", "DELETE FROM meta WHERE key = 'views'",
	} {
		if _, err := s.db.ExecContext(ctx, do); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{ReadOnly: true}, DefaultOptions()} {
		s, err := Open(ctx, path, o)
		if err != nil {
			t.Fatal(err)
		}
		if n := scalar(t, s, "SELECT count(*) FROM requests"); n != "10" {
			t.Errorf("read-only %v: %s rows", o.ReadOnly, n)
		}
		if !o.ReadOnly {
			load(t, s, someRequests(10, 2))
			if n := scalar(t, s, "SELECT concat_ws(' ', count(*), count("+cheapestCost+") > 0) FROM requests"); n != "20 true" {
				t.Errorf("rows, some with a cheapest cost: %s", n)
			}
			if v := scalar(t, s, "SELECT value FROM meta WHERE key = 'schema_version'"); v != "2" {
				t.Errorf("version %s", v)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
