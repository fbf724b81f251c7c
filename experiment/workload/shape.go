package workload

import (
	"fmt"
	"slices"
	"strings"
)

// ShapeBurstGPT is the name of a week that is harsher than those of [Traces]: its days differ tenfold, its hours twelvefold.
const ShapeBurstGPT = "burstgpt"

// Shapes returns the names of the weeks that demand can be given.
func Shapes() []string { return []string{ShapeBurstGPT} }

// UseShape makes the whole flow follow a week of [Shapes]. Peaks are cut later than usual, for the days alone are above the usual cut.
func (p *Params) UseShape(name string) { p.Shape, p.PeakToMean = name, 6 }

const (
	weekHours      = 7 * 24
	windowsPerHour = 3600 / WindowSeconds
)

// HoursOfWeek returns the flow in each hour of a week of a campus chat service, as a multiple of its mean: each day's requests,
// spread over the day like those of all days ([HoursOfDay]). The days are the seven in a row, of 61, whose
// ratio of the busiest to the quietest one is the median. Source: BurstGPT (Wang et al., 2024).
func HoursOfWeek() ([weekHours]float64, error) {
	var week [weekHours]float64
	hours, err := HoursOfDay()
	if err != nil {
		return week, err
	}
	var days []float64
	if err := readTable("burstgpt-week.csv", func(r row) { days = append(days, r.float("requests")) }); err != nil {
		return week, err
	}
	if len(days) != 7 {
		return week, fmt.Errorf("read burstgpt-week.csv: %d days", len(days))
	}
	sum := 0.0
	for i := range week {
		week[i] = days[i/24] * hours[i%24]
		sum += week[i]
	}
	for i := range week {
		week[i] *= weekHours / sum
	}
	return week, nil
}

// shapeHours changes the rates of all clients, hour by hour, so that the flow of all models together follows the week. Who sends how much of
// an hour, and how bursty, stays.
func (w *Workload) shapeHours(week *[weekHours]float64) {
	span, mean := weekWindows, 0.0 // windows, and requests per hour
	for i := range w.Models {
		span = max(span, w.Models[i].span())
	}
	for i := range w.Models {
		w.Models[i].unroll(span)
		mean += w.Models[i].weekShare() / weekHours
	}
	for first := 0; first < span; first += windowsPerHour {
		flow := 0.0
		for i := range w.Models {
			for k := range windowsPerHour {
				flow += w.Models[i].rateAt(first + k)
			}
		}
		if flow == 0 {
			continue
		}
		factor := float32(mean * week[first/windowsPerHour%weekHours] / flow)
		for i := range w.Models {
			for k := range w.Models[i].clients {
				for at := range windowsPerHour {
					w.Models[i].clients[k].rate[first+at] *= factor
				}
			}
		}
	}
}

// checkName says what is wrong with the name of an option, nil when it is empty or known.
func checkName(what, name string, known []string) error {
	if name == "" || slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("workload %s: unknown %q (known: %s)", what, name, strings.Join(known, ", "))
}
