package reports

import (
	"fmt"
	"strconv"
)

// method says in full sentences how the numbers were made, from the document's own settings.
func method(doc Document) []block {
	blocks := []block{heading("Method")}
	for _, t := range []text{designSentences(doc), rowSentences(doc), estimandSentences(doc), intervalSentences(doc), testSentences(doc)} {
		blocks = append(blocks, paragraph(t))
	}
	if len(doc.Notes) > 0 {
		var items []text
		for _, n := range doc.Notes {
			items = append(items, words(oneLine(n)))
		}
		blocks = append(blocks, paragraph(words("To know:")), bullets(items))
	}
	return blocks
}

// lead starts a paragraph with a bold word.
func lead(s string) text { return append(bold(s), words(" ")...) }

func designSentences(doc Document) text {
	d := doc.Design
	t := lead("Design.")
	perDay := "the router's policy was switched for all requests at once"
	if d.PerModel {
		perDay = "the router's policy was switched for all requests of a model at once, each model by a schedule of its own"
	}
	t = append(t, sentence("{} from {} UTC were cut into blocks of {}, and {}: {} ran in one block of each matched pair and {} in the other. "+
		"The two blocks of a pair are neighbours in the same day, so both arms meet the same hours. The plan has {} blocks in {}; in {} the treatment came first. ",
		count(int64(d.Days), "day", "days"), minuteOf(d.Start), seconds(d.BlockSeconds), perDay,
		name(doc.Arms.Control), name(doc.Arms.Treatment), whole(int64(d.Blocks)), count(int64(d.Pairs), "pair", "pairs"), whole(int64(d.TreatmentFirst)))...)
	switch d.Order {
	case "slot-balanced":
		t = append(t, words("The order inside the pairs was drawn at random among those orders in which every daily position has the treatment first on half of the days, or as near to half as the number of days allows. ")...)
	case "day-balanced":
		t = append(t, words("The order inside the pairs was drawn at random among those orders in which half of each day's pairs have the treatment first. ")...)
	case "coin":
		t = append(t, words("The order inside each pair was drawn by a fair coin. ")...)
	case "alternating":
		t = append(t, words("The arms simply alternated; such a schedule gives no p-value, and a rhythm in the traffic with the same period would pass for an effect. ")...)
	default:
		t = append(t, words("How the order inside the pairs was drawn is not known, so there is no p-value. ")...)
	}
	switch d.Schedule {
	case ScheduleFile:
		t = append(t, words("The schedule was read from a file that says what really ran.")...)
	case ScheduleLabels:
		t = append(t, words("The blocks were labelled from the arm that each row carries.")...)
	default:
		t = append(t, words("The schedule is this program's own plan.")...)
	}
	return t
}

func rowSentences(doc Document) text {
	d := doc.Design
	t := lead("Which requests.")
	t = append(t, words("A request belongs to the block of its arrival. ")...)
	switch {
	case d.BurnInSeconds == 0:
		t = append(t, words("No burn-in was dropped. ")...)
	case d.BurnInScope == "changeover":
		t = append(t, sentence("The first {} of a block that follows another arm (and of the first block, and of a block after a gap) is burn-in and was dropped, "+
			"so that queues, caches and back-offs left by the other arm can settle. ", seconds(d.BurnInSeconds))...)
	default:
		t = append(t, sentence("The first {} of every block is burn-in and was dropped, so that queues, caches and back-offs left by the other arm can settle. ",
			seconds(d.BurnInSeconds))...)
	}
	return append(t, words("Answers from the gateway's own cache are left out of every measure. Failed requests count as slower than every other one in caller TTFT and whole-request time, "+
		"so an arm that fails more is not rewarded; TTFT counts the requests that were served. Conversations that an arm inherits from the other one are kept.")...)
}

