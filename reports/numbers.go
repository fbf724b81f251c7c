package reports

import "time"

func day(t time.Time) string     { return t.UTC().Format(time.DateOnly) }
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// seconds prints a length as people say it: 3h, 90m, 45s.
func seconds(s int64) string {
	return time.Duration(s * int64(time.Second)).String()
}
