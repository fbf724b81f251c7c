package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// writeConfig writes a configuration file and returns its path.
func writeConfig(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "experiment.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// loadConfig loads a configuration text as a command with every shared flag would.
func loadConfig(t testing.TB, text string, args []string, env map[string]string) (config, error) {
	t.Helper()
	var s settings
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.configFlag(fs)
	s.outputFlags(fs)
	s.simulationFlags(fs)
	s.rejectFlag(fs)
	if text != "" {
		args = append([]string{"--config", writeConfig(t, text)}, args...)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := applyEnvironment(fs, func(name string) string { return env[name] }); err != nil {
		return config{}, err
	}
	return s.load(fs, testNames())
}

func testNames() known {
	return known{policies: []string{"price", "routing-cost"}, scenarios: []string{"open-models"}, formats: []string{"auto", "canonical"}}
}

const simulated = "schema_version = 1\nname = \"x\"\n"

const onLogs = `schema_version = 1
name = "router-week"
[design]
start = 2026-11-02T00:00:00Z
days = 7
schedule = "schedule.csv"
[arms]
control = "legacy"
treatment = "new"
[logs]
files = ["logs/*.jsonl.gz"]
`

func TestConfigOrder(t *testing.T) {
	tests := []struct {
		name string
		text string
		args []string
		env  map[string]string
		want uint64
	}{
		{"default", "", nil, nil, defaultSeed},
		{"file over default", simulated + "seed = 11\n", nil, nil, 11},
		{"environment over file", simulated + "seed = 11\n", nil, map[string]string{"SWITCHBACK_SEED": "12"}, 12},
		{"flag over environment", simulated + "seed = 11\n", []string{"--seed", "13"}, map[string]string{"SWITCHBACK_SEED": "12"}, 13},
		{"flag over file, to the default's value", simulated + "seed = 11\n", []string{"--seed", "7"}, nil, 7},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c, err := loadConfig(t, tc.text, tc.args, tc.env)
			if err != nil {
				t.Fatal(err)
			}
			if c.Seed != tc.want {
				t.Errorf("seed %d, want %d", c.Seed, tc.want)
			}
		})
	}
}

func TestConfigDefaultsArePublishedDesign(t *testing.T) {
	c, err := loadConfig(t, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := designConfig{
		Start: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), Days: 7, Block: 3 * time.Hour, BurnIn: time.Hour,
		BurnInScope: "block", Order: "slot-balanced",
	}
	if diff := cmp.Diff(want, c.Design); diff != "" {
		t.Errorf("design (-want +got):\n%s", diff)
	}
	if c.Arms != (armsConfig{"price", "routing-cost"}) || c.Workload.Requests != 2_000_000 || c.Analysis.Replicates != 10_000 {
		t.Errorf("arms %v, requests %d, replicates %d", c.Arms, c.Workload.Requests, c.Analysis.Replicates)
	}
}

// An arm may be an order with its list, as the configuration's reference says.
func TestConfigArmInOrder(t *testing.T) {
	const arm = "order:together,deepinfra/fp8"
	c, err := loadConfig(t, simulated+"[arms]\ntreatment = \""+arm+"\"\n", nil, nil)
	if err != nil || c.Arms.Treatment != arm {
		t.Errorf("treatment %q, %v", c.Arms.Treatment, err)
	}
}

