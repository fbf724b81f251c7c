package ingest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment/workload"
)

// TestRecorded: what can be played again comes in order of time, and every row that cannot is counted once.
func TestRecorded(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log.csv")
	text := `request_id,ts,model,session_id,client_id,input_tokens,output_tokens,status,tool_call_ok
late,2026-11-03T00:00:00Z,a/b,,,100,10,ok,
b,2026-11-02T00:00:02.5Z,a/b,s,me,200,20,ok,true
a,2026-11-02T00:00:01Z,a/b,s,me,100,10,ok,
early,2026-11-01T23:59:59Z,a/b,,,100,10,ok,
cached,2026-11-02T00:00:03Z,a/b,,,100,10,ok_gateway_cache,
failed,2026-11-02T00:00:04Z,a/b,,,100,,error,
bad,2026-11-02T00:00:05Z,a/b,,,many,10,ok,
`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), InMemory, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	if got, err := s.Recorded(t.Context(), start, start.Add(24*time.Hour)); err != nil || !cmp.Equal(got, Recorded{}) {
		t.Errorf("an empty store gives %+v, %v", got, err)
	}
	mustLoad(t, s, log)
	got, err := s.Recorded(t.Context(), start, start.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := Recorded{
		Requests: []workload.Recorded{
			{AtUS: 1e6, Model: "a/b", Session: "s", Client: "me", InputTokens: 100, OutputTokens: 10},
			{AtUS: 2.5e6, Model: "a/b", Session: "s", Client: "me", InputTokens: 200, OutputTokens: 20, Tools: true},
		},
		Outside: 2, FromCache: 1, NoTokens: 1, Unreadable: 1, Lacking: "failed in " + log + " has output_tokens unknown",
		First: start.Add(-time.Second), Last: start.Add(24 * time.Hour),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
