package request

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Mistakes are named by file, line and field, with a hint.
func TestParseRequestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		// Plush-for-ComfyUI#227: the key in the wrong case was rejected without a word on which one is right.
		"unknown key in provider": {"{\"model\": \"m\",\n\"provider\": {\"Require_Parameters\": true}}",
			`r.json:2: provider.Require_Parameters: unknown key (did you mean "require_parameters"?)`},
		"unknown key":     {`{"model": "m", "provder": {}}`, `r.json:1: provder: unknown key (did you mean "provider"?)`},
		"wrong type":      {"{\n\"model\": 7}", "r.json:2: model: want a string, got a number"},
		"unknown value":   {`{"model": "m", "provider": {"sort": "prize"}}`, `provider.sort: unknown value "prize" (did you mean "price"?)`},
		"not in list":     {`{"model": "m", "provider": {"data_collection": "maybe"}}`, "(one of allow, deny)"},
		"quantization":    {`{"model": "m", "provider": {"quantizations": ["fp8", "fp7"]}}`, `provider.quantizations[1]: unknown value "fp7"`},
		"negative price":  {`{"model": "m", "provider": {"max_price": {"prompt": -1}}}`, "provider.max_price.prompt: -1 is not in [0, 1e+09]"},
		"price in words":  {`{"model": "m", "provider": {"max_price": {"prompt": "cheap"}}}`, `provider.max_price.prompt: "cheap" is not a number`},
		"no model":        {`{}`, "r.json:1: model: missing (name a model or openrouter/auto)"},
		"syntax":          {"{\"model\":\n\"m\",,}", "r.json:2: not valid JSON"},
		"cut off":         {`{"model": "m"`, "r.json:1: not valid JSON: the text ends too early"},
		"something after": {`{"model": "m"} {}`, "something follows the end"},
		"too large":       {`{"model": "m", "provider": {"max_price": {"prompt": 1e400}}}`, "r.json:1: provider.max_price.prompt: 1e400 is too large a number"},
		"not a number":    {`{"model": "m", "provider": {"max_price": {"prompt": "NaN"}}}`, "provider.max_price.prompt: NaN is not in"},
		"hexadecimal":     {`{"model": "m", "provider": {"max_price": {"prompt": "0x1p3"}}}`, `provider.max_price.prompt: "0x1p3" is not a number`},
		"twice inside":    {`{"model": "m", "provider": {"sort": {"by": "price", "by": "latency"}}}`, "r.json:1: provider.sort.by: given twice"},
		"deep":            {`{"model": "m", "messages": ` + strings.Repeat("[", 200), "nested too deeply"},
		"twice":           {"{\"model\": \"m\",\n\"model\": \"n\"}", "r.json:2: model: given twice"},
		"long session":    {`{"model": "m", "session_id": "` + strings.Repeat("x", 257) + `"}`, "session_id: longer than 256 characters"},
		"both fallbacks":  {`{"model": "m", "models": ["n"], "fallbacks": [{"model": "o"}]}`, "models: given together with fallbacks"},
		"four fallbacks":  {`{"model": "m", "fallbacks": [{"model": "a"}, {"model": "b"}, {"model": "c"}, {"model": "d"}]}`, "fallbacks[3]: more than 3"},
		"fallback key":    {`{"model": "m", "fallbacks": [{"model": "a", "provider": {}}]}`, "fallbacks[0].provider: unknown key"},
		"cost tier":       {`{"model": "m", "plugins": [{"id": "auto-router", "cost_tier": "hi"}]}`, "plugins[0].cost_tier: unknown value"},
		"old plugin key":  {`{"model": "m", "plugins": [{"id": "auto-router", "cost_quality_tradeoff": 9}]}`, "no longer supported (use cost_tier)"},
		"half a token":    {`{"model": "m", "max_tokens": 1.5}`, "max_tokens: 1.5 is not a whole number"},
		"cutoff of zero":  {`{"model": "m", "provider": {"preferred_max_latency": 0}}`, "preferred_max_latency: 0 is not in"},
		"toml":            {"model = \"m\"\n\n[provider]\nonyl = [\"a\"]\n", `r.json:4: provider.onyl: unknown key (did you mean "only"?)`},
		"toml syntax":     {"model = \n", "not valid TOML"},
	} {
		_, err := ParseRequest([]byte(c.text), "r.json")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, c.want)
		}
	}
}

