package experiment

import (
	"testing"
	"time"
)

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 5 * time.Hour: "5 h", 90 * time.Minute: "1 h 30 min", 45 * time.Second: "45 s", 250 * time.Millisecond: "250 ms",
		time.Hour + time.Second: "1 h 1 s", -time.Hour: "−1 h", 3: "3ns", 250 * time.Microsecond: "250µs", time.Second + time.Microsecond: "1 s", 1500 * time.Millisecond: "1 s 500 ms", 48 * time.Hour: "48 h",
	} {
		if got := Length(d); got != want {
			t.Errorf("%v is told as %q, want %q", d, got, want)
		}
	}
}
