// Package rules says which rows an analysis keeps and what each metric takes from a row, once for every engine that
// rows lie in.
//
// The rules are written in SQL, for an engine has to follow them where the rows are. What engines spell in different
// ways, a Dialect writes: DuckDB for the file that package ingest fills, ClickHouse for a warehouse.
//
//   - Window.Kept: which rows count at all;
//   - Measures: the two sums that a metric is a ratio of;
//   - Quantities: the values that quantiles are taken of;
//   - MixClass: what requests a metric is standardised over.
//
// All sums and values are whole numbers (rows, tokens, microseconds, nano-dollars, thousandths of a token per second),
// so engines that agree on the rows agree on every digit.
package rules
