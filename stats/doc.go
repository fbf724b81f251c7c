// Package stats turns block summaries into estimates, intervals and p-values for a paired switchback.
package stats
