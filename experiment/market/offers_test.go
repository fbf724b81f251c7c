package market

import (
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment/prices"
)

// The source has 575 endpoints of 246 models: 54 without measurements (one of them with price 0 too), 2 with throughput
// 0; of the other 519, 250 belong to the 34 models with at least 4 of them.
func TestOffersCounts(t *testing.T) {
	offers, skipped, err := Offers()
	if err != nil {
		t.Fatal(err)
	}
	reasons, models := map[Reason]int{}, map[string]int{}
	for _, s := range skipped {
		reasons[s.Reason]++
	}
	want := map[Reason]int{SkipNotMeasured: 54, SkipThroughput: 2, SkipFewEndpoints: 269}
	if d := cmp.Diff(want, reasons); d != "" {
		t.Errorf("skipped (-want +got):\n%s", d)
	}
	for _, o := range offers {
		models[o.Model]++
	}
	if len(offers)+len(skipped) != 575 || len(offers) != 250 || len(models) != 34 {
		t.Errorf("%d offers of %d models and %d skipped, want 250 of 34 and 325", len(offers), len(models), len(skipped))
	}
	for model, n := range map[string]int{
		"deepseek/deepseek-chat-v3-0324": 17, "meta-llama/llama-3.3-70b-instruct": 18, "mistralai/mistral-7b-instruct": 4,
	} {
		if models[model] != n {
			t.Errorf("%s: %d offers, want %d", model, models[model], n)
		}
	}
	cacheRead, scaled, usual := 0, 0, 0
	for _, o := range offers {
		if o.Price.CacheReadKnown {
			cacheRead++
		}
		if o.CacheReadScaled {
			scaled++
		}
		if o.UsualCacheRead > 0 {
			usual++
		}
	}
	if cacheRead != 14 || scaled != 2 || usual != 157 {
		t.Errorf("%d offers with a cache-read price, %d scaled, %d of providers that have some; want 14, 2, 157", cacheRead, scaled, usual)
	}
}

// Rows of the source, and cache-read prices of the price book.
func TestOffersValues(t *testing.T) {
	offers, skipped, err := Offers()
	if err != nil {
		t.Fatal(err)
	}
	find := func(model, slug string) Offer {
		i := slices.IndexFunc(offers, func(o Offer) bool { return o.Model == model && o.Slug == slug })
		if i < 0 {
			t.Fatalf("no offer %s %s", model, slug)
		}
		o := offers[i]
		o.UsualCacheRead = 0
		return o
	}
	for _, want := range []Offer{
		{ // DeepInfra | deepseek/deepseek-r1,163840.0,163840,0.00000045,0.00000215,90.841,567
			Model: "deepseek/deepseek-r1", Slug: "deepinfra", Provider: "deepinfra", ProviderName: "DeepInfra",
			Price:     prices.Price{Input: 450_000, Output: 2_150_000},
			LatencyMS: 567, Throughput: 90.841, ContextTokens: 163_840, MaxOutputTokens: 163_840,
		},
		{ // DeepInfra | deepseek/deepseek-r1,,32768,0.000001,0.000003,148.179,557
			Model: "deepseek/deepseek-r1", Slug: "deepinfra/2", Provider: "deepinfra", ProviderName: "DeepInfra",
			Price:     prices.Price{Input: 1_000_000, Output: 3_000_000},
			LatencyMS: 557, Throughput: 148.179, ContextTokens: 32_768,
		},
		{ // Nebius | qwen/qwen3-32b-04-28,,40960,0.0000001,0.0000003,47.1285,379.0; the book: 0.1 and 0.01 from cache
			Model: "qwen/qwen3-32b-04-28", Slug: "nebius", Provider: "nebius", ProviderName: "Nebius",
			Price:     prices.Price{Input: 100_000, Output: 300_000, CacheRead: 10_000, CacheReadKnown: true},
			LatencyMS: 379, Throughput: 47.1285, ContextTokens: 40_960,
		},
		{ // Nebius | qwen/qwen3-32b-04-28,,40960,0.0000002,0.0000006,153.409,265.5: twice the book's price
			Model: "qwen/qwen3-32b-04-28", Slug: "nebius/2", Provider: "nebius", ProviderName: "Nebius",
			Price:           prices.Price{Input: 200_000, Output: 600_000, CacheRead: 20_000, CacheReadKnown: true},
			CacheReadScaled: true, LatencyMS: 265.5, Throughput: 153.409, ContextTokens: 40_960,
		},
		{ // Kluster | meta-llama/llama-3.3-70b-instruct,131000.0,131000,0.00000005,0.00000017,25.325,692
			Model: "meta-llama/llama-3.3-70b-instruct", Slug: "klusterai", Provider: "klusterai", ProviderName: "Kluster",
			Price:     prices.Price{Input: 50000, Output: 170000},
			LatencyMS: 692, Throughput: 25.325, ContextTokens: 131000, MaxOutputTokens: 131000,
		},
	} {
		if d := cmp.Diff(want, find(want.Model, want.Slug)); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", want.Model, want.Slug, d)
		}
	}
	first := Skipped{Line: 2, Model: "01-ai/yi-large", ProviderName: "Fireworks", Reason: SkipFewEndpoints}
	if d := cmp.Diff(first, skipped[0]); d != "" {
		t.Errorf("first skipped row (-want +got):\n%s", d)
	}
}

