package ingest

// formatCase is one sample: the format it is recognised as, the scenarios that it has no row for, and everything
// that its rows say otherwise than the right answers, since the format cannot carry it.
type formatCase struct {
	file, format string
	rejects      int64
	absent       string
	losses       []loss
}

func formatCases() []formatCase {
	return []formatCase{
		{
			file: "openrouter_generation.jsonl", format: "openrouter-generation", absent: "s06 s09", losses: []loss{
				{"*", "tool_call_ok", "", "not in the log"},
				{"s01", "total_ms", "6120", "put together from parts, without overhead"},
				{"s02", "total_ms", "5120", "put together from parts, without overhead"},
				{"s03", "total_ms", "3310", "put together from parts, without overhead"},
				{"s04", "total_ms", "2950", "put together from parts, without overhead"},
				{"s05", "total_ms", "1500", "put together from parts, without overhead"},
				{"s07", "total_ms", "9020", "put together from parts, without overhead"},
				{"s08", "total_ms", "5000", "put together from parts, without overhead"},
			},
		},
		{
			file: "openrouter_activity_export.csv", format: "openrouter-activity", absent: "s06 s09", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "session_id attempts n_429 n_retries ttft_ms failed_ms tool_call_ok", "", "not in the log"},
				{"s01", "total_ms", "6120", "the serving attempt only"},
				{"s02", "total_ms", "4480", "the serving attempt only"},
				{"s03", "total_ms", "3310", "the serving attempt only"},
				{"s04", "total_ms", "2950", "the serving attempt only"},
				{"s05", "total_ms", "1500", "the serving attempt only"},
				{"s07", "total_ms", "9020", "the serving attempt only"},
				{"s08", "total_ms", "5000", "the serving attempt only"},
			},
		},
		{
			file: "openrouter_responses_with_metadata.jsonl", format: "openrouter-response", absent: "s06 s09", rejects: 1, losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "session_id ttft_ms caller_ttft_ms total_ms failed_ms streamed", "", "not in the log"},
				{"s03", "input_tokens cached_tokens output_tokens cost_usd", "", "not logged for this request"},
				{"s01", "ts", "2026-11-03T08:59:58.000Z", "whole seconds"},
				{"s02", "ts", "2026-11-03T09:00:01.000Z", "whole seconds"},
				{"s03", "ts", "2026-11-03T09:00:06.000Z", "whole seconds"},
				{"s04", "ts", "2026-11-03T09:00:09.000Z", "whole seconds"},
				{"s05", "ts", "2026-11-03T09:00:13.000Z", "whole seconds"},
				{"s07", "ts", "2026-11-03T09:00:23.000Z", "whole seconds"},
				{"s08", "ts", "2026-11-03T09:00:29.000Z", "whole seconds"},
			},
		},
		{
			file: "openrouter_broadcast_otlp.json", format: "openrouter-broadcast", absent: "s05 s06 s07 s08 s09", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "attempts n_429 n_retries ttft_ms caller_ttft_ms failed_ms cached_tokens cost_usd streamed is_byok tool_call_ok", "", "not in the log"},
			},
		},
		{
			file: "openrouter_traces_warehouse.csv", format: "openrouter-broadcast", absent: "s06 s07 s08 s09", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "attempts n_429 n_retries ttft_ms caller_ttft_ms failed_ms cached_tokens streamed is_byok tool_call_ok", "", "not in the log"},
			},
		},
		{
			file: "litellm_spendlogs.csv", format: "litellm-spendlogs", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "streamed is_byok tool_call_ok", "", "not in the log"},
				{"s07", "ttft_ms caller_ttft_ms", "", "the log has the end time there"},
				{"s04", "session_id", "trace-s04", "an id made up for the trace"},
				{"s09", "session_id", "trace-s09", "an id made up for the trace"},
				{"s01", "caller_ttft_ms", "812", "without the gateway's own overhead"},
				{"s02", "caller_ttft_ms", "1230", "without the gateway's own overhead"},
				{"s03", "caller_ttft_ms", "905", "without the gateway's own overhead"},
				{"s05", "caller_ttft_ms", "700", "without the gateway's own overhead"},
				{"s08", "caller_ttft_ms", "1010", "without the gateway's own overhead"},
				{"s01", "total_ms", "6120", "without the gateway's own overhead"},
				{"s02", "total_ms", "5120", "without the gateway's own overhead"},
				{"s03", "total_ms", "3310", "without the gateway's own overhead"},
				{"s04", "total_ms", "2950", "without the gateway's own overhead"},
				{"s05", "total_ms", "1500", "without the gateway's own overhead"},
				{"s06", "total_ms", "1990", "without the gateway's own overhead"},
				{"s07", "total_ms", "9020", "without the gateway's own overhead"},
				{"s08", "total_ms", "5000", "without the gateway's own overhead"},
				{"s05", "status", "ok", "the log says success"},
			},
		},
		{
			file: "litellm_standard_logging.jsonl", format: "litellm-standard", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "session_id is_byok tool_call_ok", "", "not in the log"},
				{"s07", "ttft_ms caller_ttft_ms", "", "the log has the end time there"},
				{"s01", "caller_ttft_ms", "812", "without the gateway's own overhead"},
				{"s02", "caller_ttft_ms", "1230", "without the gateway's own overhead"},
				{"s03", "caller_ttft_ms", "905", "without the gateway's own overhead"},
				{"s05", "caller_ttft_ms", "700", "without the gateway's own overhead"},
				{"s08", "caller_ttft_ms", "1010", "without the gateway's own overhead"},
				{"s01", "total_ms", "6120", "without the gateway's own overhead"},
				{"s02", "total_ms", "5120", "without the gateway's own overhead"},
				{"s03", "total_ms", "3310", "without the gateway's own overhead"},
				{"s04", "total_ms", "2950", "without the gateway's own overhead"},
				{"s05", "total_ms", "1500", "without the gateway's own overhead"},
				{"s06", "total_ms", "1990", "without the gateway's own overhead"},
				{"s07", "total_ms", "9020", "without the gateway's own overhead"},
				{"s08", "total_ms", "5000", "without the gateway's own overhead"},
				{"s05", "status", "ok", "the log says success"},
			},
		},
		{
			file: "helicone_requests.jsonl", format: "helicone", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "provider attempts n_429 n_retries ttft_ms failed_ms streamed is_byok tool_call_ok", "", "not in the log"},
				{"s05", "input_tokens cached_tokens output_tokens", "", "not logged for this request"},
				{"s03 s05 s06 s09", "cost_usd", "", "no price is logged"},
				{"s03 s09", "status", "ok", "the log says success"},
			},
		},
		{
			file: "langfuse_observations_v2.jsonl", format: "langfuse", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "provider attempts n_429 n_retries ttft_ms failed_ms streamed is_byok", "", "not in the log"},
				{"s05", "total_ms input_tokens cached_tokens output_tokens", "", "without the gateway's own overhead"},
				{"s09", "cost_usd", "", "no price is logged"},
				{"s09", "status", "ok", "the log says success"},
			},
		},
		{
			file: "bifrost_logs.jsonl", format: "bifrost", absent: "s09", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "session_id n_429 ttft_ms failed_ms is_byok tool_call_ok", "", "not in the log"},
				{"s05", "input_tokens cached_tokens output_tokens", "", "not logged for this request"},
				{"s03 s05 s06", "cost_usd", "", "no price is logged"},
			},
		},
		{
			file: "otel_genai_spans.otlp.json", format: "otel-genai", absent: "s08 s09", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "provider attempts n_429 n_retries ttft_ms failed_ms cost_usd is_byok tool_call_ok", "", "not in the log"},
				{"s05", "input_tokens cached_tokens output_tokens", "", "not logged for this request"},
			},
		},
		{
			file: "envoy_ai_gateway_access.jsonl", format: "envoy-ai-gateway", absent: "s09", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "attempts n_429 n_retries caller_ttft_ms failed_ms cached_tokens cost_usd streamed is_byok tool_call_ok", "", "not in the log"},
				{"s05", "ttft_ms input_tokens output_tokens", "", "not logged for this request"},
				{"s01", "ttft_ms", "832", "time to the headers"},
				{"s02", "ttft_ms", "1250", "time to the headers"},
				{"s03", "ttft_ms", "925", "time to the headers"},
				{"s07", "ttft_ms", "475", "time to the headers"},
				{"s08", "ttft_ms", "1030", "time to the headers"},
				{"s03", "status", "ok", "the log says success"},
			},
		},
		{
			file: "portkey_logs_export.jsonl", format: "portkey", absent: "s05", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "ttft_ms caller_ttft_ms cached_tokens streamed is_byok tool_call_ok", "", "not in the log"},
				{"s01 s02 s03 s04 s06 s07 s08", "attempts n_429 n_retries failed_ms", "", "known only for answers of the gateway's own cache"},
				{"s03", "status", "ok", "the log says success"},
			},
		},
		{
			file: "cloudflare_aig_logs_api.json", format: "cloudflare", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "ttft_ms caller_ttft_ms cached_tokens is_byok tool_call_ok", "", "not in the log"},
				{"s01 s02 s03 s04 s05 s06 s07 s08", "n_429 failed_ms", "", "known only for answers of the gateway's own cache"},
				{"s03 s05", "status", "ok", "the log says success"},
			},
		},
		{
			file: "cloudflare_aig_logpush.jsonl", format: "cloudflare-logpush", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "session_id ttft_ms caller_ttft_ms input_tokens cached_tokens output_tokens streamed is_byok tool_call_ok", "", "not in the log"},
				{"s01 s02 s03 s04 s05 s06 s07 s08", "attempts n_429 n_retries failed_ms", "", "known only for answers of the gateway's own cache"},
				{"s06", "ts", "2026-11-03T09:00:17.849Z", "nanoseconds that went through a double"},
				{"s08", "ts", "2026-11-03T09:00:29.249Z", "nanoseconds that went through a double"},
				{"s03 s05", "status", "ok", "the log says success"},
			},
		},
		{
			file: "newapi_logs.jsonl", format: "new-api", absent: "s09", losses: []loss{
				{"*", "request_id", "any", "its own id"},
				{"*", "session_id n_429 ttft_ms failed_ms is_byok tool_call_ok", "", "not in the log"},
				{"s01", "ts", "2026-11-03T08:59:58.000Z", "whole seconds"},
				{"s02", "ts", "2026-11-03T09:00:01.000Z", "whole seconds"},
				{"s03", "ts", "2026-11-03T09:00:06.000Z", "whole seconds"},
				{"s04", "ts", "2026-11-03T09:00:10.000Z", "whole seconds"},
				{"s05", "ts", "2026-11-03T09:00:13.000Z", "whole seconds"},
				{"s06", "ts", "2026-11-03T09:00:17.000Z", "whole seconds"},
				{"s07", "ts", "2026-11-03T09:00:23.000Z", "whole seconds"},
				{"s08", "ts", "2026-11-03T09:00:29.000Z", "whole seconds"},
				{"s01", "total_ms", "6000", "whole seconds"},
				{"s02 s08", "total_ms", "5000", "whole seconds"},
				{"s03", "total_ms", "3000", "whole seconds"},
				{"s04 s06", "total_ms", "2000", "whole seconds"},
				{"s05", "total_ms", "1000", "whole seconds"},
				{"s07", "total_ms", "9000", "whole seconds"},
				{"s01", "cost_usd", "0.00128000", "rounded to quota units"},
				{"s02", "cost_usd", "0.00132000", "rounded to quota units"},
				{"s03", "cost_usd", "0.00067800", "rounded to quota units"},
				{"s05", "cost_usd", "0.00053800", "rounded to quota units"},
				{"s07", "cost_usd", "0.00586800", "rounded to quota units"},
				{"s03 s05", "status", "ok", "the log says success"},
			},
		},
	}
}
