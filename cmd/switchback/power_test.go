package main

import (
	"math"
	"testing"

	"switchback/experiment"
	"switchback/reports"
	"switchback/stats"
)

// The smallest detectable effects of one, two and four weeks, in percent, that follow from the published intervals at
// 80 % power, computed with R's noncentral t distribution from standard deviations rounded to two digits.
func TestPublishedPower(t *testing.T) {
	want := map[string][3]float64{
		"ttft_p50": {5.2, 3.6, 2.5}, "ttft_p95": {5.6, 3.8, 2.7}, "throughput_p50": {3.2, 2.2, 1.5}, "cost_per_1k_requests": {1.3, 0.9, 0.6},
		"caller_ttft_p95": {7.3, 5.0, 3.5}, "total_p50": {8.6, 5.9, 4.1}, "total_p95": {6.5, 4.5, 3.1}, "hit_429": {24.2, 16.2, 11.1},
		"needed_retry": {15.7, 10.7, 7.4}, "failed_ms": {20.4, 13.7, 9.4},
	}
	found := powerOf(publishedSpread(), stats.DefaultPowerDesign(), -0.169, []int{7, 14, 28})
	published := 0
	for _, m := range experiment.Metrics() {
		if m.Published {
			published++
		}
	}
	if len(found.Rows) != published {
		t.Errorf("%d rows for %d published metrics", len(found.Rows), published)
	}
	for _, r := range found.Rows {
		for i, percent := range want[r.ID] {
			if got := 100 * *r.Smallest[i]; percent > 0 && math.Abs(got-percent) > 0.05+0.02*percent {
				t.Errorf("%s in %d days: %.2f %%, want %.1f", r.ID, found.Days[i], got, percent)
			}
		}
	}
	// The published change of TTFT p50 is two standard deviations, which five pairs detect with 93 % power and four do not.
	if n := found.Rows[0].DaysNeeded; n == nil || *n != 2 {
		t.Errorf("days for a change of 16.9 %% in TTFT p50: %v, want 2", n)
	}
}

// TestPairSD: percentile and Student intervals of the same pairs imply the same spread.
func TestPairSD(t *testing.T) {
	const sd, n = 0.1, 28
	interval := func(half float64) stats.Estimate {
		lo, hi := math.Expm1(-half), math.Expm1(half)
		return stats.Estimate{Relative: stats.Effect{Lo: &lo, Hi: &hi}, Pairs: n}
	}
	// t₂₇ and z at 97.5 %, from printed tables.
	student, normal := 2.0518*sd/math.Sqrt(n), 1.95996*sd*math.Sqrt(n-1.)/n
	for kind, half := range map[string]float64{"expanded": student, "t": student, "half-sample": student, "percentile": normal, "bca": normal} {
		if got := pairSD(interval(half), reports.Method{Interval: kind, Confidence: 0.95}); math.Abs(got-sd) > 1e-5 {
			t.Errorf("%s: %v, want %v", kind, got, sd)
		}
	}
	if got := pairSD(stats.Estimate{Pairs: n}, reports.Method{Interval: "t", Confidence: 0.95}); !math.IsNaN(got) {
		t.Errorf("no interval: %v", got)
	}
}

func TestParseEffect(t *testing.T) {
	for given, want := range map[string]float64{"5%": 0.05, "-10%": -0.1, "0.05": 0.05, " 5% ": 0.05, "+2.5%": 0.025} {
		if got, err := parseEffect(given); err != nil || math.Abs(got-want) > 1e-15 {
			t.Errorf("%q: %v, %v, want %v", given, got, err, want)
		}
	}
	for _, given := range []string{"", "0", "0%", "-100%", "-1", "five", "NaN", "Inf%", "5 %%"} {
		if got, err := parseEffect(given); err == nil {
			t.Errorf("%q is read as %v", given, got)
		}
	}
}
