package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"switchback/experiment"
	"switchback/stats"
)

// config is the content of a configuration file. Most keys have a default; see defaultConfig. The comments of the keys
// are their meaning in docs/configuration.md.
type config struct {
	SchemaVersion int    `toml:"schema_version"` // version of this format: 1; required, the first key
	Name          string `toml:"name"`           // of the experiment, at most 100 bytes; required
	Seed          uint64 `toml:"seed"`           // of every random stream: plan, what happens in the simulation, resampling
	Out           string `toml:"out"`            // output folder
	Threads       int    `toml:"threads"`        // never changes a result; 0: all processors
	Memory        string `toml:"memory"`         // most memory for DuckDB, such as "2GB" or "512MiB"; "": 1GiB, of a query 192MiB

	Design   designConfig    `toml:"design"`   // when which arm routes
	Arms     armsConfig      `toml:"arms"`     // what is compared
	Logs     *logsConfig     `toml:"logs"`     // request logs of a gateway; without this table the experiment is simulated
	Workload *workloadConfig `toml:"workload"` // demand of a simulated experiment
	Market   *marketConfig   `toml:"market"`   // endpoints of a simulated experiment
	Analysis analysisConfig  `toml:"analysis"` // how effects are estimated
	Report   reportConfig    `toml:"report"`   // what the verdict is about

	file origin // where the keys stand; zero for the built-in experiment
}

type designConfig struct {
	Start       time.Time     `toml:"start"`         // first day, a UTC midnight; required with [logs] unless schedule is a file, and with workload.source = "log"
	Days        int           `toml:"days"`          // 1 to 3660; required with [logs] unless schedule is a file, and with workload.source = "log"
	Block       time.Duration `toml:"block"`         // length of a block, at least a minute; an even number of blocks fills a day, at most 100,000 the experiment
	BurnIn      time.Duration `toml:"burn_in"`       // dropped from the start of a block; shorter than the block, and 0s or at least a second
	BurnInScope string        `toml:"burn_in_scope"` // block: every block loses it; changeover: only blocks that follow another arm, the first, and those after a gap
	Order       string        `toml:"order"`         // how the arm order inside pairs is drawn: slot-balanced, day-balanced, coin, alternating
	Schedule    string        `toml:"schedule"`      // on logs: a CSV file, "drawn" (this program's own plan ran) or "labels" (the rows carry their arm); "" is labels
}

type armsConfig struct {
	Control   string `toml:"control"`   // simulated: a policy; on logs: its name in the schedule or the rows, required
	Treatment string `toml:"treatment"` // the same for the arm that is new
}

type logsConfig struct {
	Files      []string `toml:"files"`       // names or globs, relative to the configuration's folder
	Format     string   `toml:"format"`      // of the files; auto finds it for each file
	MaxRejects string   `toml:"max_rejects"` // unreadable lines before the result counts as incomplete: a share such as "0.1%", or a count
	CostUnit   string   `toml:"cost_unit"`   // of costs in formats whose exports differ: usd or cents; "" is cents, with a warning
	Prices     string   `toml:"prices"`      // price list for costs that a log does not state, relative to the configuration's folder; "" is the embedded one

	Warehouse string            `toml:"warehouse,omitempty"`  // instead of files: where the rows lie, as clickhouse://host:port/database?secure=true; TLS is on unless every host is a loopback address; user and password are SWITCHBACK_WAREHOUSE_USER and SWITCHBACK_WAREHOUSE_PASSWORD
	Table     string            `toml:"table,omitempty"`      // of the warehouse, with its database when it is another one
	Map       string            `toml:"map,omitempty"`        // ready mapping of the table's columns: langfuse (observations) or helicone (request_response_rmt)
	Columns   map[string]string `toml:"columns,omitempty"`    // of the log by name, each an SQL expression of a row of the table; laid over map; "" takes one back; what is not there is unknown; version tells which of several rows of a record is the latest
	Day       string            `toml:"day,omitempty"`        // SQL expression of a row's Date, when the table is partitioned by something else than ts
	TSUnit    string            `toml:"ts_unit,omitempty"`    // of a ts that is a whole number: s, ms, us or ns since 1970
	Dedupe    string            `toml:"dedupe,omitempty"`     // on (the default): of several rows of a record one is taken; off: the table has none
	MaxTime   time.Duration     `toml:"max_time,omitzero"`    // of one query to the warehouse; 0 is ten minutes
	MaxMemory string            `toml:"max_memory,omitempty"` // of one query on each server, such as "8GiB"; "" leaves it to the servers
}

