package ingest

import (
	"fmt"
	"strconv"
	"strings"
)

// RejectLimit is how many lines of the input may be unreadable before a result counts as incomplete.
type RejectLimit struct {
	share float64 // of all lines, when count is negative
	count int64
}

// ParseRejectLimit reads a share from 0% to 100%, such as "0.1%", or a count such as "20".
func ParseRejectLimit(text string) (RejectLimit, error) {
	if number, isShare := strings.CutSuffix(text, "%"); isShare {
		percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return RejectLimit{}, fmt.Errorf("%q is not a share from 0%% to 100%%", text)
		}
		return RejectLimit{share: percent / 100, count: -1}, nil
	}
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || count < 0 {
		return RejectLimit{}, fmt.Errorf("%q is neither a share nor a count", text)
	}
	return RejectLimit{count: count}, nil
}

// Exceeded reports whether so many rejects of all lines are more than the limit allows.
func (l RejectLimit) Exceeded(rejects, lines int64) bool {
	if l.count >= 0 {
		return rejects > l.count
	}
	return float64(rejects) > l.share*float64(lines)
}
