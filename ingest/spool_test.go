package ingest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"switchback/experiment"
)

// TestSpoolSorts: every row comes back as it was, in the order of time and then of lines, whatever part of the rows fits
// the memory; no file is left.
func TestSpoolSorts(t *testing.T) {
	some := rapid.Custom(func(t *rapid.T) experiment.Opt[experiment.Micros] {
		return experiment.Opt[experiment.Micros]{Value: experiment.Micros(rapid.Int64Range(-5, 5).Draw(t, "value")), Known: rapid.Bool().Draw(t, "known")}
	})
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var rows []mappedRow
		for i := range rapid.IntRange(0, 60).Draw(t, "rows") {
			row := mappedRow{line: int64(i), text: []byte(fmt.Sprint("line ", i)), link: link{key: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key"), open: rapid.Bool().Draw(t, "open"), gap: 7}}
			row.TS, row.Total, row.Model = experiment.Instant(rapid.Int64Range(1, 20).Draw(t, "ts")), some.Draw(t, "total"), "m"
			for range rapid.IntRange(0, 2).Draw(t, "unread") {
				row.unread = append(row.unread, UnreadField{"n_429", 1, row.line, "é"})
			}
			for n := range rapid.IntRange(0, 2).Draw(t, "attempts") {
				row.attempts = append(row.attempts, attempt{N: int32(n), Latency: some.Draw(t, "latency"), ErrorType: "é"})
			}
			rows = append(rows, row)
		}
		s := spool{folder: dir, most: rapid.IntRange(1, 70).Draw(t, "most")}
		for i := range rows {
			if err := s.add(&rows[i]); err != nil {
				t.Fatal(err)
			}
		}
		var got []mappedRow
		if err := s.each(func(r *mappedRow) { got = append(got, *r) }); err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(rows, inTime)
		if diff := cmp.Diff(rows, got, cmp.AllowUnexported(mappedRow{}, link{}, node{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Fatalf("left behind: %v, %v", left, err)
		}
	})
}
