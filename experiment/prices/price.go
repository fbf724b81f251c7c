package prices

import (
	"fmt"
	"math"
	"math/bits"
)

// Rate is a price per token in units of 1e-12 US dollars, which is the same as micro-dollars per million tokens:
// $0.28 per million tokens is Rate(280_000).
type Rate int64

// MaxRate is the highest rate that a book may hold: one US dollar per token.
const MaxRate Rate = 1e12

// PerMillion returns the rate for a price in US dollars per million tokens, rounded to six decimals. A price below
// zero, above MaxRate, or not a number is an error.
func PerMillion(usd float64) (Rate, error) { return rate(usd * 1e6) }

// PerToken returns the rate for a price in US dollars per token, rounded to twelve decimals. A price below zero,
// above MaxRate, or not a number is an error.
func PerToken(usd float64) (Rate, error) { return rate(usd * 1e12) }

// rate rounds a number of 1e-12 dollars per token.
func rate(x float64) (Rate, error) {
	if !(x >= 0 && x <= float64(MaxRate)) { // NaN too
		return 0, fmt.Errorf("%g USD per million tokens is outside 0 … %g", x/1e6, MaxRate.PerMillion())
	}
	return Rate(math.Round(x)), nil
}

// PerMillion returns the rate in US dollars per million tokens.
func (r Rate) PerMillion() float64 { return float64(r) / 1e6 }

// PerToken returns the rate in US dollars per token.
func (r Rate) PerToken() float64 { return float64(r) / 1e12 }

// Price is what one provider charges for the tokens of one model. All rates are within [0, MaxRate].
type Price struct {
	Input  Rate
	Output Rate

	CacheRead       Rate // of input tokens read from the prompt cache; counts only when CacheReadKnown
	CacheReadKnown  bool // false: the list names no cache-read price, so such tokens cost Input
	CacheWrite      Rate // of input tokens written to the prompt cache; counts only when CacheWriteKnown
	CacheWriteKnown bool // false: the list names no cache-write price, so such tokens cost Input
}

// CacheReadRate returns what an input token read from the prompt cache costs: Input when the list names no price.
func (p Price) CacheReadRate() Rate {
	if p.CacheReadKnown {
		return p.CacheRead
	}
	return p.Input
}

// CacheWriteRate returns what an input token written to the prompt cache costs: Input when the list names no price.
func (p Price) CacheWriteRate() Rate {
	if p.CacheWriteKnown {
		return p.CacheWrite
	}
	return p.Input
}

// Cost returns what a request costs in units of 1e-9 US dollars: exact, then rounded half away from zero. Input
// includes the cached and the written tokens, output includes reasoning. Counts below zero are taken for zero;
// when cached and written tokens together exceed the input, they alone are billed. A result beyond the int64 range
// is cut to it.
func (p Price) Cost(input, cached, cacheWrite, output int64) (nanoUSD int64) {
	cached, cacheWrite = max(cached, 0), max(cacheWrite, 0)
	fresh := max(max(input, 0)-cached, 0)
	fresh = max(fresh-cacheWrite, 0)

	var sum wide // in 1e-12 US dollars; four products below 2⁶³·2⁴⁰ don't overflow 128 bits
	sum.add(fresh, p.Input)
	sum.add(cached, p.CacheReadRate())
	sum.add(cacheWrite, p.CacheWriteRate())
	sum.add(max(output, 0), p.Output)
	return sum.thousandth()
}

// wide is an unsigned number of 128 bits.
type wide struct{ hi, lo uint64 }

// add adds tokens · rate; both are at least zero.
func (w *wide) add(tokens int64, rate Rate) {
	hi, lo := bits.Mul64(uint64(tokens), uint64(rate))
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

// thousandth returns the number divided by 1,000, rounded half up, at most math.MaxInt64.
func (w wide) thousandth() int64 {
	if w.hi >= 500 { // the quotient is beyond 500·2⁶⁴/1000 = 2⁶³
		return math.MaxInt64
	}
	q, rest := bits.Div64(w.hi, w.lo, 1000)
	if rest >= 500 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}
