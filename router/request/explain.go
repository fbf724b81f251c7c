package request

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"switchback/router"
)

// Explanation is a routing decision with everything behind it.
type Explanation struct {
	SchemaVersion int           `json:"schema_version"`
	Policy        string        `json:"policy"`
	Seed          uint64        `json:"seed"`
	Session       string        `json:"session,omitempty"`       // key of the conversation
	SessionNamed  bool          `json:"session_named,omitempty"` // the caller named it
	Auto          bool          `json:"auto,omitempty"`          // the auto router chose the models
	Notes         []string      `json:"notes,omitempty"`
	Stages        []StageReport `json:"stages"`
	Pinned        bool          `json:"pinned"`         // the conversation stays where it was
	Left          string        `json:"left,omitempty"` // why it does not
	Tries         []TryReport   `json:"tries"`          // in order, as if each one failed
	StepUps       int           `json:"step_ups"`       // tries that cost more than the one before
}

// StageReport is one model of the plan and its endpoints, in the order of the market.
type StageReport struct {
	Model         string        `json:"model"`
	RouterApplied bool          `json:"router_applied"` // the policy decides; false: a sort, an order or an own key does
	Fallbacks     bool          `json:"fallbacks"`
	InputTokens   float64       `json:"input_tokens"` // estimated size of the request
	OutputTokens  float64       `json:"output_tokens"`
	Endpoints     []EndpointRow `json:"endpoints"`
}

// EndpointRow is one endpoint: eligible with the terms of its Routing Cost, or out with the reason.
type EndpointRow struct {
	router.Row
	Eligible bool   `json:"eligible"`
	Out      string `json:"out,omitempty"`  // why it is out
	Last     string `json:"last,omitempty"` // why it is tried after the others
}

// TryReport is one try.
type TryReport struct {
	Model    string  `json:"model"`
	Endpoint string  `json:"endpoint"`
	How      string  `json:"how"`
	PriceUSD float64 `json:"effective_price_usd"`
	StepUp   bool    `json:"step_up,omitempty"` // the price is above that of the try before
}

// leftModel is the reason of a conversation that goes on with another model, beside those of router.Left.
const leftModel = "other-model"

// schemaVersion is the version of explanations and traces.
const schemaVersion = 1

// Explain plans the request on the market and decides it with the random stream of the seed. Equal inputs give equal explanations. The error
// is a StatusError when nobody can serve.
func Explain(m *Market, b *Body, seed uint64) (*Explanation, error) {
	plan, err := NewPlan(m, b)
	if err != nil {
		return nil, err
	}
	x := &Explanation{SchemaVersion: schemaVersion, Policy: m.Policy, Seed: seed, Auto: plan.Auto, Notes: plan.Notes}
	x.Session, x.SessionNamed = b.SessionKey()
	routers := map[*Model]*router.Router{}
	rng := rand.NewPCG(seed, 0x6578706c61696e) // "explain"
	var tries router.Tries
	for i := range plan.Stages {
		s := &plan.Stages[i]
		r := routers[s.Model]
		if r == nil {
			if r, err = m.Router(s.Model, now); err != nil {
				return nil, fmt.Errorf("explain %s: %w", s.Model.ID, err)
			}
			routers[s.Model] = r
		}
		x.Stages = append(x.Stages, s.report(r))
		tries.NextModel()
		x.try(s, r, &tries, rng)
	}
	if c := &b.Conversation; c.Model != "" && c.Endpoint != "" && c.Model != plan.Stages[0].Model.ID {
		x.Left = leftModel
	}
	return x, nil
}

func (s *Stage) report(r *router.Router) StageReport {
	report := StageReport{Model: s.Model.ID, RouterApplied: s.Applied, Fallbacks: s.Fallbacks}
	report.InputTokens, report.OutputTokens = r.Size(now, s.Request.InputTokens)
	for i, row := range r.Rows(now, &s.Request) {
		report.Endpoints = append(report.Endpoints, EndpointRow{Row: row, Eligible: s.Out[i] == "", Out: s.Out[i], Last: s.Last[i]})
	}
	return report
}

// try adds the tries of the newest stage, as if each one failed.
func (x *Explanation) try(s *Stage, r *router.Router, tries *router.Tries, rng rand.Source) {
	rows := x.Stages[len(x.Stages)-1].Endpoints
	var last *router.Outcome
	for {
		d, stop := r.Try(now, &s.Request, tries, last, s.Fallbacks, rng)
		if stop != router.StopNot {
			return
		}
		how := "drawn by share"
		switch {
		case d.Pinned:
			how = "the conversation stays"
		case s.Request.Order != nil:
			how = "in order"
		case s.Request.Sort != router.SortNone:
			how = "by sort"
		case tries.Count > 1:
			how = "next try"
		}
		if len(x.Tries) == 0 {
			x.Pinned, x.Left = d.Pinned, d.Left.String()
		}
		try := TryReport{Model: s.Model.ID, Endpoint: s.Model.Offers[d.Endpoint].Slug, How: how, PriceUSD: rows[d.Endpoint].PriceUSD}
		if n := len(x.Tries); n > 0 && try.PriceUSD > x.Tries[n-1].PriceUSD {
			try.StepUp = true
			x.StepUps++
		}
		x.Tries = append(x.Tries, try)
		last = &router.Outcome{Kind: router.OutcomeError}
	}
}

// Table lays the endpoints of a stage out as text, a row each: money in USD per 1,000 requests of the estimated size.
func (s *StageReport) Table() (header []string, rows [][]string) {
	header = []string{"endpoint", "price", "wait", "ttft", "429", "reliability", "quality", "Routing Cost", "share", "state"}
	usd := func(x float64) string { return strconv.FormatFloat(1000*x, 'f', 3, 64) }
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		state := string(e.State)
		switch {
		case !e.Eligible:
			state = "out: " + e.Out
		case e.Last != "":
			state = "last: " + e.Last
		}
		share := "–"
		if e.Eligible {
			share = strconv.FormatFloat(100*e.Share, 'f', 1, 64) + " %"
		}
		rows = append(rows, []string{
			e.Slug, usd(e.PriceUSD), usd(e.WaitUSD), usd(e.TTFTUSD), usd(e.RateLimitUSD), "×" + strconv.FormatFloat(e.Reliability, 'f', 3, 64),
			"÷" + strconv.FormatFloat(e.Quality, 'f', 3, 64), usd(e.CostUSD), share, state,
		})
	}
	return header, rows
}

// AsStatus returns the answer for the caller that an error of NewPlan or Explain stands for.
func AsStatus(err error) (*StatusError, bool) {
	var s *StatusError
	ok := errors.As(err, &s)
	return s, ok
}
