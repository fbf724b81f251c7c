package request

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Body is what routing needs of a request body, and of the situation around it.
type Body struct {
	Model       string   // "minimax/minimax-m3:nitro", "openrouter/auto"
	Models      []string // fallbacks, in order
	Provider    Preferences
	Auto        AutoPlugin
	ServiceTier string // "priority", "flex" or empty
	SessionID   string
	CacheKey    string   // prompt_cache_key
	Parameters  []string // parameters used that an endpoint may not support
	Tools       bool
	MaxTokens   int
	Modalities  []string // input modalities beyond text

	// The situation: what a gateway knows beside the body.
	PromptTokens int
	Task         string // what the auto router's classifier made of the prompt
	Account      Account
	Conversation Conversation
	SessionHead  string // header x-session-id

	opening string // hash of the first system message and the first other one
}

// Account is the settings of the caller's account. They hold for all of its requests; a request can only tighten the data policy.
type Account struct {
	Sort           string // default for requests that don't sort or order
	Allowed        []string
	Ignored        []string
	DataCollection string
	ZDR            bool
}

// Conversation is where the conversation was answered last.
type Conversation struct {
	Model    string
	Endpoint string  // slug; empty = it is new
	IdleS    float64 // seconds since its last answer
	Warm     bool    // a prompt cache was seen to serve it
}

// parameters are the keys of a body that endpoints may support or not.
var parameters = []string{"temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty", "seed",
	"stop", "logit_bias", "logprobs", "top_logprobs", "structured_outputs", "reasoning", "include_reasoning", "parallel_tool_calls",
	"web_search_options", "prediction", "response_format", "verbosity", "tool_choice"}

// others are keys of a body that don't matter to routing.
var others = []string{"stream", "stream_options", "user", "metadata", "usage", "transforms", "route", "n", "prompt", "preset", "modalities", "debug",
	"image_config", "cache_control", "trace"}

// ParseRequest reads a request: a chat completion body in JSON or TOML, and beside its keys the situation: prompt_tokens, task, account,
// conversation, headers. Unknown keys are errors.
func ParseRequest(data []byte, file string) (*Body, error) {
	v, err := parseTree(data, file)
	if err != nil {
		return nil, err
	}
	r, errs := newReader(file, v)
	b := &Body{}
	b.read(r)
	r.close()
	if err := joined(errs); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Body) read(r *reader) {
	b.Model = r.text("model")
	b.Models = r.texts("models")
	if b.Model == "" && len(b.Models) == 0 {
		r.fail(r.line, "model", "missing", "name a model or openrouter/auto")
	}
	fallbacks := false
	r.objects("fallbacks", func(i int, n *reader) {
		fallbacks = true
		if m := n.text("model"); m != "" {
			b.Models = append(b.Models, m)
		} else {
			n.fail(n.line, "model", "missing", "")
		}
		if i == 3 {
			n.fail(n.line, "", "more than 3 fallbacks", "")
		}
	})
	if line := r.lineOf("models"); fallbacks && line > 0 {
		r.fail(line, "models", "given together with fallbacks", "use one of them")
	}
	r.object("provider", b.Provider.read)
	b.Auto.Enabled = true
	r.objects("plugins", func(_ int, n *reader) {
		switch id := n.text("id"); id {
		case "auto-router":
			b.Auto.read(n)
		case "":
			n.fail(n.line, "id", "missing", "")
		default:
			n.ignoreAll() // another plugin's settings are not ours to judge
		}
	})
	switch r.choice("service_tier", "auto", "default", "priority", "flex", "standard") {
	case "priority":
		b.ServiceTier = tierPriority
	case "flex":
		b.ServiceTier = tierFlex
	}
	b.SessionID = r.text("session_id")
	if utf8.RuneCountInString(b.SessionID) > 256 {
		r.fail(r.lineOf("session_id"), "session_id", "longer than 256 characters", "")
	}
	b.CacheKey = r.text("prompt_cache_key")
	b.MaxTokens = max(r.count("max_tokens", 1e9), r.count("max_completion_tokens", 1e9))
	if v := r.typed("tools", isList); v != nil && len(v.list) > 0 {
		b.Tools = true
		b.Parameters = append(b.Parameters, "tools")
	}
	for _, p := range parameters {
		if r.take(p) != nil {
			b.Parameters = append(b.Parameters, p)
		}
	}
	if v := r.typed("messages", isList); v != nil {
		b.readMessages(v.list)
	}
	r.ignore(others...)
	b.PromptTokens = r.count("prompt_tokens", 1e9)
	b.Task = r.text("task")
	r.object("account", b.Account.read)
	r.object("conversation", func(n *reader) {
		b.Conversation = Conversation{n.text("model"), n.text("endpoint"), n.orZero("idle_s", 0, 1e9), n.truth("warm")}
	})
	r.object("headers", func(n *reader) {
		for i := range n.fields {
			if strings.EqualFold(n.fields[i].name, "x-session-id") && n.fields[i].is == isText {
				b.SessionHead = n.fields[i].text
			}
		}
		n.ignoreAll()
	})
}