func TestParseMarketMistakes(t *testing.T) {
	const head = "schema_version = 1\n[[models]]\nid = \"m\"\n[[models.endpoints]]\nslug = \"a\"\n"
	for name, c := range map[string]struct{ text, want string }{
		"no version":     {"[[models]]\nid = \"m\"\n", "m.toml: schema_version: missing"},
		"next version":   {"schema_version = 2\n", "m.toml:1: schema_version: 2 is not in [1, 1]"},
		"no models":      {"schema_version = 1\n", "models: missing"},
		"no price":       {head, "m.toml:4: models[0].endpoints[0].price: missing"},
		"half a price":   {head + "price = {input = 1}\n", "m.toml:6: models[0].endpoints[0].price.output: missing"},
		"negative price": {head + "[models.endpoints.price]\ninput = -1\noutput = 1\n", "m.toml:7: models[0].endpoints[0].price.input: -1 is not in"},
		"infinite":       {head + "price = {input = inf, output = 1}\n", "is not a finite number"},
		"typo":           {head + "price = {input = 1, output = 1}\nquantisation = \"fp8\"\n", `m.toml:7: models[0].endpoints[0].quantisation: unknown key (did you mean "quantization"?)`},
		"slug twice":     {head + "price = {input = 1, output = 1}\n[[models.endpoints]]\nslug = \"a\"\nprice = {input = 1, output = 1}\n", "m.toml:7: models[0].endpoints[1].slug: endpoint a given twice"},
		"rate over 1":    {head + "price = {input = 1, output = 1}\nobserved = {requests = 9, error_rate = 2, input_tokens = 1, output_tokens = 1}\n", "observed.error_rate: 2 is not in [0, 1]"},
		"rate of what":   {head + "price = {input = 1, output = 1}\nobserved = {error_rate = 0.1}\n", "observed.requests: missing"},
		"policy":         {"schema_version = 1\npolicy = \"routing-costs\"\n", `m.toml:2: policy: unknown policy "routing-costs" (did you mean "routing-cost"?)`},
		"overflow":       {"schema_version = 1\n[router.cost]\nthroughput = 1e308\n", "m.toml:3: router.cost.throughput: 1e+308 is not in"},
		"too short":      {"schema_version = 1\n[router.telemetry]\nprior = 30\nmemory_s = 0\n", "m.toml:4: router.telemetry.memory: 0 is not in"},
		"router key":     {"schema_version = 1\n[router.cost]\nttfd = 1\n", `router.cost.ttfd: unknown key (did you mean "ttft"?)`},
		"router range":   {"schema_version = 1\n[router.share]\nfloor = 3\n", "share.floor: 3 is not in [0, 1]"},
	} {
		_, err := ParseMarket([]byte(c.text), "m.toml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", name, err, c.want)
		}
	}
}

// Constants of the router may be set by name, lengths of time in seconds.
func TestMarketSetsConstants(t *testing.T) {
	m, err := ParseMarket([]byte(`{"schema_version": 1, "preset": "figure",
		"router": {"share": {"edge": 0.2}, "cap": {"hold_s": 90, "off": true}, "snapshot_picks": 7, "telemetry": {"size_classes": [1000]}, "cost": {"rate_limit_usd": 2.5}},
		"models": [{"id": "m", "endpoints": [{"slug": "a", "price": {"input": 1, "output": 2}}]}]}`), "m.json")
	if err != nil {
		t.Fatal(err)
	}
	c := m.Config
	if c.Share.Edge != 0.2 || c.Cap.Hold.Seconds() != 90 || !c.Cap.Off || c.SnapshotPicks != 7 || len(c.Telemetry.SizeClasses) != 1 ||
		c.Cost.RateLimitUSD != 2.5 || c.Cost.WaitUSD != 1e-4 {
		t.Errorf("constants not set: %+v", c)
	}
	if p := m.Models[0].Offers[0].Price; p.Input != 1e-6 || p.Output != 2e-6 || p.CacheRead != 1e-6 || p.CacheWrite != 1e-6 {
		t.Errorf("price %+v", p)
	}
}

