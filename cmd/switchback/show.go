package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"switchback/reports"
)

// show prints the verdict, the published table and where the report is: the result of a run.
func (j *job) show(doc reports.Document) error {
	if j.quietly {
		return nil
	}
	h := reports.HeadlineOf(doc)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", h.Title)
	for _, banner := range h.Banners {
		fmt.Fprintf(&b, "%s\n\n", wrap(banner))
	}
	fmt.Fprintf(&b, "%s\n\n", wrap(h.Verdict))
	b.WriteString(resultTable(h))
	b.WriteString("\n\n")
	for _, note := range h.Notes {
		fmt.Fprintln(&b, note)
	}
	fmt.Fprintf(&b, "Report  %s\nData    %s\n", filepath.Join(j.out.report(doc.ReportDate), "report.md"), j.out.database())
	if _, err := j.p.stdout.Write([]byte(b.String())); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

const outputWidth = 110

// wrap breaks a sentence into lines.
func wrap(sentence string) string {
	lines := strings.Split(text.WrapSoft(sentence, outputWidth), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func resultTable(h reports.Headline) string {
	t := table.NewWriter()
	t.SetStyle(plainTable())
	t.AppendHeader(rowOf(h.Head))
	t.SetColumnConfigs(aligned(h.Right))
	for _, r := range h.Rows {
		t.AppendRow(rowOf(r))
	}
	return rendered(t)
}

// aligned sets the columns that right marks flush right.
func aligned(right []bool) []table.ColumnConfig {
	var columns []table.ColumnConfig
	for i, r := range right {
		align := text.AlignLeft
		if r {
			align = text.AlignRight
		}
		columns = append(columns, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	return columns
}

// rendered draws a table without blanks at the ends of its lines.
func rendered(t table.Writer) string {
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func rowOf(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	return row
}
