package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchback/ingest/warehouse/clustertest"
)

// watched is a stderr that does something when a question is about to be asked, once.
type watched struct {
	bytes.Buffer
	question string
	do       func()
}

func (w *watched) Write(line []byte) (int, error) {
	if w.do != nil && bytes.Contains(line, []byte("ask warehouse question=\""+w.question+"\"")) {
		w.do()
		w.do = nil
	}
	return w.Buffer.Write(line)
}

// A shard that ends in the middle of a run, at whatever stage, ends the run with exit code 1, the question and the shard. The
// former report stands as it was, in the folder and in the database; the next run makes the one that was wanted.
func TestWarehouseLosesAShardMidway(t *testing.T) {
	shards := clustertest.Start(t)
	dir := t.TempDir()
	rows := clustertest.Messy(testPlan(t), 4_000, 21)
	for i := range rows {
		rows[i].Arm = ""
	}
	shards.Create(t, "requests", rows)
	config := warehouseConfig(t, dir, shards, "requests_all", nil)
	out, undisturbed := filepath.Join(dir, "out"), filepath.Join(dir, "undisturbed")
	for _, args := range [][]string{{"2026-11-07", out}, {"2026-11-07", undisturbed}, {"2026-11-08", undisturbed}} {
		if code, _, stderr := asked(t, clustertest.Password, "run", "--config", config, "--date", args[0], "--out", args[1]); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
		}
	}
	before := standing(t, out)
	for _, question := range []string{
		"rows by block", "values of ttft inside the touched bins", "values of ttft_p50 by minutes since the switch and client inside the touched bins",
		"values of throughput by block and provider inside the touched bins",
	} {
		var stdout bytes.Buffer
		var gone chan struct{}
		stderr := &watched{question: question, do: func() { gone = shards.Break(t, 1) }}
		environ := []string{warehouseUser + "=" + clustertest.User, warehousePassword + "=" + clustertest.Password}
		now := func() time.Time { return time.Date(2026, 11, 20, 4, 0, 0, 0, time.UTC) }
		code := run(context.Background(), []string{"run", "--verbose", "--config", config, "--date", "2026-11-08", "--out", out}, strings.NewReader(""), &stdout, stderr, environ, now)
		if gone == nil {
			t.Fatalf("%s: never asked\n%s", question, stderr)
		}
		<-gone
		_, told, _ := strings.Cut(stderr.String(), "switchback: error: ")
		if code != exitFailed || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stdout %q", question, code, &stdout)
		}
		for _, says := range []string{"warehouse: " + question + ": ", fmt.Sprintf("(127.0.0.1:%d)", shards.Ports[1]), "hint: a part of the cluster does not answer; nothing was written"} {
			if !strings.Contains(told, says) {
				t.Errorf("%s: stderr does not say %q: %s", question, says, told)
			}
		}
		if diff := cmp.Diff(before, standing(t, out)); diff != "" {
			t.Errorf("%s: what stands in the folder (-before +after):\n%s", question, diff)
		}
		shards.Run(t, 1)
	}
	if code, _, stderr := asked(t, clustertest.Password, "run", "--config", config, "--date", "2026-11-08", "--out", out); code != 0 {
		t.Fatalf("with the shard back: exit code %d\n%s", code, stderr)
	}
	if diff := cmp.Diff(results(t, undisturbed), results(t, out)); diff != "" {
		t.Errorf("results.json (-undisturbed +after the losses):\n%.3000s", diff)
	}
	if diff := cmp.Diff(standing(t, undisturbed)["results"], standing(t, out)["results"]); diff != "" {
		t.Errorf("table results (-undisturbed +after the losses):\n%.3000s", diff)
	}
}

// A dry run prints what a run asks, question by question, and for rows that stand twice what it would ask of them.
func TestWarehouseDryRunPrintsWhatARunAsks(t *testing.T) {
	shards := clustertest.Start(t)
	dir := t.TempDir()
	rows := clustertest.Messy(testPlan(t), 3_000, 22)
	for i := range rows {
		rows[i].Arm = ""
	}
	shards.Create(t, "requests", rows)
	config := warehouseConfig(t, dir, shards, "requests_all", nil)
	code, printed, stderr := asked(t, clustertest.Password, "run", "--dry-run", "--config", config)
	if code != 0 {
		t.Fatalf("dry run: exit code %d\n%s", code, stderr)
	}
	code, _, stderr = asked(t, clustertest.Password, "run", "--verbose", "--config", config, "--date", "2026-11-08", "--out", filepath.Join(dir, "out"))
	if code != 0 {
		t.Fatalf("run: exit code %d\n%s", code, stderr)
	}
	names := func(text string, of *regexp.Regexp, less ...string) (list []string) {
		for _, m := range of.FindAllStringSubmatch(text, -1) {
			if name := m[1]; !slices.Contains(list, name) && !slices.Contains(less, name) {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}
	want := names(printed, regexp.MustCompile(`(?m)^-- (.*)$`), "repeated records")
	have := names(stderr, regexp.MustCompile(`warehouse answered question="([^"]*)"`))
	if diff := cmp.Diff(want, have); diff != "" || len(want) < 25 {
		t.Errorf("questions (-dry run +run):\n%s", diff)
	}
}

// standing is what a run leaves beside its record: the files but for the database, and the database's tables.
func standing(t *testing.T, out string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(out, path)
		switch {
		case err != nil:
			return err
		case d.Type()&os.ModeSymlink != 0:
			found[name], err = os.Readlink(path)
		case d.IsDir() && name == "runs":
			return filepath.SkipDir
		case d.Type().IsRegular() && name != "switchback.duckdb" && name != ".lock":
			var text []byte
			text, err = os.ReadFile(path)
			found[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for table, columns := range map[string]string{"results": "* EXCLUDE (run_id)", "diagnostics": "*", "blocks": "*", "runs": "report_date, document", "block_summaries": "*", "provider_summaries": "*"} {
		code, stdout, stderr := asked(t, "", "query", "--out", out, "--format", "csv", "SELECT "+columns+" FROM "+table+" ORDER BY ALL")
		if code != 0 {
			t.Fatalf("%s: %s", table, stderr)
		}
		found[table] = stdout
	}
	return found
}
