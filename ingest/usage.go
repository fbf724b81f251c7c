package ingest

import "switchback/experiment"

// usageTokens reads the token counts of a `usage` object as a provider's API gives it, in any of their shapes,
// and turns them into ours: input includes cached and written tokens, output includes reasoning.
func usageTokens(usage node, r *request) {
	count := func(paths ...alternative) experiment.Opt[int64] {
		for _, path := range paths {
			if v, ok := usage.get(path...).whole(); ok && v >= 0 && v <= maxTokens {
				return experiment.Some(v)
			}
		}
		return experiment.Opt[int64]{}
	}
	switch {
	case usage.has("promptTokenCount"), usage.has("candidatesTokenCount"): // Gemini: tool prompts and thoughts are beside
		r.InputTokens = plus(count(alternative{"promptTokenCount"}), count(alternative{"toolUsePromptTokenCount"}))
		r.CachedTokens = count(alternative{"cachedContentTokenCount"})
		r.ReasoningTokens = count(alternative{"thoughtsTokenCount"})
		r.OutputTokens = plus(count(alternative{"candidatesTokenCount"}), r.ReasoningTokens)
	case usage.has("inputTokens"): // Bedrock: cached tokens are beside
		r.CachedTokens = count(alternative{"cacheReadInputTokens"})
		r.CacheWriteTokens = count(alternative{"cacheWriteInputTokens"})
		r.InputTokens = plus(count(alternative{"inputTokens"}), r.CachedTokens, r.CacheWriteTokens)
		r.OutputTokens = count(alternative{"outputTokens"})
	case usage.has("tokens"), usage.has("billed_units"): // Cohere
		r.InputTokens = count(alternative{"tokens", "input_tokens"}, alternative{"billed_units", "input_tokens"})
		r.CachedTokens = count(alternative{"cached_tokens"})
		r.OutputTokens = count(alternative{"tokens", "output_tokens"}, alternative{"billed_units", "output_tokens"})
	default: // OpenAI's two APIs and what follows them, and Anthropic, whose cached tokens are beside
		r.CachedTokens = count(alternative{"prompt_tokens_details", "cached_tokens"}, alternative{"input_tokens_details", "cached_tokens"},
			alternative{"cache_read_input_tokens"}, alternative{"num_cached_tokens"}, alternative{"cached_tokens"}, alternative{"prompt_cache_hit_tokens"})
		r.CacheWriteTokens = count(alternative{"prompt_tokens_details", "cache_write_tokens"}, alternative{"input_tokens_details", "cache_write_tokens"},
			alternative{"cache_creation_input_tokens"})
		r.InputTokens = count(alternative{"prompt_tokens"}, alternative{"input_tokens"})
		if usage.has("cache_read_input_tokens") && !usage.has("prompt_tokens") {
			r.InputTokens = plus(r.InputTokens, r.CachedTokens, r.CacheWriteTokens)
		}
		r.OutputTokens = count(alternative{"completion_tokens"}, alternative{"output_tokens"})
		r.ReasoningTokens = count(alternative{"completion_tokens_details", "reasoning_tokens"}, alternative{"output_tokens_details", "reasoning_tokens"},
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
