package ingest

import (
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
		usageTokens(usage, &r)
		right := false
		for _, answer := range v.get("answers").elements() {
			right = right || agrees(answer.value, &r)
		}
		if !right {
			t.Errorf("line %d: %s\ngives input %v, cached %v, written %v, output %v, reasoning %v", lines.line, text, r.InputTokens, r.CachedTokens, r.CacheWriteTokens, r.OutputTokens, r.ReasoningTokens)
		}
	}
	if n != 1577 {
		t.Errorf("%d bodies, want 1577", n)
	}
}

func agrees(answer node, r *request) bool {
	for key, got := range map[string]experiment.Opt[int64]{
		"input_tokens": r.InputTokens, "cache_read_tokens": r.CachedTokens, "cache_write_tokens": r.CacheWriteTokens,
		"output_tokens": r.OutputTokens, "output_reasoning_tokens": r.ReasoningTokens,
	} {
		if want, ok := answer.get(key).whole(); ok && want != got.Value {
			return false
		}
	}
	return true
}
