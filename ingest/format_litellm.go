package ingest

import (
	"net/url"
	"strings"

	"switchback/experiment"
)

// liteLLMSpendLogs reads an export of LiteLLM's table of spend logs: one row an attempt, times without a zone
// in UTC.
func liteLLMSpendLogs() mapping {
	return mapping{
		name: "litellm-spendlogs",
		csv:  true,
		keys: []string{"request_id", "spend", "startTime", "endTime", "completionStartTime", "model_group"},
		known: "agent_id api_base api_key cache_hit cache_key call_type completionStartTime custom_llm_provider endTime " +
			"mcp_namespaced_tool_name messages model_group model_id organization_id proxy_server_request " +
			"request_duration_ms request_tags requester_ip_address response spend status team_id total_tokens",
		fields: []field{
			{"request_id", "request_id", plainUnit},
			{"session_id", "session_id", plainUnit},
			{"client_id", "end_user|user", plainUnit},
			{"ts", "startTime", plainUnit},
			{"model", "model", plainUnit},
			{"input_tokens", "prompt_tokens", plainUnit},
			{"cached_tokens", "metadata!/usage_object/prompt_tokens_details/cached_tokens|metadata!/usage_object/cache_read_input_tokens", plainUnit},
			{"cache_write_tokens", "metadata!/usage_object/cache_creation_input_tokens", plainUnit},
			{"output_tokens", "completion_tokens", plainUnit},
			{"reasoning_tokens", "metadata!/usage_object/completion_tokens_details/reasoning_tokens", plainUnit},
		},
		convert: func(rec node, r *request, in *mappedRows) outcome {
			metadata := rec.get("metadata").inner()
			row := liteLLMRow{
				ends: in.instant(r, "total_ms", rec.get("endTime")), firstToken: in.instant(r, "ttft_ms", rec.get("completionStartTime")),
				failure: in.label(r, "status", rec.get("status")) == "failure", cacheHit: in.flag(r, "status", rec.get("cache_hit")),
				errors: metadata.get("error_information"), spend: rec.get("spend"), breakdown: metadata.get("cost_breakdown", "total_cost"),
				apiBase: rec.get("api_base").str(), modelID: rec.get("model_id").str(),
			}
			r.Arm = taggedArm(in.list(r, "arm", rec.get("request_tags")))
			row.apply(r, in)
			return keep()
		},
		fold: func(row *mappedRow) link {
			return liteLLMLink(row, row.SessionID+"\x00"+row.rec.get("model_group").str())
		},
		sessionIsTrace: true,
	}
}

// liteLLMStandard reads LiteLLM's standard logging payload: times are unix seconds with decimals.
func liteLLMStandard() mapping {
	return mapping{
		name: "litellm-standard",
		keys: []string{"trace_id", "startTime", "endTime", "completionStartTime", "status_fields"},
		known: "api_base cache_hit call_id call_type completionStartTime cost_breakdown custom_llm_provider endTime " +
			"error_information error_str hidden_params messages model_group model_id model_parameters request_tags response " +
			"response_cost response_time saved_cache_cost status status_fields total_tokens trace_id",
		fields: []field{
			{"request_id", "id", plainUnit},
			{"session_id", "session_id|metadata/requester_metadata/session_id|metadata/session_id", plainUnit},
			{"client_id", "end_user", plainUnit},
			{"ts", "startTime", unixSeconds},
			{"model", "model", plainUnit},
			{"input_tokens", "prompt_tokens", plainUnit},
			{"cached_tokens", "metadata/usage_object/prompt_tokens_details/cached_tokens|metadata/usage_object/cache_read_input_tokens", plainUnit},
			{"cache_write_tokens", "metadata/usage_object/cache_creation_input_tokens", plainUnit},
			{"output_tokens", "completion_tokens", plainUnit},
			{"reasoning_tokens", "metadata/usage_object/completion_tokens_details/reasoning_tokens", plainUnit},
			{"streamed", "stream", plainUnit},
		},
		convert: func(rec node, r *request, in *mappedRows) outcome {
			ends, _ := in.decimal(r, "total_ms", rec.get("endTime"), 6)
			token, _ := in.decimal(r, "ttft_ms", rec.get("completionStartTime"), 6)
			row := liteLLMRow{
				ends: experiment.Instant(ends), firstToken: experiment.Instant(token),
				failure: in.label(r, "status", rec.get("status")) == "failure", cacheHit: in.flag(r, "status", rec.get("cache_hit")),
				errors: rec.get("error_information"), spend: rec.get("response_cost"), breakdown: rec.get("cost_breakdown", "total_cost"),
				apiBase: rec.get("api_base").str(), modelID: rec.get("model_id").str(),
			}
			r.Arm = taggedArm(in.list(r, "arm", rec.get("request_tags")))
			r.ToolCallOK = toolCalls(choiceArguments(rec.get("response").inner()))
			row.apply(r, in)
			return keep()
		},
		compose:    composeLiteLLM,
		perAttempt: true,
		fold:       func(row *mappedRow) link { return liteLLMLink(row, row.rec.get("trace_id").str()) },
	}
}

