package router

import "math"

// flag finds the endpoints that get exploration traffic only: tool calls badly formed far more often than at the peers, or benchmark accuracy
// far below the model's due. A tool-call flag clears when the exploration traffic shows the calls well formed again; Flag sets others.
func (r *Router) flag(w weights) {
	c := &r.cfg.Quality
	flags := r.told.Union(r.inaccurate)
	for i := range r.endpoints {
		e := &r.telemetry.endpoints[i]
		if e.toolCalls == 0 {
			continue
		}
		limit := r.typical.BadToolCalls + c.BrokenTools
		if r.broken.Has(int32(i)) {
			limit -= c.BrokenTools / 2 // hysteresis
		}
		if bad := r.signals[i].badTools; bad > limit && (e.toolCalls >= c.MinToolCalls*w.usual || r.broken.Has(int32(i))) {
			r.broken.Add(int32(i))
		} else {
			r.broken.Remove(int32(i))
		}
	}
	r.flagged = flags.Union(r.broken)
}

// Flag sets or clears the flag of an endpoint by a finding from outside the traffic, such as a benchmark.
func (r *Router) Flag(endpoint int32, on bool) {
	if on {
		r.told.Add(endpoint)
	} else {
		r.told.Remove(endpoint)
	}
	r.stale = true
}

// inaccurate finds the endpoints whose benchmark accuracy is far below what the model shows elsewhere: two robust standard deviations, and
// at least the configured shortfall, below the median of at least four measured endpoints.
func inaccurate(endpoints []Endpoint, c *QualityConfig) Set {
	var s Set
	var measured []float64
	for i := range endpoints {
		if endpoints[i].Accuracy > 0 {
			measured = append(measured, endpoints[i].Accuracy)
		}
	}
	if len(measured) < 4 {
		return s
	}
	limit := math.Min(below(append([]float64(nil), measured...), 2), below(measured, 0)-c.Shortfall)
	for i := range endpoints {
		if a := endpoints[i].Accuracy; a > 0 && a < limit {
			s.Add(int32(i))
		}
	}
	return s
}
