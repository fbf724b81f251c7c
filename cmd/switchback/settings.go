package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// settings are the flags that commands share. Each can also be set by an environment variable: --max-rejects is
// SWITCHBACK_MAX_REJECTS. The order is flag > environment > configuration file > default.
type settings struct {
	config     string
	out        string
	date       string
	since      string
	until      string
	seed       uint64
	requests   int
	threads    int
	memory     string
	maxRejects string
	force      bool

	failOnGuardrail bool
	quiet           bool
	verbose         bool
	logJSON         bool
}

const envPrefix = "SWITCHBACK_"

// logFlags adds what every command understands.
func (s *settings) logFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&s.quiet, "quiet", false, "print errors only")
	fs.BoolVar(&s.verbose, "verbose", false, "print more of what is done")
	fs.BoolVar(&s.logJSON, "log-json", false, "log as JSON lines")
}

// configFlag adds the configuration file.
func (s *settings) configFlag(fs *pflag.FlagSet) {
	fs.StringVar(&s.config, "config", "", "experiment configuration, a TOML `file`; without it: the built-in experiment")
}

// outputFlags adds where a command works and what it may use.
func (s *settings) outputFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.out, "out", "", "output `folder` (default "+defaultOut+")")
	s.limitFlags(fs)
}

// limitFlags adds what a command may use of the machine.
func (s *settings) limitFlags(fs *pflag.FlagSet) {
	fs.IntVar(&s.threads, "threads", 0, "`number` of threads; never changes a result (default all processors)")
	fs.StringVar(&s.memory, "memory", "", "DuckDB's memory limit, a `size` such as 2GB (default 1GiB)")
}

// simulationFlags adds what a simulated experiment is scaled by.
func (s *settings) simulationFlags(fs *pflag.FlagSet) {
	fs.Uint64Var(&s.seed, "seed", defaultSeed, "`seed` of the plan, of what happens in the simulation, and of the resampling")
	fs.IntVar(&s.requests, "requests", defaultRequests, "about how many requests of a simulated experiment are logged, a `number`")
}

// windowFlags adds which days are reported.
func (s *settings) windowFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.date, "date", "", "report `YYYY-MM-DD` (UTC) on logs (default yesterday, or the design's last day when earlier)")
	fs.StringVar(&s.since, "since", "", "leave out rows before this UTC `instant`, a date or RFC 3339 (default the design's start)")
	fs.StringVar(&s.until, "until", "", "leave out rows from this UTC `instant` on (default the end of the report date)")
}

func (s *settings) rejectFlag(fs *pflag.FlagSet) {
	fs.StringVar(&s.maxRejects, "max-rejects", defaultMaxRejects, "unreadable lines before the result counts as incomplete: a `share` such as 0.1% or a count")
}

func (s *settings) guardrailFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&s.failOnGuardrail, "fail-on-guardrail", false, "end with exit code 4 when a guardrail metric is breached")
}

func (s *settings) forceFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&s.force, "force", false, "do the work even when the result is up to date")
}

// applyEnvironment sets every flag that the command line leaves alone from its environment variable.
func applyEnvironment(fs *pflag.FlagSet, getenv func(string) string) error {
	var errs manyErrors
	fs.VisitAll(func(f *pflag.Flag) {
		name := envName(f.Name)
		value := getenv(name)
		if f.Changed || value == "" || f.Name == "help" || f.Name == "version" {
			return
		}
		if err := fs.Set(f.Name, value); err != nil {
			errs = append(errs, valueError("environment "+name, f, value))
			return
		}
		if err := fs.SetAnnotation(f.Name, fromEnvironment, []string{name}); err != nil {
			errs = append(errs, err)
		}
	})
	if len(errs) == 0 {
		return nil
	}
	return &ExitError{Code: exitUsage, Err: errs}
}

// fromEnvironment annotates a flag that an environment variable set.
const fromEnvironment = "environment"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setBy names what set a flag, as errors show it: "--seed" or "SWITCHBACK_SEED".
func setBy(f *pflag.Flag) string {
	if names := f.Annotations[fromEnvironment]; len(names) > 0 {
		return names[0]
	}
	return "--" + f.Name
}

// load reads the configuration, lays flags and environment over it, and checks the whole.
func (s *settings) load(fs *pflag.FlagSet, names known) (config, error) {
	c, overridden, err := s.lay(fs)
	if err != nil {
		return config{}, err
	}
	if err := c.check(names, overridden); err != nil {
		return config{}, err
	}
	return c, nil
}

// lay reads the configuration and lays flags and environment over it. overridden names, for each key that one of them sets,
// the flag or variable.
func (s *settings) lay(fs *pflag.FlagSet) (c config, overridden map[string]string, err error) {
	c = defaultConfig()
	c.fillSimulation()
	if s.config != "" {
		if c, err = readConfig(s.config); err != nil {
			return config{}, nil, err
		}
	}
	overridden = map[string]string{}
	var errs manyErrors
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		key, err := s.override(&c, f)
		if err != nil {
			errs = append(errs, err)
		}
		overridden[key] = setBy(f)
	})
	if len(errs) > 0 {
		return config{}, nil, &ExitError{Code: exitUsage, Err: errs}
	}
	return c, overridden, nil
}

// override lays a flag over the key of the configuration that it stands for, and returns the key ("" when none).
func (s *settings) override(c *config, f *pflag.Flag) (key string, err error) {
	switch f.Name {
	case "out":
		c.Out, key = s.out, "out"
	case "threads":
		c.Threads, key = s.threads, "threads"
	case "memory":
		c.Memory, key = s.memory, "memory"
	case "seed":
		c.Seed, key = s.seed, "seed"
	case "requests":
		if !c.simulated() {
			return "", usageError("leave it out", "%s: only a simulated experiment is thinned, and this one reads logs", setBy(f))
		}
		c.Workload.Requests, key = s.requests, "workload.requests"
	case "date":
		_, err = parseDate(f.Name, s.date)
	case "since", "until":
		_, err = parseInstant(f.Name, f.Value.String())
	case "max-rejects":
		switch {
		case !c.simulated():
			c.Logs.MaxRejects, key = s.maxRejects, "logs.max_rejects"
		case c.Workload.Source == sourceLog:
			c.Workload.MaxRejects, key = s.maxRejects, "workload.max_rejects"
		}
	}
	return key, err
}

// parseInstant reads a date, which is its UTC midnight, or an RFC 3339 instant.
func parseInstant(flag, text string) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usageError("write a date such as 2026-11-02 or an instant such as 2026-11-02T03:00:00Z", "--%s: cannot read %q", flag, text)
	}
	return t.UTC(), nil
}

// parseDate reads a UTC day.
func parseDate(flag, text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, usageError("write a date such as 2026-11-02", "--%s: cannot read %q", flag, text)
	}
	return t, nil
}

// checkWords reports a flag whose value is not one of the allowed words.
func checkWords(flag, value string, allowed []string) error {
	for _, a := range allowed {
		if a == value {
			return nil
		}
	}
	return usageError(didYouMean(value, allowed), "--%s: unknown value %q", flag, fmt.Sprint(value))
}
