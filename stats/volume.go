package stats

import (
	"context"
	"fmt"
	"math"
)

// VolumeTest tells whether the arms had the same traffic. A χ² test of request counts would reject always, because
// millions of requests are not independent; blocks are compared instead, within their pairs.
type VolumeTest struct {
	Pairs    int      `json:"pairs"`    // with requests in both arms
	Relative *float64 `json:"relative"` // geometric mean of treatment/control requests, minus 1
	PValue   *float64 `json:"p_value"`  // exact sign flip on the log ratios
}

// CompareVolume tests the kept requests of the blocks, all models together.
func CompareVolume(ctx context.Context, src Source, pairs []Pair) (VolumeTest, error) {
	sums, err := src.Sums(ctx, "requests")
	if err != nil {
		return VolumeTest{}, fmt.Errorf("compare volume: %w", err)
	}
	rows := make([]int64, 2*len(pairs))
	for _, s := range sums {
		c, err := column(s.Column, len(pairs))
		if err != nil {
			return VolumeTest{}, fmt.Errorf("compare volume: %w", err)
		}
		rows[c] += s.N
	}
	var logs []float64
	sum := 0.0
	for i := range pairs {
		if control, treatment := rows[i], rows[len(pairs)+i]; control > 0 && treatment > 0 {
			v := math.Log(float64(treatment) / float64(control))
			logs = append(logs, v)
			sum += v
		}
	}
	v := VolumeTest{Pairs: len(logs)}
	if len(logs) > 0 {
		v.Relative, v.PValue = fraction(sum/float64(len(logs))), number(SignFlip(logs))
	}
	return v, nil
}
