package reports

import (
	"strings"
	"testing"

	"switchback/stats"
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

// A log that a drive wrote is told at once, in the words for a simulated experiment.
func TestDrivenRowsAreSimulated(t *testing.T) {
	doc := normalDocument()
	doc.Simulated, doc.Warnings = true, nil
	simulated := HeadlineOf(doc)
	doc.Simulated = false
	if h := HeadlineOf(doc); len(h.Banners) != 0 || strings.Contains(h.Title, "SIMULATED") {
		t.Errorf("of a gateway: %q, %q", h.Title, h.Banners)
	}
	doc.Warnings = []stats.Warning{{Code: WarningDriven, Text: "12 of\n40 rows were driven"}}
	h := HeadlineOf(doc)
	want := strings.Replace(simulated.Banners[0], "SIMULATED.", "SIMULATED. Of the logs, 12 of 40 rows were driven.", 1)
	if h.Title != simulated.Title || len(h.Banners) != 1 || h.Banners[0] != want {
		t.Errorf("%q, %q, want %q, %q", h.Title, h.Banners, simulated.Title, want)
	}
}
