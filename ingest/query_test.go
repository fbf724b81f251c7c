package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// An error in a row says where in the query it is, as one in the query does.
func TestQueryErrorNamesTheLine(t *testing.T) {
	s := openTemp(t)
	load(t, s, someRequests(100, 1))
	for query, want := range map[string]string{
		"SELECT ts,\n  CAST(request_id AS INTEGER)\nFROM requests": "line 2: CAST(request_id AS INTEGER)",
		"SELECT ts,\n  request\nFROM requests":                     "line 2: request",
	} {
		_, err := s.Query(t.Context(), query)
		var fault *QueryError
		if !errors.As(err, &fault) {
			t.Fatalf("%s: %v", query, err)
		}
		if fault.Line != want {
			t.Errorf("%s: %s, want %s", query, fault.Line, want)
		}
	}
}

// A result of several chunks comes whole and in order, with the names that it has in a table of DuckDB.
func TestQueryInChunks(t *testing.T) {
	s := openTemp(t)
	for _, n := range []int{0, 1, chunkRows - 1, chunkRows, chunkRows + 1, 2*chunkRows + 7} {
		rows, err := s.Query(t.Context(), fmt.Sprintf("SELECT i AS a, -i AS a FROM range(%d) r(i) ORDER BY i DESC", n))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rows.Columns, " "); got != "a a_1" {
			t.Errorf("columns %s", got)
		}
		next := int64(n)
		for rows.Next() {
			next--
			if v := rows.Values(); v[0] != next || v[1] != -next {
				t.Fatalf("of %d rows: %v where %d should be", n, v, next)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || next != 0 {
			t.Errorf("of %d rows %d are missing: %v", n, next, err)
		}
	}
}
