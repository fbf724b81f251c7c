package ingest

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
)

// Values that cannot be read are told by column, with their number, and the line and text of the first, whatever the kind of file.
// Those of lines that are rejected are not: the whole line is.
func TestUnreadFields(t *testing.T) {
	const bifrost = `{"id":"%","parent_request_id":null,"timestamp":"2026-11-03T09:00:0`
	const helicone = `{"request_model":"m","request_created_at":"2026-11-03T09:00:0`
	for name, c := range map[string]struct {
		text string
		want []UnreadField
	}{
		"canonical.csv": {
			"request_id,ts,model,input_tokens,cost_usd,n_429,status,session_id,attempt_list\n" +
				"a,2026-11-03T00:00:01Z,m,1,2,0,ok,s,\n" +
				"b,2026-11-03T00:00:02Z,m,many,1e400,0,ok,\"two\nlines\",no list\n" +
				"c,2026-11-03T00:00:03Z,m,\"a \"\"few\"\"\x1b[31m\",2,1.5,weird,s,\n" +
				"d,noon,m,none of them,2,0,odd,s,\n" +
				"e,2026-11-03T00:00:05Z,m,-7,n/a,-1,ok,s,\n",
			[]UnreadField{{"input_tokens", 3, 3, "many"}, {"attempt_list", 1, 3, "no list"}, {"cost_usd", 1, 3, "1e400"}, {"n_429", 1, 5, "1.5"}, {"status", 1, 5, "weird"}},
		},
		"canonical.jsonl": {
			`{"request_id":"a","ts":"2026-11-03T00:00:01Z","model":"m","input_tokens":3000000000,"is_byok":"maybe","session_id":{"a":[1]}}` + "\n" +
				`{"request_id":"b","ts":"2026-11-03T00:00:02Z","model":"m","input_tokens":"m\u0061ny","attempts":[2],"cost_source":"guess"}` + "\n" +
				`{"request_id":"c","ts":"2026-11-03T00:00:03Z","model":"m","output_tokens":"of no row"` + "\n" +
				`{"request_id":"d","ts":"2026-11-03T00:00:04Z","model":"m","attempt_list":[{"latency_ms":"long"}],"n_429":1.5,"output_tokens":null,"ttft_ms":-5}`,
			[]UnreadField{
				{"input_tokens", 2, 1, "3000000000"}, {"attempt_list", 1, 4, `[{"latency_ms":"long"}]`}, {"attempts", 1, 2, "[2]"}, {"cost_source", 1, 2, "guess"},
				{"is_byok", 1, 1, "maybe"}, {"n_429", 1, 4, "1.5"}, {"session_id", 1, 1, `{"a":[1]}`},
			},
		},
		"openrouter-activity.csv": {
			"generation_id,created_at,cost_total,tokens_prompt,tokens_completion,tokens_reasoning,tokens_cached,model_permaslug,provider_name,cancelled,streamed,generation_time_ms,time_to_first_token_ms\n" +
				"g1,2026-11-03 09:00:00,0.1,many,1,0,0,z-ai/glm-4.7,DeepInfra,false,perhaps,12,5\n" +
				"g2,noon,0.1,of no row,1,0,0,z-ai/glm-4.7,DeepInfra,false,true,12,5\n" +
				"g3,2026-11-03 09:00:02,0.1,5,1,0,x,z-ai/glm-4.7,DeepInfra,false,true,12,5\n" +
				"g4,2026-11-03 09:00:03,0.1,9e9,1,0,0,z-ai/glm-4.7,DeepInfra,false,true,12,5\n",
			[]UnreadField{{"input_tokens", 2, 2, "many"}, {"cached_tokens", 1, 4, "x"}, {"streamed", 1, 2, "perhaps"}},
		},
		// Columns that follow from several keys.
		"helicone.jsonl": {
			helicone + `1Z","delay_ms":5,"prompt_tokens":"many","completion_tokens":3,"response_status":200,"costUSD":"free"}` + "\n" +
				helicone + `2Z","delay_ms":5,"prompt_tokens":7,"completion_tokens":3,"response_status":"fine","costUSD":null}` + "\n" +
				helicone + `3Z","delay_ms":5,"prompt_tokens":[7],"completion_tokens":3,"response_status":-3,"costUSD":"n/a"}` + "\n" +
				`{"request_id":"h","request_created_at":"noon","delay_ms":5,"prompt_tokens":"of no row","response_status":"odd"}` + "\n",
			[]UnreadField{{"input_tokens", 2, 1, "many"}, {"cost_usd", 1, 1, "free"}, {"status", 1, 2, "fine"}},
		},
		// Two records are attempts of one request.
		"bifrost.jsonl": {
			bifrost + `1Z","number_of_retries":0,"fallback_index":0,"provider":"a","model":"m","latency":"long","status":"error","stream":true}` + "\n" +
				`{"id":"x","parent_request_id":"%","timestamp":"2026-11-03T09:00:03Z","number_of_retries":0,"fallback_index":1,"provider":"b","model":"m","latency":{"ms":1},"time_to_first_token":"soon","status":"success","stream":true}` + "\n",
			[]UnreadField{{"total_ms", 2, 1, "long"}, {"caller_ttft_ms", 1, 2, "soon"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			good := writeFile(t, filepath.Join(dir, "good.jsonl"), jsonl(t, someRequests(10, 1)))
			path := writeFile(t, filepath.Join(dir, name), []byte(c.text))
			report := mustLoad(t, openTemp(t), good, path)
			if got := report.Files[0].Unread; got != nil {
				t.Errorf("a log without a fault: %+v", got)
			}
			if d := cmp.Diff(c.want, report.Files[1].Unread); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			heads, faults, err := Inspect(t.Context(), []string{path}, loadOptions())
			if err != nil || len(faults) > 0 {
				t.Fatalf("inspect: %v, %v", faults, err)
			}
			if d := cmp.Diff(c.want, heads[0].Unread); d != "" {
				t.Errorf("of the beginning, -want +got:\n%s", d)
			}
		})
	}
}

// Files of columns have numbers of rows in the place of lines.
func TestUnreadFieldsOfColumns(t *testing.T) {
	dir := t.TempDir()
	requests := someRequests(5, 1)
	requests[2].Status, requests[4].Status = "weird", "odd"
	var ipc bytes.Buffer
	w := NewArrowWriter(&ipc)
	if err := w.Write(&experiment.Batch{Requests: requests}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	parquet := filepath.Join(dir, "log.parquet")
	_, err := openTemp(t).db.Exec(`COPY (FROM (VALUES ('a', '2026-11-03 00:00:01', 'm', '5', 'ok', 1.5), ('b', 'noon', 'm', 'of no row', 'odd', 1), ('c', '2026-11-03 00:00:03', 'm', chr(27) || 'many', 'ok', 0),
		('d', '2026-11-03 00:00:04', 'm', 'few', 'weird', 2)) AS log(request_id, ts, model, input_tokens, status, n_429)) TO ` + quote(parquet) + " (FORMAT parquet)")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]UnreadField{
		writeFile(t, filepath.Join(dir, "log.arrow"), ipc.Bytes()): {{"status", 2, 3, "weird"}},
		parquet: {{"input_tokens", 2, 3, `\x1bmany`}, {"n_429", 1, 1, "1.5"}, {"status", 1, 4, "weird"}},
	} {
		if d := cmp.Diff(want, mustLoad(t, openTemp(t), path).Files[0].Unread); d != "" {
			t.Errorf("%s, -want +got:\n%s", path, d)
		}
	}
}