// Every problem is told: file, line, key, value, hint.
func TestConfigProblems(t *testing.T) {
	tests := []struct {
		name string
		text string
		args []string
		env  map[string]string
		want []string // parts of the lines, in order
	}{
		{"unknown key", simulated + "[design]\nbolck = \"3h\"\n", nil, nil, []string{"experiment.toml:4: unknown key design.bolck", "did you mean design.block?"}},
		{"key of another section", simulated + "[design]\nreplicates = 5\n", nil, nil, []string{"unknown key design.replicates", "did you mean analysis.replicates?"}},
		{"unknown section told once", simulated + "[desing]\nblock = \"3h\"\n", nil, nil, []string{"experiment.toml:3: unknown key desing", "did you mean design?"}},
		{"wrong type", simulated + "seed = \"seven\"\n", nil, nil, []string{"experiment.toml:3: seed: incompatible types"}},
		{"bad duration", simulated + "[design]\nblock = \"3 hours\"\n", nil, nil, []string{`experiment.toml:4: design.block: "3 hours" is not a length of time`, `block = "3h", in h, m and s`}},
		{"bad duration of another key", simulated + "[design]\nburn_in = \"1 hour\"\n", nil, nil, []string{`experiment.toml:4: design.burn_in: "1 hour" is not a length of time`, `burn_in = "1h", in h, m and s`}},
		{"lengths without a unit", onLogs + "max_time = 600\n[design2]\n", nil, nil, []string{"experiment.toml:12: logs.max_time: 600 has no unit", `max_time = "10m"`, "unknown key design2"}},
		{"a length of another type", simulated + "[design]\nburn_in = true\n", nil, nil, []string{"experiment.toml:4: design.burn_in: is true or false, not a length of time", `burn_in = "1h"`}},
		{"burn-in without a unit", simulated + "[design]\nburn_in = 1\n", nil, nil, []string{"experiment.toml:4: design.burn_in: 1 has no unit", `in quotes: burn_in = "1h"`}},
		{"burn-in of 0 without a unit", simulated + "[design]\nburn_in = 0\n", nil, nil, []string{"experiment.toml:4: design.burn_in: 0 has no unit"}},
		{"burn-in in quotes without a unit", simulated + "[design]\nburn_in = \"60\"\n", nil, nil, []string{`experiment.toml:4: design.burn_in: "60" has no unit`}},
		{"block without a unit, nothing of the burn-in", simulated + "[design]\nblock = 3\nstart = 00:00:00\n", nil, nil, []string{"experiment.toml:4: design.block: 3 has no unit", `block = "3h"`, "experiment.toml:5: design.start: is a time of day without a date", "END"}},
		{"block of a fraction", simulated + "design = { block = 1.5 }\n", nil, nil, []string{"experiment.toml:3: design.block: 1.5 has no unit", "END"}},
		{"block of nanoseconds", simulated + "[design]\nblock = \"3ns\"\nburn_in = \"0s\"\n", nil, nil, []string{"experiment.toml:4: design.block: 3ns is shorter than 1 min", "1m is the shortest", "END"}},
		{"block of a millisecond", simulated + "[design]\nblock = \"1ms\"\n", nil, nil, []string{"experiment.toml:4: design.block: 1 ms is shorter than 1 min", "END"}},
		{"too many blocks", simulated + "[design]\nblock = \"1m\"\nburn_in = \"1s\"\ndays = 70\n", nil, nil, []string{"experiment.toml:4: design.block: 1 min gives 100800 blocks in 70 days, more than 100000", "END"}},
		{"burn-in of a blink", simulated + "[design]\nburn_in = \"5ms\"\n", nil, nil, []string{"experiment.toml:4: design.burn_in: 5 ms is shorter than 1 s", `"0s" for none`}},
		{"block shorter than the default burn-in", simulated + "[design]\nblock = \"30m\"\n", nil, nil, []string{"experiment.toml:4: design.block: the default burn_in, 1 h leaves nothing of a block of 30 min", "END"}},
		{"every fault, whatever its kind", "schema_version = \"1\"\nname = 3\nsed = 4\n[design]\ndays = 0\nburn_in = 60\n[analysis]\nreplicates = \"100\"\n", nil, nil, []string{
			"experiment.toml:1: schema_version: incompatible types", "experiment.toml:2: name: incompatible types", "experiment.toml:3: unknown key sed", "did you mean seed?",
			"experiment.toml:5: design.days: 0 is not in", "experiment.toml:6: design.burn_in: 60 has no unit", "experiment.toml:8: analysis.replicates: incompatible types", "a number without quotes", "END",
		}},
		{"wrong table, nothing of its keys", strings.Replace(onLogs, "[logs]\nfiles = [\"logs/*.jsonl.gz\"]", "[[logs]]", 1), nil, nil, []string{"experiment.toml:10: logs: is a list, not a table", "END"}},
		{"upper case", simulated + "Seed = 3\n", nil, nil, []string{"experiment.toml:3: unknown key Seed", "did you mean seed?"}},
		{"syntax", simulated + "seed = = 3\n", nil, nil, []string{"experiment.toml:3: seed: expected value but found '='", "one = stands between"}},
		{"text without quotes", simulated + "out = here\n", nil, nil, []string{"experiment.toml:3: out: expected value", "text stands in quotes"}},
		{"quotes left open", simulated + "out = \"here\n", nil, nil, []string{"experiment.toml:3: out: strings cannot", "close the quotes"}},
		{"quotes of a letter", simulated + "out = “here”\n", nil, nil, []string{"experiment.toml:3: out: ", "straight quotes"}},
		{"no value", simulated + "out =\n", nil, nil, []string{"experiment.toml:3: out: ", "give the key a value"}},
		{"no equals sign", simulated + "seed 3\n", nil, nil, []string{"experiment.toml:3: expected '.' or '='", "on one line"}},
		{"bracket left open", simulated + "[design\n", nil, nil, []string{"to end table name", "a table stands in brackets"}},
		{"length without quotes", simulated + "[design]\nblock = 3h\n", nil, nil, []string{"experiment.toml:4: ", `block = "3h"`}},
		{"another length without quotes", simulated + "[design]\nburn_in = 1h\n", nil, nil, []string{"experiment.toml:4: ", `burn_in = "1h"`}},
		{"instant in quotes", simulated + "[design]\nstart = \"2026-11-02\"\n", nil, nil, []string{`experiment.toml:4: design.start: "2026-11-02" is text, not an instant`, "without quotes: start = 2026-11-02"}},
		{"no such day", simulated + "[design]\nstart = 2026-13-02\n", nil, nil, []string{"experiment.toml:4: design.start: invalid datetime", "without quotes"}},
		{"number in quotes", simulated + "[design]\ndays = \"7\"\n", nil, nil, []string{"the value is a string, not an integer", "a number without quotes"}},
		{"list left open", onLogs + "x = [\"a\", \"b\"\n", nil, nil, []string{"expected a comma", "] at its end"}},
		{"text for a list", strings.Replace(onLogs, "[\"logs/*.jsonl.gz\"]", "\"logs\"", 1), nil, nil, []string{"logs.files: ", "write a list"}},
		{"backslashes", simulated + "out = \"C:\\x\"\n", nil, nil, []string{"experiment.toml:3: out: ", "single quotes"}},
		{"twice", simulated + "name = \"y\"\n", nil, nil, []string{"experiment.toml:3: name: key 'name' has already been defined", "stands once"}},
		{"value for a table", simulated + "design = 3\n", nil, nil, []string{"experiment.toml:3: design: is a number, not a table", "it is a table: write [design]"}},
		{"negative seed", simulated + "seed = -1\n", nil, nil, []string{"experiment.toml:3: seed: is negative"}},
		{"no schema version", "name = \"x\"\n", nil, nil, []string{"schema_version: is missing", "schema_version = 1"}},
		{"no name", "schema_version = 1\n", nil, nil, []string{"name: is missing"}},
		{"block does not divide a day", simulated + "[design]\nblock = \"5h\"\n", nil, nil, []string{"experiment.toml:4: design.block: 5 h does not divide a day", "an even number of blocks"}},
		{"burn-in as long as the block", simulated + "[design]\nburn_in = \"3h\"\n", nil, nil, []string{"design.burn_in: 3 h leaves nothing", "shorter than the block"}},
		{"unknown policy", simulated + "[arms]\ntreatment = \"routing-costs\"\n", nil, nil, []string{`arms.treatment: unknown policy "routing-costs"`, "did you mean routing-cost?"}},
		{"label without logs", simulated + "[arms]\ncontrol = \"legacy\"\n", nil, nil, []string{`arms.control: unknown policy "legacy"`, "known: price, routing-cost; labels of your own need a [logs] table"}},
		{"order of nobody", simulated + "[arms]\ntreatment = \"order:\"\n", nil, nil, []string{`arms.treatment: unknown policy "order:"`}},
		{"same arms", simulated + "[arms]\ntreatment = \"price\"\n", nil, nil, []string{`experiment.toml:3: arms: control and treatment are both "price"`, `scenario = "a-a"`}},
		{"unknown scenario", simulated + "[market]\nscenario = \"open\"\n", nil, nil, []string{`market.scenario: unknown value "open"`}},
		{"unknown metric", simulated + "[report]\ndecision = \"ttft_p59\"\nguardrails = [\"eror_rate\"]\n", nil, nil,
			[]string{`experiment.toml:4: report.decision: unknown value "ttft_p59"`, "did you mean ttft_p50?", `report.guardrails: unknown value "eror_rate"`, "did you mean error_rate?"}},
		{"confidence as a percentage", simulated + "[analysis]\nconfidence = 95.0\n", nil, nil, []string{"analysis.confidence: 95 is not in [0.5, 1)"}},
		{"several at once", simulated + "threads = -1\n[design]\ndays = 0\norder = \"random\"\n[analysis]\nreplicates = 0\n", nil, nil,
			[]string{"threads: is -1", "design.days: 0 is not in", "design.order: \"random\" is unknown; known: slot-balanced, ", "coin draws each pair", "analysis.replicates: 0 is not in"}},
		{"a warehouse, wrong before missing", "[logs]\nwarehouse = \"http://ch.example/logs\"\nts_unit = \"h\"\n", nil, nil, []string{
			`experiment.toml:2: logs.warehouse: scheme "http": must be clickhouse://`, `experiment.toml:3: logs.ts_unit: unknown value "h"`,
			"schema_version: is missing", "name: is missing", "arms.control: is missing", "logs.table: is missing", "logs.columns: column request_id: needs an expression",
		}},
		{"a misspelt map", onLogs + "warehouse = \"clickhouse://ch.example:9440/default\"\nmap = \"langfus\"\n", nil, nil, []string{"logs.map: unknown value \"langfus\"", "did you mean langfuse?"}},
		{"values in a list and in a table", onLogs + "columns = { ttft_ms = 3 }\n[report]\nguardrails = [1]\n", nil, nil, []string{
			"experiment.toml:12: logs.columns.ttft_ms: incompatible types: the value is an integer, not a string", "experiment.toml:14: report.guardrails: [1] is not a metric id", `["error_rate"]`,
		}},
		{"a key in quotes", simulated + "design.\"block\" = 4\n", nil, nil, []string{"experiment.toml:3: design.block: 4 has no unit", "END"}},
		{"logs without files", strings.Replace(onLogs, `"logs/*.jsonl.gz"`, "", 1), nil, nil, []string{"logs.files: names no file"}},
		{"logs beside a market", onLogs + "[market]\nscenario = \"open-models\"\n", nil, nil, []string{"market: stands beside [logs]"}},
		{"logs without arms", strings.Replace(onLogs, "treatment = \"new\"\n", "", 1), nil, nil, []string{"arms.treatment: is missing"}},
		{"labels without dates", strings.NewReplacer("days = 7\n", "", "schedule = \"schedule.csv\"\n", "").Replace(onLogs), nil, nil, []string{"design.days: is missing"}},
		{"bad share", onLogs + "max_rejects = \"0.1\"\n", nil, nil, []string{`logs.max_rejects: "0.1" is neither a share nor a count`}},
		{"unknown format", onLogs + "format = \"canonic\"\n", nil, nil, []string{`logs.format: unknown value "canonic"`, "did you mean canonical?"}},
		{"requests on logs", onLogs, []string{"--requests", "5"}, nil, []string{"--requests: only a simulated experiment is thinned"}},
		{"flag out of range", "", []string{"--requests", "0"}, nil, []string{"--requests: is 0"}},
		{"environment out of range", "", nil, map[string]string{"SWITCHBACK_THREADS": "-2"}, []string{"SWITCHBACK_THREADS: is -2"}},
		{"environment of another type", "", nil, map[string]string{"SWITCHBACK_SEED": "x"}, []string{"environment SWITCHBACK_SEED"}},
		{"memory", "", []string{"--memory", "lots"}, nil, []string{`--memory: cannot read "lots"`, "such as 2GB"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := loadConfig(t, tc.text, tc.args, tc.env)
			if codeOf(err) != exitUsage {
				t.Fatalf("error %v has exit code %d, want %d", err, codeOf(err), exitUsage)
			}
			var told strings.Builder
			for _, c := range complaints(err) {
				told.WriteString(c.text + "\n" + c.hint + "\n")
			}
			told.WriteString("END")
			rest := told.String()
			for _, part := range tc.want {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Fatalf("%q is not told, or not in this order:\n%s", part, told.String())
				}
				if strings.Contains(part, "END") && strings.Count(told.String(), "experiment.toml") != strings.Count(strings.Join(tc.want, "\n"), "experiment.toml") {
					t.Errorf("more than %q is told:\n%s", tc.want, told.String())
				}
				rest = after
			}
		})
	}
}

