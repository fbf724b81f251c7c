package workload

import (
	"math"
	"slices"
	"testing"
)

// BurstGPT: the hours of a mean day differ 11.7-fold; the days of the week with the median ratio of all 55, which begins with
// day 26 of the recording, from 2,127 to 22,575 requests.
func TestHoursOfWeek(t *testing.T) {
	week, err := HoursOfWeek()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	var days [7]float64
	for i, x := range week {
		sum += x
		days[i/24] += x
	}
	if math.Abs(sum/weekHours-1) > 1e-9 {
		t.Errorf("mean %v, want 1", sum/weekHours)
	}
	for d := range 7 {
		day := week[24*d:][:24]
		if ratio := slices.Max(day) / slices.Min(day); math.Abs(ratio-11.7) > 0.05 {
			t.Errorf("hours of day %d differ %v-fold, want 11.7", d, ratio)
		}
	}
	if ratio := slices.Max(days[:]) / slices.Min(days[:]); math.Abs(ratio-22575.0/2127) > 1e-9 || days[3] != slices.Max(days[:]) || days[5] != slices.Min(days[:]) {
		t.Errorf("days %v differ %v-fold, want 10.6", days, ratio)
	}
}

// With the shape, the planned and the drawn flow of all models follow the week; its size and the clients' shares of an hour stay.
func TestShapedFlow(t *testing.T) {
	p := DefaultParams()
	p.Shape, p.PeakToMean = ShapeBurstGPT, 20
	w := build(t, p, 1)
	p.Shape = ""
	plain := build(t, p, 1)
	week, err := HoursOfWeek()
	if err != nil {
		t.Fatal(err)
	}
	var planned, drawn [weekHours]float64
	total, requests := 0.0, 0.0
	for i := range w.Models {
		m := &w.Models[i]
		total += m.Flow
		for at := range weekWindows {
			planned[at/windowsPerHour] += m.rateAt(at) / windowsPerHour * p.meanTurns()
		}
		var s Session
		for a := m.Arrivals(1); a.Next() < weekHours*3600e6; requests++ {
			drawn[a.Next()/3600e6]++
			a.Pop(&s)
		}
	}
	if math.Abs(total*7*86400/24e6-1) > 1e-3 {
		t.Errorf("%.4g requests a week, want 24 M", total*7*86400)
	}
	for h := range weekHours {
		// A few 10-minute bursts are above 20 times a small model's mean and cut.
		if got := planned[h] / total; math.Abs(got/week[h]-1) > 0.02 {
			t.Errorf("hour %d has %.3f of the mean, want %.3f", h, got, week[h])
		}
		if got := drawn[h] / (requests / weekHours); math.Abs(got/week[h]-1) > 0.15 {
			t.Errorf("hour %d has %.3f of the conversations, want %.3f", h, got, week[h])
		}
	}
	m, before := &w.Models[0], &plain.Models[0]
	window := 3 * 24 * windowsPerHour
	for i := range m.clients {
		if was := float64(before.clients[i].rate[window]) / before.rateAt(window); math.Abs(float64(m.clients[i].rate[window])/m.rateAt(window)-was) > 1e-6 {
			t.Errorf("client %s has another share of the window than before", m.ClientIDs[i])
		}
	}
}

// What is expected of a day is what its hours, the day of the week and flash crowds make of it, not a seventh of the week.
func TestExpectedFollowsTheDays(t *testing.T) {
	harsh, flash := DefaultParams(), DefaultParams()
	harsh.Shape, harsh.PeakToMean = ShapeBurstGPT, 20
	flash.Flash = []Flash{{StartH: 30, Hours: 6, Factor: 5}}
	for name, p := range map[string]Params{"plain": DefaultParams(), "harsh days": harsh, "flash crowd": flash} {
		w := build(t, p, 1)
		m := &w.Models[0]
		for _, hours := range []int64{5, 24, 48, 96, 168} {
			horizon := hours * 3600e6
			var s Session
			drawn := 0.0
			for a := m.Arrivals(1); a.Next() < horizon; drawn += float64(s.Turns) {
				a.Pop(&s)
			}
			if ratio := m.Expected(horizon) / drawn; math.Abs(ratio-1) > 0.06 {
				t.Errorf("%s, %d h: %.3g requests expected, %.3g times those that come", name, hours, m.Expected(horizon), ratio)
			}
		}
		if week := m.Flow * 7 * 86400; name != "flash crowd" && math.Abs(m.Expected(7*86400e6)/week-1) > 1e-9 {
			t.Errorf("%s: %v requests expected of a week, the mean flow says %v", name, m.Expected(7*86400e6), week)
		}
	}
}
