package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"switchback/router"
)

// shop is a market of two models for the tests of plans.
const shop = `
schema_version = 1
[[models]]
id = "big"
[[models.endpoints]]
slug = "openai"
quantization = "bf16"
context = 200000
max_output = 128000
parameters = ["tools", "response_format", "temperature", "max_tokens"]
zdr = true
distillable = true
price = {input = 2, output = 8}
observed = {requests = 100, ttft_ms = {p50 = 400, p90 = 900}, tokens_per_s = {p50 = 80, p90 = 40}, input_tokens = 1000, output_tokens = 300}
[[models.endpoints]]
slug = "openai/priority"
provider = "openai"
tier = "priority"
context = 200000
parameters = ["tools", "temperature"]
price = {input = 4, output = 16}
observed = {requests = 100, ttft_ms = 200, tokens_per_s = 160, input_tokens = 1000, output_tokens = 300}
[[models.endpoints]]
slug = "openai/flex"
provider = "openai"
tier = "flex"
context = 200000
price = {input = 1, output = 4}
[[models.endpoints]]
slug = "google-vertex/us-east5"
quantization = "bf16"
context = 1000000
parameters = ["tools", "temperature"]
modalities = ["image"]
price = {input = 2.2, output = 8}
observed = {requests = 100, ttft_ms = 600, tokens_per_s = 60, input_tokens = 1000, output_tokens = 300}
[[models.endpoints]]
slug = "google-vertex/europe"
quantization = "bf16"
context = 1000000
parameters = ["temperature"]
price = {input = 2.3, output = 8}
observed = {requests = 100, ttft_ms = 700, tokens_per_s = 65, input_tokens = 1000, output_tokens = 300}
[[models.endpoints]]
slug = "deepinfra"
quantization = "fp8"
context = 64000
max_output = 16384
trains = true
price = {input = 0.5, output = 2}
observed = {requests = 100, ttft_ms = 1500, tokens_per_s = 25, input_tokens = 1000, output_tokens = 300}
[[models.endpoints]]
slug = "deepinfra/turbo"
quantization = "fp4"
context = 64000
max_output = 8192
trains = true
price = {input = 0.4, output = 1.6}
observed = {requests = 100, ttft_ms = 1300, tokens_per_s = 45, input_tokens = 1000, output_tokens = 300}
[[models]]
id = "small"
[[models.endpoints]]
slug = "together"
quantization = "fp8"
context = 32000
parameters = ["temperature"]
price = {input = 0.1, output = 0.2}
observed = {requests = 100, ttft_ms = 300, tokens_per_s = 120, input_tokens = 1000, output_tokens = 300}
[[models.endpoints]]
slug = "own"
own_key = true
context = 32000
price = {input = 3, output = 9}
`