func TestConfigPathsAreRelativeToItsFolder(t *testing.T) {
	c, err := loadConfig(t, strings.Replace(onLogs, "[design]", "out = \"nightly\"\n[design]", 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(c.file.path), "nightly"); c.Out != want {
		t.Errorf("out %s, want %s", c.Out, want)
	}
	if c, err = loadConfig(t, onLogs, []string{"--out", "here"}, nil); err != nil || c.Out != "here" {
		t.Errorf("--out gives %q, %v", c.Out, err)
	}
}

func TestConfigDates(t *testing.T) {
	// TOML 1.0: an offset date-time, a local date-time and a local date.
	for _, start := range []string{"2026-11-02T00:00:00Z", "2026-11-02T02:00:00+02:00", "2026-11-02T00:00:00", "2026-11-02"} {
		c, err := loadConfig(t, simulated+"[design]\nstart = "+start+"\n", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC); !c.Design.Start.Equal(want) {
			t.Errorf("%s is read as %s", start, c.Design.Start)
		}
	}
}

// What effective writes is a configuration file that means the same.
func TestConfigEffectiveRoundTrip(t *testing.T) {
	for _, text := range []string{"", simulated + "seed = 3\n[design]\nblock = \"90m\"\nburn_in = \"10m\"\n[report]\ndecision = \"ttft_p95\"\n", onLogs} {
		c, err := loadConfig(t, text, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := loadConfig(t, c.effective(), nil, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, c.effective())
		}
		if diff := cmp.Diff(c, again, cmpopts.IgnoreUnexported(config{}), cmpopts.IgnoreFields(config{}, "Out")); diff != "" {
			t.Errorf("after a round trip (-want +got):\n%s", diff)
		}
	}
}

func TestEditDistance(t *testing.T) {
	// kitten → sitting is the textbook example, 3.
	for _, tc := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"block", "block", 0}, {"bolck", "block", 2}} {
		if got := editDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("%q → %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
	word := rapid.StringMatching(`[a-c]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab, ba, bc, ac := editDistance(a, b), editDistance(b, a), editDistance(b, c), editDistance(a, c)
		if ab != ba || (ab == 0) != (a == b) || ac > ab+bc {
			t.Fatalf("not a distance: ab %d, ba %d, bc %d, ac %d", ab, ba, bc, ac)
		}
	})
}

// Whatever a file holds, reading it ends with a configuration or a usage error.
func FuzzConfig(f *testing.F) {
	f.Add(simulated)
	f.Add(onLogs)
	f.Add("schema_version = 1\n[design]\nblock = \"5h\"\n[x]\ny = 1\n")
	f.Add("a.b.c = [{d = 1979-05-27}]\n[[a]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig("x.toml", text)
		if err == nil {
			err = c.check(testNames(), nil)
		}
		if err != nil {
			if codeOf(err) != exitUsage {
				t.Fatalf("%v: exit code %d", err, codeOf(err))
			}
			return
		}
		if _, err := toml.Decode(c.effective(), new(config)); err != nil {
			t.Fatalf("effective configuration cannot be read: %v", err)
		}
	})
}

// TestLineOf finds keys in every way that TOML has to set them.
func TestLineOf(t *testing.T) {
	text := "name = \"x\"\ndesign = { days = 3, burn_in = \"5h\" }\n[arms]\ncontrol = \"a\"\n[report]\ntable.rows = 3\n"
	for key, want := range map[string]int{"name": 1, "design": 2, "design.days": 2, "design.burn_in": 2, "design.block": 0, "arms": 3, "arms.control": 4, "report.table.rows": 6, "logs": 0} {
		if got := lineOf(text, key); got != want {
			t.Errorf("lineOf(%s) = %d, want %d", key, got, want)
		}
	}
}
