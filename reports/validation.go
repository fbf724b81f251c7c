package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ValidationSchema is the version of the form of validation.json.
const ValidationSchema = 1

// Validation is what experiments in simulated worlds, where the true effects are known, say of the analysis.
type Validation struct {
	SchemaVersion int    `json:"schema_version"`
	Scenario      string `json:"scenario"`
	Arms          Arms   `json:"arms"`

	Experiments int      `json:"experiments"` // one seed each
	ABTests     int      `json:"ab_tests"`    // experiments that ran the plain A/B tests too
	FirstSeed   uint64   `json:"first_seed"`  // the others follow
	Requests    int64    `json:"requests"`    // simulated, in all worlds of all experiments
	Logged      int      `json:"logged"`      // about so many requests of a world were analysed
	Models      []string `json:"models"`

	Days   int    `json:"days"`
	Pairs  int    `json:"pairs"`
	Block  int64  `json:"block_seconds"`
	BurnIn int64  `json:"burn_in_seconds"`
	Order  string `json:"order"`

	Interval   string  `json:"interval"` // kind of the headline interval
	Confidence float64 `json:"confidence"`
	Replicates int     `json:"replicates"`
	Weights    string  `json:"weights"`

	Metrics []MetricValidation `json:"metrics"`
	Command string             `json:"command"` // that gives the same result again
	Version string             `json:"version"`
}

// MetricValidation is what a validation found of one metric. Effects are relative and overall.
type MetricValidation struct {
	ID        string               `json:"id"`
	Truth     LogMean              `json:"truth"` // all-treatment world against all-control world, same seed
	BurnIns   []EstimateValidation `json:"burn_ins"`
	Intervals []IntervalValidation `json:"intervals"` // of the design's burn-in; the headline kind first
	SameArms  []AlarmValidation    `json:"same_router"`
	Naive     []EstimateValidation `json:"by_request"` // requests taken for independent
}

// EstimateValidation compares an estimate with the truth of its own world.
type EstimateValidation struct {
	What     string              `json:"what"`               // name of a world
	BurnIn   int64               `json:"burn_in_seconds"`    // dropped from every block
	Estimate LogMean             `json:"estimate"`           //
	Bias     LogMean             `json:"bias"`               // log estimate − log truth
	Interval *IntervalValidation `json:"interval,omitempty"` // where one was made
}

// IntervalValidation is how one kind of interval did.
type IntervalValidation struct {
	Kind        string   `json:"kind"`
	Covers      Share    `json:"covers"`           // the truth of the same world
	CoversMean  Share    `json:"covers_mean"`      // the mean truth of all worlds
	Below       int      `json:"truth_below"`      // experiments whose truth lies below the interval
	Above       int      `json:"truth_above"`      // experiments whose truth lies above it
	Width       *float64 `json:"mean_width"`       // of the relative effect, a fraction
	WidthLog    *float64 `json:"mean_width_log"`   // on the log scale; nil in files of earlier versions
	RMSE        *float64 `json:"rmse_log"`         // root mean squared error of the estimate that belongs to it
	NotMeasured int      `json:"without_interval"` // experiments
}

// AlarmValidation is how often the analysis sees a difference between an arm and itself.
type AlarmValidation struct {
	Router       string  `json:"router"`
	ByInterval   Share   `json:"by_interval"`   // the headline interval excludes 0
	ByPValue     Share   `json:"by_p_value"`    // p is below 1 − confidence
	SlotAdjusted Share   `json:"slot_adjusted"` // the slot-adjusted interval excludes 0
	Effect       LogMean `json:"effect"`
}

// LogMean is the mean of a logarithm over experiments.
type LogMean struct {
	Experiments int      `json:"experiments"`    // that have a value
	Relative    *float64 `json:"relative"`       // exp(mean) − 1
	Log         *float64 `json:"log"`            // the mean
	SE          *float64 `json:"standard_error"` // of the mean
	SD          *float64 `json:"sd"`             // between experiments
}

// Share is a count of a number of trials, as a share with its 95 % interval (Wilson 1927).
type Share struct {
	Hits   int      `json:"hits"`
	Trials int      `json:"trials"`
	Share  *float64 `json:"share"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
}

// EncodeValidation writes a validation as JSON.
func EncodeValidation(v Validation) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode validation: %w", err)
	}
	return b.Bytes(), nil
}
