package router

import "math"

// load is what the router knows of the traffic that it sends to one endpoint, and the cap that it learned. Rates are requests per second.
type load struct {
	picks    int32   // since the last step, pinned conversations and retries included
	draws    int32   // of them, free draws
	rejected int32   // 429s since the last step
	rate     float64 // of picks, over about half a minute
	slow     float64 // of picks, over SlowMemory
	held     float64 // of picks that no draw decided
	refused  float64 // of 429s, over about half a minute
	cap      float64 // 0 = none learned
	growFrom Instant // end of the hold
}

// learnCaps moves the rates and caps on to now. It runs once per snapshot.
func (r *Router) learnCaps(now Instant) {
	c := &r.cfg.Cap
	passed := now - r.stepped
	if passed <= 0 {
		return
	}
	r.stepped = now
	seconds := Micros(passed).Seconds()
	fast := 1 - math.Exp(-seconds/r.cfg.Telemetry.RecentMemory.Seconds())
	slow := 1 - math.Exp(-seconds/c.SlowMemory.Seconds())
	draws := 0.0
	for i := range r.loads {
		l := &r.loads[i]
		picks, drawn := float64(l.picks)/seconds, float64(l.draws)/seconds
		l.rate += fast * (picks - l.rate)
		l.slow += slow * (picks - l.slow)
		l.held += fast * (picks - drawn - l.held)
		l.refused += fast * (float64(l.rejected)/seconds - l.refused)
		draws += drawn
		l.learn(c, now, seconds, r.cfg.Telemetry.RecentMemory.Seconds())
		l.picks, l.draws, l.rejected = 0, 0, 0
	}
	r.drawRate += fast * (draws - r.drawRate)
}

// learn cuts the cap after a burst of 429s that the endpoint's own load explains, and lets it grow once they stop.
func (l *load) learn(c *CapConfig, now Instant, seconds, memory float64) {
	accepted := max(l.rate-l.refused, 0)
	overload := l.refused*memory >= c.MinRejected && l.refused > c.Burst*l.rate
	if overload && l.rate > l.slow && now >= l.growFrom {
		cut := c.Cut * accepted
		if l.cap == 0 || cut < l.cap {
			l.cap = cut
		}
		l.growFrom = now + Instant(c.Hold)
		return
	}
	if l.cap == 0 || now < l.growFrom {
		return
	}
	growth := c.Drift
	if l.rate >= 0.8*l.cap {
		t := float64(now-l.growFrom) / float64(10*Minute)
		growth = min(c.Growth*(0.5+2*t*t), c.MaxGrowth)
	}
	l.cap *= math.Exp(growth * seconds / 60)
	if l.cap > 4*max(l.rate, l.slow) && l.cap > 0.1 {
		l.cap = 0 // far above all traffic: nothing is known any more
	}
}

// limitShares turns caps into the largest share of the free draws that each endpoint can take, and reports whether there is any cap.
func (r *Router) limitShares() bool {
	if r.cfg.Cap.Off || r.drawRate <= 0 {
		return false
	}
	any := false
	for i := range r.loads {
		l := &r.loads[i]
		r.limits[i] = math.Inf(1)
		if l.cap > 0 {
			any = true
			r.limits[i] = max(l.cap-l.held, 0) / r.drawRate
		}
	}
	return any
}
