package market

import (
	"math"
	"slices"
)

// tailClasses is the number of classes of endpoints by the noise of their times to the first token, equally frequent. Those of one
// provider are of one class, as in the benchmark: see [Tails].
const tailClasses = 4

// tailSigmas returns the log standard deviations of the classes. Their ratios to one another are those of the quarters of the
// benchmark's rows by p95 ÷ p50, raised to spread; their geometric mean over the rows is sigma, since the level of 2023, of short prompts, is not that of today.
func tailSigmas(sigma, spread float64) ([tailClasses]float64, error) {
	var sigmas [tailClasses]float64
	tails, err := Tails()
	if err != nil {
		return sigmas, err
	}
	logs := make([]float64, len(tails)) // of p95 ÷ p50, in proportion to the log standard deviation
	mean := 0.0
	for i, t := range tails {
		logs[i] = math.Log(t.TTFTMS.P95 / t.TTFTMS.P50)
		mean += math.Log(logs[i]) / float64(len(tails))
	}
	slices.Sort(logs)
	for class := range sigmas {
		quarter := logs[class*len(logs)/tailClasses : (class+1)*len(logs)/tailClasses]
		x := 0.0
		for _, l := range quarter {
			x += math.Log(l) / float64(len(quarter))
		}
		sigmas[class] = sigma * math.Exp(spread*(x-mean))
	}
	return sigmas, nil
}
