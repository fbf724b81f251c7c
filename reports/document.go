package reports

import (
	"time"

	"switchback/stats"
)

// SchemaVersion is the version of results.json that this package writes and reads.
const SchemaVersion = 1

// WarningUnread is the code of the warning that more of the inputs cannot be read than is allowed.
const WarningUnread = "bad_values"

// WarningDriven is the code of the warning that rows of the request logs were made by `switchback drive`: no gateway wrote them, and
// what is found in them is no evidence about real traffic.
const WarningDriven = "driven_rows"

// Document is everything a report says: the content of results.json. Fractions are fractions (−0.169),
// instants are UTC, nil is unknown. Slices are shown in the order given.
type Document struct {
	SchemaVersion int    `json:"schema_version"` // SchemaVersion
	Experiment    string `json:"experiment"`
	ReportDate    string `json:"report_date"` // YYYY-MM-DD, names the report's folder
	Simulated     bool   `json:"simulated"`   // rows come from the simulated market, not from a gateway's log
	Incomplete    bool   `json:"incomplete"`  // inputs are missing: blocks without rows, or too many rejects
	Provisional   bool   `json:"provisional"` // the design's last day is not over

	Window   Window           `json:"window"`
	Arms     Arms             `json:"arms"`
	Design   Design           `json:"design"`
	Method   Method           `json:"method"`
	Decision Decision         `json:"decision"`
	Metrics  []stats.Estimate `json:"metrics"` // overall rows, then per-model and check rows, in any order

	Diagnostics Diagnostics     `json:"diagnostics"`
	Warnings    []stats.Warning `json:"warnings"`
	Notes       []string        `json:"notes"` // plain sentences a reader must know, such as "the one-day trace is repeated daily"
	Provenance  Provenance      `json:"provenance"`

	// Series behind the figures. A section without its series is left out.

	Blocks      []BlockPoint       `json:"blocks,omitempty"`
	SinceSwitch []SinceSwitchPoint `json:"since_switch,omitempty"`
	Providers   []ProviderRow      `json:"providers,omitempty"`
	Spend       []SpendHour        `json:"spend,omitempty"`
	Dearer      *Dearer            `json:"dearer,omitempty"` // nil: the log does not tell
	Comparison  *Comparison        `json:"comparison,omitempty"`
	History     []HistoryPoint     `json:"history,omitempty"`
}

// Window is the half-open span [Start, End) whose rows were analysed.
type Window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Arms names the two arms.
type Arms struct {
	Control   string `json:"control"`
	Treatment string `json:"treatment"`
}

// Where a schedule comes from.
const (
	ScheduleDrawn  = "drawn"  // this program's own plan ran
	ScheduleFile   = "file"   // a schedule file says what ran
	ScheduleLabels = "labels" // blocks were labelled from the rows' arm labels
)

// Design is the experiment's design as it was analysed.
type Design struct {
	Start          time.Time `json:"start"` // UTC
	Days           int       `json:"days"`
	BlockSeconds   int64     `json:"block_s"`
	BurnInSeconds  int64     `json:"burn_in_s"`
	BurnInScope    string    `json:"burn_in_scope"` // block, changeover
	Order          string    `json:"order"`         // slot-balanced, day-balanced, coin, alternating; "" = unknown
	Schedule       string    `json:"schedule"`      // Schedule… constant
	PerModel       bool      `json:"per_model"`     // each model has a schedule of its own
	Pairs          int       `json:"pairs"`         // planned
	Blocks         int       `json:"blocks"`        // planned
	BlocksControl  int       `json:"blocks_control"`
	TreatmentFirst int       `json:"treatment_first"` // pairs whose treatment block came first
}

// Method says how the intervals were made.
type Method struct {
	Interval       string    `json:"interval"` // expanded, percentile, basic, bca, bootstrap-t, t, half-sample
	Replicates     int       `json:"replicates"`
	Confidence     float64   `json:"confidence"` // in (0,1)
	Weights        string    `json:"weights"`    // equal, traffic
	Seed           uint64    `json:"seed"`
	SlotAdjustment bool      `json:"slot_adjustment"` // the headline interval is the slot-adjusted one
	Looks          []float64 `json:"looks,omitempty"` // looks so far at an unfinished experiment, as shares of the planned pairs
	MinPairs       int       `json:"min_pairs"`       // complete pairs a model needs
	MinRows        int       `json:"min_rows"`        // rows per arm a model needs for a quantile, beyond the rule 4q/(1−q)
}

// Decision names the metric ids on which the verdict rests. Both lists may be empty.
type Decision struct {
	Metrics    []string `json:"metrics"`
	Guardrails []string `json:"guardrails"`
}

// Diagnostics holds what tells a reader whether to trust the estimates.
type Diagnostics struct {
	Health   Health            `json:"health"`
	Excluded []stats.Exclusion `json:"excluded"` // models left out of a metric's overall row
	Checks   []Check           `json:"checks"`
}

