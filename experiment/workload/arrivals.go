package workload

import (
	"math"

	"switchback/experiment/random"
)

// Never is an instant after every experiment, µs since its start.
const Never = math.MaxInt64

// Arrivals draws the starts of one model's conversations, in order of time. Every client is a renewal process
// with Weibull gaps in operational time: a change of its rate stretches the rest of the running gap.
type Arrivals struct {
	model   *Model
	at      []int64 // next start of each client, µs since the start of the experiment; Never while silent
	sources []arrival
	window  int
	windowE int64 // end of the window, µs
	next    int   // source of the next start
	number  uint32
	streams uint64
}

// arrival is the state of one client's process.
type arrival struct {
	left   float64 // rest of the gap in mean gaps, while silent
	rate   float64 // starts per µs
	gaps   *random.Table
	stream random.Stream
}

// Arrivals starts the model's arrivals. The seed decides them, whatever happens to the requests later.
func (m *Model) Arrivals(seed uint64) *Arrivals {
	a := &Arrivals{model: m, at: make([]int64, len(m.clients)), sources: make([]arrival, len(m.clients)), window: -1, streams: random.Hash(seed, "sessions", m.Name)}
	if m.recorded != nil {
		return a
	}
	for i := range a.sources {
		s := &a.sources[i]
		a.at[i] = Never
		s.stream = random.New(seed, "arrivals", m.Name, m.ClientIDs[i])
		s.left = m.laws.expo.Draw(&s.stream)
	}
	a.enterWindow(0)
	return a
}

// Next returns the instant of the next start, µs since the start of the experiment.
func (a *Arrivals) Next() int64 {
	if a.model.recorded != nil {
		if int(a.number) == len(a.model.firsts) {
			return Never
		}
		return a.model.recorded[a.model.firsts[a.number]].at
	}
	return a.at[a.next]
}

// Pop takes the next start and makes its conversation in s.
func (a *Arrivals) Pop(s *Session) {
	stream := random.Seeded(random.Mix(a.streams + uint64(a.number)*0x9e3779b97f4a7c15))
	if a.model.recorded != nil {
		a.model.replayStart(s, stream, a.model.firsts[a.number], a.number)
		a.number++
		return
	}
	a.model.start(s, stream, int32(a.next), a.number)
	a.number++
	from := &a.sources[a.next]
	a.at[a.next] += 1 + int64(from.gaps.Draw(&from.stream)/from.rate)
	a.seek()
}

// seek finds the next start and enters new windows on the way.
func (a *Arrivals) seek() {
	for {
		first, next := int64(Never), a.next
		for i, at := range a.at {
			if at < first {
				next = i
			}
			first = min(first, at)
		}
		a.next = next
		if first < a.windowE || a.windowE > maxHorizon {
			return
		}
		a.changeRates(a.windowE)
	}
}

// maxHorizon bounds the search for a next start: 100 years.
const maxHorizon = int64(100 * 366 * 86400 * 1e6)

func (a *Arrivals) enterWindow(now int64) {
	a.changeRates(now)
	a.seek()
}

// changeRates moves to the window that begins now.
func (a *Arrivals) changeRates(now int64) {
	a.window++
	a.windowE = now + WindowSeconds*1e6
	boost := a.model.laws.volume(a.window)
	for i := range a.sources {
		s, c := &a.sources[i], &a.model.clients[i]
		at := a.window % len(c.rate)
		rate := float64(c.rate[at]) * boost * 1e-6
		if s.rate > 0 {
			s.left = float64(a.at[i]-now) * s.rate
		}
		s.rate = rate
		s.gaps = a.model.laws.bursts[c.gaps[at]]
		a.at[i] = Never
		if rate > 0 {
			a.at[i] = now + int64(s.left/rate)
		}
	}
}

// volume is the factor of extra volume in a window.
func (l *laws) volume(window int) float64 {
	factor := 1.0
	hour := (float64(window) + 0.5) * WindowSeconds / 3600
	for _, f := range l.flashes {
		if hour >= f.StartH && hour < f.StartH+f.Hours {
			factor *= f.Factor
		}
	}
	return factor
}

// burstTables holds gap laws of mean 1 by burstiness class.
type burstTables [8]*random.Table

// burstCVs are the coefficients of variation of the classes.
var burstCVs = [len(burstTables{})]float64{0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6}

func newBurstTables(maxCV float64) burstTables {
	var t burstTables
	for i, cv := range burstCVs {
		if i == 0 || cv <= 1.2*maxCV {
			t[i] = random.Weibull(weibullShape(cv))
		}
	}
	return t
}

// burstClass returns the class nearest to cv, on the logarithmic scale, cut at maxCV. Neighbours are √2 apart.
func burstClass(cv, maxCV float64) uint8 {
	class := 0
	for class < len(burstCVs)-1 && burstCVs[class+1] <= 1.2*maxCV && cv*cv > burstCVs[class]*burstCVs[class+1] {
		class++
	}
	return uint8(class)
}

// weibullShape solves CV² = Γ(1+2/k)/Γ(1+1/k)² − 1 for the shape k, by bisection; CV falls as k rises.
func weibullShape(cv float64) float64 {
	lo, hi := 0.1, 20.0
	for range 60 {
		k := math.Sqrt(lo * hi)
		a, _ := math.Lgamma(1 + 2/k)
		b, _ := math.Lgamma(1 + 1/k)
		if math.Sqrt(math.Expm1(a-2*b)) > cv {
			lo = k
		} else {
			hi = k
		}
	}
	return math.Sqrt(lo * hi)
}
