package ingest

import (
	"strings"

	"switchback/experiment"
)

// openRouterBroadcast reads the spans that OpenRouter sends to OTLP collectors, with the older names of attributes.
func openRouterBroadcast() mapping {
	m := otelGenAI()
	m.name = "openrouter-broadcast"
	m.keys = []string{"attributes/gen_ai.system", "attributes/gen_ai.usage.prompt_tokens"}
	return m
}

// otelGenAI reads OTLP JSON: spans of the OpenTelemetry conventions for generative AI, in any of their versions.
func otelGenAI() mapping {
	return mapping{
		name: "otel-genai",
		keys: []string{"attributes/gen_ai.operation.name", "startTimeUnixNano"},
		known: "droppedAttributesCount droppedEventsCount droppedLinksCount endTimeUnixNano events flags kind links name " +
			"parentSpanId status traceId traceState",
		fields: []field{
			{"request_id", "attributes/gen_ai.response.id|spanId", plainUnit},
			{"source_row_id", "spanId", plainUnit},
			{"session_id", "attributes/gen_ai.conversation.id|attributes/session.id", plainUnit},
			{"client_id", "attributes/user.id|attributes/enduser.id", plainUnit},
			{"ts", "startTimeUnixNano", unixNanos},
			{"model", "attributes/gen_ai.request.model|attributes/gen_ai.response.model", plainUnit},
			{"provider", "attributes/gen_ai.provider.name|attributes/gen_ai.system", plainUnit},
			{"arm", "attributes/trace.metadata.arm|attributes/arm", plainUnit},
			{"caller_ttft_ms", "attributes/gen_ai.response.time_to_first_chunk|attributes/gen_ai.server.time_to_first_token", secondsUnit},
			{"input_tokens", "attributes/gen_ai.usage.input_tokens|attributes/gen_ai.usage.prompt_tokens", plainUnit},
			{"cached_tokens", "attributes/gen_ai.usage.cache_read.input_tokens|attributes/gen_ai.usage.input_tokens.cached", plainUnit},
			{"cache_write_tokens", "attributes/gen_ai.usage.cache_creation.input_tokens", plainUnit},
			{"output_tokens", "attributes/gen_ai.usage.output_tokens|attributes/gen_ai.usage.completion_tokens", plainUnit},
			{"reasoning_tokens", "attributes/gen_ai.usage.reasoning.output_tokens", plainUnit},
			{"streamed", "attributes/gen_ai.request.stream", plainUnit},
		},
		unwrap:  spansOf,
		convert: convertSpan,
	}
}

// spansOf returns the spans of an OTLP document, their attributes turned from lists of typed pairs into an object.
func spansOf(v node) []member {
	resources := v.get("resourceSpans")
	if !resources.array {
		return nil
	}
	spans := []member{}
	for _, resource := range resources.elements() {
		for _, scope := range resource.value.get("scopeSpans").elements() {
			for _, span := range scope.value.get("spans").elements() {
				flat := node{kind: jsonNested, members: append([]member(nil), span.value.members...)}
				for i := range flat.members {
					if flat.members[i].key == "attributes" {
						flat.members[i].value = attributesOf(flat.members[i].value)
					}
				}
				spans = append(spans, member{value: flat})
			}
		}
	}
	return spans
}

func attributesOf(list node) node {
	out := node{kind: jsonNested}
	for _, a := range list.elements() {
		out.members = append(out.members, member{a.value.get("key").str(), attributeValue(a.value.get("value"))})
	}
	return out
}

func attributeValue(v node) node {
	for _, kind := range []string{"stringValue", "intValue", "doubleValue", "boolValue"} {
		if inner := v.get(kind); inner.kind != jsonNull {
			return inner
		}
	}
	list := node{kind: jsonNested, array: true}
	for _, e := range v.get("arrayValue", "values").elements() {
		list.members = append(list.members, member{value: attributeValue(e.value)})
	}
	if len(list.members) > 0 {
		return list
	}
	return node{}
}

func convertSpan(rec node, r *request, in *mappedRows) outcome {
	attributes := rec.get("attributes")
	switch attributes.get("gen_ai.operation.name").str() {
	case "chat", "text_completion", "generate_content":
	default:
		return skip() // spans of tools, agents and HTTP
	}
	if strings.Contains(attributes.get("server.address").str(), "openrouter") {
		r.Provider = "" // the protocol's name, not who served
	}
	start, ok1 := unixMicros(rec.get("startTimeUnixNano"))
	end, ok2 := unixMicros(rec.get("endTimeUnixNano"))
	if ok1 && ok2 && end != 0 {
		r.Total = micros64(end - start)
	} else {
		in.whole(r, "total_ms", rec.get("endTimeUnixNano")) // 0 is a span that did not end
	}
	if r.CachedTokens.Known && r.InputTokens.Known && r.CachedTokens.Value > r.InputTokens.Value {
		r.InputTokens.Value += r.CachedTokens.Value + r.CacheWriteTokens.Value
		r.InputTokens = in.unlessUnread(r.InputTokens, inputParts...)
		r.Quality |= experiment.QualityTokensAdjusted
	}
	in.cost(r, first(attributes, []alternative{{"gen_ai.usage.cost"}, {"gen_ai.usage.total_cost"}}), experiment.CostBilled)
	code := int64(0)
	if v := rec.get("status", "code"); !strings.HasPrefix(v.str(), "STATUS_CODE_") {
		code, _ = in.whole(r, "status", v)
	}
	reason := finishReason(attributes.get("gen_ai.response.finish_reasons"))
	switch {
	case attributes.get("error.type").str() == "499":
		r.Status = experiment.StatusCancelled
	case attributes.get("error.type").str() != "", code == 2, rec.get("status", "code").str() == "STATUS_CODE_ERROR", reason == "error":
		r.Status = failed(r)
	case reason == "" && !r.OutputTokens.Known:
		r.Status = experiment.StatusCancelled // ended without an error, a reason to finish or a count of tokens
	default:
		r.Status = experiment.StatusOK
	}
	return keep()
}

func finishReason(n node) string {
	if list := n.elements(); len(list) > 0 {
		return list[len(list)-1].value.str()
	}
	return n.str()
}

// unixMicros reads nanoseconds since the epoch, which exceed what a double holds.
func unixMicros(n node) (int64, bool) {
	text := n.text
	if len(text) < 4 || len(text) > 20 {
		return 0, false
	}
	v, state := parseWhole(text[:len(text)-3])
	return v, state == parsedValue
}
