package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"switchback/experiment"
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

// nightsBefore returns the dates of the reports in the output folder from the experiment's first day to before a date.
func (o outDir) nightsBefore(first time.Time, date string) ([]string, error) {
	entries, err := os.ReadDir(o.reports()) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("read earlier reports: %w", err)
	}
	var dates []string
	for _, entry := range entries {
		name := entry.Name()
		if _, err := time.Parse(time.DateOnly, name); err == nil && name >= first.UTC().Format(time.DateOnly) && name < date {
			dates = append(dates, name)
		}
	}
	return dates, nil
}

// earlierNights names what the history of a report follows from: the earlier reports of the same experiment, by their dates
// and fingerprints.
func (j *job) earlierNights(w window, plan experiment.Plan) ([]string, error) {
	first, _ := plan.Window()
	dates, err := j.out.nightsBefore(first, w.date)
	if err != nil {
		return nil, err
	}
	var nights []string
	for _, date := range dates {
		if r, err := j.out.manifest(date); err == nil && r.Experiment == j.config.Name {
			nights = append(nights, date+" "+r.Fingerprint)
		}
	}
	return nights, nil
}

// withHistory adds how the estimates moved over the earlier reports of the same experiment in the output folder. A report
// that cannot be read is left out and told.
func (j *job) withHistory(doc reports.Document) (reports.Document, error) {
	dates, err := j.out.nightsBefore(doc.Design.Start, doc.ReportDate)
	if err != nil {
		return doc, err
	}
	var earlier []reports.Document
	for _, date := range dates {
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
