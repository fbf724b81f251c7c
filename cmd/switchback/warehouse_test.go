package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse/clustertest"
)

// asked runs a command as a user of the cluster does, and returns its exit code and what it wrote.
func asked(t *testing.T, password string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	environ := []string{warehouseUser + "=" + clustertest.User, warehousePassword + "=" + password}
	now := func() time.Time { return time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC) }
	code = run(context.Background(), args, strings.NewReader(""), &out, &err, environ, now)
	return code, out.String(), err.String()
}

const experimentText = `schema_version = 1
name = "router-week"
arms = { control = "price", treatment = "routing-cost" }
analysis = { replicates = 300 }
design = { start = 2026-11-02T00:00:00Z, days = 7, schedule = "drawn" }
`

// warehouseConfig writes a configuration of rows in a table of the cluster.
func warehouseConfig(t *testing.T, dir string, shards *clustertest.Shards, table string, change func(columns map[string]string)) string {
	t.Helper()
	columns := clustertest.Mapping()
	if change != nil {
		change(columns)
	}
	text := experimentText + fmt.Sprintf("[logs]\nwarehouse = %q\ntable = %q\nts_unit = \"us\"\nmax_time = \"2m\"\nmax_memory = \"4GB\"\n[logs.columns]\n", shards.Address(0), table)
	for name, sql := range columns {
		text += fmt.Sprintf("%s = %q\n", name, sql)
	}
	path := filepath.Join(dir, table+".toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// results reads results.json without what names the machine, the program and the inputs.
func results(t *testing.T, out string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "latest", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	delete(doc, "provenance")
	text, err = json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func testPlan(t *testing.T) experiment.Plan {
	t.Helper()
	c, err := parseConfig("plan.toml", experimentText+"[logs]\nfiles = [\"log.jsonl\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.plan()
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// The same rows as a file and in a cluster of two shards give the same report, and one night after the other is kept in the
// same DuckDB file.
func TestReportFromAWarehouse(t *testing.T) {
	shards := clustertest.Start(t)
	dir := t.TempDir()
	rows := clustertest.WithRepeats(clustertest.Messy(testPlan(t), 12_000, 11))
	plan := testPlan(t)
	for i := range rows { // most labels are those of the schedule
		if b := experiment.BlockAt(plan.Blocks, rows[i].TS.Time()); rows[i].Arm != "" && b != nil && i%1000 != 0 {
			rows[i].Arm = b.Arm
		}
		if strings.HasSuffix(rows[i].RequestID, "7") {
			rows[i].Source = ingest.SourceDrive
		}
	}
	shards.Create(t, "requests", rows)
	var log bytes.Buffer
	w := ingest.NewJSONLWriter(&log)
	if err := w.Write(&experiment.Batch{Requests: rows}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := experimentText + "[logs]\nfiles = [\"log.jsonl\"]\nformat = \"canonical\"\n"
	for name, text := range map[string][]byte{"log.jsonl": log.Bytes(), "files.toml": []byte(files)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fromFiles, fromHouse := filepath.Join(dir, "from-files"), filepath.Join(dir, "from-warehouse")
	config := warehouseConfig(t, dir, shards, "requests_all", nil)
	for _, args := range [][]string{
		{"run", "--config", filepath.Join(dir, "files.toml"), "--date", "2026-11-08", "--out", fromFiles},
		{"run", "--config", config, "--date", "2026-11-08", "--out", fromHouse},
	} {
		if code, _, stderr := asked(t, clustertest.Password, args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
		}
	}
	if diff := cmp.Diff(results(t, fromFiles), results(t, fromHouse)); diff != "" {
		t.Errorf("results.json (-files +warehouse):\n%.6000s", diff)
	}
	if report, err := os.ReadFile(filepath.Join(fromHouse, "latest", "report.md")); err != nil || !bytes.Contains(report, []byte(" rows past the burn-in were made by switchback drive")) {
		t.Errorf("rows of a drive are not told: %v", err)
	}
	for name, query := range map[string]string{
		"56": "SELECT count(*) FROM blocks", "0": "SELECT count(*) FROM requests",
		"true": "SELECT count(*) > 50 FROM results", "1": "SELECT count(*) FROM runs",
	} {
		if _, stdout, _ := asked(t, "", "query", "--out", fromHouse, "--format", "csv", query); !strings.HasSuffix(strings.TrimSpace(stdout), "\n"+name) {
			t.Errorf("%s: %q, want %s", query, stdout, name)
		}
	}
	// The views say the same of both, and where the rows are that one file lacks.
	for _, query := range []string{"FROM by_block", "FROM by_provider", "DESCRIBE by_block", "DESCRIBE by_provider", "SELECT block_id, requests FROM by_block"} {
		_, want, _ := asked(t, "", "query", "--out", fromFiles, "--format", "csv", query)
		_, have, stderr := asked(t, "", "query", "--out", fromHouse, "--format", "csv", query)
		if want != have || strings.Count(want, "\n") < 6 || stderr != "" {
			t.Errorf("%s (-files +warehouse): %s\n%s", query, cmp.Diff(want, have), stderr)
		}
	}
	for _, args := range [][]string{{"FROM requests_in_analysis"}, {`SELECT count(*) FROM "requests"`}, {"--list"}} {
		for out, tells := range map[string]bool{fromFiles: false, fromHouse: true} {
			code, stdout, stderr := asked(t, "", append([]string{"query", "--out", out}, args...)...)
			if code != 0 || stdout == "" || tells != strings.Contains(stderr, "lie in "+shards.Address(0)+"?secure=false requests_all and not in this file") || tells != strings.Contains(stderr, "--dry-run") {
				t.Errorf("query %v of %s: exit code %d\n%s", args, out, code, stderr)
			}
		}
	}
	overTLS(t, dir, shards, config, results(t, fromHouse))
	// The same night again is up to date; another row makes it anew.
	again := []string{"run", "--config", config, "--date", "2026-11-08", "--out", fromHouse}
	if code, _, stderr := asked(t, clustertest.Password, again...); code != 0 || !strings.Contains(stderr, "up to date") {
		t.Errorf("again: exit code %d\n%s", code, stderr)
	}
	shards.Insert(t, "requests", clustertest.Messy(plan, 20, 12)[19:])
	if code, _, stderr := asked(t, clustertest.Password, again...); code != 0 || strings.Contains(stderr, "up to date") {
		t.Errorf("after another row: exit code %d\n%s", code, stderr)
	}
	// Neither user nor password is kept.
	err := filepath.WalkDir(fromHouse, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // latest is a link to a folder
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(clustertest.Password)) {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// overTLS makes the report over ports that speak TLS, where a private authority is trusted by its file alone. It is run as a
// process, since a process reads that file once.
func overTLS(t *testing.T, dir string, shards *clustertest.Shards, config, want string) {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	plain, plainPort := shards.Address(0), fmt.Sprint(":", shards.Ports[0], "/")
	to := func(name, address string) string {
		path := filepath.Join(dir, name+".toml")
		if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(plain), []byte(address)), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secure := shards.SecureAddress(0)
	fails := func(code int, config string, says ...string) {
		t.Helper()
		got, stdout, stderr := asked(t, clustertest.Password, "run", "--dry-run", "--config", config)
		if got != code || stdout != "" {
			t.Errorf("%s: exit code %d, want %d; stdout %q", config, got, code, stdout)
		}
		for _, s := range says {
			if !strings.Contains(stderr, s) {
				t.Errorf("%s: stderr does not say %q:\n%s", config, s, stderr)
			}
		}
	}
	fails(exitUsage, to("unknown-authority", secure), "certificate signed by unknown authority", "hint: ", "SSL_CERT_FILE=ca.pem")
	fails(exitUsage, to("plain-port", plain+"?secure=true"), "does not look like a TLS handshake", "secure=false")
	fails(exitFailed, to("tls-port", strings.TrimSuffix(secure, "?secure=true")), "does the address say whether this port speaks TLS")

	out := filepath.Join(dir, "over-tls")
	child := exec.Command("switchback", "run", "--config", to("trusted", secure), "--date", "2026-11-08", "--out", out)
	child.Env = append(os.Environ(), "SSL_CERT_FILE="+shards.CA, warehouseUser+"="+clustertest.User, warehousePassword+"="+clustertest.Password)
	if told, err := child.CombinedOutput(); err != nil || bytes.Contains(told, []byte(plainPort)) {
		t.Fatalf("over TLS: %v\n%s", err, told)
	}
	if diff := cmp.Diff(want, results(t, out)); diff != "" {
		t.Errorf("results.json (-plain +TLS):\n%.3000s", diff)
	}
	// Another name of the same host is not in the certificate.
	child = exec.Command("switchback", "run", "--dry-run", "--config", to("other-name", strings.Replace(secure, "127.0.0.1", "localhost", 1)))
	child.Env = append(os.Environ(), "SSL_CERT_FILE="+shards.CA, warehouseUser+"="+clustertest.User, warehousePassword+"="+clustertest.Password)
	if told, err := child.CombinedOutput(); child.ProcessState.ExitCode() != exitUsage || !bytes.Contains(told, []byte("as its certificate does")) {
		t.Errorf("another name: %v\n%s", err, told)
	}
}

// What goes wrong in a warehouse is told with its exit code, and nothing is written but the run record.
func TestWarehouseFailures(t *testing.T) {
	shards := clustertest.Start(t)
	dir := t.TempDir()
	plan := testPlan(t)
	rows := clustertest.Messy(plan, 2_000, 5)
	for i := range rows {
		rows[i].Arm = ""
	}
	shards.Create(t, "requests", rows)
	good := warehouseConfig(t, dir, shards, "requests_all", nil)
	out := filepath.Join(dir, "out")
	fails := func(want int, password, config string, says ...string) {
		t.Helper()
		code, stdout, stderr := asked(t, password, "run", "--config", config, "--date", "2026-11-08", "--out", out)
		if code != want || stdout != "" {
			t.Errorf("exit code %d, want %d; stdout %q\n%s", code, want, stdout, stderr)
		}
		for _, text := range append(says, "switchback: error: ") {
			if !strings.Contains(stderr, text) {
				t.Errorf("stderr does not say %q:\n%s", text, stderr)
			}
		}
		if strings.Contains(stderr, clustertest.Password) || strings.Contains(stderr, "Stack trace") {
			t.Errorf("stderr: %s", stderr)
		}
		for _, name := range []string{"switchback.duckdb", "plan.csv", "latest"} {
			if _, err := os.Lstat(filepath.Join(out, name)); err == nil {
				t.Errorf("%s was written", name)
			}
		}
		if left, err := os.ReadDir(filepath.Join(out, "reports")); err != nil || len(left) != 0 {
			t.Errorf("reports: %v, %v", left, err)
		}
		if left, err := filepath.Glob(filepath.Join(out, "*.tmp-*")); err != nil || len(left) != 0 {
			t.Errorf("left aside: %v, %v", left, err)
		}
	}
	fails(exitUsage, "wrong", good, "user or password refused", warehousePassword)
	missing := warehouseConfig(t, t.TempDir(), shards, "requests_all", func(c map[string]string) { c["ttft_ms"] = "first_token_ms" })
	fails(exitUsage, clustertest.Password, missing, `column ttft_ms = "first_token_ms"`, "logs.columns")
	fails(exitUsage, clustertest.Password, warehouseConfig(t, dir, shards, "request", nil), "table request", "logs.table")
	shards.Create(t, "empty", nil)
	fails(exitFailed, clustertest.Password, warehouseConfig(t, dir, shards, "empty_all", nil), "no row in the window")
	local := filepath.Join(t.TempDir(), "keys.toml")
	if err := os.WriteFile(local, []byte(experimentText+"[logs]\nfiles = [\"log.jsonl\"]\ntable = \"requests\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := asked(t, "", "run", "--config", local, "--out", filepath.Join(t.TempDir(), "out")); code != exitUsage || !strings.Contains(stderr, "keys.toml:8: logs.table: is for rows that lie in a warehouse") {
		t.Errorf("a table without a warehouse: exit code %d\n%s", code, stderr)
	}

	// A dry run asks for types only and prints the SQL.
	code, stdout, stderr := asked(t, clustertest.Password, "run", "--config", good, "--dry-run")
	if code != 0 || strings.Count(stdout, "GLOBAL ALL INNER JOIN places") < 20 || strings.Contains(stdout, clustertest.Password) {
		t.Errorf("dry run: exit code %d, %d bytes\n%s", code, len(stdout), stderr)
	}
	for _, statement := range strings.Split(strings.TrimSpace(stdout), ";\n\n") {
		_, sql, _ := strings.Cut(statement, "\n")
		if sql = strings.TrimSpace(sql); !strings.HasPrefix(sql, "WITH") && !strings.HasPrefix(sql, "SELECT") {
			t.Errorf("not a SELECT: %.80s", sql)
		}
	}

	// One of two shards is gone.
	shards.Stop(t, 1)
	fails(exitFailed, clustertest.Password, good, "warehouse: table requests_all: All connection tries failed", "a part of the cluster does not answer", "the warehouse is asked again")
}
