package stats

import "math"

// maxConvolved bounds the sum of absolute integer differences that SignFlip convolves.
const maxConvolved = 1 << 19

// SignFlip returns the exact two-sided p-value of the mean of paired differences when each could as well have had the
// other sign: the share of all 2ⁿ sign patterns whose absolute sum is at least the observed one (Fisher 1935). The 2ⁿ
// sums are convolved, one difference after the other, so 28 pairs take milliseconds.
//
// Differences are taken as integers after scaling by a power of ten when that is exact; otherwise they are rounded to
// 1/500,000 of the sum of their absolute values. The result is 1 for no difference at all, NaN for values that are
// not finite.
func SignFlip(differences []float64) float64 {
	steps, ok := asIntegers(differences)
	if !ok {
		return math.NaN()
	}
	total, observed := 0, 0
	for _, d := range steps {
		total += abs(d)
		observed += d
	}
	// chance[s] is the probability that the differences with a plus sign sum to s; the flipped sum is 2s − total.
	chance := make([]float64, total+1)
	chance[0] = 1
	highest := 0
	for _, d := range steps {
		d = abs(d)
		highest += d
		for s := highest; s >= d; s-- {
			chance[s] = (chance[s] + chance[s-d]) / 2
		}
		for s := min(d, highest+1) - 1; s >= 0; s-- {
			chance[s] /= 2
		}
	}
	p := 0.0
	for s, c := range chance {
		if abs(2*s-total) >= abs(observed) {
			p += c
		}
	}
	return min(p, 1)
}

// asIntegers scales values to integers whose absolute values sum to at most maxConvolved.
func asIntegers(values []float64) ([]int, bool) {
	sum := 0.0
	for _, v := range values {
		sum += math.Abs(v)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, false
	}
	scale, exact := 1.0, false
	for ; !exact && sum*scale <= maxConvolved && scale <= 1e6; scale *= 10 {
		exact = true
		for _, v := range values {
			exact = exact && math.Abs(v*scale-math.Round(v*scale)) < 1e-9*max(1, math.Abs(v*scale))
		}
		if exact {
			break
		}
	}
	if !exact && sum > 0 {
		scale = (maxConvolved - float64(len(values))) / sum
	}
	steps := make([]int, len(values))
	for i, v := range values {
		steps[i] = int(math.Round(v * scale))
	}
	return steps, true
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}
