package ingest

import "testing"

func TestRejectLimit(t *testing.T) {
	for _, tc := range []struct {
		text           string
		rejects, lines int64
		exceeded       bool
	}{
		{"0.1%", 1, 1000, false}, {"0.1%", 2, 1000, true}, {"0%", 0, 0, false}, {"0%", 1, 1000, true},
		{"5", 5, 5, false}, {"5", 6, 1_000_000, true}, {"0", 0, 10, false},
	} {
		m, err := ParseRejectLimit(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Exceeded(tc.rejects, tc.lines); got != tc.exceeded {
			t.Errorf("%s with %d of %d lines: %v", tc.text, tc.rejects, tc.lines, got)
		}
	}
	for _, text := range []string{"", "%", "-1", "101%", "1.5", "NaN%"} {
		if _, err := ParseRejectLimit(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
