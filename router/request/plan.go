package request

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"switchback/router"
)

// Stage is one step of a plan: a model and how its router is asked. Stages are tried in order; each tries its endpoints until one answers.
type Stage struct {
	Model     *Model
	Request   router.Request
	Fallbacks bool     // false: one endpoint only
	Applied   bool     // the router's policy decides; false: the caller's sort, order or own key does
	Out       []string // by endpoint: why it is out of this stage, empty = it is in
	Last      []string // by endpoint: why it is tried last, empty = it is not
}

// Plan is how a request is tried.
type Plan struct {
	Stages []Stage
	Notes  []string // readings that a caller might not expect
	Auto   bool     // the models were chosen by the auto router
}

// Suffixes of a model name that choose how its endpoints are picked.
var suffixes = map[string]string{"nitro": "throughput", "floor": "price", "exacto": "exacto"}

// cutSuffix splits a model name from the sort that its suffix asks for. Other suffixes, such as :free, are part of the name.
func cutSuffix(model string) (id, sortBy string) {
	if i := strings.LastIndexByte(model, ':'); i >= 0 {
		if s, ok := suffixes[model[i+1:]]; ok {
			return model[:i], s
		}
	}
	return model, ""
}

// NewPlan turns a request into stages. The error is a StatusError: 404 when filters leave nobody or a model is unknown, with one reason per
// endpoint.
func NewPlan(m *Market, b *Body) (*Plan, error) {
	if m.ListsBypass && b.Account.Sort == "" && len(b.Provider.Only)+len(b.Provider.Ignore) > 0 {
		byPrice := *b
		byPrice.Account.Sort = "price"
		b = &byPrice
	}
	p := &Plan{}
	models, err := p.models(m, b)
	if err != nil {
		return nil, err
	}
	var out []Exclusion
	named := map[string]bool{}
	for _, name := range models {
		id, suffix := cutSuffix(name)
		if named[id] { // no endpoint is tried twice
			p.note("%s is named more than once: the first counts", id)
			continue
		}
		named[id] = true
		model := m.model(id)
		if model == nil {
			out = append(out, Exclusion{id, "*", "model is not on offer"})
			continue
		}
		stages, excluded := p.stages(model, b, suffix)
		p.Stages = append(p.Stages, stages...)
		if len(stages) == 0 {
			out = append(out, excluded...)
		}
	}
	if len(p.Stages) == 0 {
		return nil, &StatusError{404, "no endpoint meets the request", out}
	}
	if b.Provider.Partition == "none" && len(b.Provider.Order) == 0 && len(p.Stages) > 1 {
		p.acrossModels(m, b)
	}
	return p, nil
}

// models are the names to try, in order.
func (p *Plan) models(m *Market, b *Body) ([]string, error) {
	names := b.Models
	if b.Model != "" {
		names = append([]string{b.Model}, names...)
	}
	var models []string
	for _, name := range names {
		if id, _ := cutSuffix(name); id != AutoModel {
			models = append(models, name)
			continue
		}
		if !b.Auto.Enabled {
			return nil, &StatusError{404, "the auto router is switched off by its plugin", nil}
		}
		p.Auto = true
		auto, out := b.Auto.Choose(b.Task, m.Ranking, func(id string) (float64, bool) { return typicalCost(m.model(id)) }, b.Conversation.Model)
		if len(auto) == 0 {
			return nil, &StatusError{404, fmt.Sprintf("auto router: no model of cost tier %q is allowed for task %q", orElse(b.Auto.CostTier, "low"), b.Task), out}
		}
		_, suffix, cut := strings.Cut(name, AutoModel)
		for _, id := range auto {
			if cut {
				id += suffix
			}
			models = append(models, id)
		}
	}
	return models, nil
}

