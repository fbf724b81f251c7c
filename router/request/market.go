package request

import (
	"fmt"
	"strconv"
	"strings"

	"switchback/router"
)

// Market is what is on offer: models, their endpoints with what is known of them, and how to route.
type Market struct {
	Policy      string // of the router; empty = routing-cost
	Config      router.Config
	Models      []Model
	ListsBypass bool                // only and ignore opt out of the policy: what they leave is tried by price
	Tasks       map[string][]Ranked // rankings of the auto router; the task "default" serves unknown ones
}

// Model is a model and its endpoints.
type Model struct {
	ID     string
	Offers []Offer
}

// Offer is one endpoint of a model with everything that filters look at.
type Offer struct {
	router.Endpoint
	Quantization string   // "unknown" when it is not told
	Tier         string   // "priority", "flex" or empty
	Context      int      // tokens of prompt and answer; 0 = unknown, taken as enough
	MaxPrompt    int      // tokens; 0 = no other limit than Context
	MaxOutput    int      // tokens; 0 = no other limit than Context
	Parameters   []string // supported; nil = unknown, taken as none
	Modalities   []string // input modalities beyond text
	Trains       bool     // the provider may keep prompts for training
	ZDR          bool     // it retains nothing
	Distillable  bool     // the licence allows training on its text
	OwnKey       bool     // the caller's own key is used
	RequestUSD   float64  // per request
	ImageUSD     float64  // per image
	AudioUSD     float64  // per 1 M audio tokens
	History      router.History
	Latency      router.Percentiles // TTFT in seconds; zero = unknown
	Throughput   router.Percentiles // tokens per second, descending; zero = unknown
}

// Service tiers of endpoints.
const (
	tierPriority = "priority"
	tierFlex     = "flex"
)

// perToken converts USD per 1 M tokens.
const perToken = 1e-6

// ParseMarket reads a market in JSON or TOML. Prices are in USD per 1 M tokens, times in the units of their names. Unknown keys are errors.
func ParseMarket(data []byte, file string) (*Market, error) {
	v, err := parseTree(data, file)
	if err != nil {
		return nil, err
	}
	r, errs := newReader(file, v)
	m := &Market{}
	m.read(r)
	r.close()
	if err := joined(errs); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Market) read(r *reader) {
	if v, ok := r.number("schema_version", 1, 1, false); !ok || v != 1 {
		if r.lineOf("schema_version") == 0 {
			r.fail(r.line, "schema_version", "missing", "this program reads version 1")
		}
	}
	m.Policy = "routing-cost"
	if p := r.text("policy"); p != "" {
		if m.Policy = p; router.CheckPolicy(p) != nil {
			r.fail(r.lineOf("policy"), "policy", fmt.Sprintf("unknown policy %q", p), hintFor(p, router.Policies()))
		}
	}
	m.ListsBypass = r.truth("lists_bypass")
	m.Config = router.DefaultConfig()
	if r.choice("preset", "default", "figure") == "figure" {
		m.Config = router.FigureConfig()
	}
	m.Config.Telemetry.Percentiles = true
	r.object("router", func(n *reader) {
		readConfig(n, &m.Config)
		n.judge(m.Config.Validate())
	})
	ids := map[string]bool{}
	r.objects("models", func(_ int, n *reader) {
		var model Model
		model.read(n)
		if ids[model.ID] {
			n.fail(n.line, "id", "model "+model.ID+" given twice", "")
		}
		ids[model.ID] = true
		m.Models = append(m.Models, model)
	})
	if len(m.Models) == 0 {
		r.fail(r.line, "models", "missing", "a market has at least one model")
	}
	r.object("tasks", func(n *reader) {
		m.Tasks = map[string][]Ranked{}
		for i := range n.fields {
			task := n.fields[i].name
			n.objects(task, func(_ int, k *reader) {
				m.Tasks[task] = append(m.Tasks[task], Ranked{k.text("model"), k.orZero("share", 0, 1)})
			})
		}
	})
}

func (m *Model) read(r *reader) {
	if m.ID = r.text("id"); m.ID == "" {
		r.fail(r.line, "id", "missing", "")
	}
	slugs := map[string]bool{}
	r.objects("endpoints", func(_ int, n *reader) {
		var o Offer
		o.read(n)
		if slugs[o.Slug] {
			n.fail(n.line, "slug", "endpoint "+o.Slug+" given twice", "")
		}
		slugs[o.Slug] = true
		m.Offers = append(m.Offers, o)
	})
	switch {
	case len(m.Offers) == 0:
		r.fail(r.line, "endpoints", "missing", "a model has at least one endpoint")
	case len(m.Offers) > router.MaxEndpoints:
		r.fail(r.lineOf("endpoints"), "endpoints", "more than "+strconv.Itoa(router.MaxEndpoints), "")
	}
}

