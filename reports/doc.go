// Package reports renders the results of an experiment as Markdown, JSON and figures.
package reports
