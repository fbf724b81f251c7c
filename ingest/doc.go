// Package ingest loads request logs into DuckDB through Arrow and answers what stats asks of them.
package ingest
