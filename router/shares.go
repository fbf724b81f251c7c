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

// leastDivisor is far above the numbers that 1 cannot be divided by without an overflow.
const leastDivisor = 1e-300

// spill turns preferences (≥ 0) into shares that sum to 1, none above its limit: what an endpoint can't take goes to the others in
// proportion to their preference. When the limits leave no room for everything, what is left over is spread in proportion to the
// limits, so that all are over by the same factor. It reports whether the limits held. limits may be nil. It may scale preference.
func spill(preference, limits, shares []float64) bool {
	if limits == nil {
		total := sum(preference)
		for i, p := range preference {
			shares[i] = p / total
		}
		return true
	}
	const open = -1 // not filled up to its limit
	for i := range shares {
		shares[i] = open
	}
	for {
		left, free := 1.0, 0.0
		for i, p := range preference {
			if shares[i] == open {
				free += p
			} else {
				left -= shares[i]
			}
		}
		if free <= 0 {
			break
		}
		if free < leastDivisor { // a power of two changes no ratio
			for i := range preference {
				preference[i] *= 0x1p512
			}
			continue
		}
		scale, full := max(left, 0)/free, false
		for i, p := range preference {
			if shares[i] == open && p*scale > limits[i] {
				shares[i], full = limits[i], true
			}
		}
		if !full {
			for i, p := range preference {
				if shares[i] == open {
					shares[i] = p * scale
				}
			}
			return true
		}
	}
	// Everybody is full.
	room := 0.0
	for i := range shares {
		shares[i] = max(shares[i], 0)
		room += shares[i]
	}
	if room <= 0 {
		copy(shares, preference)
		room = sum(preference)
	}
	for i := range shares {
		shares[i] /= room
	}
	return false
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}
