package ingest

import "switchback/experiment"

// QualityBit names one bit of requests.quality.
type QualityBit struct {
	Bit     int64
	Name    string
	Meaning string
}

// QualityBits returns every quality bit, lowest first. They are a table of the DuckDB file too.
func QualityBits() []QualityBit {
	return []QualityBit{
		{experiment.QualityNegativeTime, "negative_time", "a time was below zero and became NULL"},
		{experiment.QualityTTFTOverTotal, "ttft_gt_total", "the first token came after the last, or the provider's TTFT exceeds the caller's"},
		{experiment.QualityCachedOverInput, "cached_gt_input", "more cached tokens than input tokens"},
		{experiment.QualityEmptySuccess, "empty_success", "status ok without an output token"},
		{experiment.QualityCoarseTime, "coarse_time", "times are whole seconds"},
		{experiment.QualityTotalApprox, "total_approx", "the whole-request time is put together from parts"},
		{experiment.QualityLowerBoundTTFT, "lower_bound_ttft", "TTFT is the time to the response headers, a lower bound"},
		{experiment.QualityBadValue, "bad_value", "a field could not be read, or fields contradict each other, and it became NULL"},
		{experiment.QualityTokensAdjusted, "tokens_adjusted", "token counts were converted so that input includes cached tokens"},
		{experiment.QualityLabelMismatch, "label_mismatch", "the row's own arm label disagrees with the schedule"},
		{experiment.QualityStraddlesBlock, "straddles_block", "the request was still running when its block ended"},
	}
}