type workloadConfig struct {
	Requests   int      `toml:"requests"`              // about how many requests are logged
	Models     []string `toml:"models"`                // only these; empty: all of the scenario
	Source     string   `toml:"source"`                // of the arrivals: built-in (the scenario's), log (the one in trace, replayed), azure or mooncake (public traces, replayed; models names the one that is asked)
	Trace      string   `toml:"trace"`                 // request log to replay in any format that ingest reads: a name or glob, relative to the configuration's folder
	MaxRejects string   `toml:"max_rejects,omitempty"` // with trace: unreadable lines before the result counts as incomplete: a share such as "0.1%", the default, or a count
	StandIns   []string `toml:"stand_ins"`             // with trace: models of the market that stand in for models of the log, each as "log's = market's"

	Shape  string `toml:"shape,omitempty"`  // of the built-in week: burstgpt (days differ tenfold, hours twelvefold); "" is the scenario's
	Agents string `toml:"agents,omitempty"` // of the built-in week: tracelab (a third of the requests are steps of recorded coding agents); "" is the scenario's
}

type marketConfig struct {
	Scenario string `toml:"scenario"`         // name of a scenario; "" is openrouter-week
	Redraw   bool   `toml:"redraw,omitempty"` // true: the seed also draws what stays from week to week (capacity, error rates and caches of the endpoints, the models' clients and text lengths): another market for every seed; false: the scenario's own
}

type analysisConfig struct {
	Confidence     float64 `toml:"confidence"`      // of the intervals, from 0.5 to below 1
	Replicates     int     `toml:"replicates"`      // of the bootstrap, 1 to 1,000,000
	Interval       string  `toml:"interval"`        // expanded, percentile, basic, bca, bootstrap-t, t, half-sample
	Weights        string  `toml:"weights"`         // of the models in overall rows: equal or traffic
	SlotAdjustment string  `toml:"slot_adjustment"` // which estimate is the headline: off, or on for the one adjusted for the daily position
	MinPairs       int     `toml:"min_pairs"`       // complete pairs that a model needs, at least 2
	MinRows        int     `toml:"min_rows"`        // requests in each arm that a model needs; for the quantile q never fewer than 4q/(1-q)
}

type reportConfig struct {
	Decision   metricIDs `toml:"decision"`   // what the verdict is about; empty: every published metric
	Guardrails metricIDs `toml:"guardrails"` // what must not get worse
}

// metricIDs is one metric id or a list of them.
type metricIDs []string

// UnmarshalTOML implements toml.Unmarshaler.
func (m *metricIDs) UnmarshalTOML(value any) error {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	*m = nil
	for _, item := range items {
		id, ok := item.(string)
		if !ok {
			return fmt.Errorf("%v is not a metric id or a list of them", value)
		}
		*m = append(*m, id)
	}
	return nil
}

// Values of design.schedule that are no file.
const (
	scheduleDrawn  = "drawn"  // this program's own plan ran
	scheduleLabels = "labels" // the rows carry the arm
)

const (
	schemaVersion     = 1
	defaultSeed       = 7
	defaultRequests   = 2_000_000
	defaultMaxRejects = "0.1%"
	defaultOut        = "switchback-out"
)

// defaultConfig returns the built-in experiment: one week from 2026-11-02, 3-hour blocks, one hour of burn-in,
// slot-balanced, price against routing-cost, seed 7, about 2,000,000 logged requests.
func defaultConfig() config {
	design := experiment.DefaultDesign()
	analysis := stats.DefaultOptions()
	return config{
		SchemaVersion: schemaVersion,
		Name:          "built-in",
		Seed:          defaultSeed,
		Out:           defaultOut,
		Design: designConfig{
			Start:       design.Start,
			Days:        design.Days,
			Block:       design.Block,
			BurnIn:      design.BurnIn,
			BurnInScope: string(design.BurnInScope),
			Order:       string(design.Order),
		},
		Arms: armsConfig{Control: "price", Treatment: "routing-cost"},
		Analysis: analysisConfig{
			Confidence:     analysis.Confidence,
			Replicates:     analysis.Replicates,
			Interval:       analysis.Interval,
			Weights:        analysis.Weights,
			SlotAdjustment: "off",
			MinPairs:       analysis.MinPairs,
			MinRows:        analysis.MinRows,
		},
	}
}

