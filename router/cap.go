package router

import "math"

// load is what the router knows of the traffic that it sends to one endpoint, and the cap that it learned. Rates are requests per second.
type load struct {
	inFlight int32   // attempts decided and not yet observed
	picks    int32   // since the last step, pinned conversations and retries included
	draws    int32   // of them, free draws
	rejected int32   // 429s since the last step
	rate     float64 // of picks, over CapConfig.Memory
	usual    float64 // of picks, over CapConfig.SlowMemory
	held     float64 // of picks that no draw decided
	refused  float64 // of 429s, over CapConfig.Memory

	cap      float64 // 0 = none learned
	peak     float64 // what the endpoint took when the cap was last cut
	cut      float64 // share by which it was cut then
	growFrom Instant // end of the hold

	coolUntil Instant // end of the longest Retry-After
	answer    float64 // peak-sensitive moving average of response times, seconds
	answerAt  Instant
}

// learnCaps moves the rates and caps on to now. It runs once per snapshot.
func (r *Router) learnCaps(now Instant) {
	passed := now - r.stepped
	if passed <= 0 {
		return
	}
	r.stepped = now
	c, seconds := &r.cfg.Cap, Micros(passed).Seconds()
	fast := 1 - exp(-seconds/c.Memory.Seconds())
	slow := 1 - exp(-seconds/c.SlowMemory.Seconds())
	draws := 0.0
	for i := range r.loads {
		l := &r.loads[i]
		picks, drawn := float64(l.picks)/seconds, float64(l.draws)/seconds
		l.rate = towards(l.rate, picks, fast)
		l.usual = towards(l.usual, picks, slow)
		l.held = towards(l.held, picks-drawn, fast)
		l.refused = towards(l.refused, float64(l.rejected)/seconds, fast)
		draws += drawn
		l.picks, l.draws, l.rejected = 0, 0, 0
		l.learn(c, now, seconds)
	}
	r.drawRate += fast * (draws - r.drawRate)
}

// towards moves a rate a part of the way to a new one. Rates too small to matter become 0: arithmetic on numbers near the smallest is slow.
func towards(rate, to, part float64) float64 {
	rate += part * (to - rate)
	if rate < 1e-12 {
		return 0
	}
	return rate
}

// learn moves the cap. A burst of 429s that the endpoint's own load explains (more attempts than usual) sets the cap to Cut × the rate that
// was accepted: under overload, what is accepted is the capacity. After a hold the cap grows back along a cubic (CUBIC, RFC 9438): fast at
// first, flat near the rate where the endpoint was full, then faster again to find new capacity. A few 429s while the cap binds trim
// it a little and start a flat piece of the cubic anew, so the cap settles just below the capacity. Rejections at a load that used to be
// accepted are the endpoint's own trouble: they cost it traffic by Routing Cost and back-off, and leave the cap alone.
func (l *load) learn(c *CapConfig, now Instant, seconds float64) {
	if now < l.growFrom {
		return
	}
	accepted := max(l.rate-l.refused, 0)
	told := l.refused*c.Memory.Seconds() >= c.MinRejected
	if l.cap == 0 || l.rate < c.Binding*l.cap || l.rate > l.cap/c.Binding {
		if told && l.refused > c.Burst*l.rate && l.rate > c.OwnLoad*l.usual {
			if cut := c.Cut * accepted; l.cap == 0 || cut < l.cap {
				l.cap, l.peak, l.cut = cut, accepted, 1-c.Cut
				l.growFrom = now + Instant(c.Hold)
			}
			return
		}
		if l.cap > 0 {
			l.cap *= exp(c.Drift * seconds / 60)
		}
		if l.cap > c.Forget*max(l.rate, l.usual) {
			l.cap = 0 // far above all traffic: nothing is known any more
		}
		return
	}
	if told && l.refused > c.SetPoint*l.rate {
		if accepted > c.Binding*min(l.usual, l.cap) {
			l.peak, l.cut = min(l.cap, accepted), c.Trim
			l.cap = max(l.peak*(1-c.Trim), c.Cut*l.cap)
			l.growFrom = now + Instant(c.Hold)
		}
		return
	}
	l.cap = max(l.cap, min(l.cubic(c, now), l.cap*exp(c.MaxGrowth*seconds/60)))
}

// cubic is the cap that regrowth has reached at now: peak × (1 + s·((t − k) ÷ Regrow)³), where k makes it start at the cut.
func (l *load) cubic(c *CapConfig, now Instant) float64 {
	scale := 1 - c.Cut
	k := math.Cbrt(l.cut / scale)
	x := float64(now-l.growFrom)/float64(c.Regrow) - k
	return l.peak * (1 + scale*x*x*x)
}

// limitShares turns caps into the largest share of the free draws that each endpoint can take, finds the endpoints whose pinned
// conversations alone are over the cap, and reports whether there is any cap.
func (r *Router) limitShares() bool {
	r.crowded = Set{}
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
			if r.cfg.Pin.OverCap > 0 && l.held > r.cfg.Pin.OverCap*l.cap {
				r.crowded.Add(int32(i))
			}
		}
	}
	return any
}
