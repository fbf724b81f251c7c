package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"switchback/reports"
)

const resultsName = "results.json"

// readResults reads the results.json of a report folder.
func readResults(folder string) (reports.Document, error) {
	f, err := os.Open(filepath.Join(folder, resultsName))
	if err != nil {
		return reports.Document{}, err
	}
	doc, err := reports.Decode(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return doc, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return doc, nil
}

// withHistory adds how the estimates moved over the earlier reports of the same experiment in the output folder. A report
// that cannot be read is left out and told.
func (j *job) withHistory(doc reports.Document) (reports.Document, error) {
	entries, err := os.ReadDir(j.out.reports()) // sorted by name
	if err != nil {
		return doc, fmt.Errorf("read earlier reports: %w", err)
	}
	first := doc.Design.Start.UTC().Format(time.DateOnly)
	var earlier []reports.Document
	for _, entry := range entries {
		date := entry.Name()
		if _, err := time.Parse(time.DateOnly, date); err != nil || date < first || date >= doc.ReportDate {
			continue
		}
		former, err := readResults(j.out.report(date))
		if err != nil {
			j.log.Warn("left out of the history", "report", date, "reason", err)
			continue
		}
		if former.Experiment == doc.Experiment && former.Arms == doc.Arms && former.ReportDate == date {
			earlier = append(earlier, former)
		}
	}
	if len(earlier) > 0 {
		doc.History = reports.HistoryOf(doc, earlier)
	}
	return doc, nil
}

// against sets the document beside the report in a folder: a report folder, or an output folder, of which the latest report counts.
func against(doc reports.Document, folder string) (reports.Document, error) {
	for _, f := range []string{folder, outDir{folder}.latest()} {
		other, err := readResults(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return doc, usageError("a report of the same version of this program can be compared", "--against: %w", err)
		}
		c := reports.Compare(doc, other)
		doc.Comparison = &c
		return doc, nil
	}
	return doc, usageError("name a report folder or an output folder", "--against: %s holds no %s", folder, resultsName)
}
