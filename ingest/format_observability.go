package ingest

import (
	"strings"

	"switchback/experiment"
)

// helicone reads Helicone's request export. Its prompt tokens exclude cached ones, and 0 cost without a price in
// USD is an unknown cost.
func helicone() mapping {
	return mapping{
		name: "helicone",
		keys: []string{"request_created_at", "delay_ms", "response_status"},
		known: "cache_reference_id cost costUSD country_code llmSchema prompt_tokens request_path response_created_at " +
			"response_id response_status scores total_tokens",
		fields: []field{
			{"request_id", "request_id", plainUnit},
			{"session_id", "request_properties/Helicone-Session-Id|properties/Helicone-Session-Id", plainUnit},
			{"client_id", "request_user_id", plainUnit},
			{"ts", "request_created_at", plainUnit},
			{"model", "model_override|request_model|model|response_model", plainUnit},
			{"provider", "provider", plainUnit},
			{"arm", "request_properties/arm", plainUnit},
			{"caller_ttft_ms", "time_to_first_token", plainUnit},
			{"total_ms", "delay_ms", plainUnit},
			{"cached_tokens", "prompt_cache_read_tokens", plainUnit},
			{"cache_write_tokens", "prompt_cache_write_tokens", plainUnit},
			{"output_tokens", "completion_tokens", plainUnit},
		},
		compose: composeHelicone,
		convert: func(rec node, r *request, in *mappedRows) outcome {
			if prompt, ok := in.count(r, "input_tokens", rec.get("prompt_tokens")); ok {
				r.InputTokens = in.unlessUnread(experiment.Some(prompt+r.CachedTokens.Value+r.CacheWriteTokens.Value), inputParts...)
			} else if !in.isUnread("input_tokens") {
				noTokens(r)
			}
			code, _ := in.whole(r, "status", rec.get("response_status"))
			r.Status = statusOf(r, code)
			if cache := rec.get("cache_reference_id").str(); cache != "" && strings.Trim(cache, "0-") != "" {
				gatewayCache(r)
			}
			if usd := rec.get("costUSD"); usd.kind != jsonNull {
				in.cost(r, usd, experiment.CostBilled)
			} else if nano, ok := in.whole(r, "cost_usd", rec.get("cost")); ok && nano > 0 {
				r.Cost, r.CostSource = experiment.Some(experiment.NanoUSD(nano)), experiment.CostBilled
			}
			return keep()
		},
	}
}

// langfuse reads observations of Langfuse's blob export. Latencies are in seconds; usage keys depend on the SDK.
func langfuse() mapping {
	return mapping{
		name: "langfuse",
		keys: []string{"trace_id", "start_time", "usage_details", "provided_model_name"},
		known: "bookmarked completion_start_time cost_details created_at end_time environment input input_price level model_id " +
			"model_parameters name output output_price parent_observation_id project_id prompt_id prompt_name " +
			"prompt_version public release status_message tags tool_call_names tool_calls tool_definitions total_cost " +
			"total_price trace_id trace_name type updated_at usage_details usage_pricing_tier_id usage_pricing_tier_name " +
			"version",
		fields: []field{
			{"request_id", "id", plainUnit},
			{"session_id", "session_id", plainUnit},
			{"client_id", "user_id", plainUnit},
			{"ts", "start_time", plainUnit},
			{"model", "provided_model_name", plainUnit},
			{"arm", "metadata!/arm", plainUnit},
			{"caller_ttft_ms", "time_to_first_token", secondsUnit},
			{"total_ms", "latency", secondsUnit},
		},
		compose: composeLangfuse,
		convert: func(rec node, r *request, in *mappedRows) outcome {
			if rec.get("type").str() != "GENERATION" {
				return skip()
			}
			in.langfuseTokens(rec.get("usage_details"), r)
			var arguments []node
			for _, call := range in.list(r, "tool_call_ok", rec.get("tool_calls")).elements() {
				arguments = append(arguments, call.value.inner().get("arguments"))
			}
			r.ToolCallOK = toolCalls(arguments)
			switch {
			case in.label(r, "status", rec.get("level")) == "ERROR":
				r.Status = failed(r)
			case rec.get("end_time").str() == "":
				r.Status = experiment.StatusCancelled // it began and nothing ended it
			default:
				r.Status = experiment.StatusOK
			}
			in.cost(r, rec.get("total_cost"), experiment.CostBilled)
			unknownZeroCost(r)
			return keep()
		},
	}
}

