package stats

import "context"

// A column is one arm of one pair: column 2·pair is the pair's control block, 2·pair+1 its treatment block.
// All summaries are asked per (model, column), so that the same counts serve the bootstrap (weights on
// pairs), the half-sample, the jackknife and the permutation of arms (weights that swap the two columns).

// Sum holds the totals of one additive quantity in one cell.
type Sum struct {
	Model   int   // index into Source.Models
	Column  int   // 2·pair + arm
	Stratum int   // any label of rows that are alike, for Standardized metrics; else 0
	N       int64 // denominator: rows, or tokens
	Y       int64 // numerator: events, nano-dollars, microseconds
}

// Bins outside the finite positive values.
const (
	BinZero int32 = -1      // values ≤ 0
	BinInf  int32 = 1 << 30 // failed requests, which rank above every value
)

// Inf is the value of rows in BinInf.
const Inf int64 = 1<<63 - 1

// Bin is a count of one histogram bin in one cell. Bins are numbered so that a larger value never has a smaller bin.
type Bin struct {
	Model  int
	Column int
	Bin    int32
	N      int64
}

// ModelBin names a bin of one model's histogram.
type ModelBin struct {
	Model int
	Bin   int32
}

// Value is a number of rows with one exact value in one cell. There may be several for the same value.
type Value struct {
	Model  int
	Column int
	Value  int64
	N      int64
}

// Source answers the engine's questions about the rows that the analysis keeps. The order of the answers does not matter
// (models in their order save time), and whoever asks may change them.
//
// Quantities are named by the metric that uses them: Sums is asked with a metric id ("cost_per_1k_requests",
// "hit_429", …, and "requests" for the number of kept rows), Histogram and Values with a quantity
// ("ttft", "caller_ttft", "throughput", "total"). A quantity that the logs cannot give has no cells.
type Source interface {
	// Models returns the models with at least one kept row, sorted.
	Models(ctx context.Context) ([]string, error)
	Sums(ctx context.Context, metric string) ([]Sum, error)
	Histogram(ctx context.Context, quantity string) ([]Bin, error)
	// Values returns the exact values inside the named bins, which are never BinZero or BinInf, and each at most once.
	Values(ctx context.Context, quantity string, bins []ModelBin) ([]Value, error)
}