// readConfig reads a configuration file over the defaults. The error is one of syntax, or of the file itself; every other
// fault, unknown keys and values of a wrong type among them, is told by check.
func readConfig(path string) (config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return config{}, usageError("--config names a TOML file", "read configuration: %w", err)
	}
	return parseConfig(path, string(text))
}

// parseConfig reads the text of the configuration file at path.
func parseConfig(path, text string) (config, error) {
	c := defaultConfig()
	c.Name, c.SchemaVersion = "", 0
	meta, faults, err := readTables(text, &c)
	if err != nil {
		return config{}, tomlError(path, text, err)
	}
	c.file = origin{path: path, text: text, meta: meta, faults: faults}
	if meta.IsDefined("out") {
		c.Out = c.file.resolve(c.Out)
	}
	if c.Logs != nil {
		if c.Logs.Format == "" {
			c.Logs.Format = "auto"
		}
		if c.Logs.MaxRejects == "" {
			c.Logs.MaxRejects = defaultMaxRejects
		}
	}
	c.fillSimulation()
	return c, nil
}

// fillSimulation gives a simulated experiment its workload and market where the file says nothing of them.
func (c *config) fillSimulation() {
	if c.Logs != nil {
		return
	}
	if c.Workload == nil {
		c.Workload = &workloadConfig{}
	}
	if c.Market == nil {
		c.Market = &marketConfig{}
	}
	if c.Workload.Source == "" {
		c.Workload.Source = sourceBuiltIn
	}
	if c.Workload.Source == sourceLog && c.Workload.MaxRejects == "" {
		c.Workload.MaxRejects = defaultMaxRejects
	}
	if c.Workload.Requests == 0 && !c.file.meta.IsDefined("workload", "requests") {
		c.Workload.Requests = defaultRequests
	}
}

// effective renders the configuration as a file: what the file, the environment and the flags make together.
func (c *config) effective() string {
	var b strings.Builder
	enc := toml.NewEncoder(&b)
	enc.Indent = ""
	if err := enc.Encode(c); err != nil {
		panic("encode configuration: " + err.Error()) // every field has a TOML type
	}
	return b.String()
}

// hash identifies what of the configuration can change a result: not where it is written, nor with how many threads.
func (c *config) hash() string {
	same := *c
	same.Out, same.Threads, same.Memory = "", 0, ""
	return hashBytes([]byte(same.effective()))
}

// simulated reports whether the experiment drives the built-in router rather than reading a gateway's logs.
func (c *config) simulated() bool { return c.Logs == nil }

