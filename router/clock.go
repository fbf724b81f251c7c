package router

// setBack is how far an instant may lie before the latest one, as the instants of concurrent calls do, before the caller's clock counts as
// set back.
const setBack = Instant(Minute)

// follow keeps up with the caller's clock.
func (r *Router) follow(now Instant) {
	if now >= r.latest {
		r.latest = now
	} else if r.latest-now > setBack {
		r.turnBack(now)
	}
}

// turnBack follows a clock that was set back: everything that is remembered moves with it, as if no time had passed, so that no cooldown,
// ejection or snapshot lasts for longer because of it.
func (r *Router) turnBack(now Instant) {
	by := now - r.latest
	r.latest, r.stale = now, true
	r.taken += by
	r.stepped += by
	r.telemetry.epoch += by
	r.telemetry.near += by
	for i := range r.loads {
		l, b := &r.loads[i], &r.breakers[i]
		for _, at := range [...]*Instant{&l.growFrom, &l.coolUntil, &l.answerAt, &b.until, &b.lease} {
			*at += by
		}
	}
}
