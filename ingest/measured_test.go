package ingest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a format can tell only of requests that went well would look like a perfect router: it is unknown for all of them.
func TestFailuresAreToldOfAllRequestsOrOfNone(t *testing.T) {
	requests := someRequests(400, 16)
	logs := map[string]string{}
	for _, name := range WritableFormats() {
		logs[name] = gatewayLog(t, name, requests)
	}
	for _, c := range formatCases() {
		logs[c.file] = filepath.Join(formatSamples, c.file)
	}
	for name, path := range logs {
		s := openInMemory(t)
		f := mustLoad(t, s, path).Files[0]
		for column, metric := range map[string]string{"n_429": "hit_429", "n_retries": "needed_retry", "failed_ms": "failed_ms"} {
			const served = " FROM requests WHERE status IS DISTINCT FROM 'ok_gateway_cache'"
			known := scalar(t, s, "SELECT count("+column+")"+served) != "0"
			if hidden := scalar(t, s, "SELECT count(*)"+served+" AND (n_retries > 0 OR n_429 > 0) AND "+column+" IS NULL"); known && hidden != "0" {
				t.Errorf("%s: %s is known, but not for %s requests that were retried", name, column, hidden)
			}
			if slices.Contains(f.NotMeasurable, metric) == known {
				t.Errorf("%s: %s is known (%v), and not measurable: %v", name, column, known, f.NotMeasurable)
			}
		}
	}
}

func TestWhatALogSaysOfAttempts(t *testing.T) {
	const bifrost = `{"id":"r","parent_request_id":null,"timestamp":"2026-11-03T09:00:00Z","provider":"p","model":"m","number_of_retries":1,"fallback_index":0,"latency":900,"stream":false,` +
		`"token_usage":{"prompt_tokens":1,"completion_tokens":1},"status":"STATUS","attempt_trail":TRAIL}`
	const generation = `{"id":"r","created_at":"2026-11-03T09:00:00Z","model":"m","provider_name":"p","native_tokens_prompt":1,"native_tokens_completion":1,"generation_time":500,"finish_reason":"stop",` +
		`"streamed":STREAMED,"latency":350,"provider_responses":[{"status":429,"latency":FAILED},{"status":200,"latency":50}]}`
	const litellm = `{"id":"r","trace_id":TRACE,"startTime":1793696400,"endTime":1793696401,"completionStartTime":null,"status_fields":{},"status":"failure","model":"m","model_id":"dep-p",` +
		`"error_information":{"error_code":"429"}}`
	const newAPI = `{"id":1,"request_id":"q","created_at":1793696402,"type":5,"quota":0,"model_name":"m","use_time":1,"other":"{\"admin_info\":{\"use_channel\":[\"a\"]}}"}` + "\n" +
		`{"id":2,"request_id":"q","created_at":1793696404,"type":2,"quota":9,"model_name":"m","use_time":1,"prompt_tokens":1,"completion_tokens":1,"other":"{\"admin_info\":{\"use_channel\":[\"a\",\"b\"]}}"}`
	with := func(log string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(log) }
	for _, c := range []struct{ what, log, want string }{
		{"codes", with(bifrost, "STATUS", "success", "TRAIL", `[{"status_code":429},{"status_code":200}]`), "2 1 1 - 900"},
		{"kinds of errors", with(bifrost, "STATUS", "success", "TRAIL", `[{"attempt":0,"fail_reason":"rate_limit_error"},{"attempt":1}]`), "2 1 1 - 900"},
		{"another kind", with(bifrost, "STATUS", "success", "TRAIL", `[{"fail_reason":"server_error"},{"attempt":1}]`), "2 0 1 - 900"},
		{"no kind", with(bifrost, "STATUS", "success", "TRAIL", `[{"fail_reason":"unknown"},{"attempt":1}]`), "2 - 1 - 900"},
		{"a last failure without a code", with(bifrost, "STATUS", "error", "TRAIL", `[{"fail_reason":"rate_limit_error"},{"attempt":1}]`), "2 - 1 - 900"},
		{"a last failure with one", with(bifrost, "STATUS", "error", "TRAIL", `[{"fail_reason":"rate_limit_error"},{"attempt":1}],"error_details":{"status_code":429}`), "2 2 1 - 900"},
		{"no trail", with(bifrost, "STATUS", "success", "TRAIL", "null"), "2 - 1 - 900"},
		{"times of failures", with(generation, "STREAMED", "true", "FAILED", "300"), "2 1 1 300 800"},
		{"no times of failures", with(generation, "STREAMED", "true", "FAILED", "null"), "2 1 1 - 800"},
		{"no times at all", with(generation, "STREAMED", "false", "FAILED", "null"), "2 1 1 - -"},
		{"no metadata", `{"id":"a","created":1793696400,"model":"m","provider":"p","openrouter_metadata":null,"choices":[{"finish_reason":"stop"}]}`, "- - - - -"},
		{"a trace", with(litellm, "TRACE", `"t"`), "1 1 0 1000 1000"},
		{"no trace", with(litellm, "TRACE", "null"), "- - - - 1000"},
		{"lists that grow", newAPI, "2 - 1 - 3000"},
	} {
		s := openInMemory(t)
		mustLoad(t, s, writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), []byte(c.log+"\n")))
		got := scalar(t, s, "SELECT string_agg(concat_ws(' ', "+strings.Join([]string{text("attempts"), text("n_429"), text("n_retries"), text("failed_ms"), text("total_ms")}, ", ")+"), '; ') FROM requests")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// text is a number without its zeros after the point, "-" where it is unknown.
func text(column string) string {
	return "coalesce(CAST(CAST(" + column + " AS BIGINT) AS VARCHAR), '-')"
}
