package ingest

import (
	"regexp"
	"testing"

	"switchback/experiment"
)

// The right answers are those of the data set: see testdata/usage/README.md. Several answers to one body are of
// several readings of it; a kind of token that an answer does not name is not compared.
func TestUsageBodies(t *testing.T) {
	src, err := openSource("testdata/usage/bodies.jsonl.gz", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	lines := newLineReader(src)
	n := 0
	for ; ; n++ {
		text, err := lines.next()
		if err != nil {
			break
		}
		v, ok := parseJSON(text)
		if !ok {
			t.Fatalf("line %d: not JSON", lines.line)
		}
		body := v.get("body")
		usage := first(body, []alternative{{"usage"}, {"usageMetadata"}, {"meta"}})
		var r request
		var in canonicalRows
		in.usageTokens(usage, &r)
		if len(in.unread) > 0 {
			t.Errorf("line %d: %s\nunreadable: %v", lines.line, text, in.unread)
		}
		right := false
		for _, answer := range v.get("answers").elements() {
			right = right || agrees(answer.value, &r)
		}
		if !right {
			t.Errorf("line %d: %s\ngives input %v, cached %v, written %v, output %v, reasoning %v", lines.line, text, r.InputTokens, r.CachedTokens, r.CacheWriteTokens, r.OutputTokens, r.ReasoningTokens)
		}
		for kind, got := range tokenKinds(&r) {
			if named := names(usage, namesOfKinds[kind]); named != got.Known {
				t.Errorf("line %d: %s\n%s: known: %v, said by the body: %v", lines.line, text, kind, got.Known, named)
			}
		}
	}
	if n != 1577 {
		t.Errorf("%d bodies, want 1577", n)
	}
}

func tokenKinds(r *request) map[string]experiment.Opt[int64] {
	return map[string]experiment.Opt[int64]{
		"input_tokens": r.InputTokens, "cache_read_tokens": r.CachedTokens, "cache_write_tokens": r.CacheWriteTokens,
		"output_tokens": r.OutputTokens, "output_reasoning_tokens": r.ReasoningTokens,
	}
}

func agrees(answer node, r *request) bool {
	for kind, got := range tokenKinds(r) {
		if want, ok := answer.get(kind).whole(); ok && (want != got.Value || !got.Known) {
			return false
		}
	}
	return true
}

// namesOfKinds are the keys of all the providers whose numbers are of one kind. The answers of the data set leave zeros out,
// so that whether a count is 0 or unknown follows from the bodies alone.
var namesOfKinds = map[string]*regexp.Regexp{
	"input_tokens":            regexp.MustCompile(`^(prompt_tokens|input_tokens|inputTokens|promptTokenCount)$`),
	"cache_read_tokens":       regexp.MustCompile(`^(cached_tokens|num_cached_tokens|cache_read_input_tokens|cacheReadInputTokens|cachedContentTokenCount|prompt_cache_hit_tokens)$`),
	"cache_write_tokens":      regexp.MustCompile(`^(cache_creation_input_tokens|cache_write_tokens|cacheWriteInputTokens)$`),
	"output_tokens":           regexp.MustCompile(`^(completion_tokens|output_tokens|outputTokens|candidatesTokenCount|thoughtsTokenCount)$`), // Gemini counts thoughts beside
	"output_reasoning_tokens": regexp.MustCompile(`^(reasoning_tokens|thinking_tokens|thoughtsTokenCount)$`),
}

// names tells whether a number stands under one of some keys, however deep.
func names(v node, keys *regexp.Regexp) bool {
	for _, m := range v.members {
		if _, number := m.value.whole(); number && keys.MatchString(m.key) || names(m.value, keys) {
			return true
		}
	}
	return false
}