// liteLLMRow is what the two formats say of one attempt, each in its own place.
type liteLLMRow struct {
	ends, firstToken experiment.Instant // 0 is unknown
	failure          bool
	cacheHit         bool
	errors           node
	spend, breakdown node
	apiBase, modelID string
}

func (l liteLLMRow) apply(r *request, in *mappedRows) {
	r.Provider = liteLLMProvider(l.apiBase, l.modelID)
	if l.ends != 0 {
		r.Total = experiment.Some(experiment.Micros(l.ends - r.TS))
	}
	// Without a first token, and by a known mistake for some streams, LiteLLM writes the end time there.
	if l.firstToken != 0 && l.firstToken != l.ends && l.firstToken != r.TS && !(r.Streamed.Known && !r.Streamed.Value) {
		r.TTFT = experiment.Some(experiment.Micros(l.firstToken - r.TS))
		r.CallerTTFT = r.TTFT
	}
	code, _ := l.errors.get("error_code").whole() // some errors have a word there
	setAttemptsOf(r, []int64{code})
	r.Failed = micros64(0)
	switch {
	case l.cacheHit:
		gatewayCache(r)
	case code == 499:
		r.Status = experiment.StatusCancelled
	case l.failure:
		r.Status = failed(r)
	default:
		r.Status = experiment.StatusOK
	}
	if r.Status == experiment.StatusError {
		r.Failed = r.Total
		noTokens(r)
	}
	l.cost(r, in)
	unknownZeroCost(r)
}

// cost takes the sum of the breakdown for streams, which are logged with spend 0.
func (l liteLLMRow) cost(r *request, in *mappedRows) {
	spend, known := l.spend.decimal(9)
	sum, _ := l.breakdown.decimal(9)
	if (!known || spend == 0) && sum > 0 {
		in.cost(r, l.breakdown, experiment.CostBreakdown)
		return
	}
	in.cost(r, l.spend, experiment.CostBilled)
	if spend == 0 {
		in.decimal(r, "cost_usd", l.breakdown, 9)
	}
}

// liteLLMProvider finds who served: custom_llm_provider names the protocol, often just openai.
func liteLLMProvider(apiBase, modelID string) string {
	if name, ok := strings.CutPrefix(modelID, "dep-"); ok {
		return name
	}
	u, err := url.Parse(apiBase)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	labels := strings.Split(u.Hostname(), ".")
	if len(labels) < 2 {
		return labels[0]
	}
	return labels[len(labels)-2]
}

// liteLLMLink joins attempts: a failure without output is followed by the next attempt within a second of its end.
func liteLLMLink(row *mappedRow, key string) link {
	if key == "" || strings.HasPrefix(key, "\x00") {
		// Which attempts belong together is unknown: that there was one, and that it was the first, would be a guess.
		row.Attempts, row.Retries, row.N429 = experiment.Opt[int32]{}, experiment.Opt[int32]{}, experiment.Opt[int32]{}
		row.Failed = experiment.Opt[experiment.Micros]{}
		return link{}
	}
	code, _ := row.rec.get("error_information", "error_code").whole()
	if metadata := row.rec.get("metadata"); code == 0 && metadata.kind == jsonString {
		code, _ = metadata.inner().get("error_information", "error_code").whole()
	}
	status := experiment.Some(int32(code))
	if code == 0 {
		status = experiment.Some[int32](200)
	}
	a := attempt{N: 1, Provider: canonicalProvider(row.ProviderRaw), Start: micros64(0), Latency: row.Total, HTTPStatus: status, ErrorType: liteLLMErrorType(row.rec), Cost: row.Cost}
	row.attempts = []attempt{a}
	return link{key: key, open: row.Status == experiment.StatusError, gap: 1_000_000}
}

func liteLLMErrorType(rec node) string {
	if class := rec.get("error_information", "error_class").str(); class != "" {
		return class
	}
	return rec.get("metadata").inner().get("error_information", "error_class").str()
}
