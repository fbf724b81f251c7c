package stats

import (
	"errors"
	"fmt"
	"slices"
)

// Weights of models in relative effects, the values of Options.Weights.
const (
	WeightsEqual   = "equal"
	WeightsTraffic = "traffic"
)

// Validate reports every option that is out of range.
func (o Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	intervals := []string{IntervalExpanded, IntervalPercentile, IntervalBasic, IntervalBCa, IntervalBootstrapT, IntervalT, IntervalHalfSample}
	orders := []string{"", orderSlotBalanced, orderDayBalanced, orderCoin, orderAlternating}
	check(o.Confidence > 0 && o.Confidence < 1, "confidence %v: must lie between 0 and 1", o.Confidence)
	check(o.Replicates >= 1 && o.Replicates <= 1_000_000, "replicates %d: must lie in 1 … 1,000,000", o.Replicates)
	check(slices.Contains(intervals, o.Interval), "interval %q: have %v", o.Interval, intervals)
	for _, other := range o.Others {
		check(slices.Contains(intervals, other), "other interval %q: have %v", other, intervals)
	}
	check(o.Weights == WeightsEqual || o.Weights == WeightsTraffic, "weights %q: have %s, %s", o.Weights, WeightsEqual, WeightsTraffic)
	check(slices.Contains(orders, o.Order), "order %q: have %q", o.Order, orders)
	check(o.MinPairs >= 1, "minimum of pairs %d: must be at least 1", o.MinPairs)
	check(o.MinRows >= 0, "minimum of rows %d: must not be negative", o.MinRows)
	if err := checkLooks(o.Looks); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// wants tells whether an interval of the kind is asked for.
func (o Options) wants(kind string) bool {
	return o.Interval == kind || slices.Contains(o.Others, kind)
}

// tail is the share of one tail outside the interval.
func (o Options) tail() float64 { return (1 - o.Confidence) / 2 }
