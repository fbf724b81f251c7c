package reports

import (
	"slices"
	"sort"
	"strings"

	"switchback/stats"
)

// health counts the rows from the logs to the estimates and shows what is missing or odd.
func health(doc Document) []block {
	h := doc.Diagnostics.Health
	blocks := []block{heading("Data health"), tabular(rowsTable(doc, h))}
	add := func(lead string, t table) {
		if len(t.rows) > 0 {
			blocks = append(blocks, paragraph(words(lead)), tabular(t))
		}
	}
	add("Requests by status, after burn-in:", countTable("Status", "Requests", h.ByStatus, false))
	add("Analysed requests with something odd; they are kept:", countTable("What", "Requests", h.Quality, true))
	add("Lines that could not be read, by reason:", countTable("Reason", "Lines", h.Rejects, false))
	add("Share of analysed requests for which a column is unknown:", nullTable(h.Nulls))
	add("Said when the logs were loaded:", remarkTable(h.Remarks))
	add("Models left out of a measure's overall row:", excludedTable(doc.Diagnostics.Excluded))
	return append(blocks, bullets(healthNotes(h)))
}

func rowsTable(doc Document, h Health) table {
	t := columns("Rows", ">Number", ">Share of rows read", ">In "+doc.Arms.Control, ">In "+doc.Arms.Treatment)
	t.head[3], t.head[4] = sentence("In {}", name(doc.Arms.Control)), sentence("In {}", name(doc.Arms.Treatment))
	row := func(label string, n int64, control, treatment *int64) {
		t.row(words(label), words(whole(n)), words(portion(n, h.Read)), words(opt(control, whole)), words(opt(treatment, whole)))
	}
	row("Read", h.Read, nil, nil)
	row("Seen again, dropped", h.Duplicates, nil, nil)
	row("Outside the schedule or the window", h.OutsideWindow, nil, nil)
	row("In blocks without their other half", h.LoneBlockRows, nil, nil)
	row("Burn-in, dropped", h.BurnInDropped, &h.BurnInControl, &h.BurnInTreatment)
	if c, t := h.GatewayCache.Control, h.GatewayCache.Treatment; c != nil && t != nil {
		row("Answered by the gateway's cache, left out", *c+*t, c, t)
	}
	row("Analysed", h.Kept, &h.KeptControl, &h.KeptTreatment)
	return t
}

// countTable lists counts with their shares of the sum. asWords explains quality names.
func countTable(what, unit string, counts []Count, asWords bool) table {
	t := columns(what, ">"+unit)
	for _, c := range counts {
		label := name(c.Name)
		if asWords {
			label = words(qualityWords(c.Name))
		}
		t.row(label, words(whole(c.N)))
	}
	return t
}

// nullTable has a column for both arms together and for each arm, where those were counted.
func nullTable(nulls []NullShare) table {
	sides := []struct {
		heading string
		of      func(NullShare) *float64
	}{
		{">All", func(n NullShare) *float64 { return n.All }},
		{">Control", func(n NullShare) *float64 { return n.Control }},
		{">Treatment", func(n NullShare) *float64 { return n.Treatment }},
	}
	headings := []string{"Column"}
	var counted []func(NullShare) *float64
	for _, side := range sides {
		if slices.ContainsFunc(nulls, func(n NullShare) bool { return side.of(n) != nil }) {
			headings, counted = append(headings, side.heading), append(counted, side.of)
		}
	}
	t := columns(headings...)
	for _, n := range nulls {
		cells := []text{name(n.Column)}
		for _, of := range counted {
			cells = append(cells, words(share(of(n))))
		}
		t.row(cells...)
	}
	return t
}

func remarkTable(remarks []Remark) table {
	t := columns("Remark", "Files", ">Number of files")
	for _, r := range remarks {
		shown := names(r.Files[:min(len(r.Files), mostFiles)])
		if len(r.Files) > mostFiles {
			shown = append(shown, words(", …")...)
		}
		t.row(words(oneLine(r.Text)), shown, words(whole(int64(len(r.Files)))))
	}
	return t
}

