package prices

import (
	"strings"
	"testing"
	"time"
)

func embedded(t testing.TB) *Book {
	t.Helper()
	b, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func day(t testing.TB, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Counts of the derivation: of 5,276 rows, 382 have no price, 126 belong to subscriptions and 284 more are 0; two
// later prices were added.
func TestEmbeddedCounts(t *testing.T) {
	b := embedded(t)
	cacheRead, providers := 0, map[string]bool{}
	for _, e := range b.Entries() {
		providers[e.Provider] = true
		if e.Price.CacheReadKnown {
			cacheRead++
		}
		if e.Price.Input == 0 && e.Price.Output == 0 && !strings.HasSuffix(e.Model, ":free") {
			t.Errorf("%s %s is free", e.Provider, e.Model)
		}
		if e.ValidFrom.Before(day(t, "2026-07-01")) {
			t.Errorf("%s %s holds from %s", e.Provider, e.Model, e.ValidFrom)
		}
	}
	if n := len(b.Entries()); n != 5276-382-126-284+2 {
		t.Errorf("%d entries, want 4,486", n)
	}
	if cacheRead != 2039 || len(providers) != 114 {
		t.Errorf("%d with a cache-read price at %d providers, want 2,039 at 114", cacheRead, len(providers))
	}
}

// Every line is found by the names it is listed under, at its own day.
func TestEveryEntryIsFound(t *testing.T) {
	b := embedded(t)
	for _, e := range b.Entries() {
		if p, ok := b.Lookup(e.Provider, e.Model, e.ValidFrom); !ok || p != e.Price {
			t.Errorf("%s %s: %+v, %v; want %+v", e.Provider, e.Model, p, ok, e.Price)
		}
	}
}

// Prices as the providers' files of models.dev state them at commit f3fc6922, USD per million tokens.
func TestLookup(t *testing.T) {
	b := embedded(t)
	november := day(t, "2026-11-03")
	for _, c := range []struct {
		provider, model          string
		input, output, cacheRead float64 // cacheRead −1: unknown
	}{
		{"deepinfra", "z-ai/glm-4.7", 0.4, 1.75, 0.08},
		{"DeepInfra", "zai-org/GLM-4.7", 0.4, 1.75, 0.08},
		{"deepinfra/fp8", "openai/z-ai/glm-4.7", 0.4, 1.75, 0.08},
		{"deepinfra", "z-ai/glm-4.7:nitro", 0.4, 1.75, 0.08},
		{"deepinfra", "z-ai/glm-4.7-20260115", 0.4, 1.75, 0.08},
		{"deepinfra", "z-ai/glm-4.7-2026-01-15", 0.4, 1.75, 0.08},
		{"deepinfra", "zai-org/GLM-4.7-Flash", 0.06, 0.4, -1},
		{"deepinfra/turbo", "meta-llama/llama-3.3-70b-instruct", 0.1, 0.32, -1},
		{"fireworks", "moonshotai/kimi-k2.6", 0.95, 4, 0.16},
		{"Fireworks AI", "accounts/fireworks/models/kimi-k2p6", 0.95, 4, 0.16},
		{"fireworks/fast", "moonshotai/kimi-k2.6", 2, 8, 0.3},
		{"gmicloud", "z-ai/glm-5.1", 0.98, 3.08, 0.182},
		{"Amazon Bedrock", "anthropic.claude-sonnet-4-6", 3, 15, 0.3},
		{"Amazon Bedrock", "anthropic/claude-sonnet-4.6", 3, 15, 0.3},
		{"google-vertex", "anthropic/claude-4-sonnet-20250522", 3, 15, 0.3},
		{"vertex_ai", "claude-opus-4@20250514", 15, 75, 1.5},
		{"groq", "meta-llama/llama-3.3-70b-instruct", 0.59, 0.79, -1},
		{"together", "meta-llama/llama-3.3-70b-instruct", 0.88, 0.88, -1},
		{"openrouter", "meta-llama/llama-3.3-70b-instruct:free", 0, 0, -1},
	} {
		p, ok := b.Lookup(c.provider, c.model, november)
		if !ok {
			t.Errorf("%s %s: not found", c.provider, c.model)
			continue
		}
		cacheRead := -1.0
		if p.CacheReadKnown {
			cacheRead = p.CacheRead.PerMillion()
		}
		if p.Input.PerMillion() != c.input || p.Output.PerMillion() != c.output || cacheRead != c.cacheRead {
			t.Errorf("%s %s: %g, %g, %g; want %g, %g, %g", c.provider, c.model,
				p.Input.PerMillion(), p.Output.PerMillion(), cacheRead, c.input, c.output, c.cacheRead)
		}
	}
}

// What the list doesn't say stays unknown.
func TestLookupUnknown(t *testing.T) {
	b := embedded(t)
	for _, c := range []struct{ provider, model, day, why string }{
		{"deepinfra", "z-ai/glm-4.7", "2026-06-30", "before the list's day"},
		{"deepinfra", "z-ai/glm-4.7:free", "2026-11-03", "a suffix that changes the price"},
		{"deepinfra/turbo", "z-ai/glm-4.7", "2026-11-03", "a variant that isn't a quantization"},
		{"deepinfra", "qwen/qwen3-235b-a22b-thinking-9999", "2026-11-03", "a number that isn't a date"},
		{"nebius", "z-ai/glm-4.7", "2026-11-03", "a model that this provider doesn't list"},
		{"nobody", "z-ai/glm-4.7", "2026-11-03", "an unknown provider"},
		{"", "", "2026-11-03", "no names"},
		{"together", "nobody/gemma-4-31b-it", "2026-11-03", "two authors' models of one name at two prices"},
	} {
		if p, ok := b.Lookup(c.provider, c.model, day(t, c.day)); ok {
			t.Errorf("%s: %s %s costs %+v", c.why, c.provider, c.model, p)
		}
	}
}

// The costs that three gateways billed for deepinfra's z-ai/glm-4.7 on 3 November 2026.
func TestBilledCosts(t *testing.T) {
	p, ok := embedded(t).Lookup("deepinfra", "z-ai/glm-4.7", day(t, "2026-11-03"))
	if !ok {
		t.Fatal("not found")
	}
	for _, c := range []struct{ input, cached, output, want int64 }{
		{5120, 4096, 310, 1_279_780},
		{5610, 5120, 41, 677_350},
		{4000, 0, 200, 1_950_000},
	} {
		if got := p.Cost(c.input, c.cached, 0, c.output); got != c.want {
			t.Errorf("%d/%d/%d tokens: %d nano-dollars, want %d", c.input, c.cached, c.output, got, c.want)
		}
	}
}

func TestPricesChangeOnTheirDay(t *testing.T) {
	b := embedded(t)
	change := day(t, "2026-09-01")
	for at, want := range map[time.Time]float64{change.Add(-time.Nanosecond): 2, change: 3, change.AddDate(1, 0, 0): 3} {
		for _, provider := range []string{"anthropic", "openrouter"} {
			if p, ok := b.Lookup(provider, "anthropic/claude-sonnet-5", at); !ok || p.Input.PerMillion() != want {
				t.Errorf("%s at %s: %g, %v; want %g", provider, at, p.Input.PerMillion(), ok, want)
			}
		}
	}
}

func TestSlug(t *testing.T) {
	b := embedded(t)
	for name, want := range map[string]string{
		"DeepInfra": "deepinfra", "deepinfra/fp8": "deepinfra", "Amazon Bedrock": "amazon-bedrock", "bedrock": "amazon-bedrock",
		"Google": "google-vertex", "Google AI Studio": "google-ai-studio", "vertex_ai": "google-vertex", "xAI": "xai",
		"togetherai": "together", "together_ai": "together", "InferenceNet": "inference-net", "Kluster": "klusterai", " Novita ": "novita",
	} {
		if got := b.Slug(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// The notice names the origin, and what is embedded stays small.
func TestEmbeddedSize(t *testing.T) {
	if size := len(modelsdev) + len(aliasTable) + len(notice); size > 250_000 {
		t.Errorf("%d bytes are embedded, at most 250,000 are allowed", size)
	}
	for _, name := range []string{"modelsdev.csv.zst", "aliases.csv"} {
		if !strings.Contains(Notice(), "`"+name+"`") {
			t.Errorf("%s: not in NOTICE.md", name)
		}
	}
}

func BenchmarkEmbedded(b *testing.B) {
	for b.Loop() {
		embedded(b)
	}
}

func BenchmarkLookup(b *testing.B) {
	book, at := embedded(b), day(b, "2026-11-03")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := book.Lookup("DeepInfra/fp8", "openai/z-ai/glm-4.7", at); !ok {
			b.Fatal("not found")
		}
	}
}
