package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"switchback/experiment"
	"switchback/experiment/workload"
	"switchback/ingest"
	"switchback/router"
)

// known lists the names that a configuration may use and that other packages define.
type known struct {
	policies  []string
	scenarios []string
	formats   []string // of logs
}

var memoryLimit = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?\s*(KB|MB|GB|TB|KiB|MiB|GiB|TiB)$`)

// check returns an error with every problem of the configuration, each with file, line, key, value and hint, or nil.
func (c *config) check(names known, overridden map[string]string) error {
	p := problems{file: c.file, overridden: overridden}
	for _, f := range c.file.faults {
		p.found = append(p.found, problem{cmp.Or(lineOf(c.file.text, f.key), notThere), usageError(f.hint, "%s: %s", c.file.place(f.key), f.text)})
	}
	p.whole(c)
	p.design(c)
	p.arms(c, names.policies)
	if c.Logs != nil {
		p.logs(c, names.formats)
	} else {
		p.simulation(c, names.scenarios)
	}
	p.analysis(c.Analysis)
	p.report(c.Report)
	if len(p.found) == 0 {
		return nil
	}
	return &ExitError{Code: exitUsage, Err: p.inOrder()}
}

// problems collects what is wrong with a configuration.
type problems struct {
	file       origin
	overridden map[string]string // key → the flag or environment variable that set it
	found      []problem
}

// problem is one thing that is wrong. Its line is that of the file, 0 for a flag or the environment.
type problem struct {
	line int
	err  error
}

// notThere is the line of a key that the file does not have.
const notThere = math.MaxInt

// add tells of a problem. What follows from a value that cannot be read is left out.
func (p *problems) add(key, hint, format string, args ...any) {
	if p.file.unread(key) {
		return
	}
	place, line := p.overridden[key], 0
	if place == "" {
		place, line = p.file.placeOf(key), cmp.Or(lineOf(p.file.text, key), notThere)
	}
	p.found = append(p.found, problem{line, usageError(hint, "%s: %s", place, fmt.Sprintf(format, args...))})
}

// inOrder tells what stands there and is wrong from top to bottom, as one would mend it, and then what is missing: a key may be
// missing only because of what is wrong.
func (p *problems) inOrder() manyErrors {
	slices.SortStableFunc(p.found, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var errs manyErrors
	for _, f := range p.found {
		errs = append(errs, f.err)
	}
	return errs
}

// oneOf adds a problem unless value is one of the allowed words.
func (p *problems) oneOf(key, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		p.add(key, didYouMean(value, allowed), "unknown value %q", value)
	}
}

func (p *problems) whole(c *config) {
	versionHint := fmt.Sprintf("write schema_version = %d as the first key", schemaVersion)
	switch {
	case !p.file.defines("schema_version") && c.SchemaVersion == 0:
		p.add("schema_version", versionHint, "is missing")
	case c.SchemaVersion != schemaVersion:
		p.add("schema_version", versionHint, "is %d, this program reads %d", c.SchemaVersion, schemaVersion)
	}
	switch {
	case c.Name == "":
		p.add("name", `name the experiment, such as name = "router-week"`, "is missing")
	case len(c.Name) > 100 || strings.ContainsFunc(c.Name, unicode.IsControl):
		p.add("name", "", "%q is longer than 100 bytes or holds control characters", c.Name)
	}
	if c.Seed > math.MaxInt64 && p.file.defines("seed") && p.overridden["seed"] == "" { // TOML has no other number like that
		p.add("seed", "write 0 or more", "is negative")
	}
	if err := ingest.CheckPath(c.Out); err != nil {
		p.add("out", pathHint, "%s", err)
	}
	if c.Out == "" {
		p.add("out", "name a folder", "is empty")
	}
	if c.Threads < 0 {
		p.add("threads", "0 uses all processors", "is %d", c.Threads)
	}
	if c.Memory != "" && !memoryLimit.MatchString(c.Memory) {
		p.add("memory", "write a size such as 2GB or 512MiB", "cannot read %q", c.Memory)
	}
}

// designHint says what to do about a field of the design.
func designHint(field string) string {
	switch field {
	case "start":
		return "write a UTC midnight such as 2026-11-02T00:00:00Z"
	case "block":
		return "an even number of blocks must fill a day: 12h, 6h, 3h, 2h, 1h, 30m, …; 1m is the shortest"
	case "burn_in":
		return `choose a burn-in of 1s or more that is shorter than the block, or "0s" for none`
	case "order":
		return "slot-balanced is the default; coin draws each pair by itself"
	case "burn_in_scope":
		return "block is the default; changeover keeps the beginning of blocks whose arm routed before"
	}
	return ""
}

func (p *problems) design(c *config) {
	for _, fault := range c.design().Problems() {
		key, reason := "design."+fault.Field, fault.Reason
		if key == "design.burn_in" && !p.file.defines(key) && p.file.defines("design.block") {
			key, reason = "design.block", "the default burn_in, "+reason // it is the block that was written
		}
		p.add(key, designHint(fault.Field), "%s", reason)
	}
	if c.simulated() && c.Design.Schedule != "" {
		p.add("design.schedule", "leave it out, or add [logs]", "a simulated experiment draws its own plan")
	}
}

func (p *problems) arms(c *config, policies []string) {
	if err := c.arms().Validate(); err != nil && !p.file.unread("arms.control") && !p.file.unread("arms.treatment") {
		hint := "name both arms as the schedule or the rows call them"
		if c.simulated() {
			hint = `choose two policies; scenario = "a-a" in [market] has both arms run the control's`
		}
		p.add("arms", hint, "%s", strings.TrimPrefix(err.Error(), "arms: "))
	}
	if c.simulated() {
		for _, arm := range []struct{ key, name string }{{"arms.control", c.Arms.Control}, {"arms.treatment", c.Arms.Treatment}} {
			if arm.name != "" && router.CheckPolicy(arm.name) != nil {
				hint := didYouMean(arm.name, policies)
				if nearest(arm.name, policies) == "" {
					hint += "; labels of your own need a [logs] table"
				}
				p.add(arm.key, hint, "unknown policy %q", arm.name)
			}
		}
		return
	}
	for _, key := range []string{"arms.control", "arms.treatment"} {
		if !p.file.defines(key) {
			p.add(key, "name both arms as the schedule or the rows call them", "is missing")
		}
	}
}