// typicalCost is the least that a model's endpoints charge for 4 K tokens in and 1 K out, for the auto router's bands.
func typicalCost(m *Model) (float64, bool) {
	if m == nil {
		return 0, false
	}
	least, any := 0.0, false
	for i := range m.Offers {
		if p := &m.Offers[i].Price; !any || 4*p.Input+p.Output < least {
			least, any = 4*p.Input+p.Output, true
		}
	}
	return least, any
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// stages plans one model: usually one stage, two when a service tier goes before the others.
func (p *Plan) stages(m *Model, b *Body, suffix string) ([]Stage, []Exclusion) {
	sortBy := b.Provider.Sort
	if sortBy == "" {
		sortBy = suffix
	}
	ordered := len(b.Provider.Order) > 0
	if sortBy == "" && !ordered {
		sortBy = b.Account.Sort
	}
	var tiers []string
	if !ordered {
		switch suffix {
		case "throughput":
			tiers = append(tiers, tierPriority)
		case "price":
			tiers = append(tiers, tierFlex)
		}
	}
	switch b.ServiceTier {
	case tierPriority:
		if s := p.stage(m, b, []string{tierPriority}, tierPriority, "throughput"); s != nil {
			if rest := p.stage(m, b, tiers, "", sortBy); rest != nil {
				return []Stage{*s, *rest}, nil
			}
			return []Stage{*s}, nil
		}
		p.note("%s has no priority endpoint: its other endpoints serve", m.ID)
	case tierFlex:
		if s := p.stage(m, b, []string{tierFlex}, tierFlex, "price"); s != nil {
			return []Stage{*s}, nil
		}
		p.note("%s has no flex endpoint: its other endpoints serve", m.ID)
	}
	if s := p.stage(m, b, tiers, "", sortBy); s != nil {
		return []Stage{*s}, nil
	}
	var excluded []Exclusion
	f := newFilter(b, m, tiers)
	for i := range m.Offers {
		excluded = append(excluded, Exclusion{m.ID, m.Offers[i].Slug, f.reason(&m.Offers[i])})
	}
	return nil, excluded
}

func (p *Plan) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(p.Notes, n) {
		p.Notes = append(p.Notes, n)
	}
}

// stage plans a model's endpoints, those of one tier when only is set; nil when nobody is left.
func (p *Plan) stage(m *Model, b *Body, tiers []string, only, sortBy string) *Stage {
	s := &Stage{
		Model: m, Fallbacks: yes(b.Provider.AllowFallbacks, true) || len(b.Provider.Order) > 0,
		Out: make([]string, len(m.Offers)), Last: make([]string, len(m.Offers)),
		Request: router.Request{InputTokens: b.PromptTokens, Tools: b.Tools},
	}
	r := &s.Request
	f := newFilter(b, m, tiers)
	left := 0
	for i := range m.Offers {
		o := &m.Offers[i]
		s.Out[i] = f.reason(o)
		if s.Out[i] == "" && only != "" && o.Tier != only {
			s.Out[i] = "tier: service_tier " + only + " goes first"
		}
		if s.Out[i] != "" {
			r.Excluded.Add(int32(i))
			continue
		}
		left++
		if o.OwnKey {
			r.First.Add(int32(i))
		}
		if s.Last[i] = misses(&b.Provider, o); s.Last[i] != "" {
			r.Last.Add(int32(i))
		}
	}
	if left == 0 {
		return nil
	}
	if only == "" {
		for _, slug := range b.Provider.Order {
			for i := range m.Offers {
				if match(slug, &m.Offers[i]) && s.Out[i] == "" && !slices.Contains(r.Order, int32(i)) {
					r.Order = append(r.Order, int32(i))
				}
			}
		}
	}
	if len(b.Provider.Order) > 0 && len(r.Order) == 0 {
		p.note("order: none of the listed providers serves %s: routed by price", m.ID)
		sortBy = orElse(sortBy, "price")
	}
	if len(r.Order) == 0 {
		r.Sort = sortsByName[sortBy]
	}
	s.Applied = r.Sort == router.SortNone && len(r.Order) == 0 && r.First.Empty()
	s.pin(b)
	return s
}