func TestOffersShape(t *testing.T) {
	offers, _, err := Offers()
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range offers {
		if !(o.LatencyMS > 0) || !(o.Throughput > 0) || math.IsInf(o.LatencyMS+o.Throughput, 0) || o.Price.Input <= 0 || o.Price.Output <= 0 {
			t.Errorf("%s %s can't serve: %+v", o.Model, o.Slug, o)
		}
		if o.Price.CacheReadRate() > o.Price.Input || o.UsualCacheRead < 0 || o.UsualCacheRead > 1 {
			t.Errorf("%s %s: reading from the cache is dearer than not: %+v", o.Model, o.Slug, o)
		}
		if o.Slug != strings.ToLower(o.Slug) || strings.ContainsAny(o.Slug, " _") {
			t.Errorf("%s: slug %q", o.Model, o.Slug)
		}
		if base, _, _ := strings.Cut(o.Slug, "/"); base != o.Provider {
			t.Errorf("%s: slug %q of provider %q", o.Model, o.Slug, o.Provider)
		}
		if i > 0 && offers[i-1].Model+" "+offers[i-1].Slug >= o.Model+" "+o.Slug {
			t.Errorf("%s %s stands after %s %s", o.Model, o.Slug, offers[i-1].Model, offers[i-1].Slug)
		}
	}
	again, _, err := Offers()
	if d := cmp.Diff(offers, again); err != nil || d != "" {
		t.Errorf("a second call differs: %v\n%s", err, d)
	}
}

// The list of 1 July 2025 counts 80,331 requests; DeepInfra and Novita have 35.8 % and 30.9 % of them.
func TestDeepSeekV3Stats(t *testing.T) {
	stats, err := DeepSeekV3Stats()
	if err != nil {
		t.Fatal(err)
	}
	total, of := 0, map[string]int{}
	for _, s := range stats {
		total += s.Requests
		of[s.Provider] = s.Requests
	}
	if len(stats) != 17 || total != 80_331 || of["deepinfra"] != 28_771 || of["novita"] != 24_843 {
		t.Errorf("%d endpoints, %d requests, %v", len(stats), total, of)
	}
	want := EndpointStats{
		Provider: "deepseek", ProviderName: "DeepSeek", Slug: "deepseek/fp8", Quantization: "fp8",
		Price:     prices.Price{Input: 270_000, Output: 1_100_000, CacheRead: 70_000, CacheReadKnown: true},
		LatencyMS: 3087, Throughput: 23.087, Requests: 2167, Deranked: true, SupportsTools: true, CanAbort: true,
		ContextTokens: 64_000, MaxOutputTokens: 8_000,
	}
	if d := cmp.Diff(want, stats[16]); d != "" {
		t.Errorf("last endpoint (-want +got):\n%s", d)
	}
	offers, _, err := Offers()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats { // the two tables are of the same month and agree
		i := slices.IndexFunc(offers, func(o Offer) bool {
			return o.Model == "deepseek/deepseek-chat-v3-0324" && o.Provider == s.Provider
		})
		if i < 0 || offers[i].Price.Input != s.Price.Input || offers[i].LatencyMS != s.LatencyMS {
			t.Errorf("%s differs between the two tables", s.Slug)
		}
	}
}