// parsed is a market and a request, both without mistakes.
func parsed(t *testing.T, market, request string) (*Market, *Body) {
	t.Helper()
	m, err := ParseMarket([]byte(market), "shop.toml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseRequest([]byte(request), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	return m, b
}

func planFor(t *testing.T, request string) (*Plan, error) {
	t.Helper()
	return NewPlan(parsed(t, shop, request))
}

// in lists the endpoints that a stage admits.
func (s *Stage) in() string {
	var slugs []string
	for i, out := range s.Out {
		if out == "" {
			slugs = append(slugs, s.Model.Offers[i].Slug)
		}
	}
	return strings.Join(slugs, " ")
}

func TestFilters(t *testing.T) {
	const all = "openai google-vertex/us-east5 google-vertex/europe deepinfra deepinfra/turbo"
	for name, c := range map[string]struct{ request, want string }{
		"none":                     {`{"model": "big"}`, all},
		"base slug":                {`{"model": "big", "provider": {"only": ["google-vertex"]}}`, "google-vertex/us-east5 google-vertex/europe"},
		"full slug":                {`{"model": "big", "provider": {"only": ["deepinfra/turbo"]}}`, "deepinfra/turbo"},
		"base slug means variants": {`{"model": "big", "provider": {"only": ["deepinfra"]}}`, "deepinfra deepinfra/turbo"},
		"case of slugs":            {`{"model": "big", "provider": {"only": ["OpenAI", "DeepInfra/Turbo"]}}`, "openai deepinfra/turbo"},
		"tier outlives base slug":  {`{"model": "big", "service_tier": "priority", "provider": {"ignore": ["openai"]}}`, "openai/priority"},
		"tier by full slug":        {`{"model": "big", "provider": {"only": ["openai/priority"]}}`, "openai/priority"},
		"no tier by base slug":     {`{"model": "big", "provider": {"only": ["openai"]}}`, "openai"},
		"ignore":                   {`{"model": "big", "provider": {"ignore": ["google-vertex", "deepinfra/turbo"]}}`, "openai deepinfra"},
		"data collection":          {`{"model": "big", "provider": {"data_collection": "deny"}}`, "openai google-vertex/us-east5 google-vertex/europe"},
		"account data collection":  {`{"model": "big", "account": {"data_collection": "deny"}}`, "openai google-vertex/us-east5 google-vertex/europe"},
		"zdr":                      {`{"model": "big", "provider": {"zdr": true}}`, "openai"},
		"zdr can't be loosened":    {`{"model": "big", "provider": {"zdr": false}, "account": {"zdr": true}}`, "openai"},
		"distillable":              {`{"model": "big", "provider": {"enforce_distillable_text": true}}`, "openai"},
		// hermes-agent PR 94742, symflower/eval-dev-quality#286: quantization differs between endpoints of one host.
		"quantization per endpoint": {`{"model": "big", "provider": {"quantizations": ["fp8"]}}`, "deepinfra"},
		// heltonteixeira/openrouterai#4: the cheapest endpoint cuts answers at 8–16 K tokens where others allow 128 K.
		"max tokens":              {`{"model": "big", "max_tokens": 20000}`, "openai google-vertex/us-east5 google-vertex/europe"},
		"context":                 {`{"model": "big", "prompt_tokens": 150000, "max_tokens": 60000}`, "google-vertex/us-east5 google-vertex/europe"},
		"modality":                {`{"model": "big", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, "google-vertex/us-east5"},
		"tools are preferred":     {`{"model": "big", "tools": [{}]}`, "openai google-vertex/us-east5"},
		"unsupported is dropped":  {`{"model": "big", "seed": 1}`, all},
		"soft is given up":        {`{"model": "big", "verbosity": "low"}`, all},
		"required parameters":     {`{"model": "big", "temperature": 1, "provider": {"require_parameters": true}}`, "openai google-vertex/us-east5 google-vertex/europe"},
		"max price":               {`{"model": "big", "provider": {"max_price": {"prompt": 2, "completion": "8"}}}`, "openai deepinfra deepinfra/turbo"},
		"account allows":          {`{"model": "big", "account": {"allowed_providers": ["openai", "deepinfra"]}, "provider": {"only": ["deepinfra", "google-vertex"]}}`, "deepinfra deepinfra/turbo"},
		"account ignores":         {`{"model": "big", "account": {"ignored_providers": ["openai"]}, "provider": {"ignore": ["deepinfra"]}}`, "google-vertex/us-east5 google-vertex/europe"},
		"order without fallbacks": {`{"model": "big", "provider": {"order": ["deepinfra/turbo", "nobody", "openai"], "allow_fallbacks": false}}`, "openai deepinfra/turbo"},
		"nitro admits priority":   {`{"model": "big:nitro"}`, "openai openai/priority google-vertex/us-east5 google-vertex/europe deepinfra deepinfra/turbo"},
		"floor admits flex":       {`{"model": "big:floor"}`, "openai openai/flex google-vertex/us-east5 google-vertex/europe deepinfra deepinfra/turbo"},
		"a sort admits no tier":   {`{"model": "big", "provider": {"sort": "throughput"}}`, all},
		"order admits no tier":    {`{"model": "big:nitro", "provider": {"order": ["openai"]}}`, all},
	} {
		p, err := planFor(t, c.request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Stages[0].in(); got != c.want {
			t.Errorf("%s: admits %s\nwant %s", name, got, c.want)
		}
	}
}

// tries lists the endpoints that Explain would try, in order.
func tries(t *testing.T, request string) string {
	t.Helper()
	m, b := parsed(t, shop, request)
	x, err := Explain(m, b, 1)
	if err != nil {
		t.Fatal(err)
	}
	var slugs []string
	for _, try := range x.Tries {
		slugs = append(slugs, try.Endpoint)
	}
	return strings.Join(slugs, " ")
}

func TestOrders(t *testing.T) {
	for name, c := range map[string]struct{ request, want string }{
		"order, then by price": {`{"model": "big", "provider": {"order": ["openai", "nobody", "google-vertex"]}}`,
			"openai google-vertex/us-east5 google-vertex/europe deepinfra/turbo deepinfra"},
		"order only":            {`{"model": "big", "provider": {"order": ["openai", "deepinfra/turbo"], "allow_fallbacks": false}}`, "openai deepinfra/turbo"},
		"nobody of the order":   {`{"model": "big", "provider": {"order": ["nobody"]}}`, "deepinfra/turbo deepinfra openai google-vertex/us-east5 google-vertex/europe"},
		"sort by price":         {`{"model": "big", "provider": {"sort": "price"}}`, "deepinfra/turbo deepinfra openai google-vertex/us-east5 google-vertex/europe"},
		"sort by throughput":    {`{"model": "big", "provider": {"sort": "throughput"}}`, "openai google-vertex/europe google-vertex/us-east5 deepinfra/turbo deepinfra"},
		"sort by latency":       {`{"model": "big", "provider": {"sort": {"by": "latency"}}}`, "openai google-vertex/us-east5 google-vertex/europe deepinfra/turbo deepinfra"},
		"nitro":                 {`{"model": "big:nitro"}`, "openai/priority openai google-vertex/europe google-vertex/us-east5 deepinfra/turbo deepinfra"},
		"floor":                 {`{"model": "big:floor"}`, "deepinfra/turbo deepinfra openai/flex openai google-vertex/us-east5 google-vertex/europe"},
		"account sorts":         {`{"model": "big", "account": {"default_sort": "price"}}`, "deepinfra/turbo deepinfra openai google-vertex/us-east5 google-vertex/europe"},
		"request beats account": {`{"model": "big", "account": {"default_sort": "price"}, "provider": {"sort": "latency"}}`, "openai google-vertex/us-east5 google-vertex/europe deepinfra/turbo deepinfra"},
		"flex has no fallback":  {`{"model": "big", "service_tier": "flex"}`, "openai/flex"},
		"no flex: the default":  {`{"model": "small", "service_tier": "flex", "provider": {"sort": "price"}}`, "own together"},
		"own key first":         {`{"model": "small", "provider": {"sort": "price"}}`, "own together"},
		"preferred speed": {`{"model": "big", "provider": {"sort": "price", "preferred_min_throughput": 50}}`,
			"openai google-vertex/us-east5 google-vertex/europe deepinfra/turbo deepinfra"},
		"all cutoffs must hold": {`{"model": "big", "provider": {"sort": "price", "preferred_min_throughput": {"p50": 50, "p90": 45}}}`,
			"google-vertex/us-east5 google-vertex/europe deepinfra/turbo deepinfra openai"},
		"one endpoint": {`{"model": "big", "provider": {"sort": "price", "allow_fallbacks": false}}`, "deepinfra/turbo"},
		"models in order": {`{"model": "big", "models": ["small"], "provider": {"sort": "price", "only": ["openai", "together"]}}`,
			"openai together"},
		"a model named twice": {`{"model": "small", "models": ["small:nitro", "small"], "provider": {"sort": "price"}}`, "own together"},
		"an order beats partition none": {`{"model": "small", "models": ["big"], "provider": {"order": ["openai", "own"], "sort": {"by": "price", "partition": "none"}, "only": ["own", "openai", "together"]}}`,
			"own together openai"},
		"across models": {`{"model": "big", "models": ["small"], "provider": {"sort": {"by": "latency", "partition": "none"}, "ignore": ["own"]}}`,
			"together openai google-vertex/us-east5 google-vertex/europe deepinfra/turbo deepinfra"},
		"own key across models": {`{"model": "big", "models": ["small"], "provider": {"sort": {"by": "price", "partition": "none"}, "only": ["openai", "own", "together"]}}`,
			"own together openai"},
		"speed pulls a fallback ahead": {`{"model": "big", "models": ["small"], "provider": {"sort": {"by": "price", "partition": "none"}, "only": ["deepinfra", "openai", "together"], "preferred_min_throughput": 100}}`,
			"together deepinfra/turbo deepinfra openai"},
	} {
		if got := tries(t, c.request); got != c.want {
			t.Errorf("%s: tries %s\nwant %s", name, got, c.want)
		}
	}
}

// Priority service: the priority endpoints first, then the others by the router's policy.
func TestPriorityTier(t *testing.T) {
	p, err := planFor(t, `{"model": "big", "service_tier": "priority"}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Stages) != 2 || p.Stages[0].in() != "openai/priority" || p.Stages[1].Request.Sort != router.SortNone || !p.Stages[1].Applied {
		t.Errorf("stages %+v", p.Stages)
	}
}

// The router's policy is left out of a request that orders, sorts or brings its own key; only and ignore merely filter.
func TestRouterApplied(t *testing.T) {
	for request, want := range map[string]bool{
		`{"model": "big"}`: true,
		`{"model": "big", "provider": {"only": ["openai"]}}`:       true,
		`{"model": "big", "provider": {"ignore": ["openai"]}}`:     true,
		`{"model": "big", "provider": {"order": ["openai"]}}`:      false,
		`{"model": "big", "provider": {"sort": "price"}}`:          false,
		`{"model": "big:floor"}`:                                   false,
		`{"model": "big", "account": {"default_sort": "latency"}}`: false,
		`{"model": "small"}`:                                       false,
	} {
		p, err := planFor(t, request)
		if err != nil {
			t.Fatal(err)
		}
		if p.Stages[0].Applied != want {
			t.Errorf("%s: router applied %v, want %v", request, !want, want)
		}
	}
}

// With the switch, only and ignore opt out of the router's policy.
func TestListsBypass(t *testing.T) {
	for request, want := range map[string]bool{`{"model": "big"}`: true, `{"model": "big", "provider": {"ignore": ["openai"]}}`: false} {
		p, err := NewPlan(parsed(t, "lists_bypass = true\n"+shop, request))
		if err != nil {
			t.Fatal(err)
		}
		if p.Stages[0].Applied != want {
			t.Errorf("%s: router applied %v, want %v", request, !want, want)
		}
	}
}

// NousResearch/hermes-agent#98186: a preference that was silently dropped sent everything elsewhere. A request that filters everybody out is an
// error with one reason per endpoint (open-webui/computer#293), never a relaxation.
func TestNobodyLeft(t *testing.T) {
	_, err := planFor(t, `{"model": "big", "models": ["small"], "provider": {"only": ["openai", "own"], "quantizations": ["int4"]}}`)
	var s *StatusError
	if !errors.As(err, &s) || s.Status != 404 {
		t.Fatalf("got %v, want a 404", err)
	}
	if len(s.Out) != 9 {
		t.Errorf("%d reasons, want one for each of 9 endpoints: %v", len(s.Out), s)
	}
	for _, x := range s.Out {
		if x.Reason == "" {
			t.Errorf("%s has no reason", x.Endpoint)
		}
	}
	if _, err := planFor(t, `{"model": "unheard-of"}`); err == nil || !strings.Contains(err.Error(), "unheard-of *: model is not on offer") {
		t.Errorf("unknown model: %v", err)
	}
}

// NousResearch/hermes-agent#26460: preferences were ignored for a fallback model; langchain-ai/openwiki#61: a cheap model fell back to a dear one.
// Every preference, the price cap too, holds for each model of the list.
func TestPreferencesHoldForFallbacks(t *testing.T) {
	p, err := planFor(t, `{"model": "small", "models": ["big"], "provider": {"max_price": {"prompt": 0.45}, "ignore": ["own"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Stages[0].in() + " | " + p.Stages[1].in(); got != "together | deepinfra/turbo" {
		t.Errorf("stages admit %s", got)
	}
}

// What follows an error: another endpoint for the endpoint's own, the next model for one that all would give.
func TestAfter(t *testing.T) {
	for a, want := range map[router.Answer]Next{
		{Status: 200, Started: true, Finished: true, Output: 9}: NextNothing,
		{Status: 200, Started: true, Output: 9}:                 NextNothing,
		{Status: 503}:                                           NextEndpoint,
		{Status: 429}:                                           NextEndpoint,
		{}:                                                      NextEndpoint,
		{Status: 413}:                                           NextModel, // context length
		{Status: 403}:                                           NextModel, // moderation
		{Status: 499}:                                           NextNothing,
		{Status: 200, Started: true, Output: 9, Cancelled: true}: NextNothing,
		{Status: 429, Limit: router.LimitCaller}:                 NextNothing,
		{Status: 429, Limit: router.LimitOurs}:                   NextNothing,
		{Status: 429, Limit: router.LimitCapacity}:               NextEndpoint,
	} {
		if got := After(a); got != want {
			t.Errorf("after %+v: %d, want %d", a, got, want)
		}
	}
}

// rising is a ranking of ten models, each dearer than the one before, the dearest ranked first.
func rising(string) []Ranked {
	var all []Ranked
	for i := range 10 {
		all = append(all, Ranked{fmt.Sprintf("maker%d/model-%d", i%2, 9-i), 0.1})
	}
	return all
}

// BlockRunAI/ClawRouter#128 and kirodotdev/Kiro#7606: the automatic choice took premium models. Cost tiers are bands of 20 %.
func TestAutoBands(t *testing.T) {
	cost := func(model string) (float64, bool) { return float64(model[len(model)-1] - '0'), true }
	for tier, want := range map[string]string{
		"": "model-1 model-0", "low": "model-1 model-0", "medium": "model-3 model-2", "high": "model-5 model-4", "xhigh": "model-7 model-6", "max": "model-9 model-8",
	} {
		a := AutoPlugin{Enabled: true, CostTier: tier}
		var got []string
		chosen, _ := a.Choose("any", rising, cost, "")
		for _, m := range chosen {
			_, name, _ := strings.Cut(m, "/")
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("tier %q: %v, want %s", tier, got, want)
		}
	}
	keep := AutoPlugin{Enabled: true, CostTier: "max"}
	if got, _ := keep.Choose("any", rising, cost, "maker1/model-8"); got[0] != "maker1/model-8" {
		t.Errorf("a conversation did not keep its model: %v", got)
	}
	if got, _ := keep.Choose("any", rising, cost, "maker1/model-0"); slices.Contains(got, "maker1/model-0") {
		t.Error("a conversation kept a model outside of the band")
	}
	no := AutoPlugin{Enabled: true, Allowed: []string{"maker*"}, Excluded: []string{"*"}}
	if got, out := no.Choose("any", rising, cost, ""); len(got) != 0 || len(out) != 10 {
		t.Errorf("excluded models were chosen: %v; reasons: %v", got, out)
	}
}

func TestModelPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"anthropic/*", "anthropic/claude-opus-5", true}, {"anthropic/*", "openai/gpt-5", false}, {"openai/gpt-5*", "openai/gpt-5.5-mini", true},
		{"*/claude-*", "anthropic/claude-opus-5", true}, {"*/claude-*", "anthropic/clause", false}, {"a*a", "a", false}, {"*", "x", true}, {"x", "x", true},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestAutoModel(t *testing.T) {
	p, err := planFor(t, `{"model": "openrouter/auto", "plugins": [{"id": "auto-router", "cost_tier": "max"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Auto || len(p.Stages) != 1 || p.Stages[0].Model.ID != "big" {
		t.Errorf("plan %+v, want the dearer model", p)
	}
	for _, request := range []string{
		`{"model": "openrouter/auto", "plugins": [{"id": "auto-router", "excluded_models": ["*"]}]}`,
		`{"model": "openrouter/auto", "plugins": [{"id": "auto-router", "enabled": false}]}`,
	} {
		_, err := planFor(t, request)
		s, ok := AsStatus(err)
		if !ok || s.Status != 404 || strings.Contains(request, "excluded") && len(s.Out) != 2 {
			t.Errorf("%s: got %v, want a 404 with a reason for each of 2 models", request, err)
		}
	}
}