func (a *Account) read(r *reader) {
	a.Sort = r.choice("default_sort", sorts...)
	a.Allowed = r.texts("allowed_providers")
	a.Ignored = r.texts("ignored_providers")
	a.DataCollection = r.choice("data_collection", "allow", "deny")
	a.ZDR = r.truth("zdr")
}

func (r *reader) ignoreAll() {
	for i := range r.used {
		r.used[i] = true
	}
}

// readMessages finds what routing needs of the conversation: its modalities, and the opening that tells it from others.
func (b *Body) readMessages(messages []value) {
	var system, first *value
	for i := range messages {
		role, content := "", (*value)(nil)
		for j := range messages[i].fields {
			switch f := &messages[i].fields[j]; f.name {
			case "role":
				role = f.text
			case "content":
				content = &f.value
			}
		}
		if content == nil {
			continue
		}
		if role == "system" || role == "developer" {
			if system == nil {
				system = content
			}
		} else if first == nil {
			first = content
		}
		for j := range content.list {
			for k := range content.list[j].fields {
				if f := &content.list[j].fields[k]; f.name == "type" {
					b.addModality(f.text)
				}
			}
		}
	}
	if system != nil || first != nil {
		h := sha256.New()
		for _, v := range []*value{system, first} {
			if v != nil {
				h.Write([]byte(v.canonical()))
			}
			h.Write([]byte{0})
		}
		b.opening = hex.EncodeToString(h.Sum(nil)[:16])
	}
}

func (b *Body) addModality(kind string) {
	name := map[string]string{"image_url": "image", "input_image": "image", "input_audio": "audio", "file": "file", "video_url": "video"}[kind]
	if name == "" {
		return
	}
	for _, m := range b.Modalities {
		if m == name {
			return
		}
	}
	b.Modalities = append(b.Modalities, name)
}

// canonical prints a value so that equal values print alike.
func (v *value) canonical() string {
	switch v.is {
	case isText:
		return strconv.Quote(v.text)
	case isNumber:
		return v.text
	case isBool:
		return strconv.FormatBool(v.truth)
	case isList:
		parts := make([]string, len(v.list))
		for i := range v.list {
			parts[i] = v.list[i].canonical()
		}
		return "[" + strings.Join(parts, ",") + "]"
	case isObject:
		parts := make([]string, len(v.fields))
		for i := range v.fields {
			parts[i] = strconv.Quote(v.fields[i].name) + ":" + v.fields[i].canonical()
		}
		return "{" + strings.Join(parts, ",") + "}"
	case isNull:
	}
	return "null"
}

// SessionKey tells which conversation the request belongs to, within the account and model: by session_id, else the header x-session-id,
// else prompt_cache_key, else a hash of the first system message and the first other one. named says that the caller named the
// conversation, so that it stays from its first success on and not only once a cache was seen to serve it. Empty = none.
func (b *Body) SessionKey() (key string, named bool) {
	switch {
	case b.SessionID != "":
		return "session:" + b.SessionID, true
	case b.SessionHead != "":
		return "session:" + b.SessionHead, true
	case b.CacheKey != "":
		return "cache:" + b.CacheKey, false
	case b.opening != "":
		return "opening:" + b.opening, false
	}
	return "", false
}
