// Package ingest loads request logs into a DuckDB file through Arrow and answers what package stats asks of them.
//
// The way of the data, in order:
//
//  1. [Open] opens the DuckDB file and makes its tables.
//  2. Rows come as batches of package experiment: from the drive, which writes to a [Loader] while it runs, or
//     from files, which [LoadFiles] recognises, reads, checks and loads exactly once.
//  3. A [Loader] turns batches into Arrow records and streams them into the tables `requests` and `attempts`;
//     a load is one transaction with its row in `loads` and its lines in `rejects`.
//  4. [Store.ApplyPlan] writes the schedule and gives every row its arm, block and burn-in mark.
//  5. [Store.Summaries] answers the questions of stats.Analyze per model and block of the rows that the analysis keeps:
//     sums by SQL, histograms and exact values from the rows' quantities, which leave DuckDB once. [Store.Series] does
//     so for parts of the rows. [Store.Health] says which rows are left out and why.
//  6. [Store.SaveRun] keeps the results; [Store.Document] returns them to whoever renders a report.
package ingest
