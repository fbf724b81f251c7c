package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/reports"
	"switchback/stats"
)

// validateSettings are the flags of validate beside the common ones.
type validateSettings struct {
	settings
	experiments int
	abTests     int
	models      int
	days        int
	replicates  int
	format      string
	write       string
}

// Defaults of a validation, for a first run in about a minute.
const (
	validateExperiments = 40
	validateModels      = 2
	validateRequests    = 40_000
	validateReplicates  = 2_000
	abShare             = 4 // one experiment in so many runs the A/B tests too
)

// validateCommand measures what the intervals hold.
func (p *process) validateCommand() command {
	var s validateSettings
	fs := pflag.NewFlagSet("validate", pflag.ContinueOnError)
	s.configFlag(fs)
	fs.IntVar(&s.experiments, "experiments", validateExperiments, "`number` of simulated experiments")
	fs.IntVar(&s.abTests, "ab-tests", 0, "`number` of them that run the plain A/B tests too (default a quarter)")
	fs.IntVar(&s.models, "models", validateModels, "`number` of models, those with the least traffic; their traffic is never thinned")
	fs.IntVar(&s.days, "days", 0, "`number` of days of each experiment (default the design's)")
	fs.IntVar(&s.replicates, "replicates", validateReplicates, "`number` of bootstrap replicates of each analysis")
	fs.Uint64Var(&s.seed, "seed", defaultSeed, "`seed` of the first experiment; the others take the next ones")
	fs.IntVar(&s.requests, "requests", validateRequests, "about how many requests of a world are analysed, a `number`")
	fs.IntVar(&s.threads, "threads", 0, "`number` of experiments at a time; never changes a result (default all processors)")
	fs.StringVar(&s.memory, "memory", "", "memory limit of each of DuckDB's stores, a `size` such as 2GB (default 1GiB)")
	fs.StringVar(&s.format, "format", "markdown", "markdown or json, a `word`")
	fs.StringVar(&s.write, "write", "", "write validation.md and validation.json into a `folder` instead; the same command goes on there after an interruption")
	s.logFlags(fs)
	return command{
		use:   "validate",
		short: "Measure what the intervals hold, in simulated worlds where the truth is known",
		long: "Simulates many small experiments and analyses each as run does. The true effect is what the router makes of the\n" +
			"same week when it routes everything. Reports how often the intervals hold it, how often the analysis sees a\n" +
			"difference between a router and itself, how far plain A/B tests are off, and what an analysis by single requests\n" +
			"would have claimed.",
		example: "  switchback validate\n  switchback validate --experiments 2000 --write docs",
		args:    noArguments,
		flags:   fs,
		run: func(ctx context.Context, _ []string) error {
			v, err := s.validation(fs)
			if err != nil {
				return err
			}
			return p.validateAndWrite(ctx, v, &s, commandLine("validate", fs))
		},
	}
}

// validation reads the configuration and the flags, and refuses what cannot be simulated.
func (s *validateSettings) validation(fs *pflag.FlagSet) (*validation, error) {
	if err := checkWords("format", s.format, []string{"markdown", "json"}); err != nil {
		return nil, err
	}
	c, err := s.load(fs, knownNames())
	if err != nil {
		return nil, err
	}
	if !c.simulated() {
		return nil, usageError("leave [logs] out, or leave --config out for the built-in experiment",
			"%s: a validation simulates its experiments, and this one reads logs", c.file.place("logs"))
	}
	if c.Workload.Source != sourceBuiltIn {
		return nil, usageError(`leave source out: every experiment of a validation draws its own arrivals`,
			"%s: a validation cannot replay", c.file.place("workload.source"))
	}
	if !fs.Changed("requests") && !c.file.defines("workload.requests") {
		c.Workload.Requests = validateRequests
	}
	if s.days > 0 {
		c.Design.Days = s.days
	}
	var errs manyErrors
	atLeast := func(flag string, value, least int) {
		if value < least {
			errs = append(errs, usageError(fmt.Sprintf("write %d or more", least), "--%s: %d is below %d", flag, value, least))
		}
	}
	atLeast("experiments", s.experiments, 2)
	atLeast("models", s.models, 1)
	atLeast("days", s.days, 0)
	atLeast("replicates", s.replicates, 100)
	atLeast("ab-tests", s.abTests, 0)
	if s.abTests > s.experiments {
		errs = append(errs, usageError("the A/B tests are some of the experiments", "--ab-tests: %d is more than the %d experiments", s.abTests, s.experiments))
	}
	if len(errs) > 0 {
		return nil, &ExitError{Code: exitUsage, Err: errs}
	}
	if !fs.Changed("ab-tests") {
		s.abTests = s.experiments / abShare
	}
	return newValidation(c, s.experiments, s.abTests, s.models, s.replicates)
}

