package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A prompt in the first line makes it longer than the usual sample.
func TestLongFirstLineIsRecognised(t *testing.T) {
	long := `{"request_id":"a","ts":"2026-11-03T08:59:58Z","model":"m","prompt":"` + strings.Repeat("y", 5_000_000) + `"}` + "\n"
	_, f := loadText(t, "long.jsonl", long+`{"request_id":"b","ts":"2026-11-03T08:59:59Z","model":"m"}`+"\n")
	if f.Format != FormatCanonical || f.Rows != 2 || f.Rejects != 0 {
		t.Errorf("format %q, %d rows, %d rejects; want canonical, 2, 0", f.Format, f.Rows, f.Rejects)
	}
	_, f = loadText(t, "longer.jsonl", strings.Replace(long, `"}`, strings.Repeat("y", maxLine-5_000_000)+`"}`, 1)+`{"request_id":"b","ts":"2026-11-03T08:59:59Z","model":"m"}`+"\n")
	if f.Format != FormatCanonical || f.Rows != 1 || f.Rejects != 1 {
		t.Errorf("over the limit: format %q, %d rows, %d rejects; want canonical, 1, 1", f.Format, f.Rows, f.Rejects)
	}
}

// What is in the store already does not spare a file from a forced format that it is not of.
func TestForcedFormatOfALoadedFile(t *testing.T) {
	s := openTemp(t)
	path := writeFile(t, filepath.Join(t.TempDir(), "a.jsonl"), jsonl(t, someRequests(5, 8)))
	mustLoad(t, s, path)
	o := loadOptions()
	o.Format = "helicone"
	if _, err := LoadFiles(context.Background(), s, []string{path}, o); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "not in the format helicone") {
		t.Errorf("forced: %v", err)
	}
	o.Format = FormatCanonical
	report, err := LoadFiles(context.Background(), s, []string{path}, o)
	if err != nil || report.Files[0].Status != FileUnchanged {
		t.Errorf("its own format: %v, %+v", err, report.Files)
	}
}

func TestPatternSkipsALinkToNowhere(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.jsonl"), jsonl(t, someRequests(5, 8)))
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	report := mustLoad(t, openTemp(t), filepath.Join(dir, "*.jsonl"))
	if report.Rows != 5 || len(report.Warnings) != 1 || !strings.HasSuffix(report.Warnings[0], "b.jsonl: no such file or directory, skipped") {
		t.Errorf("%d rows, warnings %q", report.Rows, report.Warnings)
	}
}

func TestConflictingDuplicatesAreTold(t *testing.T) {
	const row = `{"request_id":"a","ts":"2026-11-03T08:59:58Z","model":"m","input_tokens":%d}` + "\n"
	s, f := loadText(t, "twice.jsonl", fmt.Sprintf(row, 1)+fmt.Sprintf(row, 2))
	if f.Duplicates != 1 || f.Conflicts != 1 || len(f.Warnings) != 1 || !strings.HasPrefix(f.Warnings[0], "1 duplicates differ from the row that was kept") {
		t.Errorf("%d duplicates, %d conflicts, warnings %q", f.Duplicates, f.Conflicts, f.Warnings)
	}
	var tokens int
	if err := s.db.QueryRow("SELECT input_tokens FROM requests").Scan(&tokens); err != nil || tokens != 2 {
		t.Errorf("kept %d tokens (%v), want the later row's 2", tokens, err)
	}
}

// A failed attempt of LiteLLM is joined with the one that followed it however far they stand from each other: whatever the
// order of the lines, the rows are those of the sorted log.
func TestAttemptsAreJoinedInAnyOrder(t *testing.T) {
	const rows, failures = 20_000, 2000 // more than a buffer
	const header = "request_id,spend,startTime,endTime,completionStartTime,status,session_id,model_group,model,metadata\n"
	var lines []string
	for i := range rows {
		// Every tenth request fails and is tried again 0.1 s after its failure's end.
		session, status := fmt.Sprint("chat-", i), "success"
		switch i % 10 {
		case 3:
			status = "failure"
		case 4:
			session = fmt.Sprint("chat-", i-1)
		}
		at := time.Date(2026, 11, 3, 0, 0, i, 0, time.UTC).Format("2006-01-02 15:04:05")
		lines = append(lines, fmt.Sprintf("r%d,0,%s.000,%s.900,%s.500,%s,%s,g,m,\"{\"\"note\"\": \"\"a, b\"\"}\"\n", i, at, at, at, status, session))
	}
	orders := map[string]func([]string){
		"sorted":   func([]string) {},
		"reversed": slices.Reverse[[]string],
		"shuffled": func(l []string) {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		},
		"failures last": func(l []string) {
			slices.SortStableFunc(l, func(a, b string) int {
				return cmp.Compare(strings.Count(a, "failure"), strings.Count(b, "failure"))
			})
		},
	}
	var wantRows, wantAttempts string
	for _, name := range []string{"sorted", "reversed", "shuffled", "failures last"} {
		mixed := slices.Clone(lines)
		orders[name](mixed)
		dir := t.TempDir()
		s, err := Open(t.Context(), filepath.Join(dir, "test.duckdb"), DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		text := header + strings.Join(mixed, "")
		f := mustLoad(t, s, writeFile(t, filepath.Join(dir, "log.csv"), []byte(text))).Files[0]
		if f.Format != "litellm-spendlogs" || f.Rows != rows-failures || f.Rejects != 0 || len(f.Warnings) > 0 {
			t.Errorf("%s: %+v", name, f)
		}
		gotRows, gotAttempts := table(t, s), attemptTable(t, s)
		if name == "sorted" {
			wantRows, wantAttempts = gotRows, gotAttempts
		}
		if gotRows != wantRows || gotAttempts != wantAttempts || !strings.HasPrefix(gotAttempts, fmt.Sprint(2*failures, " ")) {
			t.Errorf("%s: rows %s, attempts %s; sorted %s, %s", name, gotRows, gotAttempts, wantRows, wantAttempts)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "switchback-sort-*")); len(left) > 0 {
			t.Errorf("%s: left behind: %s", name, left)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if name != "shuffled" {
			continue
		}
		piped := openTemp(t) // a stream cannot be read again
		o := loadOptions()
		o.Stdin = strings.NewReader(text)
		if _, err := LoadFiles(t.Context(), piped, []string{"-"}, o); err != nil {
			t.Fatal(err)
		}
		if gotRows, gotAttempts := table(t, piped), attemptTable(t, piped); gotRows != wantRows || gotAttempts != wantAttempts {
			t.Errorf("stdin: rows %s, attempts %s", gotRows, gotAttempts)
		}
		dry, err := LoadFiles(t.Context(), nil, []string{filepath.Join(dir, "log.csv")}, LoadOptions{Format: FormatAuto, MaxRejects: "0", Now: o.Now, DryRun: true})
		if err != nil || dry.Rows != rows-failures {
			t.Errorf("dry run: %d rows, %v", dry.Rows, err)
		}
	}
}