// JSON and TOML of the same request mean the same.
func TestJSONAndTOMLAgree(t *testing.T) {
	a, err := ParseRequest([]byte(`{"model": "m", "prompt_tokens": 100, "provider": {"only": ["a", "b"], "sort": {"by": "price", "partition": "none"},
		"max_price": {"prompt": "1.5"}, "preferred_min_throughput": 50}}`), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseRequest([]byte("model = \"m\"\nprompt_tokens = 100\n[provider]\nonly = [\"a\", \"b\"]\nsort = {by = \"price\", partition = \"none\"}\n"+
		"max_price = {prompt = 1.5}\n[provider.preferred_min_throughput]\np50 = 50\n"), "r.toml")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, b, cmp.AllowUnexported(Body{})); d != "" {
		t.Error(d)
	}
}

// Parse → print → parse of the provider object gives the same.
func TestProviderObjectRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maybe := func(name string) *bool {
			if !rapid.Bool().Draw(t, name+" given") {
				return nil
			}
			b := rapid.Bool().Draw(t, name)
			return &b
		}
		slugs := func(name string) []string {
			return rapid.SliceOfN(rapid.StringMatching(`[a-z<&"é ]{1,8}(/[a-z0-9-]{1,6})?`), 0, 3).Draw(t, name)
		}
		price := func(name string) *float64 {
			if !rapid.Bool().Draw(t, name+" given") {
				return nil
			}
			x := rapid.Float64Range(0, 1e6).Draw(t, name)
			return &x
		}
		cut := func(name string) (c Cutoffs) {
			if rapid.Bool().Draw(t, name+" given") {
				c = Cutoffs{rapid.Float64Range(1e-6, 1e6).Draw(t, name), 0, rapid.SampledFrom([]float64{0, 5}).Draw(t, name), 0}
			}
			return c
		}
		p := Preferences{
			Order: slugs("order"), Only: slugs("only"), Ignore: slugs("ignore"),
			AllowFallbacks: maybe("fallbacks"), RequireParameters: maybe("require"), ZDR: maybe("zdr"), EnforceDistillableText: maybe("distillable"),
			DataCollection: rapid.SampledFrom([]string{"", "allow", "deny"}).Draw(t, "data"),
			Quantizations:  rapid.SliceOfN(rapid.SampledFrom(quantizations), 0, 3).Draw(t, "quantizations"),
			Sort:           rapid.SampledFrom(append([]string{""}, sorts...)).Draw(t, "sort"),
			MinThroughput:  cut("throughput"), MaxLatency: cut("latency"),
			MaxPrice: MaxPrice{price("prompt"), price("completion"), price("request"), price("image"), price("audio")},
		}
		if p.Sort != "" {
			p.Partition = rapid.SampledFrom([]string{"", "model", "none"}).Draw(t, "partition")
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParsePreferences(text, "p.json")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		printed, err := json.Marshal(again)
		if err != nil || string(printed) != string(text) {
			t.Fatalf("printed %s, then %s (%v)", text, printed, err)
		}
	})
}

// The conversation's key: session_id before the header before prompt_cache_key before a hash of the opening messages.
func TestSessionKeyOrder(t *testing.T) {
	body := map[string]any{
		"model": "m", "session_id": "s", "headers": map[string]any{"X-Session-Id": "h"}, "prompt_cache_key": "k",
		"messages": []map[string]any{{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}, {"role": "user", "content": "more"}},
	}
	key := func() (string, bool) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseRequest(text, "r.json")
		if err != nil {
			t.Fatal(err)
		}
		return b.SessionKey()
	}
	for _, c := range []struct {
		key, drop string
		named     bool
	}{{"session:s", "session_id", true}, {"session:h", "headers", true}, {"cache:k", "prompt_cache_key", false}} {
		if k, named := key(); k != c.key || named != c.named {
			t.Errorf("key %q (named %v), want %q", k, named, c.key)
		}
		delete(body, c.drop)
	}
	opening, named := key()
	if !strings.HasPrefix(opening, "opening:") || named {
		t.Errorf("key %q (named %v), want the opening's", opening, named)
	}
	messages := body["messages"].([]map[string]any)
	messages[2]["content"] = "something else"
	if k, _ := key(); k != opening {
		t.Error("a later message changed the key")
	}
	messages[1]["content"] = "good bye"
	if k, _ := key(); k == opening {
		t.Error("the first user message did not change the key")
	}
	delete(body, "messages")
	if k, _ := key(); k != "" {
		t.Errorf("key %q without anything to go by", k)
	}
}
