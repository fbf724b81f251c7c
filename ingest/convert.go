package ingest

import (
	"strings"

	"switchback/experiment"
)

// Helpers that the conversions of several formats share.

func micros64(v int64) experiment.Opt[experiment.Micros] {
	return experiment.Some(experiment.Micros(v))
}

// noCost makes a cost unknown.
func noCost(r *request) { r.Cost, r.CostSource = experiment.Opt[experiment.NanoUSD]{}, "" }

// unknownZeroCost makes a cost of 0 unknown when tokens were made: no price was known, rather than that it was free.
func unknownZeroCost(r *request) {
	if r.Cost.Known && r.Cost.Value == 0 && r.OutputTokens.Value > 0 && r.Status != experiment.StatusGatewayCache {
		noCost(r)
	}
}

// noTokens makes the token counts unknown: on rows of errors, zeros are fillers.
func noTokens(r *request) {
	unknown := experiment.Opt[int64]{}
	r.InputTokens, r.CachedTokens, r.CacheWriteTokens, r.OutputTokens, r.ReasoningTokens = unknown, unknown, unknown, unknown, unknown
}

// setAttempts sets the number of attempts with what follows from it.
func setAttempts(r *request, n int) {
	r.Attempts = experiment.Some(int32(n))
	r.Retries = experiment.Some(int32(max(n-1, 0)))
}

// setAttemptsOf sets attempts and 429s from the HTTP statuses of all attempts.
func setAttemptsOf(r *request, statuses []int64) {
	setAttempts(r, len(statuses))
	n := int32(0)
	for _, s := range statuses {
		if s == 429 {
			n++
		}
	}
	r.N429 = experiment.Some(n)
}

// gatewayCache marks a request that the gateway answered from its own cache: no endpoint was asked.
func gatewayCache(r *request) {
	r.Status = experiment.StatusGatewayCache
	setAttemptsOf(r, nil)
	r.TTFT, r.CallerTTFT = experiment.Opt[experiment.Micros]{}, experiment.Opt[experiment.Micros]{}
	r.Failed = micros64(0)
}

// failed is the status of a request that ended in an error: in mid-stream when tokens came before it.
func failed(r *request) string {
	if r.OutputTokens.Value > 0 {
		return experiment.StatusErrorMidstream
	}
	return experiment.StatusError
}

// statusOf is the status that an HTTP code means.
func statusOf(r *request, code int64) string {
	switch {
	case code == 499 || code == -3:
		return experiment.StatusCancelled
	case code < 0 || code >= 400:
		return failed(r)
	}
	return experiment.StatusOK
}

// toolCalls tells whether the arguments of all tool calls parse. Unknown when there is none.
func toolCalls(arguments []node) experiment.Opt[bool] {
	if len(arguments) == 0 {
		return experiment.Opt[bool]{}
	}
	for _, a := range arguments {
		if v, ok := parseJSON(a.text); a.kind == jsonString && (!ok || v.kind != jsonNested || v.array) {
			return experiment.Some(false)
		}
	}
	return experiment.Some(true)
}

// choiceArguments returns the arguments of the tool calls in an OpenAI response.
func choiceArguments(response node) []node {
	var out []node
	for _, choice := range response.get("choices").elements() {
		for _, call := range choice.value.get("message", "tool_calls").elements() {
			out = append(out, call.value.get("function", "arguments"))
		}
	}
	return out
}

// sessionIn finds a session id in free metadata.
func (c *canonicalRows) sessionIn(r *request, metadata node) string {
	var odd node
	for _, key := range []string{"session_id", "session.id", "sessionId", "_session", "conversation_id"} {
		v := metadata.get(key)
		if s := v.str(); s != "" {
			return s
		}
		if v.kind == jsonNested {
			odd = v
		}
	}
	return c.label(r, "session_id", odd)
}

// taggedArm finds "arm:NAME" in a list of tags.
func taggedArm(tags node) string {
	for _, t := range tags.elements() {
		if arm, ok := strings.CutPrefix(t.value.str(), "arm:"); ok {
			return arm
		}
	}
	return ""
}
