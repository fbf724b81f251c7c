package ingest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
)

func TestNeedsCoverEveryMetricOnce(t *testing.T) {
	var got, want []string
	for _, n := range needs() {
		got = append(got, n.metrics...)
	}
	for _, m := range experiment.Metrics() {
		want = append(want, m.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a load says of a file is what the SQL of the analysis finds in the loaded samples of every format.
func TestNotMeasurableIsWhatTheAnalysisDoesNotFind(t *testing.T) {
	entries, err := os.ReadDir(formatSamples)
	if err != nil {
		t.Fatal(err)
	}
	formats := map[string]bool{}
	for _, e := range entries {
		s := openTemp(t)
		report, err := LoadFiles(context.Background(), s, []string{filepath.Join(formatSamples, e.Name())}, loadOptions())
		if err != nil {
			continue // no log of requests
		}
		formats[report.Files[0].Format] = true
		var found string
		if err := s.db.QueryRow(unmetQuery("1")).Scan(&found); err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		if name := report.Files[0].Format; name == "portkey" && !slices.Contains(report.Files[0].NotMeasurable, "hit_429") {
			t.Errorf("%s says that it can tell 429s, from cache hits", name)
		}
		if diff := cmp.Diff(strings.Fields(found), report.Files[0].NotMeasurable); diff != "" {
			t.Errorf("%s: by the analysis -, by the reader +:\n%s", e.Name(), diff)
		}
	}
	if len(formats) != len(mappings())-1 { // two mappings read one format
		t.Errorf("samples of %d formats, want %d", len(formats), len(mappings())-1)
	}
}

func TestNotMeasurableFromParquet(t *testing.T) {
	s := openTemp(t)
	path := filepath.Join(t.TempDir(), "a.parquet")
	_, err := s.db.Exec("COPY (SELECT 'a' AS request_id, TIMESTAMP '2026-11-03 08:59:58' AS ts, 'm' AS model, 1.5 AS total_ms, 'ok' AS status) TO " + quote(path) + " (FORMAT parquet)")
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		o := loadOptions()
		o.DryRun = dry
		report, err := LoadFiles(context.Background(), s, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		no := report.Files[0].NotMeasurable
		if slices.Contains(no, "total_p50") || slices.Contains(no, "error_rate") || len(no) != len(experiment.Metrics())-3 {
			t.Errorf("dry %t: not measurable %q, want all but total_p50, total_p95, error_rate", dry, no)
		}
	}
}
