package router

import "math"

// exp is eˣ, right to 12 digits, in less than half the time of math.Exp: 2^(k/8) · e^r with the whole number k that leaves the smallest r, and
// the Taylor series of e^r.
func exp(x float64) float64 {
	if !(x > -exponentialEnd && x < exponentialEnd) {
		return math.Exp(x)
	}
	const positive = 1 << 13 // makes k + positive positive, so that cutting it off rounds down
	k := int(x*(8/math.Ln2)+(positive+0.5)) - positive
	r := x - float64(k)*(math.Ln2/8)
	return math.Float64frombits(uint64(k>>3+1023)<<52) * rootsOfTwo[k&7] * expNear0(r)
}

// exponentialEnd is the largest |x| of exp without overflow.
const exponentialEnd = 600

// rootsOfTwo are 2^(k/8).
var rootsOfTwo = [8]float64{
	1, 1.0905077326652577, 1.189207115002721, 1.2968395546510096, 1.4142135623730951, 1.5422108254079407, 1.681792830507429, 1.8340080864093424,
}

// expNear0 is eˣ for |x| ≤ nearby, by its Taylor series.
func expNear0(x float64) float64 {
	return 1 + x*(1+x*(1.0/2+x*(1.0/6+x*(1.0/24+x*(1.0/120+x*(1.0/720))))))
}

// nearby is how far from 0 the series alone is used: it is right to 10⁻¹⁰ there.
const nearby = 0.125
