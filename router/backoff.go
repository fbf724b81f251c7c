package router

// backOffs fills the factor by which each endpoint's preference shrinks while it rejects or stalls. Rejections and errors follow adaptive
// throttling (Beyer et al., Site Reliability Engineering, ch. 21), which needs no threshold; a jump of the recent TTFT over the usual
// one shrinks it in proportion. Both forget within the recent memory.
func (t *telemetry) backOffs(w weights, c *BackOffConfig, s []signals, out []float64) {
	for i := range t.endpoints {
		e := &t.endpoints[i]
		m := 1.0
		if c.Accepts > 0 {
			bad := e.recentFailed + e.recentRejected
			if over := (bad + e.recentAnswered - c.Accepts*e.recentAnswered); over > 0 {
				m = 1 - over/(bad+e.recentAnswered+w.recent)
			}
		}
		if c.LatencyJump > 0 {
			// One usual TTFT is mixed in, so that a single slow answer is no jump.
			usual := s[i].ttft
			recent := (e.recentTTFT + w.recent*usual) / (e.recentStarted + w.recent)
			if most := c.LatencyJump * usual; recent > most {
				m *= most / recent
			}
		}
		out[i] = max(m, c.Least)
	}
}
