package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/stat/distuv"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/reports"
	"switchback/stats"
)

// powerSettings are the flags of power beside the common ones.
type powerSettings struct {
	settings
	effect     string
	power      float64
	confidence float64
	days       []int
	format     string
	figure     string
}

// mostDays is the longest experiment that is asked about.
const mostDays = 3660

// powerCommand says what an experiment can detect.
func (p *process) powerCommand() command {
	var s powerSettings
	design := stats.DefaultPowerDesign()
	fs := pflag.NewFlagSet("power", pflag.ContinueOnError)
	fs.StringVar(&s.out, "out", "", "take the spread from the results in this output `folder`")
	fs.StringVar(&s.date, "date", "", "of the report with this date, `YYYY-MM-DD` (default the latest)")
	fs.StringVar(&s.effect, "effect", "5%", "say how many days this relative `change` takes: 5%, -10% or 0.05")
	fs.Float64Var(&s.power, "power", design.Power, "`chance` of detecting an effect that is there")
	fs.Float64Var(&s.confidence, "confidence", 1-design.Alpha, "`level` of the intervals that detect it")
	fs.IntSliceVar(&s.days, "days", []int{7, 14, 28, 56}, "lengths of experiment, a `list`")
	fs.StringVar(&s.format, "format", "table", "table, markdown, csv or json, a `word`")
	fs.StringVar(&s.figure, "figure", "", "draw the table into an SVG `file` too")
	s.logFlags(fs)
	return command{
		use:   "power [FILE]",
		short: "Say how small an effect an experiment detects, and how many days an effect takes",
		long: "The spread of the pairs' effects comes from a pilot: the results in a DuckDB file, FILE or the one in the folder\n" +
			"--out. Without a pilot it is the spread that the published intervals of OpenRouter's experiment imply\n" +
			"(announcement of 28 Oct 2026: one week, 28 pairs). Exact for normal log effects of pairs (noncentral t).",
		example: "  switchback power\n  switchback power --out switchback-out --effect -10% --power 0.9\n  switchback power --days 3,7,14 --figure power.svg",
		args:    cobra.MaximumNArgs(1),
		flags:   fs,
		run: func(ctx context.Context, args []string) error {
			result, err := s.answer(ctx, args)
			if err != nil {
				return err
			}
			if s.figure != "" {
				figure, err := reports.PowerFigure(result)
				if err != nil {
					return err
				}
				if err := renameio.WriteFile(s.figure, figure, 0o644); err != nil {
					return fmt.Errorf("write figure: %w", err)
				}
			}
			return writePower(p.stdout, result, s.format)
		},
	}
}

// answer checks the flags, finds the spread and computes.
func (s *powerSettings) answer(ctx context.Context, args []string) (reports.Power, error) {
	if err := checkWords("format", s.format, []string{"table", "markdown", "csv", "json"}); err != nil {
		return reports.Power{}, err
	}
	effect, err := parseEffect(s.effect)
	if err != nil {
		return reports.Power{}, err
	}
	design := stats.PowerDesign{Alpha: 1 - s.confidence, Power: s.power}
	if design.Validate() != nil {
		return reports.Power{}, usageError("both lie between 0 and 1, and --power is above 1 − --confidence",
			"--power %v with --confidence %v: cannot be planned for", s.power, s.confidence)
	}
	if len(s.days) == 0 {
		return reports.Power{}, usageError("such as 7,14,28", "--days: names no length")
	}
	for _, d := range s.days {
		if d < 1 || d > mostDays {
			return reports.Power{}, usageError("write a list such as 7,14", "--days: %d is not in 1…%d", d, mostDays)
		}
	}
	found, err := s.spread(ctx, args)
	if err != nil {
		return reports.Power{}, err
	}
	return powerOf(found, design, effect, s.days), nil
}

// parseEffect reads a relative change: "5%", "-10%" or "0.05".
func parseEffect(given string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(given), "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err != nil || math.IsInf(x, 0) || !(x > -1) || x == 0 {
		return 0, usageError("write a change such as 5%, -10% or 0.05; it is not 0 and above -100%", "--effect: cannot use %q", given)
	}
	return x, nil
}

