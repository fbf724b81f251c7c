package ingest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"switchback/experiment"
)

// loadText loads one log text and returns the store and the report.
func loadText(t *testing.T, name, text string) (*Store, FileReport) {
	t.Helper()
	s := openTemp(t)
	return s, mustLoad(t, s, writeFile(t, filepath.Join(t.TempDir(), name), []byte(text))).Files[0]
}

// Each case is a pitfall of real logs that users of gateways complained about in public, with the issue.
func TestPitfalls(t *testing.T) {
	const (
		liteLLMHeader = "request_id,spend,startTime,endTime,completionStartTime,model,model_id,model_group,prompt_tokens,completion_tokens,metadata,cache_hit,session_id,status\n"
		heliconeRow   = `{"request_id":"h1","request_created_at":"2026-11-03T09:00:00Z","response_status":200,"request_model":"m","delay_ms":%s,"time_to_first_token":%s,"prompt_tokens":5,"completion_tokens":%s,"costUSD":0.1}`
		span          = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"%s","startTimeUnixNano":"1793696398250000123","endTimeUnixNano":"1793696404390000999","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"%s"}},{"key":"gen_ai.request.model","value":{"stringValue":"m"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"%d"}},{"key":"gen_ai.usage.cache_read.input_tokens","value":{"intValue":"100"}},{"key":"gen_ai.usage.output_tokens","value":{"intValue":"7"}}]}]}]}]}`
	)
	for _, c := range []struct {
		name, issue, file, text, query, want string
	}{
		{
			"spend 0 with a real cost in the breakdown", "BerriAI/litellm#40100, #37923", "a.csv",
			liteLLMHeader + `a,0.0,2026-11-03 09:00:00,2026-11-03 09:00:02,2026-11-03 09:00:01,x/m,dep-p,m,10,5,"{""cost_breakdown"": {""total_cost"": 0.5}}",False,,success` + "\n",
			"SELECT concat_ws(' ', cost_usd, cost_source, ttft_ms) FROM requests", "0.500000000 breakdown 1000.000",
		},
		{
			"first token at the end time", "BerriAI/litellm#31385, #8999, #41859", "a.csv",
			liteLLMHeader + `a,1,2026-11-03 09:00:00,2026-11-03 09:00:02,2026-11-03 09:00:02,x/m,dep-p,m,10,5,{},False,,success` + "\n",
			"SELECT concat_ws(' ', coalesce(ttft_ms::VARCHAR, 'unknown'), total_ms) FROM requests", "unknown 2000.000",
		},
		{
			"every retry is a row", "BerriAI/litellm#39455, #7477", "a.csv",
			liteLLMHeader + `f,0,2026-11-03 09:00:00,2026-11-03 09:00:01,,x/m,dep-p,m,0,0,"{""error_information"": {""error_code"": ""429""}}",False,s,failure` + "\n" +
				`g,1,2026-11-03 09:00:01.5,2026-11-03 09:00:03,2026-11-03 09:00:02,x/m,dep-q,m,10,5,{},False,s,success` + "\n" +
				`h,1,2026-11-03 09:00:03.2,2026-11-03 09:00:04,,x/m,dep-q,m,10,5,{},False,s,success` + "\n",
			"SELECT string_agg(concat_ws(' ', request_id, attempts, n_429, n_retries, ttft_ms, caller_ttft_ms, total_ms, failed_ms), ', ' ORDER BY ts) || (SELECT string_agg(concat_ws('|', '', request_id, attempt, provider, start_ms, http_status), '' ORDER BY attempt) FROM attempts) FROM requests",
			"g 2 1 1 500.000 2000.000 3000.000 1000.000, h 1 0 0 800.000 0.000|g|1|p|0.000|429|g|2|q|1500.000|200",
		},
		{
			"reused and missing ids", "BerriAI/litellm#35563, #39749", "a.csv",
			liteLLMHeader + `None,1,2026-11-03 09:00:00,2026-11-03 09:00:02,,x/m,dep-p,m,10,5,{},False,,success` + "\n" +
				`None,1,2026-11-03 09:00:10,2026-11-03 09:00:12,,x/m,dep-p,m,10,5,{},False,,success` + "\n" +
				`r,1,2026-11-03 09:00:20,2026-11-03 09:00:22,,x/m,dep-p,m,10,5,{},False,,success` + "\n" +
				`r,1,2026-11-03 09:00:30,2026-11-03 09:00:32,,x/m,dep-p,m,10,5,{},False,,success` + "\n",
			"SELECT count(*) || ' rows, ' || count(DISTINCT request_id) || ' ids' FROM requests", "4 rows, 3 ids",
		},
		{
			"made-up session ids", "BerriAI/litellm: session_id is never null", "a.csv",
			liteLLMHeader + `a,1,2026-11-03 09:00:00,2026-11-03 09:00:02,,x/m,dep-p,m,10,5,{},False,0aa1b2c3-0000-4000-8000-00000000000a,success` + "\n" +
				`b,1,2026-11-03 09:00:10,2026-11-03 09:00:12,,x/m,dep-p,m,10,5,{},False,0aa1b2c3-0000-4000-8000-00000000000b,success` + "\n" +
				`c,1,2026-11-03 09:00:20,2026-11-03 09:00:22,,x/m,dep-p,m,10,5,{},False,0aa1b2c3-0000-4000-8000-00000000000b,success` + "\n",
			"SELECT string_agg(coalesce(right(session_id, 1), 'none'), ' ' ORDER BY ts) FROM requests", "none b b",
		},
		{
			"error 429 inside a 200 answer", "BerriAI/litellm#9035, #8448; immersive-translate/immersive-translate#2725", "a.jsonl",
			`{"http_status":200,"id":"g","created":1793696398,"error":{"code":429},"openrouter_metadata":{"requested":"m","attempts":[{"provider":"A","status":429},{"provider":"B","status":429}]}}`,
			"SELECT concat_ws(' ', status, attempts, n_429, n_retries, coalesce(provider, 'none')) FROM requests", "error 2 2 1 none",
		},
		{
			"input tokens without the cached ones", "open-telemetry/semantic-conventions#3163; traceloop/openllmetry#4449; pydantic/logfire#1812", "a.json",
			fmt.Sprintf(span, "1", "chat", 20) + "\n" + fmt.Sprintf(span, "2", "chat", 200) + "\n" + fmt.Sprintf(span, "3", "execute_tool", 0),
			"SELECT string_agg(concat_ws(' ', input_tokens, cached_tokens, quality), ', ' ORDER BY request_id) || ' ' || min(total_ms) || ' ' || (SELECT skipped FROM loads) FROM requests",
			fmt.Sprintf("120 100 %d, 200 100 0 6140.000 1", experiment.QualityTokensAdjusted),
		},
		{
			"latency missing from an export", "langfuse/langfuse#13146", "a.jsonl",
			`{"id":"o","trace_id":"t","type":"GENERATION","start_time":"2026-11-03 09:00:00","end_time":"2026-11-03 09:00:01","provided_model_name":"m","usage_details":{"input":5,"output":2},"latency":null,"total_cost":0}`,
			"SELECT concat_ws(' ', coalesce(total_ms::VARCHAR, 'unknown'), coalesce(cost_usd::VARCHAR, 'unknown'), input_tokens, output_tokens) FROM requests", "unknown unknown 5 2",
		},
		{
			"first token after the last", "langfuse/langfuse#3046", "a.jsonl", fmt.Sprintf(heliconeRow, "3000", "12410", "4"),
			"SELECT quality FROM requests", fmt.Sprint(experiment.QualityTTFTOverTotal),
		},
		{
			"rows of errors lose their model", "envoyproxy/ai-gateway#2440", "a.jsonl",
			`{"start_time":"2026-11-03T09:00:00Z","response_code":503,"response_flags":"UF","x-request-id":"e","duration":9,"gen_ai.request.model":null}`,
			"SELECT concat_ws(' ', request_id, status, coalesce(model, 'unknown'), total_ms) FROM requests", "e error unknown 9.000",
		},
		{
			"empty success", "diegosouzapw/OmniRoute#8210", "a.jsonl", fmt.Sprintf(heliconeRow, "3000", "null", "0"),
			"SELECT status || ' ' || quality FROM requests", fmt.Sprint("ok ", experiment.QualityEmptySuccess),
		},
		{
			"finished streams logged as 499", "diegosouzapw/OmniRoute#9653", "a.jsonl",
			strings.Replace(fmt.Sprintf(heliconeRow, "3000", "null", "0"), "200", "499", 1),
			"SELECT status FROM requests", "cancelled",
		},
		{
			"incomplete answers billed 0", "QuantumNous/new-api#7241", "a.jsonl",
			`{"id":1,"created_at":1793696404,"type":2,"model_name":"m","quota":0,"prompt_tokens":5,"completion_tokens":3,"use_time":6,"is_stream":true,"channel_name":"p","other":"{\"frt\":-1000}"}` + "\n" +
				`{"id":2,"created_at":1793696404,"type":6,"model_name":"m","quota":10,"prompt_tokens":0,"completion_tokens":0,"use_time":0,"other":""}`,
			"SELECT concat_ws(' ', count(*), any_value(coalesce(cost_usd::VARCHAR, 'unknown')), any_value(ts)) FROM requests", "1 unknown 2026-11-03 08:59:58",
		},
		{
			"negative latency from clock skew", "astaxie/TokenHub#103", "a.jsonl", fmt.Sprintf(heliconeRow, "-40", "null", "2"),
			"SELECT concat_ws(' ', coalesce(total_ms::VARCHAR, 'unknown'), quality) FROM requests", fmt.Sprint("unknown ", experiment.QualityNegativeTime),
		},
		{
			"words for nothing, numbers in strings", "missing values occur as NULL, \"\", -1, N/A, None, Infinity", "a.csv",
			"request_id,ts,model,total_ms,input_tokens,output_tokens,cost_usd,streamed,n_429\na,2026-11-03T09:00:00Z,m,Infinity,-1,N/A,None,True,\"2\"\n",
			"SELECT concat_ws(' ', total_ms IS NULL, input_tokens IS NULL, output_tokens IS NULL, cost_usd IS NULL, streamed, n_429, quality) FROM requests", "true true true true true 2 0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := loadText(t, c.file, c.text)
			if f.Rejects != 0 {
				t.Errorf("report: %+v", f)
			}
			if got := scalar(t, s, c.query); got != c.want {
				t.Errorf("%s: %s, want %s", c.issue, got, c.want)
			}
		})
	}
}

