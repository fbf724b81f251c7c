package stats

import (
	"fmt"
	"math"
	"strings"
)

// scope is what one row covers.
type scope struct {
	name     string
	estimand string
	blend    blend
	complete []bool // pairs that count
	pairs    int
	models   int
	codes    []string
}

// needRows is the number of rows that each arm of a model needs for a quantile: 4q/(1−q), or the configured minimum.
func (a *analysis) needRows(metric Metric) int64 {
	if metric.Kind != Quantile {
		return 1
	}
	if metric.PerMille == 1000 {
		return max(1, int64(a.opts.MinRows))
	}
	q := int64(metric.PerMille)
	return max(1, (4*q+1000-q-1)/(1000-q), int64(a.opts.MinRows))
}

// ineligible says why a model cannot be part of overall rows, by what does not depend on which arm does better: a
// code and a text, both empty when it can.
func (a *analysis) ineligible(m measured, model int) (code, text string) {
	s := m.supports[model]
	need := a.needRows(m.metric)
	switch {
	case s.pairs == 0 && len(s.incomplete) == 0:
		return "no_data", "no usable row"
	case s.pairs < a.opts.MinPairs:
		return "too_few_pairs", fmt.Sprintf("%d complete pairs, %d needed", s.pairs, a.opts.MinPairs)
	case min(s.rows[0], s.rows[1]) < need:
		return "few_rows", fmt.Sprintf("%d rows in the smaller arm, %d needed", min(s.rows[0], s.rows[1]), need)
	}
	return "", ""
}

// levelless returns a code when neither arm of a model has a level that a ratio can be made of.
func levelless(m measured, model int, point levels) string {
	control, treatment := point.log[0][0], point.log[1][0]
	switch {
	case m.metric.Kind == Event && m.supports[model].events == [2]int64{}:
		return "no_events"
	case m.metric.Kind != Event && math.IsInf(control, -1) && math.IsInf(treatment, -1):
		return "zero_level"
	case math.IsInf(control, 1) && math.IsInf(treatment, 1):
		return "not_finite"
	}
	return ""
}

// overallScope finds the models of the overall row and their weights, and lists the others in out.
func (a *analysis) overallScope(m measured, point []levels, out *metricRows) scope {
	s := scope{name: "overall", complete: make([]bool, len(a.pairs))}
	s.blend.kind = m.metric.Kind
	s.estimand = "equal-weight geometric mean over models of treatment/control − 1"
	if a.opts.Weights == WeightsTraffic {
		s.estimand = "traffic-weighted geometric mean over models of treatment/control − 1"
	}
	reasons := map[string]bool{}
	exclude := func(model int, code, text string) {
		reasons[code] = true
		out.exclusions = append(out.exclusions, Exclusion{Metric: m.metric.ID, Model: a.models[model], Reason: text})
	}
	for i := range a.models {
		if code, text := a.ineligible(m, i); code != "" {
			exclude(i, code, code+": "+text)
			continue
		}
		traffic := float64(m.supports[i].rows[0] + m.supports[i].rows[1])
		if m.metric.Kind.arithmetic() {
			s.blend.levels = append(s.blend.levels, share{i, traffic})
		}
		if code := levelless(m, i, point[i]); code != "" {
			exclude(i, code, code+": in both arms")
			continue
		}
		weight := 1.0
		if a.opts.Weights == WeightsTraffic {
			weight = float64(a.rows[i])
		}
		s.blend.ratios = append(s.blend.ratios, share{i, weight})
	}
	normalize(s.blend.levels)
	normalize(s.blend.ratios)
	if !m.metric.Kind.arithmetic() {
		s.blend.levels = s.blend.ratios
	}
	s.models = len(s.blend.ratios)
	counting := s.blend.ratios
	if s.models == 0 {
		counting = s.blend.levels
	}
	for _, c := range counting {
		for p, complete := range m.supports[c.model].complete {
			s.complete[p] = s.complete[p] || complete
		}
	}
	for _, complete := range s.complete {
		if complete {
			s.pairs++
		}
	}
	if s.models == 0 {
		for _, code := range []string{"too_few_pairs", "few_rows", "no_events", "zero_level", "not_finite"} {
			if reasons[code] {
				s.codes = append(s.codes, code)
			}
		}
		switch {
		case len(a.models) == 0:
			s.codes = append(s.codes, "no_data")
		case len(s.codes) == 0:
			s.codes = append(s.codes, "not_measurable")
		}
	}
	events := int64(0)
	for _, l := range s.blend.levels {
		events += m.supports[l.model].events[0] + m.supports[l.model].events[1]
	}
	if m.metric.Kind == Event && events > 0 && events < enoughEvents {
		s.codes = append(s.codes, "few_events")
	}
	return s
}

func normalize(shares []share) {
	sum := 0.0
	for _, s := range shares {
		sum += s.weight
	}
	for i := range shares {
		shares[i].weight /= sum
	}
}

// modelScope is the scope of one model's row.
func (a *analysis) modelScope(m measured, model int) scope {
	sup := m.supports[model]
	s := scope{
		name:     "model:" + a.models[model],
		estimand: "treatment/control − 1",
		blend:    single(m.metric.Kind, model),
		complete: sup.complete,
		pairs:    sup.pairs,
		models:   1,
	}
	if len(sup.incomplete) > 0 {
		s.codes = append(s.codes, "incomplete_pairs")
	}
	code, _ := a.ineligible(m, model)
	if code == "few_rows" || sup.pairs == 0 {
		// A quantile of so few rows is an extreme value: no level, no effect.
		s.codes, s.blend.ratios, s.blend.levels, s.models = append(s.codes, code), nil, nil, 0
	}
	if events := sup.events[0] + sup.events[1]; m.metric.Kind == Event && events > 0 && events < enoughEvents {
		s.codes = append(s.codes, "few_events")
	}
	return s
}

// incomplete is a model whose rows are left out in some pairs, by their ids.
type incomplete struct{ model, pairs string }

// explain adds texts to the codes of a metric's rows: which pairs were left out, and which models leave a row undefined.
func (a *analysis) explain(m measured, out *metricRows) {
	for i, s := range m.supports {
		if len(s.incomplete) > 0 {
			ids := make([]string, len(s.incomplete))
			for j, p := range s.incomplete {
				ids[j] = a.pairs[p].ID
			}
			out.incomplete = append(out.incomplete, incomplete{a.models[i], strings.Join(ids, ", ")})
		}
	}
	for _, code := range out.estimates[0].Warnings {
		if code != "not_finite" && code != "zero_level" && code != "undefined_replicates" {
			continue
		}
		var names []string
		for i, e := range out.estimates[1:] {
			for _, c := range e.Warnings {
				if c == code {
					names = append(names, a.models[i])
				}
			}
		}
		text := fmt.Sprintf("%s: the overall row has no interval or no estimate", m.metric.ID)
		if len(names) > 0 {
			text += " because of model " + strings.Join(names, ", ")
		}
		if code == "undefined_replicates" {
			text += fmt.Sprintf(": more than 1 %% of draws leave it without a row; a larger minimum of pairs (now %d) leaves it out", a.opts.MinPairs)
		}
		out.warnings = append(out.warnings, Warning{code, text})
	}
}