// spread is how much the effects of pairs differ, measure by measure.
type spread struct {
	source      string
	note        string // what to know of it; "" when nothing
	pairsPerDay int
	metrics     []metricSpread
}

type metricSpread struct {
	id    string
	sd    float64 // of pairs' log effects; NaN when it is not known
	pairs int
}

// spread takes the spread from the pilot that was named, else from the published intervals.
func (s *powerSettings) spread(ctx context.Context, args []string) (spread, error) {
	var path string
	switch {
	case len(args) == 1 && s.out != "":
		return spread{}, usageError("give one of them", "both a file and --out are given")
	case len(args) == 1:
		path = args[0]
	case s.out != "":
		path = outDir{s.out}.database()
	case s.date != "":
		return spread{}, usageError("name the pilot's file or folder", "--date: there is no pilot")
	default:
		return publishedSpread(), nil
	}
	if s.date != "" {
		if _, err := parseDate("date", s.date); err != nil {
			return spread{}, err
		}
	}
	o := ingest.DefaultOptions()
	o.ReadOnly = true
	store, err := openFilled(ctx, path, o)
	if err != nil {
		return spread{}, err
	}
	found, err := pilotSpread(ctx, store, s.date)
	if errors.Is(err, ingest.ErrNoRun) {
		err = usageError("switchback run or switchback analyze makes them", "%w", err)
	}
	return found, errors.Join(err, store.Close())
}

// pilotSpread reads the latest results of a file, or those of a date.
func pilotSpread(ctx context.Context, store *ingest.Store, date string) (spread, error) {
	text, err := store.Document(ctx, date)
	if err != nil {
		return spread{}, err
	}
	doc, err := reports.Decode(bytes.NewReader(text))
	if err != nil {
		return spread{}, err
	}
	found := spread{
		source:      fmt.Sprintf("the pilot %q, report of %s", doc.Experiment, doc.ReportDate),
		pairsPerDay: max(1, int(day.Seconds())/int(max(1, doc.Design.BlockSeconds))/2),
	}
	for _, m := range experiment.Metrics() {
		if !m.Published {
			continue
		}
		row := metricSpread{id: m.ID, sd: math.NaN()}
		at := slices.IndexFunc(doc.Metrics, func(e stats.Estimate) bool { return e.ID == m.ID && e.Scope == "overall" })
		if at >= 0 {
			row.sd, row.pairs = pairSD(doc.Metrics[at], doc.Method), doc.Metrics[at].Pairs
		}
		found.metrics = append(found.metrics, row)
	}
	return found, nil
}

// pairSD is the spread that the interval of a result implies, NaN when there is none.
func pairSD(e stats.Estimate, method reports.Method) float64 {
	effect := e.Relative
	if e.Unadjusted != nil {
		effect = *e.Unadjusted // the adjusted interval has fewer degrees of freedom
	}
	if effect.Lo == nil || effect.Hi == nil || e.Pairs < 2 || *effect.Lo <= -1 {
		return math.NaN()
	}
	sd := stats.PairSD(*effect.Lo, *effect.Hi, e.Pairs, method.Confidence)
	switch method.Interval {
	case stats.IntervalPercentile, stats.IntervalBasic, stats.IntervalBCa:
		// These have the width of a normal interval with divisor n, not of Student's, which the expanded one was made for.
		n, p := float64(e.Pairs), (1+method.Confidence)/2
		student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}
		sd *= student.Quantile(p) / distuv.UnitNormal.Quantile(p) * math.Sqrt(n/(n-1))
	}
	return sd
}

