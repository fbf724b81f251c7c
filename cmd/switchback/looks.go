package main

import (
	"time"

	"switchback/experiment"
)

// looks returns the looks so far at an unfinished experiment, one at the end of each of its days up to the end of the
// window, as shares of the planned pairs: what the intervals for repeated looks spend their chance of a false alarm by.
// It is empty for a finished experiment. It follows from the plan alone, whether or not somebody looked each night.
func looks(plan experiment.Plan, planned int, w window) []float64 {
	if !w.provisional {
		return nil
	}
	var ends []time.Time // of the pairs
	for _, model := range plan.Models() {
		pairs, _ := plan.Pairs(model)
		for _, p := range pairs {
			last := p.Control.Ends
			if p.Treatment.Ends.After(last) {
				last = p.Treatment.Ends
			}
			ends = append(ends, last)
		}
	}
	starts, _ := plan.Window()
	var shares []float64
	done := 0
	for night := starts.UTC().Truncate(day).Add(day); ; night = night.Add(day) {
		if night.After(w.until) {
			night = w.until
		}
		n := 0
		for _, end := range ends {
			if !end.After(night) {
				n++
			}
		}
		if n > done {
			shares = append(shares, float64(n)/float64(planned))
			done = n
		}
		if !night.Before(w.until) {
			return shares
		}
	}
}