// asUTC reads a TOML date or date-time without a zone as UTC.
func asUTC(t time.Time) time.Time {
	if zone := t.Location().String(); zone == "datetime-local" || zone == "date-local" {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	return t.UTC()
}

// tomlMessage takes the library's message apart: line, key, what is wrong. Only errors of syntax carry these as fields.
var tomlMessage = regexp.MustCompile(`^toml: (?:line (\d+))?(?: ?\(last key "([^"]*)"\))?:? ?(.*)$`)

// tomlParts takes an error of the library apart. What is not in it is "".
func tomlParts(err error) (line, key, reason string) {
	if m := tomlMessage.FindStringSubmatch(err.Error()); m != nil {
		return m[1], m[2], m[3]
	}
	return "", "", err.Error()
}

// tomlError tells an error of the syntax of a file.
func tomlError(path, text string, err error) error {
	line, key, reason := tomlParts(err)
	if name := keyOnLine(text, line); name != "" && key != name && !strings.HasSuffix(key, "."+name) {
		key = strings.TrimPrefix(key+"."+name, ".") // the library forgets it once it has read a value
	}
	subject := "configuration " + path
	if line != "" {
		subject += ":" + line
	}
	if key != "" {
		subject += ": " + key
	}
	return usageError(tomlHint(key, reason), "%s: %s", subject, plainReason(reason))
}

// keyOnLine returns the bare key that is set on a line of a file, "" when there is none.
func keyOnLine(text, line string) string {
	n, err := strconv.Atoi(line)
	lines := strings.Split(text, "\n")
	if err != nil || n < 1 || n > len(lines) {
		return ""
	}
	name, _, found := strings.Cut(lines[n-1], "=")
	if name = strings.TrimSpace(name); !found || !bareKey.MatchString(name) {
		return ""
	}
	return name
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// origin is the file of a configuration: what stands where in it, and what of it cannot be read.
type origin struct {
	path   string
	text   string
	meta   toml.MetaData
	faults []keyFault // what of it cannot be read
}

// resolve returns a path of the file relative to the file's folder.
func (o origin) resolve(path string) string {
	if filepath.IsAbs(path) || o.path == "" {
		return path
	}
	return filepath.Join(filepath.Dir(o.path), path)
}

// defines reports whether the file itself sets a dotted key.
func (o origin) defines(key string) bool {
	return o.path != "" && o.meta.IsDefined(strings.Split(key, ".")...)
}

// place names the file and, where the key stands in it, the line.
func (o origin) place(key string) string {
	if o.path == "" {
		return "configuration"
	}
	if line := lineOf(o.text, key); line > 0 {
		return fmt.Sprintf("configuration %s:%d", o.path, line)
	}
	return "configuration " + o.path
}

// placeOf is place with the key.
func (o origin) placeOf(key string) string { return o.place(key) + ": " + key }

// unread reports whether a dotted key, or the table that it is in, stands in the file and cannot be read.
func (o origin) unread(key string) bool {
	return slices.ContainsFunc(o.faults, func(f keyFault) bool { return f.key == key || strings.HasPrefix(key, f.key+".") })
}

// unreadIn reports whether something in a table of the file, or the table, cannot be read.
func (o origin) unreadIn(table string) bool {
	return slices.ContainsFunc(o.faults, func(f keyFault) bool { return f.key == table || strings.HasPrefix(f.key, table+".") })
}

// nearestKey hints at the known key that was meant: by the whole dotted name, or by the last word in another section.
func nearestKey(key string, known []string) string {
	last := key[strings.LastIndex(key, ".")+1:]
	for _, k := range known {
		if k != key && (k == last || strings.HasSuffix(k, "."+last)) {
			return "did you mean " + k + "?"
		}
	}
	return didYouMean(key, known)
}

// configKeys returns every dotted key of the configuration in the order of the struct.
func configKeys() []string { return keysOf(reflect.TypeFor[config](), "") }

func keysOf(t reflect.Type, prefix string) []string {
	var keys []string
	for field := range t.Fields() {
		name := keyOf(field)
		if name == "" {
			continue
		}
		keys = append(keys, prefix+name)
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() {
			keys = append(keys, keysOf(inner, prefix+name+".")...)
		}
	}
	return keys
}

// keyOf is the name of a field in the file, "" for one that has none.
func keyOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
	return name
}

// lineOf finds the line (from 1) on which a dotted key is set, or 0. It knows [table] headers, dotted keys and inline tables.
func lineOf(text, key string) int {
	table := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(line[:strings.LastIndex(line, "]")+1], "[] \t")
			if table == key {
				return i + 1
			}
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found {
			continue
		}
		name = strings.Trim(strings.ReplaceAll(name, `"`, ""), " \t")
		if table != "" {
			name = table + "." + name
		}
		if name == key || strings.HasPrefix(name, key+".") {
			return i + 1
		}
		if inner, ok := strings.CutPrefix(key, name+"."); ok && setsInline(value, inner) {
			return i + 1
		}
	}
	return 0
}

// setsInline reports whether a value is an inline table that sets a key.
func setsInline(value, key string) bool {
	inner, ok := strings.CutPrefix(strings.TrimSpace(value), "{")
	if !ok {
		return false
	}
	for _, pair := range strings.Split(inner, ",") {
		if name, _, found := strings.Cut(pair, "="); found && strings.TrimSpace(name) == key {
			return true
		}
	}
	return false
}
