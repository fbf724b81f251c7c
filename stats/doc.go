// Package stats turns block summaries into estimates, intervals and p-values for a paired switchback.
//
// The way of the data, in order:
//
//  1. A [Source] answers questions about the kept rows: totals ([Sum]), histograms ([Bin]), and the exact values
//     inside the few bins that matter ([Value]), each per model and column. A column is one arm of one pair.
//  2. [Analyze] draws integer weights on columns once: the point, the pair bootstrap, half-samples, the jackknife and
//     the swaps of arms that the design could have drawn. All models, arms and metrics share them.
//  3. A cell (one metric of one model) turns weights into a level: sums by weighted sums, quantiles by a search over
//     the histogram and then over the exact values of the bin. Rows are never touched inside a draw.
//  4. A blend of cells turns levels into the effects of an overall row or of one model.
//  5. Effects under all draws become intervals and p-values, and those an [Estimate] with its verdict and warnings.
//  6. [PairEffects] take an overall row apart by pairs: leave-one-out, autocorrelation, contrasts between pairs, and the
//     spread that [PowerDesign] turns into smallest detectable effects. [CompareVolume] compares the arms' traffic.
//
// COVERAGE.md has what the intervals hold on data with a known truth.
//
// Every answer is a function of the source, the pairs and the options alone: the number of threads changes nothing.
package stats
