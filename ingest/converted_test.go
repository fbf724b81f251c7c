package ingest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"switchback/experiment"
)

// sampleRecords are the records of the sample of a format, JSON objects in either container.
func sampleRecords(t *testing.T, m mapping) []node {
	t.Helper()
	for _, c := range formatCases() {
		if c.format != m.name || m.csv != (filepath.Ext(c.file) == ".csv") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(formatSamples, c.file))
		if err != nil {
			t.Fatal(err)
		}
		var records []node
		if m.csv {
			csv := csvReader{lines: newLineReader(bytes.NewReader(text))}
			var names []string
			for {
				record, err := csv.next()
				if err != nil {
					return records
				}
				if names == nil {
					names = columnNames(record.fields)
					continue
				}
				var fields [][]byte
				for _, f := range record.fields {
					fields = append(fields, bytes.Clone(f))
				}
				records = append(records, csvNode(names, fields))
			}
		}
		values := [][]byte{text}
		if strings.HasSuffix(c.file, "l") {
			values = bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		}
		for _, text := range values {
			v, ok := parseJSON(text)
			if !ok {
				continue // one sample has a broken line
			}
			for _, rec := range m.records(v) {
				records = append(records, rec.value)
			}
		}
		return records
	}
	t.Fatal("no sample of", m.name)
	return nil
}

// readRecord reads one record by a mapping.
func readRecord(t *testing.T, m mapping, rec node) (request, fileTally) {
	t.Helper()
	m.unwrap, m.csv = nil, false
	var rows []request
	sink := newRowSink("log", newClock(time.Time{}), func(b *experiment.Batch) error { rows = append(rows, b.Requests...); return nil }, func(rejected) error { return nil })
	if _, err := m.read(bytes.NewReader(append(rec.appendJSON(nil), '\n')), 0, sink); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), sink.tally.reasons)
	}
	return rows[0], sink.tally
}

// with returns a record with some of its values replaced by JSON.
func with(t *testing.T, rec node, pathsAndValues ...string) node {
	t.Helper()
	rec, _ = parseJSON(rec.appendJSON(nil))
	for i := 0; i < len(pathsAndValues); i += 2 {
		v, ok := parseJSON([]byte(pathsAndValues[i+1]))
		if !ok {
			t.Fatal("no JSON: ", pathsAndValues[i+1])
		}
		rec.put(v, strings.Split(pathsAndValues[i], "/")...)
	}
	return rec
}

func isKnown(r *request, column string) bool {
	for _, c := range requestColumns() {
		switch {
		case c.name != column:
		case c.text != nil:
			return *c.text(r) != ""
		default:
			_, known := c.number(r)
			return known
		}
	}
	return false
}

// convertedCase is a value that convert reads, and cannot.
type convertedCase struct {
	path, value string // JSON
	told        string // columns
	gone        string // other columns that it leaves unknown
	also        []string
}

