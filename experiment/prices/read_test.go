package prices

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const header = "provider,model,usd_per_mtok_input,usd_per_mtok_output,usd_per_mtok_cache_read,usd_per_mtok_cache_write,valid_from\n"

func read(t testing.TB, text string) *Book {
	t.Helper()
	b, err := Read(strings.NewReader(text), "own.csv")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadCSV(t *testing.T) {
	b := read(t, "\ufeffmodel,note,valid_from,usd_per_mtok_output,usd_per_mtok_input,provider,usd_per_mtok_cache_read\r\n"+
		"a/big,\"one, two\",,2,0.5,Together AI,0\r\n"+
		"a/big,,2026-10-01,2.5,0.75,togetherai,\r\n"+
		"a/big,,,9,8,*,\r\n"+
		"own-model,,,1,0.1234567,*,")
	at := day(t, "2026-11-02")
	for _, c := range []struct {
		provider, model string
		at              time.Time
		want            Price
	}{
		{"together", "a/big", day(t, "2020-01-01"), Price{Input: 500_000, Output: 2_000_000, CacheReadKnown: true}},
		{"together", "big", at, Price{Input: 750_000, Output: 2_500_000}},
		{"elsewhere", "a/big", at, Price{Input: 8_000_000, Output: 9_000_000}},
		{"", "own-model", at, Price{Input: 123_457, Output: 1_000_000}},
	} {
		got, ok := b.Lookup(c.provider, c.model, c.at)
		if d := cmp.Diff(c.want, got); !ok || d != "" {
			t.Errorf("%s %s at %s: %v (-want +got):\n%s", c.provider, c.model, c.at.Format(time.DateOnly), ok, d)
		}
	}
	variants := read(t, header+"nebius/fast,x,2,3,,,\nnebius/fp8,x,1,2,,,\n")
	for provider, want := range map[string]Rate{"nebius": 1_000_000, "nebius/fp4": 1_000_000, "nebius/fast": 2_000_000} {
		if p, ok := variants.Lookup(provider, "x", at); !ok || p.Input != want {
			t.Errorf("%s: %+v, %v", provider, p, ok)
		}
	}
	if _, ok := b.Lookup("together", "own", at); ok {
		t.Error("found a model by a part of its name")
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "read prices own.csv: the file is empty"},
		{"provider,model\n", "own.csv:1: no column usd_per_mtok_input"},
		{header + "a,m,1,2,,,\na,,1,2,,,\n", "own.csv:3: provider or model is empty"},
		{header + "a,m,x,2,,,\n", `own.csv:2: usd_per_mtok_input: "x" is not a number`},
		{header + "a,m,,2,,,\n", `own.csv:2: usd_per_mtok_input: "" is not a number`},
		{header + "a,m,1,-2,,,\n", "own.csv:2: usd_per_mtok_output: -2 USD per million tokens is outside 0 … 1e+06"},
		{header + "a,m,1,NaN,,,\n", "own.csv:2: usd_per_mtok_output: NaN"},
		{header + "a,m,1,1e400,,,\n", `own.csv:2: usd_per_mtok_output: "1e400" is not a number`},
		{header + "a,m,1,2,,,yesterday\n", `own.csv:2: valid_from: "yesterday" is not YYYY-MM-DD`},
		{header + "a,m,1,2\n", "own.csv: record on line 2: wrong number of fields"},
		{header + "Together,x/m,1,2,,,\ntogetherai,x/M,1,3,,,\n", "own.csv: two prices for together x/M from the same day on"},
		{"[", "own.csv: not JSON"},
		{"\ufeff \n{", "own.csv: not JSON"},
		{`{"data":[{"id":"m","pricing":{"prompt":"a lot","completion":"1"}}]}`, `own.csv: price "a lot" is not a number`},
		{`{"m":{"litellm_provider":"p","input_cost_per_token":3,"output_cost_per_token":1}}`, "own.csv: p m: 3e+06 USD per million tokens is outside"},
		{`[{"id":"p","models":[{"id":"m","prices":[{"constraint":{"start_date":"soon"}}]}]}]`, `own.csv: p m: start_date: "soon" is not YYYY-MM-DD`},
	} {
		_, err := Read(strings.NewReader(c.text), "own.csv")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %s", c.text, err, c.want)
		}
	}
}