func (p *problems) logs(c *config, formats []string) {
	if c.Workload != nil {
		p.add("workload", "an experiment reads logs or simulates", "stands beside [logs]")
	}
	if c.Market != nil {
		p.add("market", "an experiment reads logs or simulates", "stands beside [logs]")
	}
	if c.Logs.Warehouse != "" {
		p.warehouse(c.Logs)
	} else if len(c.Logs.Files) == 0 || slices.Contains(c.Logs.Files, "") {
		p.add("logs.files", `such as files = ["logs/*.jsonl.gz"]`, "names no file")
	}
	for _, key := range warehouseKeys() {
		if c.Logs.Warehouse == "" && p.file.defines("logs."+key) {
			p.add("logs."+key, "name the warehouse in logs.warehouse", "is for rows that lie in a warehouse")
		}
	}
	p.oneOf("logs.format", c.Logs.Format, formats)
	if c.Logs.CostUnit != "" {
		p.oneOf("logs.cost_unit", c.Logs.CostUnit, costUnits())
	}
	if _, err := ingest.ParseRejectLimit(c.Logs.MaxRejects); err != nil {
		p.add("logs.max_rejects", `write a share such as "0.1%" or a count such as "20"`, "%v", err)
	}
	if !c.scheduleIsFile() {
		for _, key := range []string{"design.start", "design.days"} {
			if !p.file.defines(key) {
				p.add(key, "say when the experiment ran, or name its schedule file in design.schedule", "is missing")
			}
		}
	}
}

func (p *problems) simulation(c *config, scenarios []string) {
	if c.Workload.Requests < 1 {
		p.add("workload.requests", "about how many requests are logged, such as 2000000", "is %d", c.Workload.Requests)
	}
	p.source(c)
	if c.Market.Scenario != "" {
		p.oneOf("market.scenario", c.Market.Scenario, scenarios)
	}
}

