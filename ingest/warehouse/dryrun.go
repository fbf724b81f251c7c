package warehouse

import (
	"fmt"
	"slices"
	"strings"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/rules"
	"switchback/stats"
)

// Questions lists the queries that a report of a window asks, in order and without repetitions, as they are written when
// every column is filled and no id is there twice. Where a query depends on the answers before it (models, clients, touched
// bins) it stands with an example. The external tables that travel with it are named places,
// repeated and touched.
func (w *Warehouse) Questions(plan experiment.Plan, window ingest.Window, featured []string) []Question {
	s := &survey{warehouse: w, window: rules.Window(window), known: map[string]int64{}, models: []ingest.Count{{Name: "model", N: 1}}}
	for _, name := range markedColumns() {
		for _, r := range w.table.readings {
			if r.column.name == name && r.expr != "" {
				s.known[name] = 1
			}
		}
	}
	s.layout = layout{models: []string{"model"}, index: map[string]int{"model": 0}, raw: []string{"model"}, name: func(raw string) string { return raw }}
	all := []Question{s.modelsQuestion()}
	if q, needed := s.unreadableQuestion(); needed {
		all = append(all, q)
	}
	if w.options.Dedupe {
		all = append(all, s.repeatedQuestion(0, 1), s.recordsQuestion())
	}
	r := s.under(plan, window)
	for _, q := range r.requests(featured) {
		all = append(all, r.questions(q)...)
	}
	for i := range all {
		all[i].SQL += whole
	}
	return all
}

// requests lists the requests of a report, each once.
func (r *Rows) requests(featured []string) []request {
	bins := "(0, 1)"
	list := []request{r.censusRequest(), r.sumsRequest(), r.mixRequest(), r.switchesRequest(0, 1)}
	for _, q := range rules.Quantities(r.dialect(), rules.Serving(r.dialect())) {
		list = append(list, r.histogramRequest(q.Name, q.Value), r.valuesRequest(q.Name, q.Value, bins))
	}
	sample := &Series{rows: r, step: 1, clients: []string{"client"}}
	for _, m := range rules.Measures(r.dialect()) {
		if strings.Contains(" "+strings.Join(featured, " ")+" ", " "+m.ID+" ") && (m.N != "" || m.Kind == stats.Quantile) {
			sample.metrics = append(sample.metrics, m)
		}
	}
	list = append(list, r.clientsRequest(1))
	list = append(list, sample.ratiosRequest())
	one := &counted{lo: []int32{2}, hi: []int32{3}}
	var histograms, values []request
	for _, m := range sample.metrics {
		value, err := r.quantity(m.Quantity)
		if err != nil { // it is a ratio
			continue
		}
		list = append(list, r.byGroupRequest(m.ID+" by block, values inside the touched bins", blockGroup, inCells(value), map[string]int64{"0": 2}))
		if q, err := sample.histogramRequest(one, m); err == nil {
			histograms = append(histograms, q)
		}
		if q, err := sample.valuesRequest(one, m, []touch{{bin: 2}}); err == nil {
			values = append(values, q)
		}
	}
	list = slices.Concat(list, histograms, values)
	list = append(list, r.servedRequest())
	names, _ := r.shownQuantities()
	for _, quantity := range names {
		if value, err := r.quantity(quantity); err == nil {
			touched := []groupBin{{group{role: -1}, 2}, {group{provider: "provider", block: -1}, 2}}
			list = append(list, r.servedNumbersRequest(quantity, value, nil), r.servedNumbersRequest(quantity, value, touched))
		}
	}
	list = append(list, r.spendRequest())
	if r.knowsCheapest() {
		list = append(list, r.dearerRequest())
	}
	return list
}

// blockGroup names a block.
var blockGroup = fmt.Sprintf("toString(%s)", nameBlock)

// inCells is a value of rows that have a cell.
func inCells(value string) string { return "if(" + nameCell + " >= 0, " + value + ", NULL)" }