// 2,845 requests; lepton answered 429 to 130 of 150 requests for each of three models; bedrock's errors are short
// answers; together's 13b has the heaviest tail.
func TestTails(t *testing.T) {
	tails, err := Tails()
	if err != nil {
		t.Fatal(err)
	}
	requests, heaviest := 0, Tail{TTFTMS: Quantiles{P50: 1}}
	for _, tail := range tails {
		requests += tail.Requests
		if tail.Provider == "lepton" && (tail.RateLimited != 130 || tail.Requests != 150) {
			t.Errorf("lepton %s: %d of %d limited", tail.ModelSize, tail.RateLimited, tail.Requests)
		}
		if tail.Provider == "bedrock" && (tail.TooShort < 49 || tail.Failed != 0) {
			t.Errorf("bedrock %s: %d too short, %d failed", tail.ModelSize, tail.TooShort, tail.Failed)
		}
		if !(0 < tail.TTFTMS.P50 && tail.TTFTMS.P50 <= tail.TTFTMS.P95 && tail.TTFTMS.P95 <= tail.TTFTMS.P99 && tail.TTFTMS.P99 <= tail.TotalMS.P99) {
			t.Errorf("%s %s: quantiles fall: %+v", tail.Provider, tail.ModelSize, tail)
		}
		if tail.TTFTMS.P99/tail.TTFTMS.P50 > heaviest.TTFTMS.P99/heaviest.TTFTMS.P50 {
			heaviest = tail
		}
	}
	if len(tails) != 19 || requests != 2_845 {
		t.Errorf("%d rows, %d requests", len(tails), requests)
	}
	if heaviest.Provider != "together" || heaviest.ModelSize != "13b" || heaviest.TTFTMS.P99/heaviest.TTFTMS.P50 < 90 {
		t.Errorf("heaviest tail: %+v", heaviest)
	}
}

// Each embedded file has its origin in NOTICE.md, and all together stay small.
func TestEmbeddedOffers(t *testing.T) {
	size := int64(len(Notice()))
	err := fs.WalkDir(files, "data", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		if !strings.Contains(Notice(), "`"+d.Name()+"`") {
			t.Errorf("%s: not in NOTICE.md", d.Name())
		}
		return err
	})
	if err != nil || size > 64<<10 {
		t.Errorf("embedded files have %d bytes, at most 64 KiB are allowed (%v)", size, err)
	}
}

// The first models by name that one provider alone offers, a provider each; lines of the source by hand.
func TestLoneOffers(t *testing.T) {
	lone, err := LoneOffers(6)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"01-ai/yi-large fireworks", "aetherwiing/mn-starcannon-12b featherless", "ai21/jamba-1.6-large ai21", "aion-labs/aion-1.0 aion-labs",
		"amazon/nova-lite-v1 amazon-bedrock", "anthropic/claude-2.0 anthropic"}
	got := make([]string, len(lone))
	for i, o := range lone {
		got[i] = o.Model + " " + o.Slug
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	all, err := LoneOffers(1000)
	if err != nil || len(all) < 20 {
		t.Errorf("%d in all, %v", len(all), err)
	}
	_, _, skipped, err := usableOffers()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if slices.ContainsFunc(skipped, func(row Skipped) bool { return row.Model == o.Model }) {
			t.Errorf("%s has another provider, which cannot be used", o.Model)
		}
	}
}