func (o *Offer) read(r *reader) {
	if o.Slug = r.text("slug"); o.Slug == "" {
		r.fail(r.line, "slug", "missing", "")
	}
	if o.Provider = r.text("provider"); o.Provider == "" {
		o.Provider, _, _ = strings.Cut(o.Slug, "/")
	}
	if o.Quantization = r.choice("quantization", quantizations...); o.Quantization == "" {
		o.Quantization = "unknown"
	}
	o.Tier = r.choice("tier", tierPriority, tierFlex)
	o.Context, o.MaxPrompt, o.MaxOutput = r.count("context", 1e9), r.count("max_prompt", 1e9), r.count("max_output", 1e9)
	o.Parameters, o.Modalities = r.texts("parameters"), r.texts("modalities")
	o.Trains, o.ZDR, o.Distillable, o.OwnKey = r.truth("trains"), r.truth("zdr"), r.truth("distillable"), r.truth("own_key")
	o.QuotaGroup = r.text("quota_group")
	o.Accuracy = r.orZero("accuracy", 0, 1)
	o.CacheTTL = router.Micros(r.orZero("cache_ttl_s", 0, 1e7) * float64(router.Second))
	if !r.object("price", o.readPrice) && r.lineOf("price") == 0 {
		r.fail(r.line, "price", "missing", "give price.input and price.output in USD per 1 M tokens")
	}
	r.object("observed", o.readObserved)
}

func (o *Offer) readPrice(r *reader) {
	price := func(name string, otherwise float64) float64 {
		if x, ok := r.number(name, 0, 1e9, true); ok {
			return x * perToken
		}
		return otherwise
	}
	for _, name := range []string{"input", "output"} {
		if r.lineOf(name) == 0 {
			r.fail(r.line, name, "missing", "USD per 1 M tokens")
		}
	}
	o.Price.Input, o.Price.Output = price("input", 0), price("output", 0)
	o.Price.CacheRead = price("cache_read", o.Price.Input)
	o.Price.CacheWrite = price("cache_write", o.Price.Input)
	o.RequestUSD, o.ImageUSD, o.AudioUSD = r.orZero("request_usd", 0, 1e6), r.orZero("image_usd", 0, 1e6), r.orZero("audio", 0, 1e9)
}

func (o *Offer) readObserved(r *reader) {
	const most = 1e9
	h := &o.History
	h.Requests = r.orZero("requests", 0, most)
	o.Latency = r.percentiles("ttft_ms", 1e-3)
	o.Throughput = r.percentiles("tokens_per_s", 1)
	h.TTFT, h.TokensPerSecond = o.Latency.P50, o.Throughput.P50
	h.ErrorRate, h.RateLimited = r.orZero("error_rate", 0, 1), r.orZero("rate_limited", 0, 1)
	h.CacheHit = r.orZero("cache_hit", 0, 1)
	h.ToolCalls, h.BadToolCalls = r.orZero("tool_calls", 0, most), r.orZero("bad_tool_calls", 0, 1)
	h.InputTokens, h.OutputTokens = r.orZero("input_tokens", 0, most), r.orZero("output_tokens", 0, most)
	h.RecentRequests = r.orZero("recent_requests", 0, most)
	h.RecentErrorRate, h.RecentRateLimited = r.orZero("recent_error_rate", 0, 1), r.orZero("recent_rate_limited", 0, 1)
	h.LoadPerSecond = r.orZero("load_per_min", 0, most) / 60
	h.CapPerSecond = r.orZero("cap_per_min", 0, most) / 60
	h.CoolDown = router.Micros(r.orZero("retry_after_s", 0, 3600) * float64(router.Second))
	if h.Requests == 0 && (h.TTFT > 0 || h.TokensPerSecond > 0 || h.ErrorRate > 0 || h.RateLimited > 0 || h.CacheHit > 0) {
		r.fail(r.line, "requests", "missing", "rates and speeds need the number of requests behind them")
	}
	if h.Requests > 0 && (h.OutputTokens == 0 || h.InputTokens == 0) {
		r.fail(r.line, "input_tokens", "missing, or output_tokens is", "mean tokens per request")
	}
}

// percentiles is a number, taken for all of them, or an object.
func (r *reader) percentiles(name string, unit float64) (p router.Percentiles) {
	c := r.cutoffs(name)
	if c.IsZero() {
		return p
	}
	or := func(x, y float64) float64 {
		if x == 0 {
			return y
		}
		return x
	}
	p.P50 = c.P50 * unit
	if p.P50 == 0 {
		r.fail(r.lineOf(name), name+".p50", "missing", "")
	}
	p.P75 = or(c.P75*unit, p.P50)
	p.P90 = or(c.P90*unit, p.P75)
	p.P99 = or(c.P99*unit, p.P90)
	return p
}

// Ranking ranks by the market's tasks; without any, every model of the market serves every task.
func (m *Market) Ranking(task string) []Ranked {
	if ranked, ok := m.Tasks[task]; ok {
		return ranked
	}
	if ranked, ok := m.Tasks["default"]; ok {
		return ranked
	}
	all := make([]Ranked, len(m.Models))
	for i := range m.Models {
		all[i] = Ranked{Model: m.Models[i].ID}
	}
	return all
}

// model finds a model by its id.
func (m *Market) model(id string) *Model {
	for i := range m.Models {
		if m.Models[i].ID == id {
			return &m.Models[i]
		}
	}
	return nil
}

// Router makes the model's router, with the market's policy and what is known of the endpoints recalled at now.
func (m *Market) Router(model *Model, now router.Instant) (*router.Router, error) {
	endpoints := make([]router.Endpoint, len(model.Offers))
	for i := range endpoints {
		endpoints[i] = model.Offers[i].Endpoint
	}
	r, err := router.New(model.ID, endpoints, m.Config)
	if err != nil {
		return nil, err
	}
	for i := range model.Offers {
		r.Recall(now, int32(i), &model.Offers[i].History)
	}
	return r, r.Use(m.Policy)
}