var sortsByName = map[string]router.Sort{
	"price": router.SortPrice, "throughput": router.SortThroughput, "latency": router.SortLatency, "exacto": router.SortExacto,
}

// now is the instant at which plans decide; nothing but differences from it matter.
const now = router.Instant(router.Minute) * 60 * 24

// pin puts the conversation where it was answered last.
func (s *Stage) pin(b *Body) {
	c := &b.Conversation
	if c.Endpoint == "" || c.Model != "" && c.Model != s.Model.ID {
		return
	}
	_, named := b.SessionKey()
	at := slices.IndexFunc(s.Model.Offers, func(o Offer) bool { return strings.EqualFold(o.Slug, c.Endpoint) })
	if at < 0 {
		at = len(s.Model.Offers) // no longer on offer, which the router says
	}
	s.Request.Pin = router.Pin{Endpoint: int32(at) + 1, LastUsed: now - router.Instant(c.IdleS*float64(router.Second)), Warm: c.Warm || named}
}

// acrossModels merges the stages into one strict order over all models: own keys first, those that miss a preferred speed last, and by the
// sort in between (partition "none"). Each run of endpoints of one model becomes a stage.
func (p *Plan) acrossModels(m *Market, b *Body) {
	type candidate struct {
		stage    *Stage
		endpoint int32
		group    int
		key      float64
	}
	var all []candidate
	for i := range p.Stages {
		s := &p.Stages[i]
		for e := range s.Model.Offers {
			if s.Out[e] != "" {
				continue
			}
			c := candidate{stage: s, endpoint: int32(e), group: 1, key: sortKey(b.Provider.Sort, &s.Model.Offers[e])}
			if s.Request.First.Has(c.endpoint) {
				c.group = 0
			} else if s.Request.Last.Has(c.endpoint) {
				c.group = 2
			}
			all = append(all, c)
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		if a.group != b.group {
			return a.group < b.group
		}
		return a.key < b.key
	})
	var stages []Stage
	for i := 0; i < len(all); {
		s := *all[i].stage
		keep := router.Set{}
		s.Request.Order, s.Request.Sort, s.Applied = nil, router.SortNone, false
		j := i
		for ; j < len(all) && all[j].stage == all[i].stage; j++ {
			s.Request.Order = append(s.Request.Order, all[j].endpoint)
			keep.Add(all[j].endpoint)
		}
		s.Out = slices.Clone(s.Out)
		for e := range s.Out {
			if s.Out[e] == "" && !keep.Has(int32(e)) {
				s.Out[e] = "partition none: its turn is in another place"
				s.Request.Excluded.Add(int32(e))
			}
		}
		stages = append(stages, s)
		i = j
	}
	p.Stages = stages
}

// sortKey is what endpoints of different models are compared by; unknown speeds come last.
func sortKey(by string, o *Offer) float64 {
	const unknown = 1e18
	switch {
	case by == "throughput" && o.Throughput.P50 > 0:
		return -o.Throughput.P50
	case by == "latency" && o.Latency.P50 > 0:
		return o.Latency.P50
	case by == "throughput", by == "latency":
		return unknown
	}
	return o.Price.Input
}

// Next says what follows an attempt: another endpoint of the same model after a failure of the endpoint, the next model after an error that
// every endpoint of this one would give (context length, moderation), nothing after an answer or a first token, when the caller went away,
// or when its own limit or the gateway's is reached.
type Next uint8

// Steps after an attempt.
const (
	NextNothing Next = iota
	NextEndpoint
	NextModel
)

// After is the step after an attempt that was answered so. When no endpoint is left, the next model follows.
func After(a router.Answer) Next {
	switch router.Classify(a) {
	case router.OutcomeError, router.OutcomeRateLimited:
		return NextEndpoint
	case router.OutcomeNeutral:
		if a.Cancelled || a.Status == 499 || a.Limit == router.LimitCaller || a.Limit == router.LimitOurs {
			return NextNothing
		}
		return NextModel
	case router.OutcomeOK, router.OutcomeMidstream:
	}
	return NextNothing
}
