package prices

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readPublished reads one of four published price lists, told apart by their shape:
//
//   - models.dev (api.json): providers by id, each with models by id; numbers, USD per million tokens.
//   - genai-prices (data.json): an array of providers, each with an array of models; numbers, USD per million
//     tokens, with later prices by start_date. A price that steps up for long prompts is taken at its base; a
//     price that depends on the hour of the day is left out.
//   - OpenRouter (/api/v1/models): {"data": [models]}; strings, USD per token. "0" is free; "-1" is "varies" and is
//     left out. The provider is "openrouter".
//   - LiteLLM (model_prices_and_context_window.json): models by name; numbers, USD per token.
//
// Models without an input and an output price are left out.
func readPublished(r io.Reader) ([]Entry, error) {
	decoder := json.NewDecoder(r)
	decoder.UseNumber() // prices like 2.8e-07 are parsed once, by us
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if raw[0] == '[' {
		return readGenAI(raw)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if data, ok := object["data"]; ok && len(data) > 0 && data[0] == '[' {
		return readOpenRouter(data)
	}
	for _, value := range object {
		var one struct {
			Models json.RawMessage `json:"models"`
		}
		if json.Unmarshal(value, &one) == nil && one.Models != nil {
			return readModelsDev(object)
		}
	}
	return readLiteLLM(object)
}

// number is a JSON number or a string that holds one; absent and null are not known.
type number struct {
	value float64
	known bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" || text == "" {
		return nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("price %s is not a number", b)
	}
	*n = number{x, true}
	return nil
}

// listed is a model's four prices as a list states them.
type listed struct{ input, output, cacheRead, cacheWrite number }

// entry turns listed prices into an entry; convert gives the unit. It is false for a model without a price per
// token, or with one that the list doesn't know (below zero).
func (l listed) entry(provider, model string, convert func(float64) (Rate, error)) (Entry, bool, error) {
	e := Entry{Provider: provider, Model: model}
	if !l.input.known || !l.output.known || l.input.value < 0 || l.output.value < 0 || provider == "" || model == "" {
		return e, false, nil
	}
	var problems [4]error
	e.Price.Input, problems[0] = convert(l.input.value)
	e.Price.Output, problems[1] = convert(l.output.value)
	if l.cacheRead.known && l.cacheRead.value >= 0 {
		e.Price.CacheRead, problems[2] = convert(l.cacheRead.value)
		e.Price.CacheReadKnown = true
	}
	if l.cacheWrite.known && l.cacheWrite.value >= 0 {
		e.Price.CacheWrite, problems[3] = convert(l.cacheWrite.value)
		e.Price.CacheWriteKnown = true
	}
	if err := errors.Join(problems[:]...); err != nil {
		return e, false, fmt.Errorf("%s %s: %w", provider, model, err)
	}
	return e, true, nil
}

