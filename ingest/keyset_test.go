package ingest

import "testing"

// A load knows that its rows are distinct when they differ in what dedupeKey names, and only then.
func TestKeySetTellsDistinctRows(t *testing.T) {
	rows := someRequests(100_000, 1)
	k := newKeySet()
	k.add(rows[:60_000])
	k.add(rows[60_000:])
	if !k.distinct {
		t.Error("distinct rows are taken for duplicates")
	}
	for what, change := range map[string]func(*request){
		"source_row_id": func(r *request) { r.SourceRowID += "x" },
		"model":         func(r *request) { r.Model += "x" },
		"source":        func(r *request) { r.Source += "x" },
		"ts":            func(r *request) { r.TS += 1000 },
	} {
		other := rows[7]
		change(&other)
		k := newKeySet()
		k.add(rows)
		if k.add([]request{other}); !k.distinct {
			t.Errorf("a row with another %s is taken for a duplicate", what)
		}
	}
	twin := rows[99_000]
	twin.TS = twin.TS/1000*1000 + 999 - twin.TS%1000 // inside the same millisecond
	twin.RequestID, twin.Status = "another", "error"
	if k.add([]request{twin}); k.distinct {
		t.Error("a duplicate is not seen")
	}
}
