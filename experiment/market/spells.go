package market

import (
	"math"

	"switchback/experiment/random"
)

const microsPerHour = 3600e6

// spell is one incident.
type spell struct {
	start, end int64 // µs since the start of the experiment, half-open
	severity   float64
}

// timeline is the incidents of one kind, in order of time, and where the clock is among them.
type timeline struct {
	spells []spell
	at     int
}

// drawTimeline draws the incidents up to the horizon, µs.
func drawTimeline(s Spells, horizon int64, rng random.Stream, t *tables) timeline {
	var line timeline
	if s.EveryH <= 0 {
		return line
	}
	now := 0.0
	for {
		now += s.EveryH * microsPerHour * t.expo.Draw(&rng)
		length := s.MedianMin * 60e6 * math.Exp(s.Sigma*t.normal.Draw(&rng))
		severity := s.Lo + (s.Hi-s.Lo)*rng.Float64()
		if now >= float64(horizon) {
			return line
		}
		line.spells = append(line.spells, spell{int64(now), int64(now + length), severity})
		now += length
	}
}

// severity returns how bad it is at now, or none. Calls must not go back in time.
func (l *timeline) severity(now int64, none float64) float64 {
	for l.at < len(l.spells) && l.spells[l.at].end <= now {
		l.at++
	}
	if l.at < len(l.spells) && l.spells[l.at].start <= now {
		return l.spells[l.at].severity
	}
	return none
}
