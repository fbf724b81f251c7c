package reports

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"switchback/stats"
)

// What the validation in the repository found is told in every report: where an interval did not hold what it says, the
// reader of a report learns it there.

//go:embed validation.json
var validated []byte

// Validated returns the validation that came with the program, the one of docs/validation.md.
func Validated() (Validation, error) { return DecodeValidation(validated) }

// DecodeValidation reads a validation.json. Another schema version is an error.
func DecodeValidation(text []byte) (Validation, error) {
	var v Validation
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		return v, fmt.Errorf("read validation: %w", err)
	}
	if v.SchemaVersion != ValidationSchema {
		return v, fmt.Errorf("read validation: schema_version: is %d, this program reads %d", v.SchemaVersion, ValidationSchema)
	}
	return v, nil
}

// WarningCoverage is the code of the warnings of CoverageWarnings.
const WarningCoverage = "interval_coverage"

// CoverageWarnings returns a warning for each overall row of doc with an interval whose kind held the truth in a share of
// the validation's experiments outside 93 to 97 %, with that share and what the experiments say of the reason. There is
// none when the validation is of intervals with another confidence or of other weights of the models.
func (v Validation) CoverageWarnings(doc Document) []stats.Warning {
	if doc.Method.Confidence != v.Confidence || doc.Method.Weights != v.Weights {
		return nil
	}
	kind := doc.Method.Interval
	if doc.Method.SlotAdjustment {
		kind = kindSlotAdjusted
	}
	var warnings []stats.Warning
	for _, m := range v.Metrics {
		e, ok := doc.overall(m.ID)
		i := m.interval(kind)
		if !ok || e.Relative.Lo == nil || i.Covers.inside(aimCoverLo, aimCoverHi) {
			continue
		}
		text := fmt.Sprintf("%s: the %s interval (%s) held the true effect in %s of %d simulated experiments of %d pairs, not in %s to %s",
			measureOf(m.ID, "").Title, percentOf(v.Confidence), kind, i.Covers.text(), i.Covers.Trials, v.Pairs, percentOf(aimCoverLo), percentOf(aimCoverHi))
		if reason := v.reason(m, i); reason != "" {
			text += ": " + reason
		}
		warnings = append(warnings, stats.Warning{Code: WarningCoverage, Text: text})
	}
	return warnings
}

// kindSlotAdjusted names the slot-adjusted interval among the kinds of a validation.
const kindSlotAdjusted = "slot-adjusted"

// Bounds of reason. A bias of a third of the spread costs an interval of the right width 1 point of coverage, a width
// that is wrong by 5 % costs or adds 1 point too (for normal errors).
const (
	muchBias  = 1.0 / 3
	muchWidth = 0.05
)

// reason says what the experiments show of why an interval's coverage is off: errors have a mean, a spread and a shape,
// and an interval allows for one spread. It is empty when the file does not tell.
func (v Validation) reason(m MetricValidation, i IntervalValidation) string {
	bias := v.ownBurnIn(m).Bias
	if bias.Log == nil || bias.SD == nil || i.WidthLog == nil || v.Pairs < 2 || *bias.SD == 0 {
		return ""
	}
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(v.Pairs - 1)}
	allowed := *i.WidthLog / (2 * student.Quantile((1+v.Confidence)/2))
	scatter := fmt.Sprintf("the estimates scatter by %s log points about the truth, and the intervals allow for %s", logPoints(bias.SD), logPoints(&allowed))
	if *i.Covers.Share > aimCoverHi {
		if allowed > (1+muchWidth)**bias.SD {
			return scatter + "; a balanced order of the arms takes noise out of the estimate that the interval still counts"
		}
		return scatter + "; the errors have shorter tails than normal ones"
	}
	sides := fmt.Sprintf("the truth lay below the interval %d times and above it %d times", i.Below, i.Above)
	switch {
	case math.Abs(*bias.Log) > muchBias**bias.SD:
		return fmt.Sprintf("the estimates are off by %s log points on average, beside a spread of %s; %s", signed(100**bias.Log, 1), logPoints(bias.SD), sides)
	case allowed < (1-muchWidth)**bias.SD:
		return scatter + "; the pairs of one experiment differ less from each other than experiments do"
	}
	return scatter + ", enough on average; experiments with a large error have intervals that are too short, as a few unusual pairs make both; " + sides
}