// publishedSpread is what the 95 % intervals of OpenRouter's announcement of 28 Oct 2026 imply: one week of 3-hour blocks
// in 28 pairs, with Student intervals on the log scale.
func publishedSpread() spread {
	const pairs = 28
	found := spread{
		source: "the published intervals of OpenRouter’s experiment (announcement of 28 Oct 2026, 28 pairs)",
		note: "So small a spread of Cost per 1K requests can only be that of a cost at a fixed mix of tokens. What requests really cost " +
			"moves with their lengths too and takes longer: a pilot (--out) tells how long.",
		pairsPerDay: 4,
	}
	for _, row := range []struct {
		id     string
		lo, hi float64
	}{
		{"ttft_p50", -.198, -.139},
		{"ttft_p95", -.219, -.157},
		{"throughput_p50", .138, .189},
		{"cost_per_1k_requests", .051, .070},
		{"cost_per_1m_tokens", .049, .096},
		{"caller_ttft_p50", -.197, -.138},
		{"caller_ttft_p95", -.290, -.216},
		{"total_p50", -.236, -.142},
		{"total_p95", -.197, -.122},
		{"hit_429", -.72, -.62},
		{"needed_retry", -.52, -.41},
		{"failed_ms", -.60, -.48},
	} {
		found.metrics = append(found.metrics, metricSpread{row.id, stats.PairSD(row.lo, row.hi, pairs, 0.95), pairs})
	}
	return found
}

// powerOf computes the smallest effects and the days needed.
func powerOf(found spread, design stats.PowerDesign, effect float64, days []int) reports.Power {
	result := reports.Power{
		Source: found.source, Note: found.note, Power: design.Power, Confidence: 1 - design.Alpha, PairsPerDay: found.pairsPerDay, Days: days, Effect: effect,
	}
	for _, m := range found.metrics {
		row := reports.PowerRow{ID: m.id, PairSD: finite(m.sd), Pairs: m.pairs, Smallest: make([]*float64, len(days))}
		if m.sd > 0 {
			for i, d := range days {
				row.Smallest[i] = finite(design.SmallestEffect(m.sd, d*found.pairsPerDay))
			}
			if n, ok := design.PairsNeeded(effect, m.sd); ok {
				needed := stats.DaysNeeded(n, found.pairsPerDay)
				row.DaysNeeded = &needed
			}
		}
		result.Rows = append(result.Rows, row)
	}
	return result
}

func writePower(w io.Writer, result reports.Power, format string) error {
	var text []byte
	var err error
	switch format {
	case "json":
		text, err = reports.EncodePower(result)
	case "markdown":
		text = reports.PowerMarkdown(result)
	case "csv":
		text, err = powerCSV(result)
	default:
		text = powerTable(result)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write power: %w", err)
	}
	return nil
}

func powerTable(result reports.Power) []byte {
	shown := result.Table()
	t := table.NewWriter()
	t.SetStyle(plainTable())
	t.AppendHeader(rowOf(shown.Head))
	t.SetColumnConfigs(aligned(shown.Right))
	for _, r := range shown.Rows {
		t.AppendRow(rowOf(r))
	}
	text := wrap(result.Sentence()) + "\n\n" + rendered(t) + "\n"
	if result.Note != "" {
		text += "\n" + wrap(result.Note) + "\n"
	}
	return []byte(text)
}

// powerCSV has full precision; what is unknown is empty.
func powerCSV(result reports.Power) ([]byte, error) {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	head := []string{"metric", "pair_sd_log", "pilot_pairs"}
	for _, d := range result.Days {
		head = append(head, fmt.Sprintf("smallest_%d_days", d))
	}
	lines := [][]string{append(head, "days_needed")}
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}
	for _, r := range result.Rows {
		line := []string{r.ID, number(r.PairSD), strconv.Itoa(r.Pairs)}
		for _, s := range r.Smallest {
			line = append(line, number(s))
		}
		needed := ""
		if r.DaysNeeded != nil {
			needed = strconv.Itoa(*r.DaysNeeded)
		}
		lines = append(lines, append(line, needed))
	}
	if err := out.WriteAll(lines); err != nil {
		return nil, fmt.Errorf("write power: %w", err)
	}
	return b.Bytes(), nil
}
