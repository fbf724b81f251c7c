package reports

import (
	"fmt"

	"switchback/stats"
)

// dearer shows how many requests cost more than at the cheapest eligible endpoint. Only a log that says what that one would
// have charged tells it.
func dearer(doc Document) []block {
	if doc.Dearer == nil {
		if doc.Simulated || len(doc.Spend) == 0 {
			return nil
		}
		return []block{paragraph(words("How many requests were served dearer than at the cheapest eligible endpoint is not measurable from this log: it does not say who else could have taken them."))}
	}
	blocks := []block{
		paragraph(words("Requests served dearer than at the cheapest eligible endpoint, of those that were served past the burn-in:")),
		tabular(dearerTable(doc)),
	}
	if models := doc.Dearer.Models; len(models) > 1 {
		blocks = append(blocks, fold(words(fmt.Sprintf("The same for each of %d models", len(models))), tabular(dearerModels(doc))))
	}
	eligible := ""
	if doc.Simulated {
		eligible = "Eligible is an endpoint that, when the attempt that served began, was not full, had quota left, was in no storm of 429s and no outage, and had not failed the request before. " +
			"It is taken at its list price, with what its own prompt cache held of the conversation. "
	}
	return append(blocks, paragraph(words(eligible+"Each request is taken alone: the cheapest endpoint could not have taken them all at once, so another router would not save all of it.")))
}

func dearerTable(doc Document) table {
	t := columns("Arm", ">Requests", ">Served dearer", ">Share", ">Paid above the cheapest", ">Per 1K requests", ">Of their cost")
	control, treatment := doc.Dearer.Control, doc.Dearer.Treatment
	row := func(arm string, a, other DearerArm) {
		more := whole(a.Dearer)
		if a.Requests == 0 {
			more = notKnown
		}
		t.row(name(arm), words(whole(a.Requests)), words(more), words(share(a.Share)),
			dollars(a.ExtraUSD, other.ExtraUSD), dollars(a.ExtraPer1K, other.ExtraPer1K), words(share(a.ExtraShare)))
	}
	row(doc.Arms.Control, control, treatment)
	row(doc.Arms.Treatment, treatment, control)
	return t
}

func dearerModels(doc Document) table {
	t := columns("Model", ">Share, control", ">Share, treatment", ">Above the cheapest per 1K, control", ">Per 1K, treatment", ">Of their cost, control", ">Of their cost, treatment")
	for _, m := range doc.Dearer.Models {
		c, n := m.Control, m.Treatment
		t.row(name(m.Model), words(share(c.Share)), words(share(n.Share)), dollars(c.ExtraPer1K, n.ExtraPer1K), dollars(n.ExtraPer1K, c.ExtraPer1K),
			words(share(c.ExtraShare)), words(share(n.ExtraShare)))
	}
	return t
}

// dollars prints an amount of one arm beside that of the other.
func dollars(usd, other *float64) text {
	return words(measureOf("cost_per_1k_requests", "").level(usd, stats.Effect{}, other))
}