// newValidation picks the models and the burn-ins.
func newValidation(c config, experiments, abTests, models, replicates int) (*validation, error) {
	c.Market.Redraw = true // intervals are to hold in any market
	plan, err := experiment.Draw(c.design(), c.arms())
	if err != nil {
		return nil, usageError("", "%w", err)
	}
	if err := c.checkModels(plan); err != nil {
		return nil, err
	}
	flows, err := experiment.ModelFlows(c.driveConfig(driveOrder{plan: plan}))
	if err != nil {
		return nil, err
	}
	c.Workload.Models = nil
	for _, f := range flows[max(0, len(flows)-models):] {
		c.Workload.Models = append(c.Workload.Models, f.Model)
	}
	slices.Sort(c.Workload.Models)
	v := &validation{config: c, experiments: experiments, abTests: abTests, options: c.analysis()}
	v.options.SlotAdjustment, v.options.Threads, v.options.Replicates = false, 1, replicates
	v.options.Others = otherKinds()
	for _, m := range ingest.StatsMetrics() {
		if m.Published {
			v.metrics = append(v.metrics, m)
		}
	}
	for _, b := range []time.Duration{0, time.Hour, 2 * time.Hour, c.Design.BurnIn} {
		if b < c.Design.Block && !slices.Contains(v.burnIns, b) {
			v.burnIns = append(v.burnIns, b)
		}
	}
	slices.Sort(v.burnIns)
	return v, nil
}

// validateAndWrite keeps the finished experiments beside the files of the result until these are written. A result that
// is printed keeps none.
func (p *process) validateAndWrite(ctx context.Context, v *validation, s *validateSettings, command string) (err error) {
	if s.write == "" {
		result, err := p.validate(ctx, v, &s.settings, command, nil, nil)
		if err != nil {
			return err
		}
		return p.writeValidation(result, s)
	}
	fingerprint, err := v.fingerprint()
	if err != nil {
		return err
	}
	kept, finished, err := keepTrials(s.write, keptHead{fingerprint, command})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	result, err := p.validate(ctx, v, &s.settings, command, kept, finished)
	if errors.Is(err, context.Canceled) {
		return &ExitError{Code: exitInterrupted, Err: err, Hint: "the same command goes on where this one was: finished experiments are in " + kept.path}
	}
	if err != nil {
		return err
	}
	if err := p.writeValidation(result, s); err != nil {
		return err
	}
	return kept.remove()
}

// fingerprint hashes what an experiment follows from beside its number: not how many there are.
func (v *validation) fingerprint() (string, error) {
	program, err := thisProgram().identity()
	if err != nil {
		return "", err
	}
	options := v.options
	options.Threads = 1
	text, err := json.Marshal(struct {
		Program, Config string
		Options         stats.Options
		BurnIns         []time.Duration
		Metrics         []stats.Metric
	}{program, v.config.hash(), options, v.burnIns, v.metrics})
	if err != nil {
		return "", fmt.Errorf("hash settings: %w", err)
	}
	return hashBytes(text), nil
}

