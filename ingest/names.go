package ingest

import (
	"strings"
	"unicode"
)

// CanonicalModel returns the canonical name of a model that a gateway names in its own way.
func CanonicalModel(raw string) string { return canonicalModel(raw) }

// canonicalModel turns a model's name in a log into the canonical one: without the prefix of a client library,
// without a routing shortcut, and without a date. Suffixes that change price or endpoint stay.
func canonicalModel(raw string) string {
	name, suffix, _ := strings.Cut(strings.TrimSpace(raw), ":")
	switch suffix {
	case "", "nitro", "floor", "exacto":
		suffix = ""
	default:
		suffix = ":" + suffix
	}
	if first, rest, ok := strings.Cut(name, "/"); ok && strings.Contains(rest, "/") && first != "" {
		name = rest // openai/z-ai/glm-4.7: the library's name for the protocol
	}
	return cutDate(name) + suffix
}

// cutDate cuts -YYYYMMDD and -YYYY-MM-DD off the end. Four digits are a version, not a date.
func cutDate(name string) string {
	for _, shape := range []string{"-dddddddd", "-dddd-dd-dd"} {
		at := len(name) - len(shape)
		if at > 0 && matches(name[at:], shape) && (name[at+1:at+3] == "19" || name[at+1:at+3] == "20") {
			return name[:at]
		}
	}
	return name
}

func matches(s, shape string) bool {
	for i := range len(shape) {
		if shape[i] == 'd' && (s[i] < '0' || s[i] > '9') || shape[i] != 'd' && s[i] != shape[i] {
			return false
		}
	}
	return true
}

// providerAlias gives the slug of a provider whose name in small letters is another.
func providerAlias(name string) string {
	switch name {
	case "atlascloud":
		return "atlas-cloud"
	case "amazonbedrock", "bedrock", "aws-bedrock":
		return "amazon-bedrock"
	case "googlevertex", "vertex", "vertex-ai":
		return "google-vertex"
	case "google", "googleaistudio", "gemini":
		return "google-ai-studio"
	case "gmicloud", "gmi-cloud":
		return "gmicloud"
	case "fireworks-ai", "fireworksai":
		return "fireworks"
	case "together-ai", "togetherai":
		return "together"
	case "moonshot", "moonshot-ai":
		return "moonshotai"
	case "mistral-ai", "mistralai":
		return "mistral"
	case "azure-openai", "azure-ai":
		return "azure"
	case "z-ai", "zai", "zhipu":
		return "z-ai"
	case "x-ai":
		return "xai"
	}
	return name
}

// canonicalProvider turns a provider's name in a log into its slug, with the variant that the log names:
// "DeepInfra" → deepinfra, "deepinfra/fp8" stays. Names of gateways say nothing about who served: they give "".
func canonicalProvider(raw string) string {
	name, variant, _ := strings.Cut(strings.TrimSpace(raw), "/")
	slug := providerAlias(slugOf(name))
	if isGateway(slug) {
		return ""
	}
	if v := slugOf(variant); v != "" {
		return slug + "/" + v
	}
	return slug
}

func isGateway(slug string) bool {
	switch slug {
	case "openrouter", "litellm", "portkey", "helicone", "cache", "cloudflare-ai-gateway", "unknown", "none":
		return true
	}
	return false
}

// slugOf writes a name in small letters, with one dash for anything but letters and digits.
func slugOf(name string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(name) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			dash = b.Len() > 0
			continue
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
