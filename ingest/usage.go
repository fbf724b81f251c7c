package ingest

import "switchback/experiment"

// inputParts are what the input is the sum of, where a log has them apart.
var inputParts = []string{"input_tokens", "cached_tokens", "cache_write_tokens"}

// usageTokens reads the token counts of a `usage` object as a provider's API gives it, in any of their shapes,
// and turns them into ours: input includes cached and written tokens, output includes reasoning.
func (c *canonicalRows) usageTokens(usage node, r *request) {
	usage = c.object(r, usage, "input_tokens", "output_tokens")
	count := func(column string, paths ...alternative) experiment.Opt[int64] {
		var bad node
		for _, path := range paths {
			v := usage.get(path...)
			n, state := v.parseCount()
			if state == parsedValue {
				return experiment.Some(n)
			}
			if state == parsedBad && bad.kind == jsonNull {
				bad = v
			}
		}
		if bad.kind != jsonNull {
			c.unreadableNode(r, column, bad)
		}
		return experiment.Opt[int64]{}
	}
	switch {
	case usage.has("promptTokenCount"), usage.has("candidatesTokenCount"): // Gemini: tool prompts and thoughts are beside
		r.InputTokens = c.unlessUnread(plus(count("input_tokens", alternative{"promptTokenCount"}), count("input_tokens", alternative{"toolUsePromptTokenCount"})), "input_tokens")
		r.CachedTokens = count("cached_tokens", alternative{"cachedContentTokenCount"})
		r.ReasoningTokens = count("reasoning_tokens", alternative{"thoughtsTokenCount"})
		r.OutputTokens = c.unlessUnread(plus(count("output_tokens", alternative{"candidatesTokenCount"}), r.ReasoningTokens), "output_tokens", "reasoning_tokens")
	case usage.has("inputTokens"): // Bedrock: cached tokens are beside
		r.CachedTokens = count("cached_tokens", alternative{"cacheReadInputTokens"})
		r.CacheWriteTokens = count("cache_write_tokens", alternative{"cacheWriteInputTokens"})
		r.InputTokens = c.unlessUnread(plus(count("input_tokens", alternative{"inputTokens"}), r.CachedTokens, r.CacheWriteTokens), inputParts...)
		r.OutputTokens = count("output_tokens", alternative{"outputTokens"})
	case usage.has("tokens"), usage.has("billed_units"): // Cohere
		r.InputTokens = count("input_tokens", alternative{"tokens", "input_tokens"}, alternative{"billed_units", "input_tokens"})
		r.CachedTokens = count("cached_tokens", alternative{"cached_tokens"})
		r.OutputTokens = count("output_tokens", alternative{"tokens", "output_tokens"}, alternative{"billed_units", "output_tokens"})
	default: // OpenAI's two APIs and what follows them, and Anthropic, whose cached tokens are beside
		r.CachedTokens = count("cached_tokens", alternative{"prompt_tokens_details", "cached_tokens"}, alternative{"input_tokens_details", "cached_tokens"},
			alternative{"cache_read_input_tokens"}, alternative{"num_cached_tokens"}, alternative{"cached_tokens"}, alternative{"prompt_cache_hit_tokens"})
		r.CacheWriteTokens = count("cache_write_tokens", alternative{"prompt_tokens_details", "cache_write_tokens"}, alternative{"input_tokens_details", "cache_write_tokens"},
			alternative{"cache_creation_input_tokens"})
		r.InputTokens = count("input_tokens", alternative{"prompt_tokens"}, alternative{"input_tokens"})
		if usage.has("cache_read_input_tokens") && !usage.has("prompt_tokens") {
			r.InputTokens = c.unlessUnread(plus(r.InputTokens, r.CachedTokens, r.CacheWriteTokens), inputParts...)
		}
		r.OutputTokens = count("output_tokens", alternative{"completion_tokens"}, alternative{"output_tokens"})
		r.ReasoningTokens = count("reasoning_tokens", alternative{"completion_tokens_details", "reasoning_tokens"}, alternative{"output_tokens_details", "reasoning_tokens"},
			alternative{"output_tokens_details", "thinking_tokens"})
	}
}

// plus adds what is known to a count. It is unknown when nothing is known.
func plus(counts ...experiment.Opt[int64]) experiment.Opt[int64] {
	var total experiment.Opt[int64]
	for _, c := range counts {
		if c.Known {
			total = experiment.Some(total.Value + c.Value)
		}
	}
	return total
}
