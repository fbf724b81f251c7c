package main

import "context"

// runLogs analyses the rows that are loaded already.
func (j *job) runLogs(context.Context, *settings, string) error {
	return usageError("load them with switchback ingest, then switchback analyze and switchback report", "run: logs are loaded by another command")
}
