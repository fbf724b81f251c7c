// Package request reads what callers ask of a router and turns it into decisions of package router.
//
// The data's way, in order:
//
//  1. ParseMarket reads the models and endpoints on offer with what is known of them; ParseRequest reads a request body with its provider
//     object. Both take JSON or TOML and are strict: an unknown key is an error that names file, line, field and the nearest known key.
//  2. NewPlan turns a body and the account's settings into stages, one per model to try: hard filters with one reason per endpoint that is
//     out, which endpoints go first and last, strict orders (filter.go, plan.go, auto.go).
//  3. Explain runs the plan on routers made from the market and shows every term of every endpoint, the draw and the order of tries; Record
//     keeps that with its inputs, Replay runs it again and compares.
//
// # A market file
//
// An example is testdata/market.toml. Money is in USD per 1 M tokens unless a name says otherwise; rates and shares lie in [0, 1].
//
//	schema_version  1
//	policy          any of router.Policies; absent = routing-cost
//	preset          "default" or "figure"
//	lists_bypass    true: only and ignore opt out of the policy; see Readings
//	router          constants of router.Config by their names in snake case; lengths of time in seconds, ending in _s
//	models          list: id, and endpoints
//	tasks           for openrouter/auto: per task a list of model and share, best first; "default" serves unknown tasks
//
// An endpoint has:
//
//	slug, provider, quantization, tier     "deepinfra/fp8"; provider is the part before the slash unless it is given; tier priority or flex
//	price                                  input, output, cache_read, cache_write, audio; request_usd and image_usd each
//	context, max_prompt, max_output        tokens; absent = no limit known
//	parameters, modalities                 what it supports; absent = nothing beyond plain text
//	trains, zdr, distillable, own_key      data policy; whether the caller's own key is used
//	quota_group, cache_ttl_s, accuracy     endpoints that share a rate limit; how long caches last; benchmark accuracy
//	observed                               what the last minutes showed: requests, ttft_ms and tokens_per_s (a number, or p50 p75 p90 p99),
//	                                       error_rate, rate_limited, cache_hit, tool_calls, bad_tool_calls, input_tokens, output_tokens;
//	                                       of the last half minute recent_requests, recent_error_rate, recent_rate_limited;
//	                                       load_per_min, cap_per_min, retry_after_s
//
// # A request file
//
// Examples are testdata/request.json, request-order.json and request-auto.toml. It is a chat completion body: model, models or fallbacks,
// provider, plugins, tools, messages, max_tokens, service_tier, session_id, prompt_cache_key and the other known keys. Beside them stands
// the situation that a gateway would know: prompt_tokens, task, account (default_sort, allowed_providers, ignored_providers,
// data_collection, zdr), conversation (model, endpoint, idle_s, warm), headers.
//
// # Readings
//
// Where published sources disagree, this package reads them so; what has a switch names it.
//
//   - only and ignore filter, and the router's policy picks among the rest (announcement, FAQ 3), though its FAQ 1 lists them as opting out.
//     lists_bypass takes FAQ 1's side: the rest is then tried by price.
//   - A failed try is drawn again among those left (guide), not sent to the next ranked one (announcement): router.share.ranked.
//   - The floor keeps a trickle for every endpoint, the breaker none: the breaker wins, and probes detect the recovery.
//   - :nitro and :floor admit the priority and flex tiers (tier guide); plain sorts don't, though older texts call them the same.
//   - Tiers of Auto Exacto order requests with tools under the policy price; under routing-cost the quality term and flags replace them
//     (router.share.exacto puts them back).
//   - preferred_max_latency is in seconds, as in all examples; one schema text says milliseconds.
//   - max_price takes numbers (guide) and strings (schema).
//   - An order of providers goes before sort and its partition; a model that is named twice, with suffixes or without, is tried once.
//   - An endpoint whose speed is unknown does not reach a preferred speed; one whose parameters are unknown does not support any.
package request