// A record asked for too early is rejected as pending and comes with a later load. ianjamesburke/PLEXI#1339.
func TestPendingRecordsComeLater(t *testing.T) {
	const record = `{"data":{"id":"g1","request_id":"r1","created_at":"2026-11-03T09:00:00Z","model":"m","provider_name":"DeepInfra","streamed":true,"finish_reason":%s,"generation_time":%s,"latency":%s,"native_tokens_prompt":%s,"native_tokens_completion":%s,"native_tokens_cached":0,"total_cost":%s,"provider_responses":[{"latency":10,"status":200}]}}`
	dir := t.TempDir()
	s := openTemp(t)
	early := mustLoad(t, s, writeFile(t, filepath.Join(dir, "1.jsonl"), fmt.Appendf(nil, record, "null", "0", "null", "0", "0", "0"))).Files[0]
	if early.Rows != 0 || len(early.Reasons) != 1 || early.Reasons[0].Name != reasonPending {
		t.Errorf("early: %+v", early)
	}
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "2.jsonl"), fmt.Appendf(nil, record, `"stop"`, "100", "12", "5", "2", "0.5")))
	if got := scalar(t, s, "SELECT concat_ws(' ', request_id, total_ms, ttft_ms, caller_ttft_ms, cost_usd) FROM requests"); got != "r1 100.000 10.000 12.000 0.500000000" {
		t.Errorf("later: %s", got)
	}
}

