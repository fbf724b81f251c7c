package router

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Shared is a Router that many goroutines may use at once, as in a gateway. A decision holds its lock for well under a microsecond; what is
// in flight is counted inside the same lock. A burst of concurrent requests spreads by the shares, as independent draws do; with
// ShareConfig.Choices = 2 it spreads by what is in flight too, with hardly any spread around the shares.
type Shared struct {
	mu     sync.Mutex
	router *Router
	rng    rand.Source
}

// NewShared makes a router safe for concurrent use. The router must not be used otherwise from then on. rng need not be safe.
func NewShared(r *Router, rng rand.Source) *Shared { return &Shared{router: r, rng: rng} }

// InstantOf is the instant of a point in time, in microseconds since 1970.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// MicrosOf is a length of time.
func MicrosOf(d time.Duration) Micros { return Micros(d.Microseconds()) }

// Pick decides the next try of a request, as Router.Try does. Each pick must be followed by one Observe.
func (s *Shared) Pick(now Instant, req *Request, tries *Tries, last *Outcome, fallbacks bool) (Decision, Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.router.Try(now, req, tries, last, fallbacks, s.rng)
}

// Observe learns from an attempt that ended. A try that was given up without an outcome is an OutcomeNeutral.
func (s *Shared) Observe(now Instant, endpoint int32, o *Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.router.Observe(now, endpoint, o)
}

// Do runs f on the router while nobody else uses it, for everything that Shared has no method for.
func (s *Shared) Do(f func(*Router)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.router)
}
