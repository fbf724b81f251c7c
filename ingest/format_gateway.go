package ingest

import (
	"strings"

	"switchback/experiment"
)

// bifrost reads Bifrost's log store: one row an attempt chain at one provider, fallbacks are children of it. A row has one
// latency for all its retries. The time in failed attempts would be known for requests without a retry alone, where it is
// 0: it stays unknown.
func bifrost() mapping {
	return mapping{
		name: "bifrost",
		keys: []string{"number_of_retries", "fallback_index", "parent_request_id"},
		known: "attempt_trail cache_debug cost error_details fallback_index number_of_retries object parent_request_id selected_key_id " +
			"selected_key_name status virtual_key_name",
		fields: []field{
			{"request_id", "id", plainUnit},
			{"session_id", "session_id|metadata/session_id", plainUnit},
			{"client_id", "virtual_key_id", plainUnit},
			{"ts", "timestamp", plainUnit},
			{"model", "model", plainUnit},
			{"provider", "provider", plainUnit},
			{"caller_ttft_ms", "time_to_first_token", plainUnit},
			{"total_ms", "latency", plainUnit},
			{"input_tokens", "token_usage/prompt_tokens", plainUnit},
			{"cached_tokens", "token_usage/prompt_tokens_details/cached_tokens", plainUnit},
			{"output_tokens", "token_usage/completion_tokens", plainUnit},
			{"reasoning_tokens", "token_usage/completion_tokens_details/reasoning_tokens", plainUnit},
			{"streamed", "stream", plainUnit},
		},
		compose: composeBifrost,
		convert: func(rec node, r *request, in *mappedRows) outcome {
			in.retries(r, rec.get("number_of_retries"))
			r.N429 = in.bifrost429s(rec, r)
			switch status := in.label(r, "status", rec.get("status")); {
			case status == "cancelled":
				r.Status = experiment.StatusCancelled
			case status == "error":
				r.Status = failed(r)
			case rec.get("token_usage").kind == jsonNull && r.Streamed.Value:
				r.Status = experiment.StatusCancelled // a stream that ends by itself says what it used
			default:
				r.Status = experiment.StatusOK
			}
			if in.flag(r, "status", rec.get("cache_debug", "cache_hit")) {
				gatewayCache(r)
			}
			in.cost(r, rec.get("cost"), experiment.CostBilled)
			unknownZeroCost(r)
			return keep()
		},
		fold: func(row *mappedRow) link {
			key := row.rec.get("parent_request_id").str()
			child := key != ""
			if !child {
				key = row.RequestID
			}
			failure := row.Status == experiment.StatusError
			if child {
				row.RequestID = key // the parent's id is the request's
			}
			row.attempts = []attempt{{N: 1, Provider: row.Provider, Start: micros64(0), Latency: row.Total, Cost: row.Cost}}
			if failure {
				row.attempts[0].ErrorType = "error"
			}
			return link{key: key, open: failure, gap: anyGap}
		},
	}
}

// bifrost429s counts the 429s in a row's attempt_trail. An attempt has a status code, or the kind of its error, which is
// "unknown" when the provider gave none; the last one has neither. Where one does not say whether it was a 429, the number is
// unknown.
func (c *mappedRows) bifrost429s(rec node, r *request) experiment.Opt[int32] {
	trail := c.list(r, "n_429", rec.get("attempt_trail"))
	if !trail.array {
		return experiment.Opt[int32]{}
	}
	n, attempts := int32(0), trail.elements()
	for i, a := range attempts {
		last := i == len(attempts)-1
		code, coded := first(a.value, []alternative{{"status_code"}, {"status"}, {"error", "status_code"}}).whole()
		if !coded && last && rec.get("status").str() == "error" {
			code, coded = rec.get("error_details").inner().get("status_code").whole()
		}
		reason := a.value.get("fail_reason").str()
		switch {
		case coded && code == 429, !coded && strings.HasPrefix(reason, "rate_limit"):
			n++
		case coded, reason != "" && reason != "unknown", last && rec.get("status").str() != "error": // it failed otherwise, or served
		default:
			c.whole(r, "n_429", a.value.get("status_code"))
			return experiment.Opt[int32]{}
		}
	}
	return experiment.Some(n)
}

