package experiment

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkDrive drives the whole default scenario for a day, and for the week of the built-in experiment, and logs a twelfth, as that does.
func BenchmarkDrive(b *testing.B) {
	for _, c := range []struct{ days, threads int }{{1, 1}, {1, 2}, {7, 2}} {
		b.Run(fmt.Sprintf("days=%d/threads=%d", c.days, c.threads), func(b *testing.B) {
			cfg := DriveConfig{Plan: planOf(b, c.days), Seed: 3, LogRequests: c.days * 2_000_000 / 7, Threads: c.threads}
			requests := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				s, err := Drive(context.Background(), cfg, func(*Batch) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
				requests += s.Requests
			}
			b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkScene is what a drive does before its first request.
func BenchmarkScene(b *testing.B) {
	cfg := DriveConfig{Plan: dayPlan(b), Seed: 3}
	for b.Loop() {
		if _, err := newScene(cfg); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorld is the event loop alone, for the models with the most and with the least traffic.
func BenchmarkWorld(b *testing.B) {
	s, err := newScene(DriveConfig{Plan: dayPlan(b), Seed: 3, LogRequests: 2_000_000 / 7})
	if err != nil {
		b.Fatal(err)
	}
	for _, at := range []int{0, len(s.units) - 1} {
		b.Run(fmt.Sprintf("model=%d", at), func(b *testing.B) {
			requests := int64(0)
			for b.Loop() {
				over, wait := reading(func(*Batch) error { return nil })
				u, err := s.newUnit(s.units[at], over)
				if err != nil {
					b.Fatal(err)
				}
				m, err := u.run(context.Background(), func(int64) {})
				if err != nil {
					b.Fatal(err)
				}
				if err := wait(); err != nil {
					b.Fatal(err)
				}
				requests += m[0].Requests
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(requests), "ns/request")
		})
	}
}
