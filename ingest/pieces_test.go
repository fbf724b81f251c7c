package ingest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// pieceLogs are formats that write one record for each attempt: records a, b and c of a request that fails twice and is then
// served, and d of another one.
func pieceLogs() map[string]struct {
	head    string
	records map[string]string
} {
	const (
		bifrost = `{"id":"%[1]s","parent_request_id":%[2]s,"timestamp":"2026-11-03T09:0%[3]d:00Z","provider":"p","model":"m","number_of_retries":0,"fallback_index":0,"latency":900,"stream":false,"status":"%[4]s"}`
		newAPI  = `{"id":%[1]d,"request_id":"%[2]s","created_at":17936964%[3]d,"type":%[4]d,"quota":0,"model_name":"m","use_time":1,"other":"{\"admin_info\":{\"use_channel\":[\"x\"%[5]s]}}"}`
		litellm = "%s,%s,2026-11-03 09:00:%s,2026-11-03 09:00:%s,,x/m,dep-p,m,%s,{},False,%s,%s"
	)
	type log = struct {
		head    string
		records map[string]string
	}
	return map[string]log{
		"bifrost": {"", map[string]string{
			"a": fmt.Sprintf(bifrost, "a", "null", 1, "error"), "b": fmt.Sprintf(bifrost, "b", `"a"`, 2, "error"),
			"c": fmt.Sprintf(bifrost, "c", `"a"`, 3, "success"), "d": fmt.Sprintf(bifrost, "d", "null", 4, "success"),
		}},
		"new-api": {"", map[string]string{
			"a": fmt.Sprintf(newAPI, 1, "q", 10, newAPIError, ""), "b": fmt.Sprintf(newAPI, 2, "q", 20, newAPIError, `,\"y\"`),
			"c": fmt.Sprintf(newAPI, 3, "q", 30, newAPIUse, `,\"y\",\"z\"`), "d": fmt.Sprintf(newAPI, 4, "r", 40, newAPIUse, ""),
		}},
		"litellm-spendlogs": {"request_id,spend,startTime,endTime,completionStartTime,model,model_id,model_group,prompt_tokens,completion_tokens,metadata,cache_hit,session_id,status\n", map[string]string{
			"a": fmt.Sprintf(litellm, "a", "0", "01", "02", "0,0", "s", "failure"), "b": fmt.Sprintf(litellm, "b", "0", "02.5", "03", "0,0", "s", "failure"),
			"c": fmt.Sprintf(litellm, "c", "1", "03.5", "04", "9,5", "s", "success"), "d": fmt.Sprintf(litellm, "d", "1", "09", "10", "9,5", "s", "success"),
		}},
	}
}

// Windows of an export cut a request's attempts apart. Whatever came first, the most complete row of it stays, and is the
// row that one file with all of them gives.
func TestRequestsThatWindowsCutApart(t *testing.T) {
	for format, log := range pieceLogs() {
		// write makes a file with some records.
		write := func(path, records string) string {
			text := log.head
			for _, r := range records {
				text += log.records[string(r)] + "\n"
			}
			return writeFile(t, path, []byte(text))
		}
		state := func(s *Store) string {
			return table(t, s) + scalar(t, s, "SELECT coalesce(string_agg(concat_ws('|', '', request_id, attempt, start_ms, error_type), '' ORDER BY request_id, attempt), '') FROM attempts") +
				scalar(t, s, "SELECT coalesce(string_agg(concat_ws('|', '', source_row_id, ts, request_id, request_ts), '' ORDER BY source_row_id), '') FROM joined")
		}
		whole := openInMemory(t)
		if f := mustLoad(t, whole, write(filepath.Join(t.TempDir(), "log"), "abcd")).Files[0]; f.Format != format || f.Rows != 2 || f.Rejects != 0 {
			t.Fatalf("%s: %+v", format, f)
		}
		want := state(whole)
		for _, files := range []string{
			"a b c d abcd", "abcd a b c", "a abcd bcd", "ab bc abc d", "aabcd", "bcabcd", "abccd bc",
		} {
			s, dir := openInMemory(t), t.TempDir()
			read, dropped, told := int64(0), int64(0), ""
			for i, records := range strings.Fields(files) {
				f := mustLoad(t, s, write(filepath.Join(dir, fmt.Sprint(i)), records)).Files[0]
				read, dropped, told = read+f.Rows, dropped+f.Duplicates, told+fmt.Sprint(f.Rows, "-", f.Duplicates, " ")
			}
			if got := state(s); got != want {
				t.Errorf("%s, files %s: %s\nwant %s", format, files, got, want)
			}
			if got := scalar(t, s, "SELECT sum(rows) || ' ' || sum(duplicates) FROM loads"); read-dropped != 2 || got != fmt.Sprint(read, " ", dropped) {
				t.Errorf("%s, files %s: rows and duplicates %s, loads say %s", format, files, told, got)
			}
		}
	}
}

// What a file that changed no longer has of a request comes back from the others, a file that grew completes one.
func TestRequestsCutApartInFilesThatChange(t *testing.T) {
	for format, log := range pieceLogs() {
		dir := t.TempDir()
		write := func(name, records string) string {
			text := log.head
			for _, r := range records {
				text += log.records[string(r)] + "\n"
			}
			return writeFile(t, filepath.Join(dir, name), []byte(text))
		}
		s := openInMemory(t)
		whole := openInMemory(t)
		mustLoad(t, whole, write("whole", "abcd"))
		const rows = "SELECT string_agg(concat_ws(' ', source_row_id, ts, attempts, status), ', ' ORDER BY ts) FROM requests"
		want := scalar(t, whole, rows)
		check := func(what string) {
			t.Helper()
			if got := scalar(t, s, rows); got != want {
				t.Errorf("%s, %s: %s, want %s", format, what, got, want)
			}
		}
		l1, l2 := write("1", "a"), write("2", "bcd")
		mustLoad(t, s, l1, l2)
		write("1", "abc") // grown
		mustLoad(t, s, l1, l2)
		check("a file grew")
		write("1", "a")
		mustLoad(t, s, l1, l2)
		mustLoad(t, s, l1, l2)
		l3 := write("3", "abcd")
		mustLoad(t, s, l3)
		check("overlap")
		write("3", "d")
		mustLoad(t, s, l1, l2, l3)
		if got := scalar(t, s, "SELECT count(*) FROM requests WHERE status <> 'error'"); got != "2" {
			t.Errorf("%s: the request is lost with the file that had it whole: %s rows", format, got)
		}
		write("3", "abcd")
		mustLoad(t, s, l1, l2, l3)
		check("whole again")
		write("1", "")
		mustLoad(t, s, l1, l2, l3)
		check("a part is gone")
	}
}

// A store that an earlier program made has no table of joined records.
func TestStoreWithoutJoinedRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.duckdb")
	for range 2 {
		s, err := Open(context.Background(), path, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.ExecContext(context.Background(), "DROP TABLE joined; UPDATE meta SET value = 'of before' WHERE key = 'views'"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
