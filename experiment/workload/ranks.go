package workload

import "math"

// Token counts are handled as ranks: a client's draw keeps its rank among all draws of all clients, and the
// rank is then read off a law whose parameters can be fitted. So a client that sends longer prompts than
// most still does, and the mix as a whole has the published size.

const (
	knots    = 17  // quantiles kept of one client's window
	logBins  = 512 // bins of the logarithm of a token count
	binsPerE = 36  // bins per factor e: 512 bins reach e^14
)

// cell is a client's law of a token count in one window: quantiles at 0, 1/16, …, 1, in bins.
type cell [knots]float32

// ranks maps token counts to their rank among all draws.
type ranks struct {
	cells []cell
	cdf   [logBins + 1]float32
}

// cellFrom turns published quantiles into evenly spaced ones, straight lines between the logarithms.
func cellFrom(q Quantiles) cell {
	p := [...]float64{0, .05, .25, .5, .75, .9, .95, .99, 1}
	least := math.Max(1, float64(q.P5)*float64(q.P5)/math.Max(float64(q.P25), 1)) // the tails end one step of their neighbours further
	most := float64(q.P99) * math.Min(2, math.Max(1, float64(q.P99)/math.Max(float64(q.P95), 1)))
	v := [...]float64{least, float64(q.P5), float64(q.P25), float64(q.P50), float64(q.P75), float64(q.P90), float64(q.P95), float64(q.P99), most}
	var c cell
	at := 0
	for k := range c {
		u := float64(k) / (knots - 1)
		for at < len(p)-2 && u > p[at+1] {
			at++
		}
		lo, hi := logBin(v[at]), logBin(v[at+1])
		c[k] = float32(lo + (hi-lo)*(u-p[at])/(p[at+1]-p[at]))
		if k > 0 {
			c[k] = max(c[k], c[k-1])
		}
	}
	return c
}

// logBin is the place of a token count on the logarithmic scale, in bins.
func logBin(tokens float64) float64 {
	return min(math.Log(math.Max(tokens, 1))*binsPerE, logBins-1)
}

// pool fills the distribution of all draws; weight is each cell's number of draws.
func (r *ranks) pool(weight []float64) {
	var mass [logBins]float64
	const draws = 64
	for i := range r.cells {
		for d := range draws {
			mass[int(r.cells[i].at((float64(d)+0.5)/draws))] += weight[i]
		}
	}
	total := 0.0
	for _, m := range mass {
		total += m
	}
	sum := 0.0
	for b, m := range mass {
		r.cdf[b] = float32(sum / total)
		sum += m
	}
	r.cdf[logBins] = 1
}

// at returns the quantile at u in [0, 1), in bins.
func (c *cell) at(u float64) float32 {
	x := u * (knots - 1)
	i := int(x)
	return c[i] + (c[i+1]-c[i])*float32(x-float64(i))
}

// mostRank keeps ranks below 1.
const mostRank = 1 - 1e-7

// rank turns random bits into the rank, in [0, 1), of a random token count of a cell. Draws that share a bin are ordered at
// random, so that ranks are uniform over all clients. A negative cell is a client without counts: any rank.
func (r *ranks) rank(at int32, bits uint64) float64 {
	u := float64(bits>>32) * (1.0 / (1 << 32))
	if at < 0 {
		return u
	}
	return r.inCell(at, u, bits)
}

func (r *ranks) inCell(at int32, u float64, bits uint64) float64 {
	b := int(r.cells[at].at(u))
	lo, hi := r.cdf[b], r.cdf[b+1]
	tie := float32(uint32(bits)) * (1.0 / (1 << 32))
	if rank := float64(lo + (hi-lo)*tie); rank < mostRank {
		return rank
	}
	return mostRank
}
