package ingest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"switchback/experiment"
	"switchback/experiment/prices"
)

// Further complaints of users of gateways and of DuckDB, with the issue; see TestPitfalls for those that are one file and
// one query.

// Times without a zone are UTC, whatever the machine's, on days whose clocks change too; the same export again adds nothing.
// BerriAI/litellm#25234, #36515, #27780, #8190.
func TestNaiveTimesAreUTC(t *testing.T) {
	t.Setenv("TZ", "America/New_York") // whose clocks went back at 06:00 UTC on 1 November 2026
	const header = "request_id,spend,startTime,endTime,completionStartTime,model,model_group,prompt_tokens,completion_tokens,status\n"
	const rows = "a,1,2026-11-01 05:59:59.5,2026-11-01 06:00:01,,m,m,1,1,success\nb,1,2026-11-01 06:30:00,2026-11-01 06:30:01,,m,m,1,1,success\nc,1,2026-11-01 23:59:59.999999,2026-11-02 00:00:01,,m,m,1,1,success\n"
	dir := t.TempDir()
	s := openTemp(t)
	log := writeFile(t, filepath.Join(dir, "a.csv"), []byte(header+rows))
	mustLoad(t, s, log)
	mustLoad(t, s, log)
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "copy.csv"), []byte(header+rows+rows)))
	got := scalar(t, s, "SELECT string_agg(concat_ws(' ', request_id, epoch_us(ts), total_ms), ', ' ORDER BY ts) FROM requests")
	if want := "a 1793512799500000 1500.000, b 1793514600000000 1000.000, c 1793577599999999 1000.001"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

// What input tokens mean differs by gateway; what is missing is unknown, not 0.
// BerriAI/litellm#16341; anomalyco/opencode#4256, #18440.
func TestCachedTokensOfEachGateway(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"LiteLLM counts them in", "a.csv", "request_id,spend,startTime,endTime,completionStartTime,model,model_group,prompt_tokens,completion_tokens,metadata,status\n" +
			`a,1,2026-11-03 09:00:00,2026-11-03 09:00:02,,m,m,100,5,"{""usage_object"": {""prompt_tokens_details"": {""cached_tokens"": 60}}}",success` + "\n", "100 60"},
		{"LiteLLM may not say", "a.csv", "request_id,spend,startTime,endTime,completionStartTime,model,model_group,prompt_tokens,completion_tokens,metadata,status\n" +
			`a,1,2026-11-03 09:00:00,2026-11-03 09:00:02,,m,m,100,5,{},success` + "\n", "100 unknown"},
		{"Helicone leaves them out", "a.jsonl", `{"request_id":"h1","request_created_at":"2026-11-03T09:00:00Z","response_status":200,"request_model":"m","delay_ms":9,"prompt_tokens":40,"prompt_cache_read_tokens":60,"completion_tokens":5}`, "100 60"},
		{"Langfuse of one SDK leaves them out", "a.jsonl", `{"id":"o","trace_id":"t","type":"GENERATION","start_time":"2026-11-03 09:00:00","end_time":"2026-11-03 09:00:01","provided_model_name":"m","usage_details":{"input":40,"input_cached_tokens":60,"output":5,"total":105},"latency":1}`, "100 60"},
		{"Langfuse of another counts them in", "a.jsonl", `{"id":"o","trace_id":"t","type":"GENERATION","start_time":"2026-11-03 09:00:00","end_time":"2026-11-03 09:00:01","provided_model_name":"m","usage_details":{"input":100,"input_cached_tokens":60,"output":5,"total":105},"latency":1}`, "100 60"},
	} {
		s, _ := loadText(t, c.file, c.text)
		if got := scalar(t, s, "SELECT concat_ws(' ', input_tokens, coalesce(cached_tokens::VARCHAR, 'unknown')) FROM requests"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Exports of windows that overlap, and a late one that rewrites an earlier hour: every observation counts once, in its last
// form. langfuse/langfuse#15617, #16613, #12622, #12439.
func TestOverlappingExportWindows(t *testing.T) {
	row := func(id string, minute int, output string) string {
		return fmt.Sprintf(`{"id":"%s","trace_id":"t%[1]s","type":"GENERATION","start_time":"2026-11-03 09:%02d:00","end_time":"2026-11-03 09:%02[2]d:01","provided_model_name":"m","usage_details":{"input":4,"output":%s},"latency":1}`+"\n", id, minute, output)
	}
	dir := t.TempDir()
	s := openTemp(t)
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "09h.jsonl"), []byte(row("a", 1, "5")+row("b", 30, "6")+row("c", 59, "null"))))
	mustLoad(t, s, writeFile(t, filepath.Join(dir, "09h30.jsonl"), []byte(row("b", 30, "6")+row("c", 59, "7")+row("d", 59, "8"))))
	late := mustLoad(t, s, writeFile(t, filepath.Join(dir, "10h.jsonl"), []byte(row("e", 2, "9")+row("d", 59, "8")))).Files[0]
	if got := scalar(t, s, "SELECT string_agg(request_id || ' ' || output_tokens, ', ' ORDER BY request_id) FROM requests"); got != "a 5, b 6, c 7, d 8, e 9" {
		t.Errorf("rows: %s", got)
	}
	if late.Rows != 2 || late.Duplicates != 1 {
		t.Errorf("the last window: %+v", late)
	}
}

