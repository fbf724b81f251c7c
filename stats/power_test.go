package stats_test

import (
	"math"
	"testing"

	"switchback/stats"
)

// TestSmallestEffect: the smallest detectable effects that follow from the 95 % intervals of OpenRouter's announcement of
// 28 Oct 2026 (28 pairs), at 80 % power, from another implementation of the noncentral t distribution.
func TestSmallestEffect(t *testing.T) {
	design := stats.DefaultPowerDesign()
	for _, row := range []struct {
		name    string
		sd      float64    // of pairs' log effects
		percent [4]float64 // with 14, 28, 56 and 112 pairs
	}{
		{"TTFT p50", .092, [4]float64{7.7, 5.2, 3.6, 2.5}},
		{"TTFT p95", .099, [4]float64{8.4, 5.6, 3.8, 2.7}},
		{"throughput p50", .057, [4]float64{4.7, 3.2, 2.2, 1.5}},
		{"cost per 1K", .023, [4]float64{1.9, 1.3, 0.9, 0.6}},
		{"caller TTFT p95", .128, [4]float64{10.9, 7.3, 5.0, 3.5}},
		{"whole request p50", .150, [4]float64{12.9, 8.6, 5.9, 4.1}},
		{"whole request p95", .115, [4]float64{9.8, 6.5, 4.5, 3.1}},
		{"429", .39, [4]float64{37.6, 24.2, 16.2, 11.1}},
		{"retry", .27, [4]float64{24, 15.7, 10.7, 7.4}},
		{"failed ms", .34, [4]float64{31.5, 20.4, 13.7, 9.4}},
	} {
		for i, n := range []int{14, 28, 56, 112} {
			got := 100 * design.SmallestEffect(row.sd, n)
			// The standard deviation is given to half of its last digit.
			digits := map[bool]float64{true: .0005, false: .005}[row.sd < .2]
			if tolerance := row.percent[i]*digits/row.sd + .06; !near(got, row.percent[i], tolerance) {
				t.Errorf("%s, %d pairs: %.2f %%, want %.1f ± %.2f", row.name, n, got, row.percent[i], tolerance)
			}
			if need, ok := design.PairsNeeded(got/100*1.000001, row.sd); !ok || need != n {
				t.Errorf("%s: %d pairs needed to detect what %d pairs detect", row.name, need, n)
			}
		}
	}
}

// TestPairSD: standard deviations implied by the published intervals.
func TestPairSD(t *testing.T) {
	for _, row := range []struct {
		name         string
		lo, hi, want float64
	}{
		{"TTFT p50", -.198, -.139, .092},
		{"TTFT p95", -.219, -.157, .099},
		{"throughput p50", .138, .189, .057},
		{"cost per 1K requests", .051, .070, .023},
		{"cost per 1M tokens", .049, .096, .057},
		{"caller TTFT p50", -.197, -.138, .091},
		{"caller TTFT p95", -.290, -.216, .128},
		{"whole request p50", -.236, -.142, .150},
		{"whole request p95", -.197, -.122, .115},
		{"429", -.72, -.62, .39},
		{"retry", -.52, -.41, .27},
		{"failed ms", -.60, -.48, .34},
	} {
		if got := stats.PairSD(row.lo, row.hi, 28, 0.95); !near(got, row.want, 0.006) {
			t.Errorf("%s: %.4f, want %.3f", row.name, got, row.want)
		}
	}
}

// TestDetectionPower: G*Power's paired t-test needs 34 pairs for half a standard deviation at 80 % power, which gives .8077775
// (Faul et al. 2007); at no effect the power is the level; more pairs never have less power.
func TestDetectionPower(t *testing.T) {
	design := stats.DefaultPowerDesign()
	if got := design.DetectionPower(0, 1, 28); !near(got, 0.05, 1e-9) {
		t.Errorf("power at no effect = %v", got)
	}
	if n, ok := design.PairsNeeded(math.Expm1(0.5), 1); !ok || n != 34 {
		t.Errorf("%d pairs needed, want 34", n)
	}
	if got := design.DetectionPower(0.5, 1, 34); !near(got, .8077775, 1e-6) {
		t.Errorf("power = %.7f, want .8077775", got)
	}
	last := 0.0 // more days never detect less (cluster-experiments #243)
	for n := 2; n < 200; n++ {
		p := design.DetectionPower(0.05, 0.092, n)
		if p < last || p > 1 {
			t.Errorf("%d pairs: power %v after %v", n, p, last)
		}
		last = p
	}
	adjusted := design
	adjusted.Lost = 4
	if a, b := adjusted.SmallestEffect(.1, 28), design.SmallestEffect(.1, 28); !(a > b) {
		t.Errorf("smallest effect %v with four lost degrees of freedom, %v with none", a, b)
	}
	if got := design.SmallestEffect(.1, 1); !math.IsNaN(got) {
		t.Errorf("smallest effect of one pair = %v", got)
	}
	if _, ok := design.PairsNeeded(0, .1); ok {
		t.Error("a number of pairs that detects nothing")
	}
	if got := stats.DaysNeeded(29, 4); got != 8 {
		t.Errorf("29 pairs at 4 a day take %d days", got)
	}
}
