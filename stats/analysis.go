package stats

// Kind says how a metric's value in one (model, arm) follows from its summaries, and how models are combined.
type Kind uint8

// Kinds of metrics.
const (
	// Quantile is the inverse-ECDF quantile of the rows pooled inside (model, arm). Levels are geometric means over models.
	Quantile Kind = iota
	// Ratio is ΣY/ΣN, a ratio of sums such as cost per request. Levels are geometric means over models.
	Ratio
	// Event is a share or rate ΣY/ΣN of counted events; the logarithm uses (Y+½)/(N+1). Levels are arithmetic, weighted by N over both arms.
	Event
	// Mean is ΣY/ΣN of an amount that is often zero; levels are arithmetic, weighted by N over both arms.
	Mean
	// Standardized is a Ratio at a fixed mix: ΣY/ΣN inside each stratum, averaged over the strata that both arms have with
	// their shares of N in both arms together. Levels are geometric means over models.
	Standardized
)

// Metric is one row of the analysis.
type Metric struct {
	ID        string
	Kind      Kind
	PerMille  int     // Quantile: 500 for p50, 950 for p95
	Quantity  string  // Quantile: the quantity asked of Source.Histogram
	Unit      string  // of levels, after Scale
	Scale     float64 // levels and absolute effects are multiplied by it (1e-3 turns microseconds into ms)
	Better    int     // +1 up is good, −1 down is good, 0 neither
	Pooled    bool    // Quantile: pooled over models, an overall row only
	Published bool    // belongs to the family that Holm's and the max-|t| adjustment cover
}

// Pair is one matched pair of the design, in the order of the columns.
type Pair struct {
	ID             string
	Day            int // from 1
	Position       int // pair's place in the day, from 0
	TreatmentFirst bool
	FirstByModel   map[string]bool // schedules per model: TreatmentFirst of the models that have a schedule of their own
}

// treatmentFirst tells the order of the pair's arms for a model.
func (p Pair) treatmentFirst(model string) bool {
	if first, ok := p.FirstByModel[model]; ok {
		return first
	}
	return p.TreatmentFirst
}

// Options of an analysis. See DefaultOptions.
type Options struct {
	Confidence     float64  // in (0,1), typically 0.95
	Replicates     int      // ≥ 1, typically 10,000
	Interval       string   // expanded, percentile, basic, bca, bootstrap-t, t, half-sample
	Others         []string // further kinds of intervals of the relative effect, for comparison
	Weights        string   // equal, traffic
	SlotAdjustment bool     // headline interval from the slot-adjusted estimate
	Order          string   // set that the schedule was drawn from: slot-balanced, day-balanced, coin, alternating; "" = unknown, no p-value
	Days           int      // length of the design, of which the pairs may be a part so far; 0: as long as the pairs
	Seed           uint64
	Threads        int       // ≤ 0: all processors; never changes a result
	Looks          []float64 // looks so far at an unfinished experiment, as shares of the planned pairs; the last is now; empty: one look
	MinPairs       int       // complete pairs a model needs, default 2
	MinRows        int       // rows per arm a model needs for a quantile beyond 4q/(1−q), default 0
}

// DefaultOptions returns the options of the published analysis.
func DefaultOptions() Options {
	return Options{Confidence: 0.95, Replicates: 10_000, Interval: "expanded", Weights: "equal", MinPairs: 2}
}

// Effect is an estimate with its interval. nil is undefined.
type Effect struct {
	Estimate *float64 `json:"estimate"`
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
}

// Bounds is an interval. nil is undefined.
type Bounds struct {
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
}

// Verdicts of a row.
const (
	VerdictBetter        = "better"
	VerdictWorse         = "worse"
	VerdictHigher        = "higher" // for metrics without a good direction
	VerdictLower         = "lower"
	VerdictNone          = "no_clear_difference"
	VerdictNotMeasurable = "not_measurable"
)

// Estimate is one row of results: one metric in one scope.
type Estimate struct {
	ID                  string            `json:"id"`
	Unit                string            `json:"unit"`
	Scope               string            `json:"scope"`    // "overall" or "model:ID"
	Estimand            string            `json:"estimand"` // what the headline (relative) effect estimates, in words
	Control             *float64          `json:"control"`  // arm levels, in Unit
	Treatment           *float64          `json:"treatment"`
	Relative            Effect            `json:"relative"` // fractions: −0.169
	Absolute            Effect            `json:"absolute"` // in Unit
	RatioOfLevels       *float64          `json:"ratio_of_levels"`
	HalfSample          Bounds            `json:"half_sample"`
	SlotAdjusted        Effect            `json:"slot_adjusted"`
	Unadjusted          *Effect           `json:"unadjusted,omitempty"`      // the relative effect without slot adjustment, when the headline has it
	Others              map[string]Bounds `json:"other_intervals,omitempty"` // of the relative effect, by the kinds of Options.Others
	TwoWay              Bounds            `json:"two_way"`                   // of the relative effect, for models like these
	Simultaneous        Bounds            `json:"simultaneous"`              // of the relative effect, for all published overall rows at once
	Sequential          Bounds            `json:"sequential"`                // of the relative effect, valid whatever the number of looks; undefined without Options.Looks
	MCError             *float64          `json:"mc_error"`                  // Monte-Carlo standard error of an end of the relative interval, as a fraction
	PValue              *float64          `json:"p_value"`
	PAdjusted           *float64          `json:"p_adjusted"`
	PMaxT               *float64          `json:"p_max_t"`
	UndefinedReplicates int               `json:"undefined_replicates"`
	Pairs               int               `json:"pairs"`
	Models              int               `json:"models"`
	Verdict             string            `json:"verdict"`
	Warnings            []string          `json:"warnings"` // codes of analysis-wide meaning, such as few_events
}

// Exclusion says why a model is not in a metric's overall row.
type Exclusion struct {
	Metric string `json:"metric"`
	Model  string `json:"model"`
	Reason string `json:"reason"`
}

// Warning is a caveat of the whole analysis.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Analysis is the outcome of Analyze.
type Analysis struct {
	Estimates  []Estimate
	Exclusions []Exclusion
	Warnings   []Warning
	// PairEffects has the overall row of each metric taken apart by pairs, for diagnostics.
	PairEffects []PairEffects
}
