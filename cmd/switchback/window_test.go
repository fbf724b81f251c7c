package main

import (
	"strings"
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	starts := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	ends := starts.AddDate(0, 0, 7)
	at := func(text string) time.Time {
		instant, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return instant
	}
	logs, drive := config{Logs: &logsConfig{}}, config{}
	tests := []struct {
		name        string
		config      config
		settings    settings
		now         string
		date        string
		since       string
		until       string
		provisional bool
		err         string
	}{
		{name: "a night of the week is provisional", config: logs, now: "2026-11-05T03:00:00Z", date: "2026-11-04", since: "2026-11-02T00:00:00Z", until: "2026-11-05T00:00:00Z", provisional: true},
		{name: "the night after the last day", config: logs, now: "2026-11-09T00:00:01Z", date: "2026-11-08", since: "2026-11-02T00:00:00Z", until: "2026-11-09T00:00:00Z"},
		{name: "long after", config: logs, now: "2027-01-01T00:00:00Z", date: "2026-11-08", since: "2026-11-02T00:00:00Z", until: "2026-11-09T00:00:00Z"},
		{name: "the clock is read in UTC", config: logs, now: "2026-11-05T01:00:00+02:00", date: "2026-11-03", since: "2026-11-02T00:00:00Z", until: "2026-11-04T00:00:00Z", provisional: true},
		{name: "--date", config: logs, settings: settings{date: "2026-11-03"}, now: "2027-01-01T00:00:00Z", date: "2026-11-03", since: "2026-11-02T00:00:00Z", until: "2026-11-04T00:00:00Z", provisional: true},
		{name: "--since and --until narrow", config: logs, settings: settings{since: "2026-11-03", until: "2026-11-04T12:00:00Z"}, now: "2027-01-01T00:00:00Z", date: "2026-11-08", since: "2026-11-03T00:00:00Z", until: "2026-11-04T12:00:00Z"},
		{name: "--since and --until never widen", config: logs, settings: settings{since: "2026-10-01", until: "2026-12-01"}, now: "2027-01-01T00:00:00Z", date: "2026-11-08", since: "2026-11-02T00:00:00Z", until: "2026-11-09T00:00:00Z"},
		{name: "before the first day is over", config: logs, now: "2026-11-02T10:00:00Z", err: "report date 2026-11-01: the experiment runs from 2026-11-02 to 2026-11-08"},
		{name: "--date after the experiment", config: logs, settings: settings{date: "2026-11-09"}, now: "2027-01-01T00:00:00Z", err: "report date 2026-11-09"},
		{name: "no such day", config: logs, settings: settings{date: "2026-11-31"}, now: "2027-01-01T00:00:00Z", err: `--date: cannot read "2026-11-31"`},
		{name: "empty window", config: logs, settings: settings{since: "2026-11-04", until: "2026-11-03"}, now: "2027-01-01T00:00:00Z", err: "no time lies between"},
		{name: "a simulated run has no clock", config: drive, now: "2020-01-01T00:00:00Z", date: "2026-11-08", since: "2026-11-02T00:00:00Z", until: "2026-11-09T00:00:00Z"},
		{name: "a simulated run is whole", config: drive, settings: settings{date: "2026-11-03"}, now: "2027-01-01T00:00:00Z", err: "a simulated run covers its whole plan"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w, err := tc.settings.window(&tc.config, starts, ends, at(tc.now))
			if tc.err != "" {
				if codeOf(err) != exitUsage || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if w.date != tc.date || !w.since.Equal(at(tc.since)) || !w.until.Equal(at(tc.until)) || w.provisional != tc.provisional {
				t.Errorf("window %s of %s, provisional %v", w, w.date, w.provisional)
			}
		})
	}
}
