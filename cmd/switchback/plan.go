package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"

	"switchback/experiment"
)

// planCommand prints the block schedule.
func (p *process) planCommand() command {
	var s settings
	var format string
	fs := pflag.NewFlagSet("plan", pflag.ContinueOnError)
	s.configFlag(fs)
	fs.Uint64Var(&s.seed, "seed", defaultSeed, "`seed` that the plan is drawn with")
	fs.StringVar(&format, "format", "table", "table, csv or json, a `word`")
	s.logFlags(fs)
	return command{
		use:   "plan",
		short: "Print the block schedule",
		long: "The schedule is drawn from [design] and the seed, or read from the schedule file that design.schedule names.\n" +
			"As csv it has the columns of plan.csv and can be given back as design.schedule.",
		example: "  switchback plan\n  switchback plan --config router-week.toml --format csv > plan.csv",
		args:    noArguments,
		flags:   fs,
		run: func(_ context.Context, _ []string) error {
			if err := checkWords("format", format, []string{"table", "csv", "json"}); err != nil {
				return err
			}
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			plan, err := c.plan()
			if err != nil {
				return err
			}
			return writePlan(p.stdout, plan, format)
		},
	}
}

// plan returns the experiment's schedule: the file that design.schedule names, or the drawn one. Rows that carry
// their own arms have no schedule before they are loaded, which is an error here.
func (c *config) plan() (experiment.Plan, error) {
	switch {
	case c.scheduleIsFile():
		return c.readSchedule()
	case c.simulated() || c.Design.Schedule == scheduleDrawn:
		plan, err := experiment.Draw(c.design(), c.arms())
		if err != nil {
			return experiment.Plan{}, fmt.Errorf("draw plan: %w", err)
		}
		return plan, nil
	}
	return experiment.Plan{}, usageError(
		`name the schedule that ran in design.schedule, or say "drawn" when this program's own plan ran`,
		"%s has no schedule: its blocks are labelled from the rows when they are loaded", c.file.place("design"))
}

func writePlan(w io.Writer, plan experiment.Plan, format string) error {
	switch format {
	case "csv":
		return plan.WriteCSV(w)
	case "json":
		return writePlanJSON(w, plan)
	}
	t := table.NewWriter()
	t.SetStyle(plainTable())
	perModel := len(plan.Models()) > 1 || plan.Models()[0] != ""
	header := table.Row{"block", "pair", "day", "slot", "arm", "starts", "ends", "burn-in ends"}
	if perModel {
		header = append(header, "model")
	}
	t.AppendHeader(header)
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
	for _, b := range plan.Blocks {
		row := table.Row{b.ID, b.PairID, b.Day, b.Slot, b.Arm, stamp(b.Starts), stamp(b.Ends), stamp(b.BurnInEnds)}
		if perModel {
			row = append(row, b.Model)
		}
		t.AppendRow(row)
	}
	_, err := fmt.Fprintln(w, rendered(t))
	return err
}

// planBlock is one block as JSON.
type planBlock struct {
	BlockID    string    `json:"block_id"`
	PairID     string    `json:"pair_id"`
	Day        int       `json:"day"`
	Slot       int       `json:"slot"`
	Arm        string    `json:"arm"`
	Starts     time.Time `json:"starts"`
	Ends       time.Time `json:"ends"`
	BurnInEnds time.Time `json:"burn_in_ends"`
	Model      string    `json:"model,omitempty"`
}

func writePlanJSON(w io.Writer, plan experiment.Plan) error {
	blocks := make([]planBlock, 0, len(plan.Blocks))
	for _, b := range plan.Blocks {
		blocks = append(blocks, planBlock{b.ID, b.PairID, b.Day, b.Slot, b.Arm, b.Starts.UTC(), b.Ends.UTC(), b.BurnInEnds.UTC(), b.Model})
	}
	return writeJSON(w, struct {
		Control   string      `json:"control"`
		Treatment string      `json:"treatment"`
		Blocks    []planBlock `json:"blocks"`
	}{plan.Arms.Control, plan.Arms.Treatment, blocks})
}

// plainTable is the look of every table on a terminal: aligned columns, no frame.
func plainTable() table.Style {
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	style.Format.Header = 0 // as written
	return style
}
