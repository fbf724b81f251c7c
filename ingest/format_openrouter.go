package ingest

import (
	"strings"

	"switchback/experiment"
)

// openRouterGeneration reads answers of OpenRouter's /generation, one a line, with or without their "data" envelope.
func openRouterGeneration() mapping {
	return mapping{
		name: "openrouter-generation",
		keys: []string{"native_tokens_prompt", "generation_time", "provider_responses"},
		known: "api_type app_id cache_discount cancelled data_region finish_reason generation_time http_referer latency " +
			"moderation_latency native_finish_reason native_tokens_completion_images num_fetches num_input_audio_prompt " +
			"num_media_completion num_media_prompt num_search_results origin preset_id provider_responses router " +
			"service_tier tokens_completion tokens_prompt total_cost upstream_id upstream_inference_cost usage user_agent " +
			"web_search_engine workspace_id",
		fields: []field{
			{"request_id", "request_id|id", plainUnit},
			{"source_row_id", "id", plainUnit},
			{"session_id", "session_id", plainUnit},
			{"client_id", "external_user", plainUnit},
			{"ts", "created_at", plainUnit},
			{"model", "model", plainUnit},
			{"provider", "provider_name", plainUnit},
			{"input_tokens", "native_tokens_prompt", plainUnit}, // billing counts; tokens_* are of another tokenizer
			{"cached_tokens", "native_tokens_cached", plainUnit},
			{"output_tokens", "native_tokens_completion", plainUnit},
			{"reasoning_tokens", "native_tokens_reasoning", plainUnit},
			{"streamed", "streamed", plainUnit},
			{"is_byok", "is_byok", plainUnit},
		},
		compose: composeGeneration,
		unwrap:  inEnvelope("data"),
		convert: convertGeneration,
		caveat:  "requests whose attempts all failed are not in this export, so its error rates are too good",
	}
}

// inEnvelope unwraps {"key": {…}} and {"key": […]}.
func inEnvelope(key string) func(node) []member {
	return func(v node) []member {
		inner := v.get(key)
		switch {
		case inner.array:
			return inner.members
		case inner.kind == jsonNested:
			return []member{{value: inner}}
		}
		return nil
	}
}

func convertGeneration(rec node, r *request, in *mappedRows) outcome {
	output := r.OutputTokens
	if rec.get("finish_reason").kind == jsonNull && !rec.get("cancelled").isTrue() && output.Value == 0 && isZero(rec.get("generation_time")) {
		return reject(reasonPending) // asked for before the record was complete
	}
	switch {
	case in.flag(r, "status", rec.get("cancelled")):
		r.Status = experiment.StatusCancelled
	case in.label(r, "status", rec.get("finish_reason")) == "error":
		r.Status = failed(r)
	default:
		r.Status = experiment.StatusOK
	}
	in.generationCost(rec, r)
	in.generationTimes(rec, r)
	return keep()
}

func isZero(n node) bool {
	v, ok := n.decimal(9)
	return !ok || v == 0
}

func (c *mappedRows) generationCost(rec node, r *request) {
	if r.BYOK.Value {
		c.cost(r, rec.get("upstream_inference_cost"), experiment.CostUpstream)
		return
	}
	c.cost(r, rec.get("total_cost"), experiment.CostBilled)
}

// generationTimes takes attempts and times from provider_responses. `latency` of the record is the caller's TTFT
// when streamed; generation_time is of the serving attempt only.
func (c *mappedRows) generationTimes(rec node, r *request) {
	list := c.list(r, "attempts", rec.get("provider_responses"))
	responses := list.elements()
	if len(responses) > 0 {
		c.attemptsOf(r, list)
	}
	failedTime, ok := int64(0), !c.isUnread("n_429") // else which attempts failed is unknown
	for i, p := range responses {
		latency := p.value.get("latency")
		if status, _ := p.value.get("status").whole(); status != 200 {
			micros, known := c.decimal(r, "failed_ms", latency, 3)
			failedTime += micros
			ok = ok && known
		} else if i == len(responses)-1 && r.Streamed.Value {
			if micros, known := c.decimal(r, "ttft_ms", latency, 3); known {
				r.TTFT = micros64(micros)
			}
		}
	}
	if len(responses) > 0 && ok {
		r.Failed = micros64(failedTime)
	}
	if latency, known := c.decimal(r, "caller_ttft_ms", rec.get("latency"), 3); known && r.Streamed.Value {
		r.CallerTTFT = micros64(latency)
	}
	serving, known := c.decimal(r, "total_ms", rec.get("generation_time"), 3)
	switch {
	case known && ok:
		r.Total = micros64(serving + failedTime)
	case known && r.CallerTTFT.Known && r.TTFT.Known: // their difference is when the serving attempt began
		r.Total = experiment.Some(experiment.Micros(serving) + r.CallerTTFT.Value - r.TTFT.Value)
	}
	if r.Total.Known {
		r.Quality |= experiment.QualityTotalApprox
	}
}

// openRouterActivity reads the CSV export with one row a generation.
func openRouterActivity() mapping {
	return mapping{
		name: "openrouter-activity",
		csv:  true,
		keys: []string{"generation_id", "created_at", "model_permaslug", "generation_time_ms"},
		known: "api_key_disabled api_key_name app_name byok_usage_inference cancelled cost_cache cost_file_processing " +
			"cost_total cost_web_search finish_reason_normalized finish_reason_raw time_to_first_token_ms variant",
		fields: []field{
			{"request_id", "generation_id", plainUnit},
			{"client_id", "user", plainUnit},
			{"ts", "created_at", plainUnit},
			{"model", "model_permaslug", plainUnit},
			{"provider", "provider_name", plainUnit},
			{"total_ms", "generation_time_ms", plainUnit},
			{"input_tokens", "tokens_prompt", plainUnit},
			{"cached_tokens", "tokens_cached", plainUnit},
			{"output_tokens", "tokens_completion", plainUnit},
			{"reasoning_tokens", "tokens_reasoning", plainUnit},
			{"streamed", "streamed", plainUnit},
		},
		convert: convertActivity,
		caveat:  "requests whose attempts all failed are not in this export, so its error rates are too good",
	}
}