// validate runs the experiments that are not among the finished ones side by side, and counts all. kept is nil when
// nothing is to be kept.
func (p *process) validate(ctx context.Context, v *validation, s *settings, command string, kept *keptTrials, finished map[int]trial) (reports.Validation, error) {
	shown, log := p.newProgress(s)
	threads := v.config.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	trials := make([]trial, v.experiments)
	var open []int
	for i := range trials {
		earlier, ok := finished[i]
		if ok && v.complete(i, earlier) {
			trials[i] = earlier
		} else {
			open = append(open, i)
		}
	}
	if n := len(trials) - len(open); n > 0 {
		log.Info("validate goes on", "experiments", n, "of", len(trials), "kept", kept.path)
	}
	display := shown.begin("validate", "experiments")
	var done atomic.Int64
	done.Store(int64(len(trials) - len(open)))
	display.goOn(done.Load(), int64(len(trials)))
	group, inside := errgroup.WithContext(ctx)
	group.SetLimit(threads)
	for _, i := range open {
		group.Go(func() (err error) {
			if err := inside.Err(); err != nil {
				return err
			}
			if trials[i], err = v.run(inside, i); err != nil {
				return fmt.Errorf("validate: experiment with seed %d: %w", v.config.Seed+uint64(i), err)
			}
			if kept != nil {
				if err := kept.add(i, trials[i]); err != nil {
					return err
				}
			}
			display.set(done.Add(1), int64(len(trials)))
			return nil
		})
	}
	err := group.Wait()
	seconds := display.end()
	if err != nil {
		return reports.Validation{}, err
	}
	log.Info("validate", "experiments", len(trials), "seconds", hundredths(seconds))
	return v.result(trials, command), nil
}

// complete says whether a kept experiment is what the one with this number finds now.
func (v *validation) complete(number int, t trial) bool {
	rows := [][]finding{t.Truth, t.Same[0], t.Same[1]}
	rows = append(rows, t.ByBurnIn...)
	for _, naive := range t.Naive {
		if (naive != nil) != (number < v.abTests) {
			return false
		}
		if naive != nil {
			rows = append(rows, naive)
		}
	}
	for _, r := range rows {
		if len(r) != len(v.metrics) {
			return false
		}
	}
	return len(t.ByBurnIn) == len(v.burnIns)
}

// result puts the counts of all metrics together.
func (v *validation) result(trials []trial, command string) reports.Validation {
	c := v.config
	design := c.design()
	r := reports.Validation{
		SchemaVersion: reports.ValidationSchema, Scenario: c.scenarioName(), Arms: reports.Arms{Control: c.Arms.Control, Treatment: c.Arms.Treatment},
		Experiments: v.experiments, ABTests: v.abTests, FirstSeed: c.Seed, Logged: c.Workload.Requests, Models: c.Workload.Models,
		Days: design.Days, Pairs: design.Days * design.Slots() / 2, Block: int64(design.Block.Seconds()), BurnIn: int64(design.BurnIn.Seconds()),
		Order: string(design.Order), Interval: v.options.Interval, Confidence: v.options.Confidence, Replicates: v.options.Replicates,
		Weights: v.options.Weights, Command: command, Version: thisProgram().label(),
	}
	for i := range trials {
		r.Requests += trials[i].Requests
	}
	for m := range v.metrics {
		r.Metrics = append(r.Metrics, v.tally(trials, m))
	}
	return r
}

// scenarioName is the scenario's name, also where the configuration leaves it to the default, with what the workload puts in its place.
func (c *config) scenarioName() string {
	return experiment.DriveConfig{Scenario: c.Market.Scenario, Shape: c.Workload.Shape, Agents: c.Workload.Agents}.ScenarioName()
}

// writeValidation prints the result or writes its files.
func (p *process) writeValidation(v reports.Validation, s *validateSettings) error {
	files, err := reports.RenderValidation(v)
	if err != nil {
		return err
	}
	if s.write == "" {
		wanted := "validation.md"
		if s.format == "json" {
			wanted = "validation.json"
		}
		for _, f := range files {
			if f.Name == wanted {
				if _, err := p.stdout.Write(f.Bytes); err != nil {
					return fmt.Errorf("write validation: %w", err)
				}
			}
		}
		return nil
	}
	for _, f := range files {
		path := filepath.Join(s.write, f.Name)
		if err := renameio.WriteFile(path, f.Bytes, 0o644); err != nil {
			return fmt.Errorf("write validation: %w", err)
		}
		if _, err := fmt.Fprintln(p.stdout, path); err != nil {
			return fmt.Errorf("write validation: %w", err)
		}
	}
	return nil
}