// A gateway that bills one provider at another's price is told: costs are compared with the price book. So is a log whose
// costs do not follow from its tokens. Helicone/helicone#4893, #5172; aovestdipaperino/tokensave#472.
func TestCostsThatDoNotFollowFromTokensAreTold(t *testing.T) {
	book, err := prices.Read(strings.NewReader(testPrices), "prices.csv")
	if err != nil {
		t.Fatal(err)
	}
	for cost, told := range map[string]bool{"0.0013": false, "0.0021": false, "0.0027": true, "0.00021": true} {
		// 5,120 tokens, 4,096 of them cached, and 310 of output: $0.00127978 by the book.
		text := `{"request_id":"h1","request_created_at":"2026-11-03T09:00:00Z","response_status":200,"request_model":"z-ai/glm-4.7","provider":"deepinfra","delay_ms":9,"prompt_tokens":1024,"prompt_cache_read_tokens":4096,"completion_tokens":310,"costUSD":` + cost + `}`
		o := loadOptions()
		o.Prices = book
		report, err := LoadFiles(t.Context(), openTemp(t), []string{writeFile(t, filepath.Join(t.TempDir(), "log.jsonl"), []byte(text))}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(report.Files[0].Warnings, ";"), "times those of the price book"); got != told {
			t.Errorf("cost %s: told is %v, want %v: %v", cost, got, told, report.Files[0].Warnings)
		}
	}
}

// No reasoning tokens in the log are unknown ones. envoyproxy/ai-gateway#2437.
func TestReasoningTokensMayBeUnknown(t *testing.T) {
	const row = `{"start_time":"2026-11-03T08:59:58.250Z","response_code":200,"response_flags":"-","duration":6140,"x-request-id":"u","gen_ai.request.model":"m","gen_ai.usage.input_tokens":5,"gen_ai.usage.output_tokens":3,"gen_ai.usage.reasoning_tokens":%s}`
	for value, want := range map[string]string{"null": "unknown", "0": "0", "2": "2"} {
		s, _ := loadText(t, "a.jsonl", fmt.Sprintf(row, value))
		if got := scalar(t, s, "SELECT coalesce(reasoning_tokens::VARCHAR, 'unknown') FROM requests"); got != want {
			t.Errorf("%s is %s, want %s", value, got, want)
		}
	}
}