// convertedCases are by format, with ".csv" for the one that has two containers.
func convertedCases() map[string][]convertedCase {
	const soon, many, deep = `"soon"`, `"many"`, `{"a":[1]}`
	liteLLM := []convertedCase{
		{"endTime", soon, "total_ms", "", nil},
		{"completionStartTime", soon, "ttft_ms", "caller_ttft_ms", nil},
		{"status", deep, "status", "", nil},
		{"cache_hit", `"perhaps"`, "status", "", nil},
		{"request_tags", `"prod"`, "arm", "", nil},
	}
	byName := map[string][]convertedCase{
		"openrouter-generation": {
			{"cancelled", `"perhaps"`, "status", "", nil},
			{"finish_reason", deep, "status", "", nil},
			{"provider_responses", many, "attempts", "n_429 n_retries failed_ms", nil},
			{"provider_responses", `[{"status":"fine","latency":8}]`, "n_429", "failed_ms", nil},
			{"provider_responses", `[{"status":429,"latency":"long"},{"status":200,"latency":8}]`, "failed_ms", "", nil},
			{"provider_responses", `[{"status":429,"latency":3},{"status":200,"latency":"long"}]`, "ttft_ms", "", nil},
			{"latency", soon, "caller_ttft_ms", "", nil},
			{"generation_time", soon, "total_ms", "", nil},
			{"total_cost", many, "cost_usd", "", nil},
			{"upstream_inference_cost", many, "cost_usd", "", []string{"is_byok", "true"}},
		},
		"openrouter-activity": {
			{"time_to_first_token_ms", soon, "caller_ttft_ms", "", nil},
			{"cancelled", `"perhaps"`, "status", "", nil},
			{"byok_usage_inference", many, "is_byok cost_usd", "", nil},
			{"cost_total", many, "cost_usd", "", nil},
		},
		"openrouter-response": {
			{"usage", many, "input_tokens output_tokens", "cached_tokens cost_usd", nil},
			{"usage/prompt_tokens", many, "input_tokens", "", nil},
			{"usage/prompt_tokens", `1.5`, "input_tokens", "", nil},
			{"usage/prompt_tokens", `-7`, "input_tokens", "", nil},
			{"usage/prompt_tokens", `true`, "input_tokens", "", nil},
			{"usage/prompt_tokens", deep, "input_tokens", "", nil},
			{"usage/prompt_tokens_details/cached_tokens", many, "cached_tokens", "", nil},
			{"usage/prompt_tokens_details/cache_write_tokens", many, "cache_write_tokens", "", nil},
			{"usage/completion_tokens", many, "output_tokens", "", nil},
			{"usage/completion_tokens_details/reasoning_tokens", many, "reasoning_tokens", "", nil},
			{"usage", `{"input_tokens":10,"cache_read_input_tokens":"many","output_tokens":3}`, "cached_tokens", "input_tokens cost_usd", nil},
			{"usage", `{"inputTokens":10,"cacheWriteInputTokens":"many","outputTokens":"few"}`, "cache_write_tokens output_tokens", "input_tokens cost_usd", nil},
			{"usage", `{"promptTokenCount":10,"toolUsePromptTokenCount":"many","candidatesTokenCount":3,"thoughtsTokenCount":"few"}`, "input_tokens reasoning_tokens", "output_tokens cost_usd", nil},
			{"usage", `{"tokens":{"input_tokens":"many","output_tokens":3}}`, "input_tokens", "cost_usd", nil},
			{"openrouter_metadata/attempts", many, "attempts", "n_429", nil},
			{"openrouter_metadata/attempts", `[{"status":"fine"},{"status":200}]`, "n_429", "", nil},
			{"choices", `[{"finish_reason":{"a":[1]}}]`, "status", "", nil},
			{"usage/cost", many, "cost_usd", "", nil},
			{"usage/cost_details/upstream_inference_cost", many, "cost_usd", "", []string{"usage/is_byok", "true"}},
		},
		"openrouter-broadcast.csv": {
			{"TOTAL_COST", many, "cost_usd", "", nil},
		},
		"litellm-spendlogs": slices.Concat(liteLLM, []convertedCase{
			{"spend", many, "cost_usd", "", []string{"metadata", "null"}},
			{"metadata!/cost_breakdown/total_cost", many, "cost_usd", "", nil},
		}),
		"litellm-standard": slices.Concat(liteLLM, []convertedCase{
			{"response_cost", many, "cost_usd", "", []string{"cost_breakdown", "null"}},
			{"cost_breakdown/total_cost", many, "cost_usd", "", nil},
		}),
		"helicone": {
			{"prompt_tokens", many, "input_tokens", "", nil},
			{"prompt_cache_read_tokens", many, "cached_tokens", "input_tokens", nil},
			{"response_status", `"fine"`, "status", "", nil},
			{"costUSD", many, "cost_usd", "", nil},
			{"cost", many, "cost_usd", "", []string{"costUSD", "null"}},
		},
		"langfuse": {
			{"usage_details", many, "input_tokens output_tokens", "cached_tokens", nil},
			{"usage_details/input", many, "input_tokens", "", nil},
			{"usage_details/input_cached_tokens", many, "cached_tokens", "input_tokens", nil},
			{"usage_details/cache_creation_input_tokens", many, "cache_write_tokens", "input_tokens", nil},
			{"usage_details/output", many, "output_tokens", "", nil},
			{"usage_details/output_reasoning_tokens", many, "reasoning_tokens", "output_tokens", nil},
			{"usage_details/total", many, "input_tokens", "", nil},
			{"tool_calls", many, "tool_call_ok", "", nil},
			{"level", deep, "status", "", nil},
			{"total_cost", many, "cost_usd", "", nil},
		},
		"bifrost": {
			{"number_of_retries", many, "attempts", "n_retries", nil},
			{"number_of_retries", `1000`, "attempts", "n_retries", nil},
			{"attempt_trail", many, "n_429", "", nil},
			{"attempt_trail", `[{"status_code":"many"},{}]`, "n_429", "", nil},
			{"status", deep, "status", "", nil},
			{"cache_debug/cache_hit", `"perhaps"`, "status", "", nil},
			{"cost", many, "cost_usd", "", nil},
		},
		"openrouter-broadcast": nil, // as the next
		"otel-genai": {
			{"endTimeUnixNano", soon, "total_ms", "", nil},
			{"endTimeUnixNano", deep, "total_ms", "", nil},
			{"status/code", `"fine"`, "status", "", nil},
			{"attributes/gen_ai.usage.cost", many, "cost_usd", "", nil},
			{"attributes/gen_ai.usage.cache_creation.input_tokens", many, "cache_write_tokens", "input_tokens", []string{"attributes/gen_ai.usage.cache_read.input_tokens", "6000"}},
		},
		"envoy-ai-gateway": {
			{"response_code", `"fine"`, "status", "", nil},
			{"x-envoy-upstream-service-time", soon, "ttft_ms", "", nil},
		},
		"portkey": {
			{"metadata/session_id", deep, "session_id", "", nil},
			{"metadata/arm", deep, "arm", "", nil},
			{"response_status_code", `"fine"`, "status", "", nil},
			{"retry_success_count", many, "attempts", "n_retries", nil},
			{"cost", many, "cost_usd", "", nil},
		},
		"cloudflare": {
			{"status_code", `"fine"`, "status", "", nil},
			{"success", `"perhaps"`, "status", "", nil},
			{"step", many, "attempts", "n_retries", nil},
			{"response_content_type", deep, "streamed", "", nil},
			{"cost", many, "cost_usd", "", nil},
			{"cached", `"perhaps"`, "status", "", nil},
		},
		"cloudflare-logpush": {
			{"StatusCode", `"fine"`, "status", "", nil},
			{"Metrics/cost", many, "cost_usd", "", nil},
			{"Cached", `"perhaps"`, "status", "", nil},
		},
		"new-api": {
			{"other!/frt", soon, "caller_ttft_ms", "", nil},
			{"other!/admin_info/use_channel", many, "attempts", "n_retries", nil},
			{"quota", many, "cost_usd", "", nil},
			{"quota", `-5`, "cost_usd", "", nil},
		},
	}
	byName["openrouter-broadcast"] = byName["otel-genai"]
	return byName
}