// langfuseTokens sums the keys of input and of output, unless the total shows that cached tokens are inside
// "input" already.
func (c *mappedRows) langfuseTokens(usage node, r *request) {
	usage = c.object(r, usage, "input_tokens", "output_tokens")
	var input, cached, written, output, reasoning int64
	var hasInput, hasOutput, hasCached bool
	plain, _ := usage.get("input").whole()
	for _, m := range usage.members {
		column := langfuseColumn(m)
		if column == "" {
			continue
		}
		v, ok := c.count(r, column, m.value)
		if !ok {
			continue
		}
		switch column {
		case "output_tokens", "reasoning_tokens":
			output, hasOutput = output+v, true
		default:
			input, hasInput = input+v, true
		}
		switch column {
		case "cache_write_tokens":
			written += v
		case "cached_tokens":
			cached, hasCached = cached+v, true
		case "reasoning_tokens":
			reasoning += v
		}
	}
	if total, ok := c.count(r, "input_tokens", usage.get("total")); ok && hasInput {
		if plain+output == total && plain != input {
			input = plain
		}
		if out, ok := usage.get("output").whole(); ok && input+out == total {
			output = out
		}
	}
	if hasInput {
		r.InputTokens = c.unlessUnread(experiment.Some(input), inputParts...)
	}
	if hasCached {
		r.CachedTokens = c.unlessUnread(experiment.Some(cached), "cached_tokens")
	}
	if written > 0 {
		r.CacheWriteTokens = c.unlessUnread(experiment.Some(written), "cache_write_tokens")
	}
	if hasOutput {
		r.OutputTokens = c.unlessUnread(experiment.Some(output), "output_tokens", "reasoning_tokens")
	}
	if reasoning > 0 {
		r.ReasoningTokens = c.unlessUnread(experiment.Some(reasoning), "reasoning_tokens")
	}
}

// langfuseColumn is the column of a kind of tokens, "" for what is none.
func langfuseColumn(m member) string {
	key := strings.ToLower(m.key)
	if m.value.kind == jsonNested && (strings.HasSuffix(key, "_details") || key == "cache_creation") {
		return "" // parts of another count
	}
	switch {
	case strings.HasPrefix(key, "input"), strings.HasPrefix(key, "cache_"), key == "prompt_tokens":
		switch {
		case strings.Contains(key, "creation"), strings.Contains(key, "write"):
			return "cache_write_tokens"
		case strings.Contains(key, "cache"):
			return "cached_tokens"
		}
		return "input_tokens"
	case strings.HasPrefix(key, "output"), key == "completion_tokens":
		if strings.Contains(key, "reasoning") {
			return "reasoning_tokens"
		}
		return "output_tokens"
	}
	return ""
}

// portkey reads Portkey's log export. Its costs are cents, unless the user says otherwise.
func portkey() mapping {
	return mapping{
		name: "portkey",
		keys: []string{"ai_org", "ai_model", "response_time", "response_status_code"},
		known: "cache_status config cost cost_currency prompt_slug request_url response response_status_code " +
			"retry_success_count total_units trace_id",
		fields: []field{
			{"request_id", "id", plainUnit},
			{"client_id", "metadata/_user", plainUnit},
			{"ts", "created_at", plainUnit},
			{"model", "ai_model", plainUnit},
			{"provider", "ai_org", plainUnit},
			{"total_ms", "response_time", plainUnit},
			{"input_tokens", "req_units", plainUnit},
			{"output_tokens", "res_units", plainUnit},
			{"streamed", "request/body/stream|request/stream", plainUnit},
		},
		compose: composePortkey,
		convert: func(rec node, r *request, in *mappedRows) outcome {
			metadata := pairsOf(rec.get("metadata").inner())
			r.SessionID, r.Arm = in.sessionIn(r, metadata), in.label(r, "arm", metadata.get("arm"))
			code, _ := in.whole(r, "status", rec.get("response_status_code"))
			r.Status = statusOf(r, code)
			if r.Status == experiment.StatusError {
				noTokens(r)
			}
			in.retries(r, rec.get("retry_success_count"))
			r.ToolCallOK = toolCalls(choiceArguments(rec.get("response", "body")))
			scale := 9
			if in.sink.costUnit != CostUnitUSD {
				scale = 7 // cents
			}
			if nano, ok := in.decimal(r, "cost_usd", rec.get("cost"), scale); ok {
				r.Cost, r.CostSource = experiment.Some(experiment.NanoUSD(nano)), experiment.CostBilled
			}
			if rec.get("ai_org").str() == "cache" || strings.Contains(rec.get("cache_status").str(), "HIT") {
				gatewayCache(r)
			}
			unknownZeroCost(r)
			return keep()
		},
		costInCents: true,
	}
}

// pairsOf turns {"key": […], "value": […]} into an object.
func pairsOf(n node) node {
	keys, values := n.get("key").elements(), n.get("value").elements()
	if keys == nil || len(keys) != len(values) {
		return n
	}
	out := node{kind: jsonNested}
	for i := range keys {
		out.members = append(out.members, member{keys[i].value.str(), values[i].value})
	}
	return out
}
