package ingest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"switchback/experiment"
)

// carried are the columns that a written log brings back exactly, for requests that succeeded and for all.
func carried() map[string]struct{ ok, all string } {
	return map[string]struct{ ok, all string }{
		"openrouter-generation": {"session_id ts model provider attempts n_429 n_retries total_ms failed_ms input_tokens cached_tokens output_tokens cost_usd status streamed is_byok", "session_id ts model streamed"},
		"litellm-standard":      {"session_id client_id ts model provider arm attempts n_429 n_retries input_tokens cached_tokens cache_write_tokens output_tokens cost_usd status streamed", "session_id ts model arm attempts n_429 status streamed"},
		"helicone":              {"session_id ts model caller_ttft_ms total_ms input_tokens cached_tokens output_tokens cost_usd status", "session_id ts model total_ms status"},
		"langfuse":              {"session_id ts model caller_ttft_ms total_ms input_tokens cached_tokens output_tokens cost_usd status", "session_id ts model total_ms status"},
		"portkey":               {"session_id ts model provider attempts n_retries total_ms input_tokens output_tokens cost_usd status", "session_id ts model total_ms status"},
		"bifrost":               {"session_id ts model provider attempts n_429 n_retries caller_ttft_ms total_ms input_tokens cached_tokens output_tokens cost_usd status streamed", "session_id ts model attempts total_ms status"},
		"cloudflare":            {"session_id ts model provider attempts n_retries total_ms input_tokens output_tokens cost_usd status streamed", "session_id ts model total_ms status streamed"},
	}
}

// What the simulation writes in a gateway's format comes back as the same rows, within what the format carries.
func TestGatewayFormatsRoundTrip(t *testing.T) {
	requests := someRequests(400, 16)
	for i := range requests {
		if i%40 == 7 && requests[i].Status == experiment.StatusOK {
			requests[i].Status = experiment.StatusErrorMidstream
		}
	}
	direct := openTemp(t)
	load(t, direct, requests)
	for _, name := range WritableFormats() {
		t.Run(name, func(t *testing.T) {
			s := openTemp(t)
			f := mustLoad(t, s, gatewayLog(t, name, requests)).Files[0]
			if f.Format != name || f.Rows != 400 || f.Rejects != 0 || len(f.Unknown) > 0 {
				t.Errorf("report: %+v", f)
			}
			columns := carried()[name]
			for _, c := range []struct {
				columns string
				failed  bool
			}{{columns.ok, false}, {columns.all, true}} {
				ids := idsOf(requests, c.failed)
				for _, column := range strings.Fields(c.columns) {
					query := fmt.Sprintf("SELECT md5(string_agg(concat(request_id, ' ', coalesce(%s::VARCHAR, 'NULL')), ',' ORDER BY request_id)) FROM requests WHERE request_id IN (SELECT unnest(string_split(?, ',')))", column)
					if a, b := scalar(t, direct, query, ids), scalar(t, s, query, ids); a != b {
						t.Errorf("%s is not carried (failed requests too: %v)", column, c.failed)
					}
				}
			}
		})
	}
	if len(carried()) != len(WritableFormats()) {
		t.Errorf("formats that can be written: %v", WritableFormats())
	}
	if _, err := NewGatewayWriter(nil, "litellm-spendlogs"); err == nil {
		t.Error("a format that cannot be written was accepted")
	}
}

// idsOf lists the requests that succeeded, and those that failed too when failed is true.
func idsOf(requests []experiment.Request, failed bool) string {
	var ids []string
	for _, r := range requests {
		if r.Status == experiment.StatusOK || failed && r.Status == experiment.StatusError {
			ids = append(ids, r.RequestID)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}

// gatewayLog writes requests with their attempts as a gateway's log and returns its path.
func gatewayLog(t *testing.T, format string, requests []request) string {
	t.Helper()
	var log bytes.Buffer
	w, err := NewGatewayWriter(&log, format)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&experiment.Batch{Requests: requests, Attempts: attemptsOf(requests)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), log.Bytes())
}