// With the caller's own key the cost is the provider's bill; it is neither 0 nor counted twice, and a bill that is there
// without an own key does not count. tailcallhq/forgecode#1641; cline/cline#9053; DataDog/dd-trace-py#19324.
func TestCostOfOwnKeys(t *testing.T) {
	const record = `{"id":"g%d","request_id":"r%[1]d","created_at":"2026-11-03T09:00:0%[1]dZ","model":"m","provider_name":"P","streamed":true,"finish_reason":"stop","generation_time":100,"latency":12,"native_tokens_prompt":5,"native_tokens_completion":2,"native_tokens_cached":0,"is_byok":%v,"total_cost":%s,"upstream_inference_cost":%s,"provider_responses":[{"latency":10,"status":200}]}` + "\n"
	s, _ := loadText(t, "a.jsonl", fmt.Sprintf(record, 1, true, "0", "0.25")+fmt.Sprintf(record, 2, false, "0.5", "0.25")+fmt.Sprintf(record, 3, true, "0", "null"))
	got := scalar(t, s, "SELECT string_agg(concat_ws(' ', request_id, coalesce(cost_usd::VARCHAR, 'unknown'), cost_source), ', ' ORDER BY ts) FROM requests")
	if want := "r1 0.250000000 upstream, r2 0.500000000 billed, r3 unknown"; got != want {
		t.Errorf("costs %s, want %s", got, want)
	}
}

// latency of a streamed generation is the time to the caller's first token, not the total; the total is put together and
// says so. can1357/oh-my-pi#6956; anomalyco/opencode#534.
func TestLatencyIsNotTheTotal(t *testing.T) {
	const record = `{"id":"g","request_id":"r","created_at":"2026-11-03T09:00:00Z","model":"m","provider_name":"P","streamed":%v,"finish_reason":"stop","generation_time":7179,"latency":1616,"native_tokens_prompt":5,"native_tokens_completion":2,"native_tokens_cached":0,"total_cost":1,"provider_responses":[{"latency":900,"status":429},{"latency":700,"status":200}]}`
	for streamed, want := range map[bool]string{
		true:  fmt.Sprint("8079.000 1616.000 700.000 900.000 ", experiment.QualityTotalApprox),
		false: fmt.Sprint("8079.000 unknown unknown 900.000 ", experiment.QualityTotalApprox),
	} {
		s, _ := loadText(t, "a.jsonl", fmt.Sprintf(record, streamed))
		got := scalar(t, s, "SELECT concat_ws(' ', total_ms, coalesce(caller_ttft_ms::VARCHAR, 'unknown'), coalesce(ttft_ms::VARCHAR, 'unknown'), failed_ms, quality) FROM requests")
		if got != want {
			t.Errorf("streamed %v: %s, want %s", streamed, got, want)
		}
	}
}