// mostFiles is how many files a remark names.
const mostFiles = 3

// excludedTable joins the metrics that leave out a model for the same reason into one row.
func excludedTable(excluded []stats.Exclusion) table {
	t := columns("Model", "Reason", "Measures")
	type key struct{ model, reason string }
	metrics := map[key][]string{}
	var keys []key
	for _, x := range excluded {
		k := key{x.Model, x.Reason}
		if _, seen := metrics[k]; !seen {
			keys = append(keys, k)
		}
		metrics[k] = append(metrics[k], measureOf(x.Metric, "").Title)
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].model != keys[j].model {
			return keys[i].model < keys[j].model
		}
		return keys[i].reason < keys[j].reason
	})
	for _, k := range keys {
		t.row(name(k.model), words(oneLine(k.reason)), words(strings.Join(metrics[k], ", ")))
	}
	return t
}

func healthNotes(h Health) []text {
	var notes []text
	add := func(pattern string, args ...any) { notes = append(notes, sentence(pattern, args...)) }
	switch {
	case h.Read == 0:
		add("No row was read.")
	case len(h.MissingBlocks) == 0:
		add("Every planned block of the window has rows.")
	default:
		add("Planned blocks without any row: {}.", names(h.MissingBlocks))
	}
	if len(h.LoneBlocks) > 0 {
		add("Blocks left out because their pair is not whole: {}.", names(h.LoneBlocks))
	}
	if h.LabelMismatches > 0 {
		add("Rows whose arm label disagrees with the schedule: {} ({} of the rows read). The schedule was followed.",
			whole(h.LabelMismatches), portion(h.LabelMismatches, h.Read))
	}
	if h.ConflictingDuplicate > 0 {
		add("Requests that came again with different content: {}.", whole(h.ConflictingDuplicate))
	}
	if s, ok := armShares(h.BornElsewhere, h); ok {
		add("Sent to an endpoint that their conversation had chosen in a block of the other arm: {}. They are kept.", s)
	}
	if s, ok := armShares(h.Straddling, h); ok {
		add("Still running when their block ended: {}. They are kept in the block of their arrival.", s)
	}
	if len(h.NotMeasurable) > 0 {
		var titles []text
		for _, id := range h.NotMeasurable {
			titles = append(titles, words(measureOf(id, "").Title))
		}
		add("Not measurable from this log: {}.", series(titles))
	}
	return notes
}

func armShares(c ArmCount, h Health) (string, bool) {
	if c.Control == nil || c.Treatment == nil {
		return "", false
	}
	return portion(*c.Control, h.KeptControl) + " of the requests in control, " + portion(*c.Treatment, h.KeptTreatment) + " in treatment", true
}

// names lists names from outside, the first twenty of them.
func names(all []string) text {
	const most = 20
	var items []text
	for i, n := range all {
		if i == most {
			items = append(items, words(whole(int64(len(all)-most))+" more"))
			break
		}
		items = append(items, name(n))
	}
	return series(items)
}

// qualityWords says what a quality name of the request log means; a name that is not known here stays as it is.
func qualityWords(name string) string {
	switch name {
	case "negative_time":
		return "a time below zero, now unknown"
	case "ttft_gt_total":
		return "first token after the last, or an endpoint's TTFT longer than the caller's"
	case "cached_gt_input":
		return "more cached tokens than input tokens"
	case "empty_success":
		return "status ok without an output token"
	case "coarse_time":
		return "times in whole seconds"
	case "total_approx":
		return "whole-request time put together from parts"
	case "lower_bound_ttft":
		return "TTFT is the time to the response headers, a lower bound"
	case "bad_value":
		return "a field that could not be read or contradicts another, now unknown"
	case "tokens_adjusted":
		return "token counts converted so that input includes cached tokens"
	case "label_mismatch":
		return "arm label disagrees with the schedule"
	case "straddles_block":
		return "still running when the block ended"
	}
	return oneLine(name)
}
