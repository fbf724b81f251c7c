package reports

import "switchback/stats"

// States of a guardrail metric.
const (
	GuardrailHeld          = "held"           // not detected as worse
	GuardrailBreached      = "breached"       // detected as worse
	GuardrailNotMeasurable = "not_measurable" // the data cannot say; never counts as held
)

// Guardrail is the state of one guardrail metric.
type Guardrail struct {
	Metric string
	State  string // Guardrail… constant
}

// GuardrailStates returns the state of every guardrail metric of the document, in the configured order.
func (doc Document) GuardrailStates() []Guardrail {
	var states []Guardrail
	for _, id := range doc.Decision.Guardrails {
		state := GuardrailHeld
		e, ok := doc.overall(id)
		switch {
		case !ok || e.Verdict == stats.VerdictNotMeasurable:
			state = GuardrailNotMeasurable
		case e.Verdict == stats.VerdictWorse:
			state = GuardrailBreached
		}
		states = append(states, Guardrail{id, state})
	}
	return states
}

// overall returns the overall row of a metric.
func (doc Document) overall(id string) (stats.Estimate, bool) { return doc.row(id, scopeOverall) }

// row returns the row of a metric in a scope.
func (doc Document) row(id, scope string) (stats.Estimate, bool) {
	for _, e := range doc.Metrics {
		if e.ID == id && e.Scope == scope {
			return e, true
		}
	}
	return stats.Estimate{}, false
}

const (
	scopeOverall     = "overall"
	scopeModelPrefix = "model:"
)
