package experiment

import (
	"strconv"
	"strings"
	"time"
)

// Length tells a length of time as people say it: 3 h, 1 h 30 min, 45 s, 250 ms. Parts of a millisecond are left out, unless there
// is nothing else: 3ns.
func Length(d time.Duration) string {
	if d < 0 {
		return "−" + Length(-d)
	}
	whole := d
	var parts []string
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if n := d / u.size; n != 0 {
			parts = append(parts, strconv.FormatInt(int64(n), 10)+" "+u.name)
		}
		d %= u.size
	}
	switch {
	case len(parts) == 0 && whole > 0:
		return whole.String()
	case len(parts) == 0:
		return "0 s"
	}
	return strings.Join(parts, " ")
}
