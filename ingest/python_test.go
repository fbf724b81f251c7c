package ingest

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpensInCurrentDuckDB reads a file of this program with the Python package duckdb, whose version is newer than the one
// inside: every table and view, under another name and attached to another database. SWITCHBACK_PYTHON names the interpreter.
func TestOpensInCurrentDuckDB(t *testing.T) {
	python := cmp.Or(os.Getenv("SWITCHBACK_PYTHON"), "python3")
	version, err := exec.Command(python, "-c", "import duckdb; print(duckdb.__version__)").Output()
	if err != nil {
		t.Skipf("no %s with the package duckdb", python)
	}
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "file.duckdb")
	s, err := Open(ctx, path, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	loadLog(t, s, messyRequests(2000, 3))
	if _, err := s.ApplyPlan(ctx, weekPlan(t)); err != nil {
		t.Fatal(err)
	}
	relations, err := s.Relations(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names, want []string
	for _, r := range relations {
		names = append(names, r.Name)
		want = append(want, r.Name+" "+scalar(t, s, "SELECT count(*) FROM "+r.Name))
	}
	want = append(want, scalar(t, s, "SELECT concat_ws(' ', sum(cost_usd), sum(ttft_ms), min(ts), count(throughput_tokens_per_s)) FROM requests_in_analysis"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(filepath.Dir(path), "other.db")
	if err := os.Rename(path, renamed); err != nil {
		t.Fatal(err)
	}
	script := `
import duckdb, sys
path, names = sys.argv[1], sys.argv[2].split()
alone = duckdb.connect(path, read_only=True)
for name in names:
    print(name, alone.sql("SELECT count(*) FROM " + name).fetchall()[0][0])
print(alone.sql("SELECT concat_ws(' ', sum(cost_usd), sum(ttft_ms), min(ts), count(throughput_tokens_per_s)) FROM requests_in_analysis").fetchall()[0][0])
alone.close()
beside = duckdb.connect()
beside.sql("ATTACH '" + path + "' AS nightly (READ_ONLY)")
for name in names:
    beside.sql("SELECT * FROM nightly." + name).fetchall()
`
	out, err := exec.Command(python, "-c", script, renamed, strings.Join(names, " ")).CombinedOutput()
	if err != nil {
		t.Fatalf("duckdb %s: %v\n%s", strings.TrimSpace(string(version)), err, out)
	}
	if got := strings.TrimSpace(string(out)); got != strings.Join(want, "\n") {
		t.Errorf("duckdb %s reads\n%s\nwant\n%s", strings.TrimSpace(string(version)), got, strings.Join(want, "\n"))
	}
	t.Logf("read by duckdb %s", strings.TrimSpace(string(version)))
	if len(names) < len(views())+len(tables()) {
		t.Errorf("tables and views: %q", names)
	}
}
