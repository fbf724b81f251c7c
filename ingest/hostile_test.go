package ingest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// A failed attempt of LiteLLM that stands far from the one that followed it cannot be joined; that is told.
func TestUnsortedAttemptsAreTold(t *testing.T) {
	header := "request_id,spend,startTime,endTime,completionStartTime,status,session_id,model_group,model,metadata\n"
	line := func(i int, session, status string) string {
		start := fmt.Sprintf("2026-11-03 %02d:%02d:%02d", 8+i/3600, i/60%60, i%60)
		return fmt.Sprintf("r%d-%s,0,%s.000,%s.900,%s.500,%s,%s,g,m,{}\n", i, status, start, start, start, status, session)
	}
	const rows = 3 * foldBuffer
	const failed = 100
	failure := line(failed, "chat", "failure")
	var sorted, unsorted strings.Builder
	sorted.WriteString(header)
	unsorted.WriteString(header)
	for i := range rows {
		session := fmt.Sprint("other-", i)
		if i == failed+1 { // starts 0.1 s after the failure's end
			session = "chat"
		}
		if i != failed {
			sorted.WriteString(line(i, session, "success"))
			unsorted.WriteString(line(i, session, "success"))
		} else {
			sorted.WriteString(failure)
		}
	}
	unsorted.WriteString(failure)
	for name, c := range map[string]struct {
		text     string
		rows     int64
		warnings int
	}{
		"sorted.csv":   {sorted.String(), rows - 1, 0},
		"unsorted.csv": {unsorted.String(), rows, 1},
	} {
		_, f := loadText(t, name, c.text)
		if f.Format != "litellm-spendlogs" || f.Rows != c.rows {
			t.Errorf("%s: format %q, %d rows, want %d", name, f.Format, f.Rows, c.rows)
		}
		told := 0
		for _, w := range f.Warnings {
			if strings.HasPrefix(w, "1 rows stand so far out of the order of time") {
				told++
			}
		}
		if told != c.warnings {
			t.Errorf("%s: warnings %q", name, f.Warnings)
		}
	}
}