// The same model costs the same in four published lists, each in its own unit: models.dev and genai-prices state USD
// per million tokens, OpenRouter strings of USD per token, LiteLLM numbers of USD per token.
func TestPublishedLists(t *testing.T) {
	at := day(t, "2026-11-02")
	sonnet := Price{
		Input: 3_000_000, Output: 15_000_000,
		CacheRead: 300_000, CacheReadKnown: true, CacheWrite: 3_750_000, CacheWriteKnown: true,
	}
	for file, provider := range map[string]string{
		"modelsdev.json": "anthropic", "genai-prices.json": "anthropic", "litellm.json": "anthropic", "openrouter.json": "openrouter",
	} {
		got, ok := readFile(t, file).Lookup(provider, "anthropic/claude-sonnet-4.6", at)
		if d := cmp.Diff(sonnet, got); !ok || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", file, ok, d)
		}
	}
}

func readFile(t *testing.T, name string) *Book {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(f, name)
	_ = f.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is special in each list.
func TestPublishedListsSpecialCases(t *testing.T) {
	at := day(t, "2026-11-02")
	for _, c := range []struct {
		file, provider, model string
		at                    time.Time
		input                 float64 // USD per million tokens; −1: unknown
	}{
		{"openrouter.json", "openrouter", "inclusionai/ring-2.6-1t:free", at, 0},       // "0" is free
		{"openrouter.json", "openrouter", "openrouter/auto", at, -1},                   // "-1" varies
		{"litellm.json", "vertex_ai", "gemini-2.0-flash", at, 0.1},                     // 1e-07 by "vertex_ai-language-models"
		{"litellm.json", "deepseek", "deepseek-chat", at, 0.28},                        // 2.8e-07
		{"litellm.json", "openai", "gpt-image-1", at, -1},                              // no output price per token
		{"genai-prices.json", "google", "gemini-1.5-flash", at, 0.075},                 // base of a price with steps
		{"genai-prices.json", "deepseek", "deepseek-chat", at, -1},                     // depends on the hour
		{"genai-prices.json", "openai", "o3", day(t, "2025-06-09"), 10},                // before start_date
		{"genai-prices.json", "openai", "o3", day(t, "2025-06-10"), 2},                 // from start_date on
		{"genai-prices.json", "openai", "text-embedding-3-small", at, -1},              // no output price
		{"genai-prices.json", "anthropic", "claude-sonnet-5", day(t, "2026-08-31"), 2}, // announced change
		{"genai-prices.json", "anthropic", "claude-sonnet-5", day(t, "2026-09-01"), 3}, //
		{"modelsdev.json", "fireworks", "z-ai/glm-5.1", at, 1.4},                       // list's id: accounts/fireworks/models/glm-5p1
		{"modelsdev.json", "groq", "whisper-large-v3", at, -1},                         // no cost in the list
	} {
		p, ok := readFile(t, c.file).Lookup(c.provider, c.model, c.at)
		if ok != (c.input >= 0) || ok && p.Input.PerMillion() != c.input {
			t.Errorf("%s %s %s: %g, %v; want %g", c.file, c.provider, c.model, p.Input.PerMillion(), ok, c.input)
		}
	}
}

// What Read accepts can be looked up by its own names, and all of it is in range.
func FuzzRead(f *testing.F) {
	f.Add([]byte(header + "together,meta/llama-3.3-70b,0.88,0.88,,,2026-07-01\n*,x,1,2,0.1,1.25,\n"))
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 4 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		b, err := Read(bytes.NewReader(content), "fuzz")
		if err != nil {
			if b != nil {
				t.Fatal("a book and an error")
			}
			return
		}
		for _, e := range b.Entries() {
			for _, r := range []Rate{e.Price.Input, e.Price.Output, e.Price.CacheRead, e.Price.CacheWrite} {
				if r < 0 || r > MaxRate {
					t.Fatalf("%+v: a rate is out of range", e)
				}
			}
			if p, ok := b.Lookup(e.Provider, e.Model, e.ValidFrom); ok && p.Cost(1000, 10, 10, 10) < 0 {
				t.Fatalf("%+v: cost below zero", p)
			}
		}
	})
}
