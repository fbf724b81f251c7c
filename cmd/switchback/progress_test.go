package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPace: how fast a stage is and how long the rest takes, from what was done since it began.
func TestPace(t *testing.T) {
	start := time.Date(2026, 11, 9, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		tell  func(s *stage)
		after time.Duration
		text  string
		facts []any
	}{
		{"nothing told", func(*stage) {}, 5 * time.Second, "", []any{"seconds", 5.0}},
		{"a known number", func(s *stage) { s.set(6_000_000, 24_000_000) }, 30 * time.Second,
			"6,000,000 of 24,000,000 requests, 200,000/s, 1m30s left", []any{"requests", int64(6_000_000), "of", int64(24_000_000), "per_second", int64(200_000), "left", "1m30s"}},
		{"goes on where another was", func(s *stage) { s.goOn(1000, 2000); s.set(1010, 2000) }, 20 * time.Second,
			"1,010 of 2,000 requests, 33m0s left", []any{"requests", int64(1010), "of", int64(2000), "left", "33m0s"}},
		{"bytes of files", func(s *stage) { s.setPart(80_000, 200, 500) }, 40 * time.Second,
			"80,000 requests, 40%, 2,000/s, 1m0s left", []any{"requests", int64(80_000), "per_second", int64(2000), "left", "1m0s"}},
		{"a stream of unknown length", func(s *stage) { s.setPart(80_000, 200, 0) }, 40 * time.Second,
			"80,000 requests, 2,000/s", []any{"requests", int64(80_000), "per_second", int64(2000)}},
		{"a query", func(s *stage) { s.set(7, 9); s.next("sums", "rows read"); s.set(500, 1500) }, 0, "sums: 500 of 1,500 rows read", []any{"question", "sums", "rows_read", int64(500), "of", int64(1500)}},
		{"a query that has read nothing", func(s *stage) { s.next("sums", "rows read") }, 0, "sums", []any{"question", "sums", "seconds", 0.0}},
		{"behind a query", func(s *stage) { s.next("sums", "rows read"); s.set(500, 1500); s.next("", "") }, 3 * time.Second, "", []any{"seconds", 3.0}},
		{"a clock that goes back", func(s *stage) { s.set(5, 10) }, -time.Second, "5 of 10 requests", []any{"requests", int64(5), "of", int64(10)}},
	} {
		s := &stage{p: &progress{now: func() time.Time { return start.Add(c.after) }}, unit: "requests", start: start}
		c.tell(s)
		if got := s.text(); got != c.text {
			t.Errorf("%s: %q, want %q", c.name, got, c.text)
		}
		if diff := cmp.Diff(c.facts, s.facts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
