package ingest

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// A load that an error ends says that nothing of the file stayed.
func TestReportOfALoadThatFailed(t *testing.T) {
	s := openTemp(t)
	broken := errors.New("the disk is gone")
	o := loadOptions()
	o.Stdin = io.MultiReader(strings.NewReader(string(jsonl(t, someRequests(2000, 3)))), iotest.ErrReader(broken))
	report, err := LoadFiles(context.Background(), s, []string{"-"}, o)
	if !errors.Is(err, broken) || len(report.Files) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if f := report.Files[0]; f.Status != FileFailed || f.Rows != 0 || report.Rows != 0 || !strings.Contains(f.Reason, "the disk is gone") {
		t.Errorf("report: %+v", f)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	report, err = LoadFiles(ctx, s, []string{writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), jsonl(t, someRequests(5, 3)))}, loadOptions())
	if !errors.Is(err, context.Canceled) || len(report.Files) != 1 || report.Files[0].Status != FileFailed || report.Rows != 0 {
		t.Errorf("interrupted: %+v, %v", report, err)
	}
	if got := scalar(t, s, "SELECT (SELECT count(*) FROM requests) + (SELECT count(*) FROM loads)"); got != "0" {
		t.Errorf("%s rows stayed", got)
	}
}

// A file whose name the table of loads cannot hold is refused; the others are loaded.
func TestNamesThatAreNoText(t *testing.T) {
	dir := t.TempDir()
	bad := writeFile(t, filepath.Join(dir, "a\xff.jsonl"), jsonl(t, someRequests(5, 3)))
	writeFile(t, filepath.Join(dir, "b.jsonl"), jsonl(t, someRequests(7, 4)))
	for _, name := range []string{bad, filepath.Join(dir, "*.jsonl")} {
		s := openTemp(t)
		report, err := LoadFiles(context.Background(), s, []string{name, filepath.Join(dir, "b.jsonl")}, loadOptions())
		if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), `a\xff.jsonl: the name is not UTF-8`) || Hint(err) == "" {
			t.Errorf("%q: %v", name, err)
		}
		if len(report.Files) != 2 || report.Files[0].Status != FileRefused || report.Files[1].Rows != 7 || report.Rows != 7 {
			t.Errorf("%q: %+v", name, report.Files)
		}
	}
}

// A file that became empty holds nothing any more, and says so; rows that another file has too come back from that one.
func TestAFileThatBecomesEmpty(t *testing.T) {
	requests, s, a, b := overlappingExports(t)
	for _, content := range []string{"", "\n \n"} {
		writeFile(t, b, []byte(content))
		files := mustLoad(t, s, a, b).Files
		if f := files[1]; f.Status != FileReplaced || f.Rows != 0 || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "the file is empty now: the") {
			t.Errorf("%q: %+v", content, f)
		}
		if got := scalar(t, s, "SELECT count(*) || ' ' || count(DISTINCT request_id) FROM requests"); got != "600 600" {
			t.Errorf("%q: %s rows and ids are left", content, got)
		}
		if files = mustLoad(t, s, a, b).Files; files[0].Status != FileUnchanged || files[1].Status != FileUnchanged {
			t.Errorf("%q: the next night: %+v", content, files)
		}
		writeFile(t, b, jsonl(t, requests[300:]))
		if f := mustLoad(t, s, b).Files[0]; f.Rows != 600 || scalar(t, s, "SELECT count(*) FROM requests") != "900" {
			t.Errorf("%q: filled again: %+v", content, f)
		}
	}
}
