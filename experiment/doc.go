// Package experiment holds what a switchback experiment is and how the built-in one is run.
//
// The way of the data, in order:
//
//  1. A [Design] says when the experiment starts, how long its blocks and burn-in are, and how the
//     order of the arms inside each pair is drawn.
//  2. [Draw] turns it into a [Plan]: blocks, matched pairs, arms. [ReadPlan] reads a schedule that
//     really ran.
//  3. [Drive] runs the router of each arm through the plan over a simulated market, models in parallel but for those
//     that fallback lists join, and hands on batches of [Request] and [Attempt] rows, the canonical request log.
//  4. [Metrics] names what is measured from those rows, with units and good directions.
package experiment
