package reports

import (
	"sort"
	"strconv"
	"strings"
)

// warningWords says what a warning code means.
func warningWords(code string) string {
	switch code {
	case "too_few_pairs":
		return "fewer than six pairs; the interval rests on very little."
	case "no_data":
		return "no usable row."
	case "not_measurable":
		return "not measurable from this log, because it does not hold what the measure needs."
	case "no_events":
		return "no event in either arm, so there is no ratio to estimate."
	case "few_events":
		return "fewer than 50 events; read the interval with care."
	case "zero_level":
		return "one arm's total is zero, so there is no ratio to estimate."
	case "not_finite":
		return "the estimate or an end of its interval is not a finite number: too many requests failed for the quantile to exist, or an arm's total can be zero."
	case "undefined_replicates":
		return "some replicates of the bootstrap had no value; the interval is left out when they are more than 1%."
	case "few_rows":
		return "too few rows for this quantile in some models, which are left out."
	case "incomplete_pairs":
		return "some pairs lack usable rows in one of their blocks and are left out."
	case "reused_request_id":
		return "request ids came more than once; each request counts once."
	case "conflicting_duplicates":
		return "the same request came with different content; see “Data health” for how many."
	case "missing_blocks":
		return "planned blocks have no row at all."
	case WarningUnread:
		return "some values could not be read or were impossible and became unknown."
	case WarningDriven:
		return "rows of the logs were made by switchback drive, in the simulated market."
	case "arm_mismatch":
		return "rows carry an arm label that disagrees with the schedule; the schedule was followed."
	case "lone_block":
		return "a block without its other half was left out."
	case "provisional":
		return "the design's last day is not over."
	}
	return "see the warning's code."
}

// warnings lists the caveats of the analysis, then those of single rows, counted by code.
func warnings(doc Document) []block {
	blocks := []block{heading("Warnings")}
	var items []text
	for _, w := range doc.Warnings {
		items = append(items, sentence("{}: {}", name(w.Code), oneLine(w.Text)))
	}
	items = append(items, rowWarnings(doc)...)
	if len(items) == 0 {
		return append(blocks, paragraph(words("None.")))
	}
	return append(blocks, bullets(items))
}

// rowWarnings counts the warnings of per-model and check rows; those of the overall rows stand below their table.
func rowWarnings(doc Document) []text {
	type key struct{ code, metric string }
	rows := map[key]int{}
	for _, e := range doc.Metrics {
		if e.Scope == scopeOverall {
			continue
		}
		for _, code := range e.Warnings {
			rows[key{code, e.ID}]++
		}
	}
	keys := make([]key, 0, len(rows))
	for k := range rows {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].code != keys[j].code {
			return keys[i].code < keys[j].code
		}
		return keys[i].metric < keys[j].metric
	})
	var items []text
	for start := 0; start < len(keys); {
		end := start
		var metrics []string
		for end < len(keys) && keys[end].code == keys[start].code {
			metrics = append(metrics, measureOf(keys[end].metric, "").Title+" in "+strconv.Itoa(rows[keys[end]]))
			end++
		}
		items = append(items, sentence("{} in rows of single models ({}): {}", name(keys[start].code), strings.Join(metrics, ", "), warningWords(keys[start].code)))
		start = end
	}
	return items
}
