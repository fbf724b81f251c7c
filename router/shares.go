package router

import "math"

// curve is the preference curve, tabulated: two exponentials per endpoint would be most of the cost of a snapshot.
type curve [curveSteps + 1]float64

const (
	curveSteps = 512
	curveEnd   = 4.0 // edges; beyond it an endpoint has the floor only
)

func newCurve(c *ShareConfig) *curve {
	var v curve
	for i := range v {
		d := curveEnd * float64(i) / curveSteps
		v[i] = c.Height * math.Exp(-c.Slope*d) / (1 + math.Exp(c.Steepness*(d-1)))
	}
	v[curveSteps] = 0
	return &v
}

// at interpolates the preference at a distance of d ≥ 0 edges from the best.
func (v *curve) at(d float64) float64 {
	x := d * (curveSteps / curveEnd)
	if !(x < curveSteps) {
		return 0
	}
	i := int(x)
	return v[i] + (v[i+1]-v[i])*(x-float64(i))
}

// spill turns preferences (≥ 0) into shares that sum to 1, none above its limit: what an endpoint can't take goes to the others in
// proportion to their preference. When the limits leave no room for everything, what is left over is spread in proportion to the
// limits, so that all are over by the same factor. It reports whether the limits held. limits may be nil.
func spill(preference, limits, shares []float64) bool {
	total := 0.0
	for _, p := range preference {
		total += p
	}
	if limits == nil {
		for i, p := range preference {
			shares[i] = p / total
		}
		return true
	}
	for i := range shares {
		shares[i] = -1
	}
	left := 1.0
	for again := true; again && total > 0; {
		again = false
		scale := left / total
		for i, p := range preference {
			if shares[i] < 0 && p*scale > limits[i] {
				shares[i] = limits[i]
				left -= limits[i]
				total -= p
				again = true
			}
		}
		if left <= 0 {
			break
		}
	}
	free := 0.0
	for i, p := range preference {
		if shares[i] < 0 {
			free += p
		}
	}
	if free > 0 && left > 0 {
		for i, p := range preference {
			if shares[i] < 0 {
				shares[i] = p * left / free
			}
		}
		return true
	}
	sum := 0.0
	for i := range shares {
		shares[i] = max(shares[i], 0)
		sum += shares[i]
	}
	if sum > 0 {
		for i := range shares {
			shares[i] /= sum
		}
		return left <= 1e-12
	}
	for i, p := range preference {
		shares[i] = p
		sum += p
	}
	for i := range shares {
		shares[i] /= sum
	}
	return false
}