// envoyAIGateway reads the access log of Envoy AI gateway. Rows of errors lose their model and provider; the time
// to the response headers is a lower bound of TTFT.
func envoyAIGateway() mapping {
	return mapping{
		name: "envoy-ai-gateway",
		keys: []string{"start_time", "response_code", "response_flags", "x-request-id"},
		known: "bytes_received bytes_sent connection_termination_details method request.path response_code " +
			"response_code_details response_flags upstream_cluster upstream_host upstream_transport_failure_reason " +
			"user-agent x-envoy-origin-path x-envoy-upstream-service-time",
		fields: []field{
			{"request_id", "x-request-id", plainUnit},
			{"session_id", "session.id", plainUnit},
			{"ts", "start_time", plainUnit},
			{"model", "gen_ai.request.model|gen_ai.response.model", plainUnit},
			{"provider", "gen_ai.provider.name", plainUnit},
			{"total_ms", "duration", plainUnit},
			{"input_tokens", "gen_ai.usage.input_tokens", plainUnit},
			{"cached_tokens", "gen_ai.usage.cached_input_tokens|gen_ai.usage.cache_read.input_tokens", plainUnit},
			{"output_tokens", "gen_ai.usage.output_tokens", plainUnit},
			{"reasoning_tokens", "gen_ai.usage.reasoning_tokens", plainUnit},
		},
		convert: func(rec node, r *request, in *mappedRows) outcome {
			if parts := strings.Split(r.Provider, "/"); len(parts) > 1 { // namespace/backend/route/…
				r.Provider = parts[1]
			}
			code, _ := in.whole(r, "status", rec.get("response_code"))
			flags := rec.get("response_flags").str()
			switch {
			case code == 0 && strings.Contains(flags, "DC"):
				r.Status = experiment.StatusCancelled
			case code == 0:
				r.Status = failed(r)
			default:
				r.Status = statusOf(r, code)
			}
			if headers, ok := in.decimal(r, "ttft_ms", rec.get("x-envoy-upstream-service-time"), 3); ok && r.Status == experiment.StatusOK && headers < int64(r.Total.Value) {
				r.TTFT = micros64(headers)
				r.Quality |= experiment.QualityLowerBoundTTFT
			}
			return keep()
		},
	}
}

// cloudflare reads answers of Cloudflare AI gateway's logs API.
func cloudflare() mapping {
	return mapping{
		name: "cloudflare",
		keys: []string{"tokens_in", "tokens_out", "status_code", "cached", "duration"},
		known: "cached cost custom_cost model_type path request_content_type request_type response_content_type status_code " +
			"step success",
		fields: []field{
			{"request_id", "id", plainUnit},
			{"session_id", "metadata!/session_id", plainUnit},
			{"ts", "created_at", plainUnit},
			{"model", "model", plainUnit},
			{"provider", "provider", plainUnit},
			{"arm", "metadata!/arm", plainUnit},
			{"total_ms", "duration", plainUnit},
			{"input_tokens", "tokens_in", plainUnit},
			{"output_tokens", "tokens_out", plainUnit},
		},
		compose: composeCloudflare,
		unwrap:  inEnvelope("result"),
		convert: func(rec node, r *request, in *mappedRows) outcome {
			code, _ := in.whole(r, "status", rec.get("status_code"))
			r.Status = statusOf(r, code)
			success := rec.get("success")
			if yes := in.flag(r, "status", success); r.Status == experiment.StatusOK && success.kind == jsonBool && !yes {
				r.Status = failed(r)
			}
			if r.Status == experiment.StatusError {
				noTokens(r)
			}
			in.retries(r, rec.get("step")) // of the fallback list
			switch kind := in.label(r, "streamed", rec.get("response_content_type")); {
			case strings.HasPrefix(kind, "text/event-stream"):
				r.Streamed = experiment.Some(true)
			case kind != "":
				r.Streamed = experiment.Some(false)
			}
			in.cost(r, rec.get("cost"), experiment.CostBilled)
			if in.flag(r, "status", rec.get("cached")) {
				gatewayCache(r)
			}
			unknownZeroCost(r)
			return keep()
		},
	}
}

