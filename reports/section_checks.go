package reports

import (
	"fmt"
	"strconv"
)

// fewChecks is how many answers stand in the open when none asks for a second look.
const fewChecks = 8

// checks explains the diagnostics in plain words: the question, the answer, and whether a reader should look twice. Answers
// that do not ask for it are folded away when there are many.
func checks(doc Document) []block {
	all := doc.Diagnostics.Checks
	if len(all) == 0 {
		return nil
	}
	var odd []Check
	for _, c := range all {
		if c.Outcome == CheckAttention {
			odd = append(odd, c)
		}
	}
	summary := words("These look for reasons not to trust the estimates. None stands out.")
	if len(odd) > 0 {
		summary = words("These look for reasons not to trust the estimates. " + count(int64(len(odd)), "answer asks", "answers ask") + " for a second look.")
	}
	blocks := []block{heading("Diagnostics"), paragraph(summary)}
	if len(all) <= fewChecks {
		return append(blocks, tabular(checkTable(doc, all)))
	}
	if len(odd) > 0 {
		blocks = append(blocks, tabular(checkTable(doc, odd)))
	}
	return append(blocks, fold(words(fmt.Sprintf("All %d answers", len(all))), tabular(checkTable(doc, all))))
}

func checkTable(doc Document, checks []Check) table {
	t := columns("Question", "Of", ">Answer", ">"+doc.level()+" interval", ">p", "Reading")
	for _, c := range checks {
		answer, interval := checkNumbers(c)
		reading := words("nothing to see")
		switch c.Outcome {
		case CheckAttention:
			reading = append(bold("look:"), words(" "+checkMeaning(c.ID))...)
		case CheckNotMeasurable:
			reading = words("cannot be answered from this data")
		}
		of := text(nil)
		if c.Metric != "" {
			of = words(measureOf(c.Metric, "").Title)
		}
		if c.Subject != "" {
			of = lines(of, sentence("{} {}", checkSubject(c.ID), name(c.Subject)))
		}
		t.row(words(checkQuestion(c.ID)), of, words(answer), words(interval), words(probability(c.PValue)), reading)
	}
	return t
}

// checkQuestion says what a check asks; an unknown check is shown by its id.
func checkQuestion(id string) string {
	switch id {
	case CheckPredecessor:
		return "Does the effect depend on which arm ran just before?"
	case CheckOrder:
		return "Does the effect depend on which arm came first in the pair?"
	case CheckPlacebo:
		return "Does a schedule shifted by one block show an effect where none can be?"
	case CheckAutocorrelation:
		return "Do neighbouring pairs resemble each other?"
	case CheckLeavePairOut:
		return "Does the result hang on one pair?"
	case CheckLeaveClientOut:
		return "Does the result hang on one client?"
	case CheckEffectivePairs:
		return "How many pairs carry the estimate?"
	case CheckBurnIn:
		return "Would another burn-in change the effect?"
	case CheckGaps:
		return "Are there stretches without any request?"
	case CheckVolume:
		return "Did both arms get equally many requests?"
	case CheckWidthsHalfSample:
		return "Do the two kinds of interval agree in width?"
	}
	return oneLine(id)
}

// checkMeaning says what it would mean if a check stands out.
func checkMeaning(id string) string {
	switch id {
	case CheckPredecessor, CheckOrder, CheckBurnIn:
		return "one arm may reach into the other's blocks; a longer burn-in or longer blocks would tell."
	case CheckPlacebo:
		return "something other than the switch moves with the schedule."
	case CheckAutocorrelation:
		return "the pairs are not independent, so the intervals may be too narrow."
	case CheckLeavePairOut:
		return "without this pair the result reads differently."
	case CheckLeaveClientOut:
		return "without this client the result reads differently."
	case CheckEffectivePairs:
		return "few pairs carry most of the weight, so the interval is less sure than it seems."
	case CheckGaps:
		return "rows may be missing from the log there."
	case CheckVolume:
		return "the arms met different traffic, or rows of one arm are missing."
	case CheckWidthsHalfSample:
		return "the intervals differ by more than 15% in width; trust the wider one."
	}
	return "it is outside of what is expected."
}

func checkSubject(id string) string {
	switch id {
	case CheckLeavePairOut:
		return "without pair"
	case CheckLeaveClientOut:
		return "without client"
	case CheckBurnIn:
		return "with a burn-in of"
	case CheckGaps:
		return "most in block"
	}
	return "about"
}

// checkNumbers prints a check's value and interval: plain numbers for correlations and counts, percentages for effects.
func checkNumbers(c Check) (answer, interval string) {
	print := func(x, scale float64, d int, unit string) string { return signed(scale*x, d) + unit }
	scale, unit, d := 100.0, "%", 1
	switch c.ID {
	case CheckAutocorrelation:
		scale, unit, d = 1, "", 2
	case CheckGaps:
		return opt(c.Value, func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) + " min" }), notKnown
	case CheckEffectivePairs:
		return opt(c.Value, func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }), notKnown
	}
	answer, interval = notKnown, notKnown
	if c.Lo != nil && c.Hi != nil {
		d = max(decimals(scale*(*c.Hi-*c.Lo), 2, d), 0)
		interval = print(*c.Lo, scale, d, "") + " to " + print(*c.Hi, scale, d, unit)
	}
	if interval != notKnown && (c.ID == CheckLeavePairOut || c.ID == CheckLeaveClientOut) {
		interval = "range " + interval
	}
	if c.Value != nil {
		answer = print(*c.Value, scale, d, unit)
	}
	return answer, interval
}
