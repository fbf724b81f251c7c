package reports

import (
	"time"

	"switchback/stats"
)

// BlockPoint is one block with what was measured in it, for the timeline and the figures by block.
type BlockPoint struct {
	BlockID    string        `json:"block_id"`
	PairID     string        `json:"pair_id"`
	Model      string        `json:"model,omitempty"` // set when each model has a schedule of its own
	Day        int           `json:"day"`             // from 1
	Slot       int           `json:"slot"`            // from 0
	Arm        string        `json:"arm"`             // the arm's name
	Starts     time.Time     `json:"starts"`
	BurnInEnds time.Time     `json:"burn_in_ends"`
	Ends       time.Time     `json:"ends"`
	Rows       int64         `json:"rows"`         // all rows of the block
	BurnInRows int64         `json:"burn_in_rows"` // of Rows
	Values     []MetricValue `json:"values"`       // metrics of the block's kept rows, all models together
}

// MetricValue is a metric's value, in the metric's unit. nil is unknown.
type MetricValue struct {
	Metric string   `json:"metric"`
	Value  *float64 `json:"value"`
}

// SinceSwitchPoint is the effect on one metric inside a span of minutes since the block began.
type SinceSwitchPoint struct {
	Metric     string       `json:"metric"`
	FromMinute float64      `json:"from_minute"`
	ToMinute   float64      `json:"to_minute"`
	Relative   stats.Effect `json:"relative"`
	InBurnIn   bool         `json:"in_burn_in"` // the span is dropped from the estimates
	Pairs      int          `json:"pairs"`
}

// ProviderRow is one provider's part in each arm.
type ProviderRow struct {
	Provider  string      `json:"provider"`
	Control   ProviderArm `json:"control"`
	Treatment ProviderArm `json:"treatment"`
}

// ProviderArm is what one provider did in one arm. nil is unknown.
type ProviderArm struct {
	Requests      int64    `json:"requests"`        // kept requests that it served
	Share         *float64 `json:"share"`           // of the arm's served requests
	USDPerMTokens *float64 `json:"usd_per_mtokens"` // cost ÷ (input + output tokens), per million
	TTFTp50       *float64 `json:"ttft_p50_ms"`
	ThroughputP50 *float64 `json:"throughput_p50"` // tokens/s
	Rate429       *float64 `json:"rate_429"`       // of its attempts
	ErrorRate     *float64 `json:"error_rate"`     // of its attempts, 429s apart
}

// SpendHour is what one hour cost, burn-in included.
type SpendHour struct {
	Hour     time.Time `json:"hour"` // start of the hour
	Arm      string    `json:"arm"`  // the arm's name
	USD      *float64  `json:"usd"`
	Requests int64     `json:"requests"`
}

// Dearer says how many kept requests were served dearer than at the cheapest eligible endpoint, and what that cost.
type Dearer struct {
	Control   DearerArm     `json:"control"`
	Treatment DearerArm     `json:"treatment"`
	Models    []DearerModel `json:"models"` // by name
}

// DearerModel is the same of one model.
type DearerModel struct {
	Model     string    `json:"model"`
	Control   DearerArm `json:"control"`
	Treatment DearerArm `json:"treatment"`
}

// DearerArm counts the requests of one arm. nil is unknown.
type DearerArm struct {
	Requests   int64    `json:"requests"`         // kept and served, with what the cheapest eligible endpoint would have charged
	Dearer     int64    `json:"dearer"`           // of Requests: cost more
	Share      *float64 `json:"share"`            // Dearer ÷ Requests
	ExtraUSD   *float64 `json:"extra_usd"`        // what Dearer cost above the cheapest, in all
	ExtraPer1K *float64 `json:"extra_usd_per_1k"` // per 1,000 of Requests
	ExtraShare *float64 `json:"extra_share"`      // of what Requests cost
}

// Comparison sets this report beside another one: yesterday's, another seed's, another policy's.
type Comparison struct {
	Experiment string          `json:"experiment"`
	ReportDate string          `json:"report_date"`
	Arms       Arms            `json:"arms"`
	Seed       uint64          `json:"seed"`
	Version    string          `json:"version"`
	Confidence float64         `json:"confidence"`
	Rows       []ComparisonRow `json:"rows"`
	Different  []string        `json:"different"` // what else differs between the two: design, method, configuration
}

// ComparisonRow is one metric's overall relative effect in both reports.
type ComparisonRow struct {
	Metric       string       `json:"metric"`
	Here         stats.Effect `json:"here"`
	There        stats.Effect `json:"there"`
	Verdict      string       `json:"verdict"`       // here
	VerdictThere string       `json:"verdict_there"` // there
}

// HistoryPoint is one metric's overall relative effect as an earlier report gave it.
type HistoryPoint struct {
	ReportDate  string       `json:"report_date"`
	Metric      string       `json:"metric"`
	Relative    stats.Effect `json:"relative"`
	Pairs       int          `json:"pairs"`
	Provisional bool         `json:"provisional"`
	Incomplete  bool         `json:"incomplete"`
}