// New columns are named, not dropped in silence. github-copilot-resources/copilot-metrics-viewer#461.
func TestNewColumnsAreNamed(t *testing.T) {
	_, f := loadText(t, "a.jsonl", `{"request_id":"h1","request_created_at":"2026-11-03T09:00:00Z","response_status":200,"request_model":"m","delay_ms":1,"brand_new":1}`)
	if len(f.Unknown) != 1 || f.Unknown[0] != "brand_new" || !strings.Contains(strings.Join(f.Warnings, ""), "brand_new") {
		t.Errorf("report: %+v", f)
	}
}

// Types do not depend on which rows are filled. duckdb/duckdb#10823, #22103.
func TestTypesAreDeclared(t *testing.T) {
	dir := t.TempDir()
	s := openTemp(t)
	const header = "request_id,ts,model,total_ms,cost_usd,session_id\n"
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "1.csv"), []byte(header+"a,2026-11-03T09:00:00Z,m,12,1,007\n")),
		writeFile(t, filepath.Join(dir, "2.csv"), []byte(header+"b,2026-11-03T09:00:01Z,m,,,\n")),
		writeFile(t, filepath.Join(dir, "3.csv"), []byte(header+"c,2026-11-03T09:00:02Z,m,12.25,0.000001,x\n")))
	if got := scalar(t, s, "SELECT string_agg(concat_ws(' ', total_ms, cost_usd, session_id), ', ' ORDER BY ts) FROM requests"); got != "12.000 1.000000000 007, , 12.250 0.000001000 x" {
		t.Errorf("rows: %s", got)
	}
}

func TestNames(t *testing.T) {
	for raw, want := range map[string]string{
		"z-ai/glm-4.7": "z-ai/glm-4.7", "z-ai/glm-4.7-20260115": "z-ai/glm-4.7", "openai/z-ai/glm-4.7": "z-ai/glm-4.7",
		"z-ai/glm-4.7:free": "z-ai/glm-4.7:free", "z-ai/glm-4.7:nitro": "z-ai/glm-4.7", "z-ai/glm-4.7-20260115:extended": "z-ai/glm-4.7:extended",
		"gpt-4o-2024-08-06": "gpt-4o", "qwen/qwen3-235b-a22b-2507": "qwen/qwen3-235b-a22b-2507", "deepseek/deepseek-r1-0528": "deepseek/deepseek-r1-0528",
		"x/model-12345678": "x/model-12345678", "m:batch": "m:batch", "m:floor": "m", "m:exacto": "m", "": "",
	} {
		if got := canonicalModel(raw); got != want {
			t.Errorf("canonicalModel(%q) = %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"DeepInfra": "deepinfra", "deepinfra/fp8": "deepinfra/fp8", "AtlasCloud": "atlas-cloud", "Amazon Bedrock": "amazon-bedrock", "Z.AI": "z-ai",
		"OPENROUTER": "", "cache": "", "": "", "Together AI": "together", "io.net": "io-net",
	} {
		if got := canonicalProvider(raw); got != want {
			t.Errorf("canonicalProvider(%q) = %q, want %q", raw, got, want)
		}
	}
}
