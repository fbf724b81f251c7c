package workload

import (
	"cmp"
	"math"
	"slices"

	"switchback/experiment/random"
)

// weekWindows is the number of arrival windows of the first week, over which the flow is scaled.
const weekWindows = 7 * 86400 / WindowSeconds

// source is one client of one trace with its share of the whole demand.
type source struct {
	trace  *Trace
	client *Client
	share  float64   // of all requests of the first week
	flow   []float32 // its requests per window of the first week, in units of all requests
	peak   float32   // of flow
}

// fillGaps gives windows in which the whole trace is silent, which are gaps of the recording, the rates of the same
// time of the day before, or of the day after where there is none. It returns copies and the number of gaps.
func fillGaps(traces []Trace) ([]Trace, int) {
	const day = 86400 / WindowSeconds
	filled := make([]Trace, len(traces))
	gaps := 0
	for i, tr := range traces {
		silent := make([]bool, tr.Windows)
		for w := range silent {
			silent[w] = !slices.ContainsFunc(tr.Clients, func(c Client) bool { return c.Rate[w] > 0 })
		}
		tr.Clients = slices.Clone(tr.Clients)
		for j := range tr.Clients {
			tr.Clients[j].Rate = slices.Clone(tr.Clients[j].Rate)
			tr.Clients[j].CV = slices.Clone(tr.Clients[j].CV)
		}
		for w := range silent {
			if !silent[w] {
				continue
			}
			from := w - day // itself filled already, if it was a gap
			if from < 0 {
				from = w + day
			}
			if from >= tr.Windows || from > w && silent[from] {
				continue
			}
			gaps++
			for j := range tr.Clients {
				tr.Clients[j].Rate[w], tr.Clients[j].CV[w] = tr.Clients[j].Rate[from], tr.Clients[j].CV[from]
			}
		}
		filled[i] = tr
	}
	return filled, gaps
}

// sources lists the clients with traffic in the first week. Every trace carries the same share of the demand.
// A trace shorter than a week repeats.
func sources(traces []Trace) []source {
	var all []source
	for i := range traces {
		tr := &traces[i]
		first := len(all)
		total := 0.0
		for j := range tr.Clients {
			c := &tr.Clients[j]
			s := source{trace: tr, client: c, flow: make([]float32, weekWindows)}
			for w := range s.flow {
				s.flow[w] = c.Rate[w%tr.Windows]
				s.share += float64(s.flow[w])
			}
			if s.share > 0 {
				all = append(all, s)
				total += s.share
			}
		}
		scale := 1 / total / float64(len(traces))
		for j := first; j < len(all); j++ {
			all[j].share *= scale
			for w := range all[j].flow {
				all[j].flow[w] *= float32(scale)
			}
			all[j].peak = slices.Max(all[j].flow)
		}
	}
	return all
}

// divide gives every source, whole, to one of n models and returns the sources of each model.
//
// The models' shares of the demand should follow a Zipf law with the given exponent. Sources are placed in
// the order of their busiest window, tallest first, each where it raises the model's busiest window, relative to the model's
// share, the least; models that have their share already take no more. The seed decides near-ties: scores are blurred by 10 %.
func divide(all []source, n int, skew float64, rng random.Stream) [][]source {
	target := zipf(n, skew)
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b source) int { return cmp.Compare(b.peak, a.peak) })
	filled, peaks := make([]float64, n), make([]float64, n)
	flow := make([][]float64, n)
	for m := range flow {
		flow[m] = make([]float64, weekWindows)
	}
	parts := make([][]source, n)
	for _, s := range order {
		best, bestScore := -1, math.Inf(1)
		for m := range n {
			blur, full := math.Exp(0.1*(rng.Float64()-0.5)), 1.0
			if filled[m]+s.share > 1.02*target[m] {
				full = 1e3 * (filled[m] + s.share) / target[m] // only when no model has room
			}
			if peaks[m]/target[m]*blur*full >= bestScore {
				continue // and the source can only raise it
			}
			if score := peakWith(flow[m], s.flow) / target[m] * blur * full; score < bestScore {
				best, bestScore = m, score
			}
		}
		parts[best] = append(parts[best], s)
		filled[best] += s.share
		for w, f := range s.flow {
			flow[best][w] += float64(f)
			peaks[best] = max(peaks[best], flow[best][w])
		}
	}
	return parts
}

// peakWith is the busiest window of a model with one more source.
func peakWith(flow []float64, more []float32) float64 {
	peak := 0.0
	for w, f := range more {
		if sum := flow[w] + float64(f); sum > peak {
			peak = sum
		}
	}
	return peak
}

// zipf returns n shares that fall as 1/rank^exponent and sum to 1.
func zipf(n int, exponent float64) []float64 {
	shares := make([]float64, n)
	sum := 0.0
	for i := range shares {
		shares[i] = math.Pow(float64(i+1), -exponent)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}
