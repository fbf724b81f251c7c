package random

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	tableBits = 13
	tableSize = 1 << tableBits
)

// Table holds the quantiles of a distribution at the midpoints of 8,192 equally likely strata.
// Draws are those quantiles, so the far tails (beyond 1 in 16,384 on each side) are cut.
type Table [tableSize]float32

// NewTable tabulates a quantile function, which is called with probabilities in (0, 1), rising.
func NewTable(quantile func(p float64) float64) *Table {
	t := new(Table)
	for i := range t {
		t[i] = float32(quantile((float64(i) + 0.5) / tableSize))
	}
	return t
}

// Draw returns a random value of the distribution.
func (t *Table) Draw(s *Stream) float64 { return float64(t[s.Uint64()>>(64-tableBits)]) }

// At returns the quantile at p in [0, 1).
func (t *Table) At(p float64) float64 { return float64(t[int(p*tableSize)&(tableSize-1)]) }

// Normal tabulates the standard normal distribution.
func Normal() *Table { return NewTable(distuv.UnitNormal.Quantile) }

// Exponential tabulates the exponential distribution of mean 1.
func Exponential() *Table { return NewTable(func(p float64) float64 { return -math.Log1p(-p) }) }

// LogNormal tabulates the lognormal distribution of median 1 and log standard deviation sigma.
func LogNormal(sigma float64) *Table {
	return NewTable(func(p float64) float64 { return math.Exp(sigma * distuv.UnitNormal.Quantile(p)) })
}

// Weibull tabulates the Weibull distribution of mean 1 and the given shape, shape > 0.
func Weibull(shape float64) *Table {
	scale := 1 / math.Gamma(1+1/shape)
	return NewTable(func(p float64) float64 { return scale * math.Pow(-math.Log1p(-p), 1/shape) })
}
