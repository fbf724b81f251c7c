package main

import (
	"fmt"
	"slices"
	"strings"

	"switchback/ingest"
)

const emptyHint = "check that the export of the logs has run"

// unreadError tells why files hold no request that can be read. Loading them again would end the same way. place is the key that names the
// files, "" when no single one does.
func unreadError(report ingest.LoadReport, place string) error {
	var why []string
	hint := emptyHint
	if most := mostRejected(report); most.reason != "" {
		why = append(why, fmt.Sprintf("%s of %s lines of %s are rejected: %s", thousands(report.Rejects), thousands(report.Lines()), some(most.files), most.reason))
		hint = most.hint
	}
	if cut := cutShort(report); len(cut) > 0 {
		why = append(why, "cut short: "+some(cut))
		if len(why) == 1 {
			hint = "load it again when it is whole"
		}
	}
	var empty []string
	for _, f := range report.Files {
		if f.Rejects == 0 && !f.CutShort {
			empty = append(empty, f.Path)
		}
	}
	if len(empty) > 0 {
		why = append(why, "without a request: "+some(empty))
	}
	if place != "" {
		place += ": "
	}
	return usageError(hint, "%sload: no request can be read: %s", place, strings.Join(why, "; "))
}

// rejection is what most of the rejected lines of a load have in common.
type rejection struct {
	files  []string // with rejects of any reason
	reason string   // with an example, "" when nothing was rejected
	hint   string
}

// mostRejected returns the reason that most lines were rejected for, and an example of it.
func mostRejected(report ingest.LoadReport) rejection {
	var found rejection
	counts := map[string]int64{}
	var most int64
	for _, f := range report.Files {
		if f.Rejects == 0 {
			continue
		}
		found.files = append(found.files, f.Path)
		for _, r := range f.Reasons {
			counts[r.Name] += r.N
			most = max(most, counts[r.Name])
		}
	}
	for _, f := range report.Files {
		for _, r := range f.Examples {
			if counts[r.Reason] == most {
				found.reason = fmt.Sprintf("%s (%s), such as %q in %s:%d", r.Reason, thousands(most), r.Text, f.Path, r.Line)
				found.hint = ingest.Accepted(r.Reason)
				return found
			}
		}
	}
	return found
}

// unread says that more of the lines cannot be read than the limit, which was checked and is set by that name, allows; "" when not.
func unread(rejects, lines int64, what, name, limit string) string {
	if l, err := ingest.ParseRejectLimit(limit); err != nil || !l.Exceeded(rejects, lines) {
		return ""
	}
	return fmt.Sprintf("%s of %s %s cannot be read, more than %s %s allows", thousands(rejects), thousands(lines), what, name, limit)
}

// unreadReplay is unread for a log that is replayed, of which so many requests lack tokens that cannot be read. It names
// what is unreadable.
func unreadReplay(report ingest.LoadReport, requests int64, limit string) string {
	text := unread(report.Rejects+requests, report.Lines(), "lines of the replayed log", "workload.max_rejects", limit)
	if text == "" {
		return ""
	}
	var what []string
	if most := mostRejected(report); most.reason != "" {
		what = append(what, most.reason)
	}
	if first := unreadTokens(report); requests > 0 && first != "" {
		what = append(what, first)
	}
	if len(what) > 0 {
		text += ": " + strings.Join(what, "; ")
	}
	return text
}

// tokenColumns are what a replay needs of a row besides its time and model.
func tokenColumns() []string { return []string{"input_tokens", "output_tokens"} }

// lackingTokens returns how many of so many requests that lack tokens, and have some value that cannot be read, can lack them for
// that reason. Rows do not say which of their values it was.
func lackingTokens(report ingest.LoadReport, requests int64) int64 {
	values := int64(0)
	for _, f := range report.Files {
		for _, u := range f.Unread {
			if slices.Contains(tokenColumns(), u.Column) {
				values += u.N
			}
		}
	}
	return min(requests, values)
}

// unreadTokens returns the first number of tokens that could not be read, with its place, "" when all could.
func unreadTokens(report ingest.LoadReport) string {
	for _, f := range report.Files {
		var first ingest.UnreadField
		for _, u := range f.Unread {
			if slices.Contains(tokenColumns(), u.Column) && (first.N == 0 || u.Line < first.Line) {
				first = u
			}
		}
		if first.N > 0 {
			return fmt.Sprintf("%s:%d: %s", f.Path, first.Line, first)
		}
	}
	return ""
}

// cutShort lists the compressed files that end too early.
func cutShort(report ingest.LoadReport) []string {
	var files []string
	for _, f := range report.Files {
		if f.CutShort {
			files = append(files, f.Path)
		}
	}
	return files
}
