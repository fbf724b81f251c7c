package request

import (
	"bytes"
	"encoding/json"
	"strconv"

	"switchback/router"
)

// Preferences is the provider object of a request: how the caller wants endpoints chosen. A zero field was not given.
type Preferences struct {
	Order                  []string // tried first, in this order; base or full slugs
	AllowFallbacks         *bool    // false: only the first endpoint, or only those in Order
	RequireParameters      *bool    // true: endpoints must support every parameter of the request
	DataCollection         string   // "allow" or "deny": whether the provider may keep prompts for training
	ZDR                    *bool    // true: endpoints must retain nothing
	EnforceDistillableText *bool    // true: the model's licence must allow training on its text
	Only                   []string
	Ignore                 []string
	Quantizations          []string
	Sort                   string // "price", "throughput", "latency" or "exacto"
	Partition              string // "model" (the primary model's endpoints first) or "none" (across the models)
	MinThroughput          Cutoffs
	MaxLatency             Cutoffs
	MaxPrice               MaxPrice
}

// Cutoffs are thresholds by percentile, in tokens per second or seconds; 0 = none. All that are given must hold.
type Cutoffs router.Percentiles

// IsZero says whether no threshold is given.
func (c Cutoffs) IsZero() bool { return c == Cutoffs{} }

// MaxPrice caps what an endpoint may charge; nil = no cap. Prompt and completion are in USD per 1 M tokens, the others in USD each.
type MaxPrice struct {
	Prompt, Completion, Request, Image, Audio *float64
}

// Quantizations lists the known quantization levels.
var quantizations = []string{"int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16", "fp32", "unknown"}

var sorts = []string{"price", "throughput", "latency", "exacto"}

// ParsePreferences reads a provider object on its own. Unknown keys are errors.
func ParsePreferences(data []byte, file string) (Preferences, error) {
	v, err := parseTree(data, file)
	if err != nil {
		return Preferences{}, err
	}
	r, errs := newReader(file, v)
	var p Preferences
	p.read(r)
	r.close()
	return p, joined(errs)
}

func (p *Preferences) read(r *reader) {
	p.Order = r.texts("order")
	p.AllowFallbacks = r.flag("allow_fallbacks")
	p.RequireParameters = r.flag("require_parameters")
	p.DataCollection = r.choice("data_collection", "allow", "deny")
	p.ZDR = r.flag("zdr")
	p.EnforceDistillableText = r.flag("enforce_distillable_text")
	p.Only = r.texts("only")
	p.Ignore = r.texts("ignore")
	p.Quantizations = r.texts("quantizations")
	for i, q := range p.Quantizations {
		r.oneOf(&value{line: r.lineOf("quantizations"), text: q}, "quantizations["+strconv.Itoa(i)+"]", quantizations)
	}
	if v := r.take("sort"); v != nil {
		switch v.is {
		case isText:
			p.Sort = r.oneOf(v, "sort", sorts)
		case isObject:
			r.nested(v, "sort", func(n *reader) {
				p.Sort = n.choice("by", sorts...)
				p.Partition = n.choice("partition", "model", "none")
				if p.Sort == "" && n.lineOf("by") == 0 {
					n.fail(v.line, "by", "missing", "")
				}
			})
		default:
			r.fail(v.line, "sort", "want a string or an object, got "+kindNames[v.is], "")
		}
	}
	p.MinThroughput = r.cutoffs("preferred_min_throughput")
	p.MaxLatency = r.cutoffs("preferred_max_latency")
	r.object("max_price", func(n *reader) {
		for _, f := range []struct {
			name string
			to   **float64
		}{{"prompt", &p.MaxPrice.Prompt}, {"completion", &p.MaxPrice.Completion}, {"request", &p.MaxPrice.Request},
			{"image", &p.MaxPrice.Image}, {"audio", &p.MaxPrice.Audio}} {
			if x, ok := n.number(f.name, 0, 1e9, true); ok {
				*f.to = &x
			}
		}
	})
}

// cutoffs is a number, meaning the median, or an object of percentiles.
func (r *reader) cutoffs(name string) (c Cutoffs) {
	v := r.take(name)
	switch {
	case v == nil:
	case v.is == isObject:
		r.nested(v, name, func(n *reader) {
			c = Cutoffs{n.orZero("p50", least, 1e9), n.orZero("p75", least, 1e9), n.orZero("p90", least, 1e9), n.orZero("p99", least, 1e9)}
		})
	default:
		c.P50, _ = r.inRange(v, name, least, 1e9, false)
	}
	return c
}

// least is the smallest speed that makes sense as a threshold.
const least = 1e-6

func (r *reader) lineOf(name string) int {
	for i := range r.fields {
		if r.fields[i].name == name {
			return r.fields[i].line
		}
	}
	return 0
}

// MarshalJSON prints the provider object with the fields that were given, so that parsing it again gives the same.
func (p Preferences) MarshalJSON() ([]byte, error) {
	type price struct {
		Prompt     *float64 `json:"prompt,omitempty"`
		Completion *float64 `json:"completion,omitempty"`
		Request    *float64 `json:"request,omitempty"`
		Image      *float64 `json:"image,omitempty"`
		Audio      *float64 `json:"audio,omitempty"`
	}
	type cutoffs struct {
		P50 float64 `json:"p50,omitempty"`
		P75 float64 `json:"p75,omitempty"`
		P90 float64 `json:"p90,omitempty"`
		P99 float64 `json:"p99,omitempty"`
	}
	type sortBy struct {
		By        string `json:"by"`
		Partition string `json:"partition,omitempty"`
	}
	out := struct {
		Order         []string `json:"order,omitempty"`
		Fallbacks     *bool    `json:"allow_fallbacks,omitempty"`
		Require       *bool    `json:"require_parameters,omitempty"`
		Data          string   `json:"data_collection,omitempty"`
		ZDR           *bool    `json:"zdr,omitempty"`
		Distillable   *bool    `json:"enforce_distillable_text,omitempty"`
		Only          []string `json:"only,omitempty"`
		Ignore        []string `json:"ignore,omitempty"`
		Quantizations []string `json:"quantizations,omitempty"`
		Sort          *sortBy  `json:"sort,omitempty"`
		MinThroughput *cutoffs `json:"preferred_min_throughput,omitempty"`
		MaxLatency    *cutoffs `json:"preferred_max_latency,omitempty"`
		MaxPrice      *price   `json:"max_price,omitempty"`
	}{Order: p.Order, Fallbacks: p.AllowFallbacks, Require: p.RequireParameters, Data: p.DataCollection, ZDR: p.ZDR,
		Distillable: p.EnforceDistillableText, Only: p.Only, Ignore: p.Ignore, Quantizations: p.Quantizations}
	if p.Sort != "" {
		out.Sort = &sortBy{p.Sort, p.Partition}
	}
	if !p.MinThroughput.IsZero() {
		out.MinThroughput = (*cutoffs)(&p.MinThroughput)
	}
	if !p.MaxLatency.IsZero() {
		out.MaxLatency = (*cutoffs)(&p.MaxLatency)
	}
	if p.MaxPrice != (MaxPrice{}) {
		out.MaxPrice = (*price)(&p.MaxPrice)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(out)
	return bytes.TrimSpace(b.Bytes()), err
}
