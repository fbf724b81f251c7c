package prices

import (
	_ "embed" // the alias table
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed data/aliases.csv
var aliasTable string

// names knows the other names of providers and models.
type names struct {
	providers map[string]string // alias → slug
	models    map[key]string    // provider ("" = any) and alias → name
}

// loadNames reads the alias table: kind,provider,alias,name.
func loadNames() (names, error) {
	n := names{providers: map[string]string{}, models: map[key]string{}}
	records, err := csv.NewReader(strings.NewReader(aliasTable)).ReadAll()
	if err != nil {
		return n, fmt.Errorf("read aliases.csv: %w", err)
	}
	for _, r := range records[1:] {
		switch kind, provider, alias, name := r[0], r[1], r[2], r[3]; kind {
		case "provider":
			n.providers[alias] = name
		case "model":
			n.models[key{provider, plain(alias)}] = plain(name)
		default:
			return n, fmt.Errorf("read aliases.csv: unknown kind %q", kind)
		}
	}
	return n, nil
}

// Slug returns the slug of a provider, without a variant, for any of its names: "Amazon Bedrock" and "bedrock" are
// "amazon-bedrock", "deepinfra/fp8" is "deepinfra".
func (b *Book) Slug(provider string) string {
	slug, _ := b.names.provider(provider)
	return slug
}

// provider splits a provider's name into its slug and variant.
func (n names) provider(name string) (slug, variant string) {
	slug, variant, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), "/")
	slug = strings.NewReplacer(" ", "-", "_", "-").Replace(slug)
	if s, ok := n.providers[slug]; ok {
		slug = s
	}
	return slug, variant
}

// offer returns the slug of a provider and the name of its model. A provider's variant that isn't a quantization
// becomes a part of the model's name, as the lists write it: "fireworks/fast" and "kimi-k2.6" are "kimi-k2.6-fast".
func (n names) offer(provider, model string) (slug, name string) {
	slug, variant := n.provider(provider)
	if variant != "" && !quantization(variant) {
		model += "-" + variant
	}
	return slug, model
}

// quantization tells whether a variant of a provider, or the end of a model's name, only says how the weights are
// stored.
func quantization(variant string) bool {
	return slices.Contains([]string{"fp4", "fp6", "fp8", "fp16", "fp32", "bf16", "int4", "int8", "awq", "nvfp4", "unknown"}, variant)
}

var (
	vendorPrefix = regexp.MustCompile(`^([a-z]+\.)+([a-z])`)          // Amazon: "us.anthropic.claude-…"
	revision     = regexp.MustCompile(`-v\d+(:\d+)?$`)                // Amazon: "…-v1:0"
	date         = regexp.MustCompile(`-(20\d{6}|20\d\d-\d\d-\d\d)$`) // "-20250514", "-2025-05-14"
)

// forms returns the names under which a model may be found, best first: with author, without, by alias, without
// Amazon's revision, without date, without quantization. The list has no name twice.
func (n names) forms(provider, model string) []string {
	full := plain(model)
	short := full[strings.LastIndexByte(full, '/')+1:]
	if strings.IndexByte(short, '.') >= 0 { // dots inside version numbers are gone
		short = vendorPrefix.ReplaceAllString(short, "$2")
	}
	forms := make([]string, 1, 4)
	forms[0] = full
	add := func(form string) {
		if form != "" && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	alias := func() {
		for _, p := range [...]string{provider, ""} {
			if name, ok := n.models[key{p, short}]; ok {
				add(name)
			}
		}
	}
	add(short)
	alias()
	if strings.Contains(short, "-v") {
		short = revision.ReplaceAllString(short, "")
		add(short)
	}
	if strings.Contains(short, "-20") {
		short = date.ReplaceAllString(short, "")
		add(short)
	}
	if i := strings.LastIndexByte(short, '-'); i >= 0 && quantization(short[i+1:]) {
		short = short[:i]
		add(short)
	}
	alias()
	return forms
}

// plain writes a model's name in lower case without routing shortcuts, and with one separator inside version
// numbers: "GLM-4.7", "glm-4p7" and "glm-4_7" are one model, as are Google's "opus-4@20250514" and "opus-4-20250514".
func plain(model string) string {
	s := strings.ToLower(strings.TrimSpace(model))
	for _, shortcut := range []string{":nitro", ":floor", ":exacto", "@default"} {
		s = strings.TrimSuffix(s, shortcut)
	}
	if strings.IndexByte(s, '@') > 0 {
		s = strings.ReplaceAll(s, "@20", "-20")
	}
	b := []byte(s)
	digit := func(i int) bool { return b[i] >= '0' && b[i] <= '9' }
	for i := 1; i+1 < len(b); i++ {
		if c := b[i]; (c == '.' || c == '_' || c == 'p') && digit(i-1) && digit(i+1) {
			b[i] = '-'
		}
	}
	return string(b)
}
