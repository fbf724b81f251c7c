package request

import (
	"slices"
	"sort"
	"strings"
)

// AutoModel is the model name that leaves the choice to the router.
const AutoModel = "openrouter/auto"

// AutoPlugin is the auto-router plugin's settings.
type AutoPlugin struct {
	Enabled  bool
	CostTier string // low, medium, high, xhigh, max; empty = low
	Allowed  []string
	Excluded []string
	PinModel *bool // false: a conversation does not keep its model
}

// CostTiers returns the cost tiers of the auto router, the cheapest first.
func CostTiers() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

// maxPatterns is how many model patterns a request may give.
const maxPatterns = 1024

func (a *AutoPlugin) read(r *reader) {
	if on := r.flag("enabled"); on != nil {
		a.Enabled = *on
	}
	a.CostTier = r.choice("cost_tier", CostTiers()...)
	a.Allowed = r.texts("allowed_models")
	a.Excluded = r.texts("excluded_models")
	if len(a.Allowed) > maxPatterns {
		r.fail(r.lineOf("allowed_models"), "allowed_models", "more than 1024 patterns", "")
	}
	if len(a.Excluded) > maxPatterns {
		r.fail(r.lineOf("excluded_models"), "excluded_models", "more than 1024 patterns", "")
	}
	a.PinModel = r.flag("pin_model")
	if _, ok := r.number("cost_quality_tradeoff", 0, 10, false); ok {
		r.fail(r.lineOf("cost_quality_tradeoff"), "cost_quality_tradeoff", "no longer supported", "use cost_tier")
	}
}

// Ranking names the models for a task, best first. An unknown task gets the default set. It is pluggable: the market file's tasks are one.
type Ranking func(task string) []Ranked

// Ranked is one model of a ranking.
type Ranked struct {
	Model string
	Share float64 // of the spend on the task over the last 7 days
}

// Choose returns the models that the auto router tries, best first: those of the task whose cost lies in the tier's band, allowed and not
// excluded; and for the others the reason. A conversation keeps its model while that one is still among them.
func (a *AutoPlugin) Choose(task string, ranking Ranking, cost func(model string) (float64, bool), current string) (models []string, out []Exclusion) {
	ranked := ranking(task)
	type priced struct {
		model string
		cost  float64
		place int
	}
	var all []priced
	for i, m := range ranked {
		if c, ok := cost(m.Model); ok {
			all = append(all, priced{m.Model, c, i})
		} else {
			out = append(out, Exclusion{m.Model, "*", "model is not on offer"})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].cost < all[j].cost })
	costTiers := CostTiers()
	band := max(slices.Index(costTiers, a.CostTier), 0)
	var kept []priced
	for i, m := range all {
		// The cheapest is at 0 %, the dearest at 100 %; bands are 20 % wide, the last one closed.
		percentile := 0.0
		if len(all) > 1 {
			percentile = float64(i) / float64(len(all)-1)
		}
		switch tier := min(int(percentile*5+1e-9), 4); {
		case tier != band:
			out = append(out, Exclusion{m.model, "*", "cost tier " + costTiers[tier]})
		case !a.permits(m.model):
			out = append(out, Exclusion{m.model, "*", "excluded_models or allowed_models rules it out"})
		default:
			kept = append(kept, m)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].place < kept[j].place })
	keep := a.PinModel == nil || *a.PinModel
	for _, m := range kept {
		if keep && m.model == current {
			models = append([]string{m.model}, models...)
		} else {
			models = append(models, m.model)
		}
	}
	return models, out
}

// permits says whether the patterns let a model in: excluded beats allowed.
func (a *AutoPlugin) permits(model string) bool {
	for _, p := range a.Excluded {
		if matches(p, model) {
			return false
		}
	}
	if len(a.Allowed) == 0 {
		return true
	}
	for _, p := range a.Allowed {
		if matches(p, model) {
			return true
		}
	}
	return false
}

// matches compares a name with a pattern in which * stands for any text.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		i := strings.Index(name, p)
		if i < 0 {
			return false
		}
		name = name[i+len(p):]
	}
	return strings.HasSuffix(name, parts[last])
}
