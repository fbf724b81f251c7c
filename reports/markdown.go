package reports

import (
	"strings"
)

// writeMarkdown returns a page as GitHub-flavoured Markdown that GitLab shows the same way.
func writeMarkdown(p page) []byte {
	var b strings.Builder
	b.WriteString("# " + markdownText(p.title) + "\n")
	writeMarkdownBlocks(&b, p.blocks)
	return []byte(b.String())
}

func writeMarkdownBlocks(b *strings.Builder, blocks []block) {
	for _, bl := range blocks {
		b.WriteByte('\n')
		switch bl.kind {
		case headingBlock:
			b.WriteString("## " + markdownText(bl.text) + "\n")
		case paragraphBlock:
			b.WriteString(lineStart(markdownText(bl.text)) + "\n")
		case noticeBlock:
			b.WriteString("> " + lineStart(markdownText(bl.text)) + "\n")
		case listBlock:
			for _, item := range bl.items {
				b.WriteString("- " + lineStart(markdownText(item)) + "\n")
			}
		case tableBlock:
			writeMarkdownTable(b, bl.table)
		case figureBlock:
			b.WriteString("![" + escapeMarkdown(bl.figure.alt) + "](" + bl.figure.name + ".svg)\n")
		case codeBlock:
			fence := strings.Repeat("`", max(3, longestRun(bl.code, '`')+1))
			b.WriteString(fence + "sh\n" + bl.code + "\n" + fence + "\n")
		case foldBlock:
			b.WriteString("<details>\n<summary>" + markdownText(bl.text) + "</summary>\n")
			writeMarkdownBlocks(b, bl.inside)
			b.WriteString("\n</details>\n")
		}
	}
}

func writeMarkdownTable(b *strings.Builder, t table) {
	writeRow := func(cells []text) {
		b.WriteByte('|')
		for _, c := range cells {
			b.WriteString(" " + markdownText(c) + " |")
		}
		b.WriteByte('\n')
	}
	writeRow(t.head)
	b.WriteByte('|')
	for _, right := range t.right {
		if right {
			b.WriteString("---:|")
		} else {
			b.WriteString(":---|")
		}
	}
	b.WriteByte('\n')
	for _, r := range t.rows {
		writeRow(r)
	}
}

// markdownText writes spans as Markdown that means the same inside and outside of tables.
func markdownText(t text) string {
	var b strings.Builder
	for _, s := range t {
		switch s.Style {
		case strong:
			b.WriteString(markdownStrong(s.Text))
		case code:
			b.WriteString(markdownCode(s.Text))
		case breakLine:
			b.WriteString("<br>")
		default:
			b.WriteString(escapeMarkdown(s.Text))
		}
	}
	return b.String()
}

// markdownStrong sets text in bold; spaces at its ends would keep the asterisks from being read as markup.
func markdownStrong(s string) string {
	inner := strings.TrimSpace(s)
	if inner == "" {
		return escapeMarkdown(s)
	}
	before, after, _ := strings.Cut(s, inner)
	return escapeMarkdown(before) + "**" + escapeMarkdown(inner) + "**" + escapeMarkdown(after)
}

// markdownCode sets a name as code. A pipe would split a table cell, a backtick would end the span, and a backslash before a
// pipe or a backtick is read differently by different renderers: such names become an HTML code element with everything escaped.
func markdownCode(s string) string {
	s = oneLine(s)
	if strings.TrimSpace(s) == "" {
		return "(empty)"
	}
	if strings.ContainsAny(s, "`|\\") || strings.TrimSpace(s) != s {
		return "<code>" + escapeMarkdown(s) + "</code>"
	}
	return "`" + s + "`"
}

// escapeMarkdown writes plain text so that no character of it is read as markup. Pipes and angle brackets become entities,
// which every renderer reads the same way inside tables.
func escapeMarkdown(s string) string {
	var b strings.Builder
	runes := []rune(strings.ReplaceAll(s, "\n", " "))
	for i, r := range runes {
		next := rune(0)
		if i+1 < len(runes) {
			next = runes[i+1]
		}
		switch r {
		case '|':
			b.WriteString("&#124;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '\\', '`', '*', '_', '[', ']', '~':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '@':
			b.WriteString("&#64;") // no mentions
		case '$':
			if next < '0' || next > '9' { // "$1.25" is an amount, "$x$" would be a formula
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case '\r', '\t':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// lineStart escapes a first character that would start a heading, a list or a rule.
func lineStart(s string) string {
	if s == "" {
		return s
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case strings.ContainsRune("#+-=", rune(s[0])):
		return "\\" + s
	case digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')'):
		return s[:digits] + "\\" + s[digits:]
	}
	return s
}

// longestRun returns the length of the longest run of c in s.
func longestRun(s string, c rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