// A client that goes away is neither an error nor a success; what it used is unknown when the log does not say, and what it
// was billed stays. theopenco/llmgateway#3331; Wei-Shaw/sub2api#4408; yinxulai/one-switch#3.
func TestClientsThatGoAway(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"Helicone −3 without usage", `{"request_id":"h1","request_created_at":"2026-11-03T09:00:00Z","response_status":-3,"request_model":"m","delay_ms":900,"prompt_tokens":-1,"completion_tokens":-1,"costUSD":null}`, "cancelled unknown unknown"},
		{"Helicone 499, billed", `{"request_id":"h1","request_created_at":"2026-11-03T09:00:00Z","response_status":499,"request_model":"m","delay_ms":900,"prompt_tokens":7,"completion_tokens":2,"costUSD":0.5}`, "cancelled 2 0.500000000"},
		{"Envoy 0 and DC", `{"start_time":"2026-11-03T09:00:00Z","response_code":0,"response_flags":"DC","x-request-id":"e","duration":900,"gen_ai.request.model":"m"}`, "cancelled unknown unknown"},
		{"OpenRouter cancelled, billed", `{"id":"g","request_id":"r","created_at":"2026-11-03T09:00:00Z","model":"m","provider_name":"P","streamed":true,"cancelled":true,"finish_reason":null,"generation_time":100,"latency":12,"native_tokens_prompt":5,"native_tokens_completion":2,"native_tokens_cached":0,"total_cost":0.25,"provider_responses":[{"latency":10,"status":200}]}`, "cancelled 2 0.250000000"},
	} {
		s, _ := loadText(t, "a.jsonl", c.text)
		if got := scalar(t, s, "SELECT concat_ws(' ', status, coalesce(output_tokens::VARCHAR, 'unknown'), coalesce(cost_usd::VARCHAR, 'unknown')) FROM requests"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// An export that stops at the most that the gateway gives out is told; missing counts are unknown.
// QuantumNous/new-api#5228, #6170.
func TestExportsThatStopAtALimitAreTold(t *testing.T) {
	for _, n := range []int{999, 1000, 1001} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `{"id":%d,"created_at":%d,"type":2,"model_name":"m","quota":640,"prompt_tokens":null,"completion_tokens":3,"use_time":6,"is_stream":true,"channel_name":"p","other":""}`+"\n", i, 1793696404+i)
		}
		s, f := loadText(t, "a.jsonl", text.String())
		if told := strings.Contains(strings.Join(f.Warnings, ";"), "the file ends at 1000 records"); told != (n == 1000) {
			t.Errorf("%d records: %v", n, f.Warnings)
		}
		if got := scalar(t, s, "SELECT count(input_tokens) || ' of ' || count(*) FROM requests"); got != fmt.Sprint("0 of ", n) {
			t.Errorf("known input tokens: %s", got)
		}
	}
}

// Milliseconds are not read as seconds, and a time with a zone is the instant that it names, whatever container it comes in.
// duckdb/duckdb-wasm#1197; marcboeker/go-duckdb#172; duckdb/duckdb#3064.
func TestTimesOfColumnsAreInstants(t *testing.T) {
	dir := t.TempDir()
	maker := openTemp(t)
	for name, column := range map[string]string{
		"ms":     "epoch_ms(1793696398250)",
		"s":      "TIMESTAMP_S '2026-11-03 08:59:58' + INTERVAL 250 MILLISECOND",
		"ns":     "TIMESTAMP_NS '2026-11-03 08:59:58.250000123'",
		"zone":   "CAST(make_timestamp(1793696398250000) AS TIMESTAMPTZ)",
		"text":   "'2026-11-03T03:59:58.250-05:00'",
		"naive":  "TIMESTAMP '2026-11-03 08:59:58.250'",
		"millis": "CAST(TIMESTAMP '2026-11-03 08:59:58.250' AS TIMESTAMP_MS)",
	} {
		path := filepath.Join(dir, name+".parquet")
		if _, err := maker.db.ExecContext(t.Context(), "COPY (SELECT 'a' AS request_id, "+column+" AS ts, 'm' AS model) TO "+quote(path)+" (FORMAT parquet)"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := openTemp(t)
		mustLoad(t, s, path)
		if got := scalar(t, s, "SELECT epoch_us(ts) FROM requests"); got != "1793696398250000" {
			t.Errorf("%s: %s, want 1793696398250000", name, got)
		}
	}
}

// A request whose attempts all failed is no row of OpenRouter's exports: who reads their error rates is told.
func TestSurvivorsAreTold(t *testing.T) {
	for _, name := range []string{"openrouter_activity_export.csv", "openrouter_generation.jsonl"} {
		s := openTemp(t)
		f := mustLoad(t, s, filepath.Join(formatSamples, name)).Files[0]
		if !strings.Contains(strings.Join(f.Warnings, ";"), "requests whose attempts all failed are not in this export") {
			t.Errorf("%s: %v", name, f.Warnings)
		}
		if notes := scalar(t, s, "SELECT notes FROM loads"); !strings.Contains(notes, "all failed are not in this export") {
			t.Errorf("%s: loads.notes is %q", name, notes)
		}
	}
}