// Health counts the rows on their way from the logs to the estimates.
type Health struct {
	Read                 int64       `json:"rows_read"`              // rows loaded, duplicates included
	Kept                 int64       `json:"rows_kept"`              // rows the estimates rest on
	KeptControl          int64       `json:"rows_kept_control"`      // of Kept
	KeptTreatment        int64       `json:"rows_kept_treatment"`    // of Kept
	Duplicates           int64       `json:"duplicates"`             // same request seen again, dropped
	ConflictingDuplicate int64       `json:"conflicting_duplicates"` // same request with other content
	OutsideWindow        int64       `json:"outside_window"`         // outside every block of the schedule, or of the window
	BurnInDropped        int64       `json:"burn_in_dropped"`
	BurnInControl        int64       `json:"burn_in_dropped_control"`
	BurnInTreatment      int64       `json:"burn_in_dropped_treatment"`
	GatewayCache         ArmCount    `json:"gateway_cache"`     // answered by the gateway's own cache, left out of every metric
	LoneBlockRows        int64       `json:"lone_block_rows"`   // in a block whose pair has no other block
	LabelMismatches      int64       `json:"label_mismatches"`  // the row's own arm label disagrees with the schedule
	ByStatus             []Count     `json:"by_status"`         // of the rows after burn-in, gateway cache hits included
	Quality              []Count     `json:"quality"`           // kept rows by what was odd about them
	Rejects              []Count     `json:"rejects"`           // lines that could not be read, by reason
	Nulls                []NullShare `json:"nulls"`             // shares of kept rows without a value
	NotMeasurable        []string    `json:"not_measurable"`    // metric ids that this log cannot give
	Remarks              []Remark    `json:"remarks,omitempty"` // on the files of the log, such as that rows came late
	MissingBlocks        []string    `json:"missing_blocks"`    // ids of planned blocks without any row
	LoneBlocks           []string    `json:"lone_blocks"`       // ids of blocks left out because their pair is not whole
	BornElsewhere        ArmCount    `json:"born_elsewhere"`    // kept requests pinned to an endpoint chosen in a block of the other arm
	Straddling           ArmCount    `json:"straddling"`        // kept requests still running when their block ended
}

// Remark is what was said when files of a log were loaded.
type Remark struct {
	Text  string   `json:"text"`
	Files []string `json:"files"`
}

// Count is a number of rows under a name.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// ArmCount is a number of rows in each arm. nil is unknown.
type ArmCount struct {
	Control   *int64 `json:"control"`
	Treatment *int64 `json:"treatment"`
}

// NullShare is the share of kept rows whose column is unknown, as fractions. nil is not counted.
type NullShare struct {
	Column    string   `json:"column"`
	All       *float64 `json:"all"` // both arms together
	Control   *float64 `json:"control"`
	Treatment *float64 `json:"treatment"`
}

// Ids of the checks that the report explains in plain words. A check with another id is shown with its id.
const (
	CheckPredecessor      = "same_or_other_predecessor" // effect after a block of the other arm ÷ effect after a block of the same arm, minus 1
	CheckOrder            = "order_in_pair"             // effect in pairs with the treatment first against second
	CheckPlacebo          = "placebo_shift"             // effect of the schedule shifted by one block, expected 0
	CheckAutocorrelation  = "lag1_autocorrelation"      // of the pairs' residuals
	CheckLeavePairOut     = "leave_one_pair_out"        // effect without the pair that moves it most; Lo and Hi are the range
	CheckLeaveClientOut   = "leave_one_client_out"      // the same for clients
	CheckEffectivePairs   = "effective_pairs"           // (Σw)²/Σw² of the pairs' influence
	CheckBurnIn           = "burn_in"                   // effect with another burn-in minus the headline's; Subject is the burn-in, such as "30m"
	CheckGaps             = "data_gaps"                 // minutes without any request inside blocks that are busy; Subject is the block with most of them
	CheckVolume           = "volume"                    // relative difference of the number of requests per block between the arms
	CheckWidthsHalfSample = "half_sample_width"         // width of the half-sample interval ÷ width of the headline interval, minus 1
)

// Outcomes of a check.
const (
	CheckOK            = "ok"             // nothing to see
	CheckAttention     = "attention"      // a reader should look before trusting the estimate
	CheckNotMeasurable = "not_measurable" // the data cannot answer
)

// Check is one diagnostic of one metric.
type Check struct {
	ID      string   `json:"id"`      // Check… constant
	Metric  string   `json:"metric"`  // "" when it is about the experiment as a whole
	Subject string   `json:"subject"` // the pair, client or burn-in that the value is about, "" when none
	Value   *float64 `json:"value"`
	Lo      *float64 `json:"lo"`
	Hi      *float64 `json:"hi"`
	PValue  *float64 `json:"p_value"`
	Outcome string   `json:"outcome"` // ok, attention, not_measurable
}

// Provenance says what a report was made from and how to make it again. It holds no clock time.
type Provenance struct {
	Command      string  `json:"command"`       // reproduces the report; without --threads and --out
	Version      string  `json:"version"`       // of this program
	Commit       string  `json:"commit"`        // of its source, "" when unknown
	GoVersion    string  `json:"go_version"`    //
	Platform     string  `json:"platform"`      // os/arch; bytes are the same per platform
	DuckDB       string  `json:"duckdb"`        // version
	ConfigHash   string  `json:"config_hash"`   // SHA-256, hex
	ScheduleHash string  `json:"schedule_hash"` // SHA-256, hex
	LogHash      string  `json:"log_hash"`      // of the request rows sorted by (ts, request_id)
	PriceBook    string  `json:"price_book"`    // date of the price book, "" when no price of it was used
	Inputs       []Input `json:"inputs"`
}

// Input is one file that was read.
type Input struct {
	Path    string `json:"path"`
	Format  string `json:"format"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
	Rows    int64  `json:"rows"`
	Rejects int64  `json:"rejects"`
}