func readModelsDev(object map[string]json.RawMessage) ([]Entry, error) {
	var entries []Entry
	for _, provider := range slices.Sorted(maps.Keys(object)) {
		var list struct {
			Models map[string]struct {
				Cost struct {
					Input      number `json:"input"`
					Output     number `json:"output"`
					CacheRead  number `json:"cache_read"`
					CacheWrite number `json:"cache_write"`
				} `json:"cost"`
			} `json:"models"`
		}
		if err := json.Unmarshal(object[provider], &list); err != nil {
			return nil, fmt.Errorf("%s: %w", provider, err)
		}
		slug := provider
		if slug == "google" { // this list's name for it; other lists call Vertex AI so
			slug = "google-ai-studio"
		}
		for _, model := range slices.Sorted(maps.Keys(list.Models)) {
			c := list.Models[model].Cost
			e, ok, err := listed{c.Input, c.Output, c.CacheRead, c.CacheWrite}.entry(slug, model, PerMillion)
			if err != nil {
				return nil, err
			}
			if ok {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}

func readOpenRouter(data json.RawMessage) ([]Entry, error) {
	var models []struct {
		ID      string `json:"id"`
		Pricing struct {
			Prompt     number `json:"prompt"`
			Completion number `json:"completion"`
			CacheRead  number `json:"input_cache_read"`
			CacheWrite number `json:"input_cache_write"`
		} `json:"pricing"`
	}
	if err := json.Unmarshal(data, &models); err != nil {
		return nil, err
	}
	var entries []Entry
	for _, m := range models {
		p := m.Pricing
		e, ok, err := listed{p.Prompt, p.Completion, p.CacheRead, p.CacheWrite}.entry("openrouter", m.ID, PerToken)
		if err != nil {
			return nil, err
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func readLiteLLM(object map[string]json.RawMessage) ([]Entry, error) {
	var entries []Entry
	for _, model := range slices.Sorted(maps.Keys(object)) {
		var m struct {
			Provider   string `json:"litellm_provider"`
			Input      number `json:"input_cost_per_token"`
			Output     number `json:"output_cost_per_token"`
			CacheRead  number `json:"cache_read_input_token_cost"`
			CacheWrite number `json:"cache_creation_input_token_cost"`
		}
		if model == "sample_spec" { // the file's own description of its fields
			continue
		}
		if err := json.Unmarshal(object[model], &m); err != nil {
			return nil, fmt.Errorf("%s: %w", model, err)
		}
		e, ok, err := listed{m.Input, m.Output, m.CacheRead, m.CacheWrite}.entry(m.Provider, model, PerToken)
		if err != nil {
			return nil, err
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// stepped is a price that may be an object {"base": price, "tiers": […]}.
type stepped struct{ number }

// UnmarshalJSON implements json.Unmarshaler.
func (s *stepped) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return s.number.UnmarshalJSON(b)
	}
	var steps struct {
		Base number `json:"base"`
	}
	err := json.Unmarshal(b, &steps)
	s.number = steps.Base
	return err
}

// genAIPrices are the prices of one model from some day on.
type genAIPrices struct {
	Input      stepped `json:"input_mtok"`
	Output     stepped `json:"output_mtok"`
	CacheRead  stepped `json:"cache_read_mtok"`
	CacheWrite stepped `json:"cache_write_mtok"`
}

func readGenAI(data json.RawMessage) ([]Entry, error) {
	var providers []struct {
		ID     string `json:"id"`
		Models []struct {
			ID     string          `json:"id"`
			Prices json.RawMessage `json:"prices"`
		} `json:"models"`
	}
	if err := json.Unmarshal(data, &providers); err != nil {
		return nil, err
	}
	var entries []Entry
	for _, p := range providers {
		for _, m := range p.Models {
			dated, err := readGenAIModel(m.Prices)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", p.ID, m.ID, err)
			}
			for _, d := range dated {
				q := d.prices
				l := listed{q.Input.number, q.Output.number, q.CacheRead.number, q.CacheWrite.number}
				e, ok, err := l.entry(p.ID, m.ID, PerMillion)
				if err != nil {
					return nil, err
				}
				if e.ValidFrom = d.from; ok {
					entries = append(entries, e)
				}
			}
		}
	}
	return entries, nil
}

type datedPrices struct {
	from   time.Time
	prices genAIPrices
}

// readGenAIModel reads a model's prices: one object, or an array of objects with conditions.
func readGenAIModel(raw json.RawMessage) ([]datedPrices, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '{' {
		var only datedPrices
		err := json.Unmarshal(raw, &only.prices)
		return []datedPrices{only}, err
	}
	var alternatives []struct {
		Constraint *struct {
			StartDate string `json:"start_date"`
		} `json:"constraint"`
		Prices genAIPrices `json:"prices"`
	}
	if err := json.Unmarshal(raw, &alternatives); err != nil {
		return nil, err
	}
	var dated []datedPrices
	for _, a := range alternatives {
		d := datedPrices{prices: a.Prices}
		if a.Constraint != nil {
			if a.Constraint.StartDate == "" {
				return nil, nil // another condition: the hour of the day
			}
			from, err := time.Parse(time.DateOnly, a.Constraint.StartDate)
			if err != nil {
				return nil, fmt.Errorf("start_date: %q is not YYYY-MM-DD", a.Constraint.StartDate)
			}
			d.from = from
		}
		dated = append(dated, d)
	}
	return dated, nil
}