// source checks where the arrivals come from.
func (p *problems) source(c *config) {
	w := c.Workload
	p.oneOf("workload.source", w.Source, sources())
	if w.Trace != "" && w.Source != sourceLog {
		p.add("workload.trace", `write source = "log" to replay it`, "stands beside source = %q", w.Source)
	}
	if len(w.StandIns) > 0 && w.Source != sourceLog {
		p.add("workload.stand_ins", `they are for source = "log"`, "stands beside source = %q", w.Source)
	}
	if _, err := standIns(w.StandIns); err != nil {
		p.add("workload.stand_ins", `such as stand_ins = ["acme/small = qwen/qwq-32b"]`, "%v", err)
	}
	if w.Source != sourceLog && w.MaxRejects != "" {
		p.add("workload.max_rejects", `it is for source = "log"`, "stands beside source = %q", w.Source)
	}
	p.demand("workload.shape", w.Shape, w.Source, workload.Shapes())
	p.demand("workload.agents", w.Agents, w.Source, workload.AgentLaws())
	switch w.Source {
	case sourceLog:
		if _, err := ingest.ParseRejectLimit(w.MaxRejects); err != nil {
			p.add("workload.max_rejects", `write a share such as "0.1%" or a count such as "20"`, "%v", err)
		}
		if w.Trace == "" {
			p.add("workload.trace", `name the log to replay, such as trace = "logs/*.jsonl.gz"`, "is missing")
		}
		for _, key := range []string{"design.start", "design.days"} {
			if !p.file.defines(key) {
				p.add(key, "say which days of the log are played", "is missing")
			}
		}
	case sourceAzure, sourceMooncake:
		if len(w.Models) != 1 {
			p.add("workload.models", `a public trace does not say which; such as models = ["mistralai/mistral-nemo"]`, "names %d models, and the requests of a trace are for one", len(w.Models))
		}
	}
}

// demand checks a change of the built-in demand.
func (p *problems) demand(key, name, source string, allowed []string) {
	if name == "" {
		return
	}
	p.oneOf(key, name, allowed)
	if source != sourceBuiltIn {
		p.add(key, "a replay has the demand that was recorded", "stands beside source = %q", source)
	}
}

func (p *problems) analysis(a analysisConfig) {
	if !(a.Confidence >= 0.5 && a.Confidence < 1) {
		p.add("analysis.confidence", "such as 0.95", "%v is not in [0.5, 1)", a.Confidence)
	}
	if a.Replicates < 1 || a.Replicates > 1_000_000 {
		p.add("analysis.replicates", "such as 10000", "%d is not in 1…1,000,000", a.Replicates)
	}
	p.oneOf("analysis.interval", a.Interval, []string{"expanded", "percentile", "basic", "bca", "bootstrap-t", "t", "half-sample"})
	p.oneOf("analysis.weights", a.Weights, []string{"equal", "traffic"})
	p.oneOf("analysis.slot_adjustment", a.SlotAdjustment, []string{"off", "on"})
	if a.MinPairs < 2 {
		p.add("analysis.min_pairs", "2 is the least that an interval can be made from", "is %d", a.MinPairs)
	}
	if a.MinRows < 0 {
		p.add("analysis.min_rows", "", "is %d", a.MinRows)
	}
}

func (p *problems) report(r reportConfig) {
	var ids []string
	for _, m := range experiment.Metrics() {
		ids = append(ids, m.ID)
	}
	for _, id := range r.Decision {
		p.oneOf("report.decision", id, ids)
	}
	for _, id := range r.Guardrails {
		p.oneOf("report.guardrails", id, ids)
	}
}

// design returns the design that the configuration describes.
func (c *config) design() experiment.Design {
	return experiment.Design{
		Start:       c.Design.Start,
		Days:        c.Design.Days,
		Block:       c.Design.Block,
		BurnIn:      c.Design.BurnIn,
		BurnInScope: experiment.BurnInScope(c.Design.BurnInScope),
		Order:       experiment.Order(c.Design.Order),
		Seed:        c.Seed,
	}
}

func (c *config) arms() experiment.Arms {
	return experiment.Arms{Control: c.Arms.Control, Treatment: c.Arms.Treatment}
}

// scheduleIsFile reports whether design.schedule names a file.
func (c *config) scheduleIsFile() bool {
	return c.Design.Schedule != "" && c.Design.Schedule != scheduleDrawn && c.Design.Schedule != scheduleLabels
}
