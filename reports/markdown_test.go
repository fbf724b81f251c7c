package reports

import (
	"html"
	"strings"
	"testing"
	"unicode/utf8"
)

// cellsOf splits a table line as cmark-gfm does: a backslash and the character after it belong together, a bare pipe ends a cell.
func cellsOf(line string) int {
	cells := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			cells++
		}
	}
	return cells - 1
}

// pipes counts the pipes that no backslash stands before, as markdown-it does.
func pipes(line string) int {
	n := 0
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			n++
		}
	}
	return n
}

// unescape undoes escapeMarkdown by the rules of CommonMark: backslash escapes, then entities.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\`*_[]~$#+-=.)", s[i+1]) >= 0 {
			i++
			b.WriteString(html.EscapeString(string(s[i])))
			continue
		}
		b.WriteByte(s[i])
	}
	return html.UnescapeString(b.String())
}

func checkCell(t *testing.T, s string) {
	t.Helper()
	for kind, cell := range map[string]string{"plain": escapeMarkdown(oneLine(s)), "code": markdownText(name(s)), "strong": markdownText(bold(oneLine(s)))} {
		line := "| " + cell + " | next |"
		if cellsOf(line) != 2 || pipes(line) != 3 {
			t.Fatalf("%s: %q breaks its cell: %s", kind, s, line)
		}
		if strings.ContainsAny(cell, "\n\r") {
			t.Fatalf("%s: %q breaks the line", kind, s)
		}
		if !utf8.ValidString(cell) {
			t.Fatalf("%s: %q is not UTF-8 any more", kind, s)
		}
		rest := strings.NewReplacer("<code>", "", "</code>", "").Replace(cell)
		if kind != "code" || !strings.HasPrefix(cell, "`") {
			if strings.ContainsAny(rest, "<>") {
				t.Fatalf("%s: %q leaves markup: %s", kind, s, cell)
			}
		}
	}
	if got, want := unescape(escapeMarkdown(oneLine(s))), oneLine(s); got != want {
		t.Fatalf("escaped %q reads back as %q", want, got)
	}
	code := markdownText(name(s))
	switch {
	case strings.HasPrefix(code, "`"):
		if inner := code[1 : len(code)-1]; strings.Contains(inner, "`") || inner != clean(s) {
			t.Fatalf("code span of %q is %s", s, code)
		}
	case strings.HasPrefix(code, "<code>"):
		if got := unescape(strings.TrimSuffix(strings.TrimPrefix(code, "<code>"), "</code>")); got != clean(s) {
			t.Fatalf("code of %q reads back as %q", s, got)
		}
	case strings.TrimSpace(clean(s)) != "":
		t.Fatalf("code of %q is %s", s, code)
	}
}

var nastyNames = []string{
	"", " ", "deepinfra/fp8", "a|b", "a\\|b", "a\\", "`", "``|``", "<script>alert(1)</script>", "line\nbreak", "\r\n", "tab\there", "[x](javascript:y)",
	"![i](z)", "**b**", "_i_", "~~s~~", "&amp;", "&#124;", "$x$", "$1.25 | $1.32", "@octocat", "#1", "- item", "1. one", "\x00\x1b[31m", "\xff\xfe", "\u202egnp", "zero\u200bwidth", "\u3164", "e\u2028f",
	strings.Repeat("very-long-name/", 40), "日本語|モデル", "<!--", "https://example.com/<b>", "</code>|`", "\u200b",
}

func TestNastyNamesStayInTheirCells(t *testing.T) {
	for _, s := range nastyNames {
		checkCell(t, s)
	}
}

func FuzzCell(f *testing.F) {
	for _, s := range nastyNames {
		f.Add(s)
	}
	f.Fuzz(checkCell)
}

// TestTablesAreRectangular checks every table of every state: as many cells in each row as in the head, and no more than seven.
func TestTablesAreRectangular(t *testing.T) {
	for state, doc := range map[string]Document{
		"normal": normalDocument(), "provisional": provisionalDocument(), "incomplete": incompleteDocument(), "degenerate": degenerateDocument(),
	} {
		head := 0
		for n, line := range strings.Split(string(writeMarkdown(compose(doc))), "\n") {
			if !strings.HasPrefix(line, "|") {
				head = 0
				continue
			}
			cells := cellsOf(line)
			if head == 0 {
				head = cells
			}
			if cells != head || cells != pipes(line)-1 || cells > maxColumns {
				t.Errorf("%s: line %d has %d cells, its table %d: %s", state, n+1, cells, head, line)
			}
		}
	}
}

func TestReportNeverClaimsNoEffect(t *testing.T) {
	for state, doc := range map[string]Document{
		"normal": normalDocument(), "provisional": provisionalDocument(), "incomplete": incompleteDocument(), "degenerate": degenerateDocument(),
	} {
		md := string(writeMarkdown(compose(doc)))
		for _, bad := range []string{"no effect", "No effect", "NaN", "+Inf", "-Inf", "<nil>", "%!"} {
			if strings.Contains(md, bad) {
				t.Errorf("%s: the report says %q", state, bad)
			}
		}
	}
}

// Marks of one row stay apart: the first and the second note together would otherwise read as the twelfth.
func TestMarksStayApart(t *testing.T) {
	var notes footnotes
	for _, row := range []struct {
		codes []string
		want  string
	}{
		{nil, ""},
		{[]string{"few_events"}, "¹"},
		{[]string{"not_finite", "few_events"}, "¹,²"},
		{[]string{"too_few_pairs"}, "³"},
	} {
		if got := notes.marks(row.codes); got != row.want {
			t.Errorf("the marks of %v are %q; want %q", row.codes, got, row.want)
		}
	}
}