func convertActivity(rec node, r *request, in *mappedRows) outcome {
	if variant := rec.get("variant").str(); variant != "" && variant != "standard" {
		r.Model += ":" + variant
	}
	if r.Total.Known {
		r.Quality |= experiment.QualityTotalApprox // of the serving attempt
	}
	if ttft, ok := in.decimal(r, "caller_ttft_ms", rec.get("time_to_first_token_ms"), 3); ok && r.Streamed.Value {
		r.CallerTTFT = micros64(ttft)
	}
	switch {
	case in.flag(r, "status", rec.get("cancelled")):
		r.Status = experiment.StatusCancelled
	case rec.get("finish_reason_normalized").str() == "error":
		r.Status = failed(r)
	default:
		r.Status = experiment.StatusOK
	}
	own, ok := in.decimal(r, "is_byok", rec.get("byok_usage_inference"), 9)
	r.BYOK = experiment.Opt[bool]{Value: own > 0, Known: ok}
	if own > 0 || in.isUnread("is_byok") { // whether it was paid elsewhere decides which cost counts
		in.cost(r, rec.get("byok_usage_inference"), experiment.CostUpstream)
	} else {
		in.cost(r, rec.get("cost_total"), experiment.CostBilled)
	}
	return keep()
}

// openRouterResponse reads response bodies with router metadata.
func openRouterResponse() mapping {
	return mapping{
		name:  "openrouter-response",
		keys:  []string{"openrouter_metadata"},
		known: "choices error http_status object",
		fields: []field{
			{"request_id", "id", plainUnit},
			{"client_id", "user_id", plainUnit},
			{"ts", "created", unixSeconds},
			{"model", "model|openrouter_metadata/requested", plainUnit},
			{"provider", "provider", plainUnit},
			{"is_byok", "usage/is_byok|openrouter_metadata/is_byok", plainUnit},
		},
		convert: convertResponse,
	}
}

func convertResponse(rec node, r *request, in *mappedRows) outcome {
	r.Quality |= experiment.QualityCoarseTime
	in.usageTokens(rec.get("usage"), r)
	if attempts := in.list(r, "attempts", rec.get("openrouter_metadata", "attempts")); attempts.array {
		in.attemptsOf(r, attempts)
	}
	choices := rec.get("choices").elements()
	reason := node{}
	if len(choices) > 0 {
		reason = choices[0].value.get("finish_reason")
	}
	switch {
	case rec.get("error").kind == jsonNested && len(choices) > 0, in.label(r, "status", reason) == "error":
		r.Status = experiment.StatusErrorMidstream // the body began before the error
	case rec.get("error").kind == jsonNested:
		r.Status = experiment.StatusError
	case reason.kind == jsonNull && len(choices) > 0:
		r.Status = experiment.StatusCancelled // a body that ended without a reason to finish
	default:
		r.Status = experiment.StatusOK
	}
	r.ToolCallOK = toolCalls(choiceArguments(rec))
	if r.BYOK.Value {
		in.cost(r, rec.get("usage", "cost_details", "upstream_inference_cost"), experiment.CostUpstream)
	} else {
		in.cost(r, rec.get("usage", "cost"), experiment.CostBilled)
	}
	return keep()
}

// openRouterWarehouse reads the CSV of spans that Broadcast writes to warehouses.
func openRouterWarehouse() mapping {
	return mapping{
		name:  "openrouter-broadcast",
		csv:   true,
		keys:  []string{"TRACE_ID", "SPAN_ID", "TIMESTAMP", "MODEL", "DURATION_MS"},
		known: "API_KEY_NAME ATTRIBUTES FINISH_REASON LEVEL SPAN_TYPE STATUS TOTAL_COST TOTAL_TOKENS TRACE_ID",
		fields: []field{
			{"request_id", "SPAN_ID", plainUnit},
			{"session_id", "SESSION_ID", plainUnit},
			{"client_id", "USER_ID", plainUnit},
			{"ts", "TIMESTAMP", plainUnit},
			{"model", "MODEL", plainUnit},
			{"provider", "PROVIDER_NAME", plainUnit},
			{"arm", "METADATA!/arm", plainUnit},
			{"total_ms", "DURATION_MS", plainUnit},
			{"input_tokens", "PROMPT_TOKENS", plainUnit},
			{"output_tokens", "COMPLETION_TOKENS", plainUnit},
		},
		convert: func(rec node, r *request, in *mappedRows) outcome {
			if kind := rec.get("SPAN_TYPE").str(); kind != "" && kind != "GENERATION" {
				return skip()
			}
			in.cost(r, rec.get("TOTAL_COST"), experiment.CostBilled)
			switch {
			case strings.EqualFold(rec.get("STATUS").str(), "error"), strings.EqualFold(rec.get("LEVEL").str(), "error"):
				r.Status = failed(r)
			case rec.get("FINISH_REASON").str() == "":
				r.Status = experiment.StatusCancelled
			default:
				r.Status = experiment.StatusOK
			}
			return keep()
		},
	}
}
