package prices

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestRates(t *testing.T) {
	// $0.28 per million tokens is $0.00000028 per token is 280,000 in units of 1e-12 dollars per token.
	million, err := PerMillion(0.28)
	if err != nil || million != 280_000 {
		t.Errorf("PerMillion(0.28) = %d, %v", million, err)
	}
	token, err := PerToken(0.00000028)
	if err != nil || token != million {
		t.Errorf("PerToken(0.00000028) = %d, %v", token, err)
	}
	if million.PerMillion() != 0.28 || million.PerToken() != 0.00000028 {
		t.Errorf("back to %g per million and %g per token", million.PerMillion(), million.PerToken())
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1), 1.000001e6} {
		if r, err := PerMillion(bad); err == nil {
			t.Errorf("PerMillion(%g) = %d, want an error", bad, r)
		}
	}
}

func TestCost(t *testing.T) {
	p := Price{Input: 400_000, Output: 1_750_000, CacheRead: 80_000, CacheReadKnown: true}
	for _, c := range []struct {
		name                             string
		price                            Price
		input, cached, cacheWrite, ouput int64
		want                             int64
	}{
		{"nothing", p, 0, 0, 0, 0, 0},
		{"cached tokens are part of the input", p, 5120, 4096, 0, 310, 1_279_780},
		{"without a cache-read price they cost as input", Price{Input: 400_000, Output: 1_750_000}, 5120, 4096, 0, 310, 2_590_500},
		{"written tokens", Price{Input: 3_000_000, CacheWrite: 3_750_000, CacheWriteKnown: true}, 1000, 0, 400, 0, 3_300_000},
		{"without a cache-write price they cost as input", Price{Input: 3_000_000}, 1000, 0, 400, 0, 3_000_000},
		{"a stated price of 0 is free", Price{Input: 3_000_000, CacheReadKnown: true}, 1000, 1000, 0, 0, 0},
		{"more cached than input", p, 10, 20, 0, 0, 1_600},
		{"below zero", p, -5, -5, -5, -5, 0},
		{"half rounds up", Price{Input: 500}, 1, 0, 0, 0, 1},
		{"less than half rounds down", Price{Input: 499}, 1, 0, 0, 0, 0},
		{"beyond the range", Price{Input: MaxRate}, math.MaxInt64, 0, 0, 0, math.MaxInt64},
	} {
		if got := c.price.Cost(c.input, c.cached, c.cacheWrite, c.ouput); got != c.want {
			t.Errorf("%s: %d nano-dollars, want %d", c.name, got, c.want)
		}
	}
}

func drawPrice(t *rapid.T) Price {
	rate := rapid.Int64Range(0, int64(MaxRate))
	return Price{
		Input:           Rate(rate.Draw(t, "input rate")),
		Output:          Rate(rate.Draw(t, "output rate")),
		CacheRead:       Rate(rate.Draw(t, "cache-read rate")),
		CacheReadKnown:  rapid.Bool().Draw(t, "cache read known"),
		CacheWrite:      Rate(rate.Draw(t, "cache-write rate")),
		CacheWriteKnown: rapid.Bool().Draw(t, "cache write known"),
	}
}

// The cost equals the sum in unbounded integers, rounded half up and cut to the range of int64.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		tokens := rapid.OneOf(rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, math.MaxInt64/4))
		fresh, cached := tokens.Draw(t, "fresh"), tokens.Draw(t, "cached")
		written, output := tokens.Draw(t, "written"), tokens.Draw(t, "output")

		sum := new(big.Int)
		add := func(n int64, r Rate) {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(r))))
		}
		add(fresh, p.Input)
		add(cached, p.CacheReadRate())
		add(written, p.CacheWriteRate())
		add(output, p.Output)
		sum.Add(sum, big.NewInt(500)).Quo(sum, big.NewInt(1000))
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		}
		if got := p.Cost(fresh+cached+written, cached, written, output); got != want {
			t.Fatalf("%d nano-dollars, want %s", got, sum)
		}
	})
}

// More tokens never cost less, a discount never costs more, and two requests cost what they cost together, but for
// the rounding.
func TestCostOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		tokens := rapid.Int64Range(0, 10_000_000)
		input, output := tokens.Draw(t, "input"), tokens.Draw(t, "output")
		cached := rapid.Int64Range(0, input).Draw(t, "cached")
		cost := p.Cost(input, cached, 0, output)
		if more := p.Cost(input+1, cached, 0, output+1); more < cost {
			t.Fatalf("one more token each costs %d instead of %d", more, cost)
		}
		if full := p.Cost(input, 0, 0, output); p.CacheReadRate() <= p.Input && full < cost {
			t.Fatalf("a cheap cache raises the cost from %d to %d", full, cost)
		}
		if twice := p.Cost(2*input, 2*cached, 0, 2*output); twice < 2*cost-1 || twice > 2*cost+1 {
			t.Fatalf("twice the tokens cost %d instead of 2 · %d", twice, cost)
		}
	})
}
