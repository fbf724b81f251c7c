package reports

import (
	"strings"
	"testing"
)

// The terminal shows the same verdict and the same rows as report.md.
func TestHeadlineIsTheReportsFirstScreen(t *testing.T) {
	doc := normalDocument()
	h := HeadlineOf(doc)
	files, err := Render(doc, Options{})
	if err != nil {
		t.Fatal(err)
	}
	markdown := strings.ReplaceAll(string(files[0].Bytes), "`", "")
	if !strings.Contains(markdown, h.Verdict) {
		t.Errorf("report.md misses the verdict %q", h.Verdict)
	}
	if len(h.Rows) != len(published(doc)) || len(h.Head) != len(h.Right) {
		t.Fatalf("%d rows, %d headings, %d alignments", len(h.Rows), len(h.Head), len(h.Right))
	}
	for _, row := range h.Rows {
		for _, line := range strings.Split(strings.Join(row, "\n"), "\n") {
			if !strings.Contains(markdown, line) {
				t.Errorf("report.md misses %q", line)
			}
		}
	}
}