func estimandSentences(doc Document) text {
	t := lead("What is estimated.")
	weights := "every model counts the same"
	if doc.Method.Weights == "traffic" {
		weights = "models are weighted by their requests in both arms together"
	}
	return append(t, sentence("Quantiles are computed from all requests of a model and arm together (inverse empirical distribution, type 1 of Hyndman and Fan 1996); "+
		"costs and rates are ratios of sums. The percentages are geometric means over the models of each model's ratio of treatment to control; {}. "+
		"The levels of times, throughput and costs are geometric means over the models with the same weights. The levels of shares, rates and failed time, and the differences in points or ms, "+
		"are averages over the models weighted by the requests of both arms together; there one busy model weighs much, in the percentages it does not, and the two can differ. "+
		"Where a percentage differs from the ratio of the levels shown by more than two points, that ratio stands beside it. "+
		"A model enters a measure with at least {} in both arms{}.",
		weights, count(int64(doc.Method.MinPairs), "complete pair", "complete pairs"), minRowsWords(doc.Method.MinRows))...)
}

func minRowsWords(n int) string {
	if n == 0 {
		return " and, for the quantile q, with at least 4q/(1 − q) requests in each arm"
	}
	return fmt.Sprintf(" and, for the quantile q, with at least 4q/(1 − q) and no fewer than %s requests in each arm", whole(int64(n)))
}

func intervalSentences(doc Document) text {
	m := doc.Method
	t := lead("Intervals.")
	t = append(t, sentence("The pair is the unit: pairs were drawn with replacement {} times, the same draw for all models, arms and measures, and every measure computed anew. ",
		whole(int64(m.Replicates)))...)
	level := doc.level()
	var how string
	switch m.Interval {
	case "expanded":
		how = "The " + level + " intervals are percentile intervals with tails widened for the number of pairs, as the percentile bootstrap is too narrow in small samples (Hesterberg 2015)"
	case "percentile":
		how = "The " + level + " intervals are plain percentile intervals, which are somewhat too narrow with few pairs (Hesterberg 2015)"
	case "basic":
		how = "The " + level + " intervals are basic bootstrap intervals (Davison and Hinkley 1997)"
	case "bca":
		how = "The " + level + " intervals are bias-corrected and accelerated (Efron 1987)"
	case "bootstrap-t":
		how = "The " + level + " intervals are bootstrap-t intervals (Davison and Hinkley 1997)"
	case "t":
		how = "The " + level + " intervals use Student's t with the infinitesimal-jackknife standard error"
	case "half-sample":
		how = "The " + level + " intervals are those of random half-samples of the pairs (Hartigan 1969)"
	default:
		how = "The " + level + " intervals are of the kind “" + oneLine(m.Interval) + "”"
	}
	t = append(t, words(how+", on the log scale for percentages. ")...)
	if m.SlotAdjustment {
		t = append(t, words("The headline estimate and interval are adjusted for the daily position of the pair and the order inside it; the unadjusted ones stand beside them. ")...)
	} else {
		t = append(t, words("The estimate adjusted for the daily position of the pair and the order inside it stands beside the headline where the schedule allows it. ")...)
	}
	if hasSequential(doc) {
		t = append(t, words("The intervals for every look spend the chance of a false alarm over the looks, little of it early (Lan and DeMets 1983, the function of O'Brien–Fleming type). ")...)
	}
	return append(t, words("“Detected” means that the interval excludes zero; “not detected” means that it does not, which is no proof that the arms are equal. "+
		"The intervals speak of these models in this window.")...)
}

func testSentences(doc Document) text {
	t := lead("p-values.")
	set := map[string]string{
		"slot-balanced": "all orders that are balanced in every daily position",
		"day-balanced":  "all orders that are balanced in every day",
		"coin":          "all orders that a fair coin can give",
	}[doc.Design.Order]
	if set == "" {
		return append(t, words("The order of the arms was not drawn at random from a known set, so there are none.")...)
	}
	return append(t, sentence("The arms were swapped inside pairs for all models at once, over the set that the schedule was drawn from ({}); p is the share of such swaps with an effect at least as large. "+
		"Two adjusted values stand beside it for the {} measures of the table read together: Holm's, and the one from the largest |t|; the simultaneous intervals hold for all of them at once. Seed {}.",
		set, strconv.Itoa(len(published(doc))), strconv.FormatUint(doc.Method.Seed, 10))...)
}