// What convert reads for a column is told when it is there and cannot be read. Nothing is told of good records, and of those
// that have no value there.
func TestUnreadOfConvert(t *testing.T) {
	cases := convertedCases()
	for _, m := range mappings() {
		name := m.name
		if m.csv && name == "openrouter-broadcast" {
			name += ".csv"
		}
		t.Run(name, func(t *testing.T) {
			if len(cases[name]) == 0 {
				t.Fatal("no case")
			}
			records := sampleRecords(t, m)
			for _, c := range cases[name] {
				rec := with(t, records[0], c.also...)
				if _, tally := readRecord(t, m, rec); len(tally.unread) > 0 {
					t.Errorf("a good record, %v: %v", c.also, tally.unread)
				}
				for _, none := range []string{`null`, `""`, `"n/a"`, `"None"`} {
					if r, tally := readRecord(t, m, with(t, rec, c.path, none)); len(tally.unread) > 0 || r.Quality&experiment.QualityBadValue != 0 {
						t.Errorf("%s = %s: %v", c.path, none, tally.unread)
					}
				}
				r, tally := readRecord(t, m, with(t, rec, c.path, c.value))
				var told []string
				for _, u := range tally.unreadFields() {
					told = append(told, u.Column)
					if u.N != 1 || u.Line != 1 || !strings.Contains(c.value, u.Text) && u.Text != strings.Trim(c.value, `"`) {
						t.Errorf("%s = %s: %+v", c.path, c.value, u)
					}
				}
				want := strings.Fields(c.told)
				slices.Sort(want)
				if !slices.Equal(told, want) {
					t.Errorf("%s = %s: told of %v, want %v", c.path, c.value, told, want)
				}
				if r.Quality&experiment.QualityBadValue == 0 {
					t.Errorf("%s = %s: no quality bit", c.path, c.value)
				}
				for _, column := range strings.Fields(c.told + " " + c.gone) {
					if isKnown(&r, column) {
						t.Errorf("%s = %s: %s is known", c.path, c.value, column)
					}
				}
			}
		})
	}
}

// A value that another key has too may be of any kind, and so may the parts of a count.
func TestAlternativesAreNotUnread(t *testing.T) {
	for name, changes := range map[string][]string{
		"openrouter-response": {"usage/num_cached_tokens", `{"a":1}`, "usage/input_tokens", `"see prompt_tokens"`},
		"litellm-standard":    {"response_cost", `"unpriced"`, "error_information", `{"error_code":"rate_limit_exceeded"}`},
		"langfuse":            {"usage_details/input_tokens_details", `{"cached":1}`, "usage_details/cache_creation", `{"5m":1}`, "usage_details/unit", `"TOKENS"`, "tool_calls", `{}`},
		"bifrost":             {"attempt_trail", `[{"status":"failed","fail_reason":"rate_limit"},{}]`},
		"otel-genai":          {"endTimeUnixNano", `"0"`, "status/code", `"STATUS_CODE_OK"`},
		"portkey":             {"retry_success_count", `-1`},
	} {
		for _, m := range mappings() {
			if m.name == name && !m.csv {
				if _, tally := readRecord(t, m, with(t, sampleRecords(t, m)[0], changes...)); len(tally.unread) > 0 {
					t.Errorf("%s, %v: %v", name, changes, tally.unread)
				}
			}
		}
	}
}
