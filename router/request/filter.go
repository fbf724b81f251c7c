package request

import (
	"fmt"
	"slices"
	"strings"
)

// match says whether a slug of the caller means the endpoint. A base slug means every region and variant of a provider; a full slug means one
// endpoint; endpoints of a service tier are only meant by their full slug.
func match(slug string, o *Offer) bool {
	if strings.EqualFold(slug, o.Slug) {
		return true
	}
	return o.Tier == "" && strings.EqualFold(slug, o.Provider)
}

func matchAny(slugs []string, o *Offer) bool {
	return slices.ContainsFunc(slugs, func(s string) bool { return match(s, o) })
}

func namedInFull(slugs []string, o *Offer) bool {
	return slices.ContainsFunc(slugs, func(s string) bool { return strings.EqualFold(s, o.Slug) })
}

// filter is everything that rules endpoints out, from the request and the account together.
type filter struct {
	body   *Body
	tiers  []string // service tiers that are admitted
	needed []string // parameters that an endpoint must support
}

// soft are parameters that endpoints without them are passed over for, when there are others with them.
var soft = []string{"tools", "response_format", "verbosity"}

// newFilter settles, for a model, which parameters endpoints must support: all that are used when they are required; otherwise the soft ones
// that at least one endpoint supports.
func newFilter(b *Body, m *Model, tiers []string) *filter {
	f := &filter{body: b, tiers: tiers}
	if yes(b.Provider.RequireParameters) {
		f.needed = b.Parameters
		if b.MaxTokens > 0 {
			f.needed = append(slices.Clone(f.needed), "max_tokens")
		}
		return f
	}
	for _, p := range soft {
		if !slices.Contains(b.Parameters, p) {
			continue
		}
		if slices.ContainsFunc(m.Offers, func(o Offer) bool { return slices.Contains(o.Parameters, p) }) {
			f.needed = append(f.needed, p)
		}
	}
	return f
}

// reason says why the endpoint is out, empty when it is not. The first reason that holds is given.
func (f *filter) reason(o *Offer) string {
	b, p, a := f.body, &f.body.Provider, &f.body.Account
	tokens := b.PromptTokens + b.MaxTokens
	named := namedInFull(p.Order, o) || namedInFull(p.Only, o)
	switch {
	case o.Tier != "" && !slices.Contains(f.tiers, o.Tier) && !named:
		return fmt.Sprintf("tier: %s endpoints need service_tier, a suffix or their full slug", o.Tier)
	case len(a.Allowed) > 0 && !matchAny(a.Allowed, o):
		return "account: not among the allowed providers"
	case matchAny(a.Ignored, o):
		return "account: among the ignored providers"
	case len(p.Only) > 0 && !matchAny(p.Only, o):
		return "only: not listed"
	case matchAny(p.Ignore, o):
		return "ignore: listed"
	case !yes(p.AllowFallbacks, true) && len(p.Order) > 0 && !matchAny(p.Order, o):
		return "order: not listed, and fallbacks are not allowed"
	case o.Trains && (p.DataCollection == "deny" || a.DataCollection == "deny"):
		return "data_collection: the provider may train on prompts"
	case !o.ZDR && (yes(p.ZDR) || a.ZDR):
		return "zdr: the provider retains prompts"
	case !o.Distillable && yes(p.EnforceDistillableText):
		return "enforce_distillable_text: not allowed by the licence"
	case len(p.Quantizations) > 0 && !slices.Contains(p.Quantizations, o.Quantization):
		return "quantizations: " + o.Quantization
	case o.Context > 0 && tokens > o.Context:
		return fmt.Sprintf("context: %d tokens needed, %d offered", tokens, o.Context)
	case o.MaxPrompt > 0 && b.PromptTokens > o.MaxPrompt:
		return fmt.Sprintf("max_prompt: %d tokens needed, %d offered", b.PromptTokens, o.MaxPrompt)
	case o.MaxOutput > 0 && b.MaxTokens > o.MaxOutput:
		return fmt.Sprintf("max_tokens: %d asked, %d offered", b.MaxTokens, o.MaxOutput)
	}
	for _, m := range b.Modalities {
		if !slices.Contains(o.Modalities, m) {
			return "modality: no " + m + " input"
		}
	}
	for _, n := range f.needed {
		if !slices.Contains(o.Parameters, n) {
			return "parameters: no " + n
		}
	}
	return overPrice(&p.MaxPrice, o)
}

// overPrice says what costs more than the request allows. A price equal to the cap is allowed.
func overPrice(most *MaxPrice, o *Offer) string {
	for _, c := range []struct {
		name  string
		most  *float64
		price float64
	}{
		{"prompt", most.Prompt, o.Price.Input / perToken}, {"completion", most.Completion, o.Price.Output / perToken},
		{"request", most.Request, o.RequestUSD}, {"image", most.Image, o.ImageUSD}, {"audio", most.Audio, o.AudioUSD},
	} {
		if c.most != nil && c.price > *c.most*(1+1e-12) {
			return fmt.Sprintf("max_price: %s costs $%.6g, at most $%.6g allowed", c.name, c.price, *c.most)
		}
	}
	return ""
}

// misses says which preferred speed the endpoint does not reach, empty when it reaches all. An unknown speed reaches none.
func misses(p *Preferences, o *Offer) string {
	check := func(name, unit string, want, got float64, atLeast bool) string {
		switch {
		case want == 0:
			return ""
		case got == 0:
			return name + ": unknown"
		case atLeast && got < want, !atLeast && got > want:
			return fmt.Sprintf("%s: %.4g %s, preferred %.4g", name, got, unit, want)
		}
		return ""
	}
	t, l := &p.MinThroughput, &p.MaxLatency
	for _, m := range []string{
		check("preferred_min_throughput p50", "tok/s", t.P50, o.Throughput.P50, true),
		check("preferred_min_throughput p75", "tok/s", t.P75, o.Throughput.P75, true),
		check("preferred_min_throughput p90", "tok/s", t.P90, o.Throughput.P90, true),
		check("preferred_min_throughput p99", "tok/s", t.P99, o.Throughput.P99, true),
		check("preferred_max_latency p50", "s", l.P50, o.Latency.P50, false),
		check("preferred_max_latency p75", "s", l.P75, o.Latency.P75, false),
		check("preferred_max_latency p90", "s", l.P90, o.Latency.P90, false),
		check("preferred_max_latency p99", "s", l.P99, o.Latency.P99, false),
	} {
		if m != "" {
			return m
		}
	}
	return ""
}

// yes reads an optional flag; absent ones count as otherwise, false unless given.
func yes(b *bool, otherwise ...bool) bool {
	if b == nil {
		return len(otherwise) > 0 && otherwise[0]
	}
	return *b
}