// cloudflareLogpush reads Cloudflare's Logpush of AI gateway events: no ids, no tokens, encrypted metadata.
func cloudflareLogpush() mapping {
	return mapping{
		name: "cloudflare-logpush",
		keys: []string{"Gateway", "Metrics", "StatusCode", "Timestamp"},
		known: "Cached Endpoint Gateway Metadata RateLimited RequestBody ResponseBody RoutingDecisionID RoutingReason " +
			"StatusCode Timestamp",
		fields: []field{
			{"model", "Model|RequestedModel", plainUnit},
			{"provider", "Provider", plainUnit},
			{"total_ms", "Metrics/durationMs", plainUnit},
		},
		convert: func(rec node, r *request, in *mappedRows) outcome {
			at, ok := logpushTime(rec.get("Timestamp"))
			if !ok {
				return reject(reasonBadTime)
			}
			r.TS = at
			code, _ := in.whole(r, "status", rec.get("StatusCode"))
			r.Status = statusOf(r, code)
			in.cost(r, rec.get("Metrics", "cost"), experiment.CostBilled)
			if in.flag(r, "status", rec.get("Cached")) {
				gatewayCache(r)
			} else if r.Cost.Value == 0 && r.Status == experiment.StatusOK {
				noCost(r) // no price was known
			}
			return keep()
		},
	}
}

// logpushTime reads the three forms that a Logpush job may be set to: RFC 3339, unix seconds, unix nanoseconds.
func logpushTime(n node) (experiment.Instant, bool) {
	if n.kind == jsonString {
		if at, ok := parseInstant(n.text); ok {
			return experiment.Instant(at), true
		}
	}
	if len(n.text) >= 17 {
		at, ok := unixMicros(n)
		return experiment.Instant(at), ok
	}
	at, ok := n.decimal(6)
	return experiment.Instant(at), ok
}

// newAPI reads the log table of new-api. Times are whole seconds and stand for the end of the request.
func newAPI() mapping {
	return mapping{
		name:  "new-api",
		keys:  []string{"created_at", "use_time", "quota", "model_name", "type"},
		known: "channel content created_at group ip quota token_id token_name type user_id",

		mostExported: 1000,
		fields: []field{
			{"request_id", "request_id|id", plainUnit},
			{"source_row_id", "id", plainUnit},
			{"client_id", "username", plainUnit},
			{"model", "model_name", plainUnit},
			{"provider", "channel_name", plainUnit},
			{"total_ms", "use_time", secondsUnit},
			{"input_tokens", "prompt_tokens", plainUnit},
			{"cached_tokens", "other!/cache_tokens", plainUnit},
			{"output_tokens", "completion_tokens", plainUnit},
			{"streamed", "is_stream", plainUnit},
		},
		convert: func(rec node, r *request, in *mappedRows) outcome {
			kind, _ := rec.get("type").whole()
			if kind != newAPIUse && kind != newAPIError {
				return skip() // top-ups, management, refunds
			}
			ended, state := rec.get("created_at").parseDecimal(6)
			switch state {
			case parsedFiller:
				return reject(reasonNoTime)
			case parsedBad:
				return reject(reasonBadTime)
			}
			r.TS = experiment.Instant(ended) - experiment.Instant(r.Total.Value)
			r.Quality |= experiment.QualityCoarseTime
			other := rec.get("other").inner()
			if frt, ok := in.decimal(r, "caller_ttft_ms", other.get("frt"), 3); ok && frt > 0 && r.Streamed.Value {
				r.CallerTTFT = micros64(frt)
			}
			if tried := in.list(r, "attempts", other.get("admin_info", "use_channel")); len(tried.elements()) > 0 {
				setAttempts(r, len(tried.elements()))
			}
			switch quota, ok := in.whole(r, "cost_usd", rec.get("quota")); {
			case ok && quota >= 0 && quota < decimalLimit/2000:
				r.Cost, r.CostSource = experiment.Some(experiment.NanoUSD(quota*2000)), experiment.CostBilled // 500,000 to the dollar
			case ok:
				in.unreadableNode(r, "cost_usd", rec.get("quota"))
			}
			r.Status = experiment.StatusOK
			if kind == newAPIError {
				noTokens(r)
				r.Status = experiment.StatusError
				r.Provider = ""
			}
			unknownZeroCost(r)
			return keep()
		},
		fold: func(row *mappedRow) link {
			key := row.rec.get("request_id").str()
			return link{key: key, open: key != "" && row.Status == experiment.StatusError, gap: anyGap, sums: true}
		},
	}
}

// Kinds of rows in new-api's log.
const (
	newAPIUse   = 2
	newAPIError = 5
)
