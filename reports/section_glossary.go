package reports

// glossary explains the words of the report.
func glossary(doc Document) []block {
	entry := func(term, meaning string) text { return append(bold(term), words(": "+meaning)...) }
	return []block{
		heading("Glossary"),
		bullets([]text{
			entry("Arm", "one of the two policies, control or treatment, that the router follows in a block."),
			entry("Block, pair", "a span of time in which one arm routes everything; two neighbouring blocks, one of each arm."),
			entry("Burn-in, carryover", "the start of a block that is dropped; what an arm leaves behind for the next block."),
			entry("Request, attempt", "what a caller sent; one try of it at one endpoint. A request can need several attempts."),
			entry("TTFT", "time to first token, from the start of the attempt that served to its first token."),
			entry("Caller TTFT", "from the request's arrival to its first token, failed attempts included."),
			entry("Whole request", "from the request's arrival to its last token."),
			entry("Throughput", "output tokens divided by the whole serving attempt, TTFT included."),
			entry("Cheapest eligible endpoint", "the one that would have charged least for the same answer among those that could take the request when the attempt that served began."),
			entry("429", "an endpoint's answer that it is out of capacity."),
			entry("Time in failed attempts", "the time a caller waited through attempts that failed, averaged over all requests, those without a failure included."),
			entry("p50, p95", "half, and 95%, of the requests are at or below this value."),
			entry("Level", "a measure's value in one arm."),
			entry("Point (pt)", "one percentage point: from 7.1% to 3.8% is −3.3 points."),
			entry(doc.level()+" interval", "made by a rule whose intervals are meant to hold the true effect in "+doc.level()+" of experiments like this one. Where simulated experiments found otherwise, a warning says so."),
			entry("Detected, not detected", "the interval excludes zero, or includes it."),
		}),
	}
}
