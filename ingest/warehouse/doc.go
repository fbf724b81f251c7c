// Package warehouse answers the questions of an analysis about request logs that lie in ClickHouse, where the rows are.
//
// The steps, in the order of the data:
//
//  1. An Address and a Mapping say where the rows are and which SQL expressions of the user's table are the canonical
//     columns. Open asks the server for the type of every expression (no row is read) and writes the conversion to whole
//     microseconds, nano-dollars and tokens. A canonical column without an expression is unknown in every row.
//  2. Survey counts the rows of the window by model and says which columns are filled at all. Rows that one key names
//     twice are found by their ids; of such rows one is taken, as a load into DuckDB would.
//  3. The schedule travels with each query as an external table: one row for each model, block and bucket of time. The
//     cluster joins it, so that every row knows its cell (model and column), block, burn-in and arm.
//  4. Census counts the rows by block: what a plan does to them, and their health.
//  5. Summaries answers stats.Analyze: sums by cell, histograms by cell, and the values inside the few bins that quantiles
//     touch. Series does the same for parts of the rows, and Elsewhere for what the views of the DuckDB file show by block and
//     provider. Only such counts leave the cluster.
//
// Which rows count and what a metric takes from them is written in package rules, once for DuckDB and ClickHouse. Queries
// keep to functions that ClickHouse documents today and that its releases of 2018 know.
//
// Every query is a SELECT with the setting readonly, limits of time and memory, and no tolerance for a shard that does not
// answer or a limit that would cut an answer short. One query is asked at a time, one for each metric and pass.
package warehouse
