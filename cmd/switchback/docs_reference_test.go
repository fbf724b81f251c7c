package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"switchback/experiment"
	"switchback/experiment/prices"
	"switchback/ingest"
)

// What the documents show of the code: exit codes, commands, flags, configuration keys and metrics.

func exitCodeTable(*testing.T) string {
	rows := [][]string{{"code", "meaning"}}
	for _, c := range exitCodes() {
		rows = append(rows, []string{strconv.Itoa(c.Code), c.Meaning})
	}
	return markdownTable(rows)
}

func commandTable(*testing.T) string {
	rows := [][]string{{"command", "does"}}
	for _, c := range new(process).commands() {
		rows = append(rows, []string{"`" + c.use + "`", strings.ToLower(c.short[:1]) + c.short[1:]})
	}
	return markdownTable(rows)
}

func metricTable(*testing.T) string {
	good := map[experiment.Direction]string{experiment.DownIsGood: "down", experiment.UpIsGood: "up", experiment.Neutral: "neither"}
	rows := [][]string{{"id", "title", "unit", "good"}}
	for _, m := range experiment.Metrics() {
		rows = append(rows, []string{"`" + m.ID + "`", m.Title, m.Unit, good[m.Better]})
	}
	return markdownTable(rows)
}

func scenarioTable(*testing.T) string {
	rows := [][]string{{"scenario", "what it is for"}}
	for _, s := range experiment.Scenarios() {
		rows = append(rows, []string{"`" + s.Name + "`", s.Purpose})
	}
	return markdownTable(rows)
}

// flagTable lists every flag once for each of its meanings, with the commands that have it.
func flagTable(*testing.T) string {
	type meaning struct {
		flag     *pflag.Flag
		commands []string
	}
	var meanings []*meaning
	for _, c := range new(process).commands() {
		c.flags.SortFlags = false
		c.flags.VisitAll(func(f *pflag.Flag) {
			for _, m := range meanings {
				if m.flag.Name == f.Name && m.flag.Usage == f.Usage {
					m.commands = append(m.commands, commandName(c))
					return
				}
			}
			meanings = append(meanings, &meaning{f, []string{commandName(c)}})
		})
	}
	slices.SortStableFunc(meanings, func(a, b *meaning) int { return strings.Compare(a.flag.Name, b.flag.Name) })
	rows := [][]string{{"flag", "environment", "meaning", "commands"}}
	for _, m := range meanings {
		value, usage := pflag.UnquoteUsage(m.flag)
		name := "--" + m.flag.Name
		if value != "" && m.flag.Value.Type() != "bool" {
			name += " " + value
		}
		if d := m.flag.DefValue; d != "" && d != "0" && d != "false" && !strings.Contains(usage, "(default") {
			usage += " (default " + d + ")"
		}
		rows = append(rows, []string{"`" + name + "`", "`" + envName(m.flag.Name) + "`", usage, strings.Join(m.commands, ", ")})
	}
	return markdownTable(rows)
}

func commandName(c command) string {
	name, _, _ := strings.Cut(c.use, " ")
	return name
}

// configurationTables lists the keys of every table of the configuration: their types and meanings from the comments
// of config.go, their defaults from defaultConfig.
func configurationTables(t *testing.T) string {
	c, err := parseConfig("", "")
	if err != nil {
		t.Fatal(err)
	}
	logs, err := parseConfig("", "[logs]")
	if err != nil {
		t.Fatal(err)
	}
	c.Logs = logs.Logs
	meanings := fieldComments(t)
	var b strings.Builder
	top := [][]string{{"key", "type", "default", "meaning"}}
	whole := reflect.ValueOf(c)
	for field, value := range whole.Fields() {
		if key := keyOf(field); key != "" && !tableOf(value).IsValid() {
			top = append(top, keyRow(t, "config", field, value, meanings))
		}
	}
	b.WriteString("### Top level\n\n" + markdownTable(top))
	for field, value := range whole.Fields() {
		key, table := keyOf(field), tableOf(value)
		if key == "" || !table.IsValid() {
			continue
		}
		rows := [][]string{{"key", "type", "default", "meaning"}}
		for inner, v := range table.Fields() {
			rows = append(rows, keyRow(t, table.Type().Name(), inner, v, meanings))
		}
		about := meanings["config."+field.Name]
		fmt.Fprintf(&b, "\n### `[%s]`\n\n%s.\n\n%s", key, strings.ToUpper(about[:1])+about[1:], markdownTable(rows))
	}
	return b.String()
}

// tableOf returns the struct that a key holds, or the zero Value when it holds no table.
func tableOf(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		return reflect.Value{}
	}
	return v
}

func keyRow(t *testing.T, owner string, field reflect.StructField, v reflect.Value, meanings map[string]string) []string {
	t.Helper()
	meaning := meanings[owner+"."+field.Name]
	if meaning == "" {
		t.Errorf("config.go: %s.%s has no comment", owner, field.Name)
	}
	typ, value := keyType(t, v)
	return []string{"`" + keyOf(field) + "`", typ, value, meaning}
}

// keyType names the type of a key as people write it, and its default.
func keyType(t *testing.T, v reflect.Value) (typ, value string) {
	t.Helper()
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + s + "`"
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return "instant", code(x.Format(time.RFC3339))
	case time.Duration:
		if x == 0 {
			return "length of time", ""
		}
		return "length of time", code(strconv.Quote(shortDuration(x)))
	case string:
		if x == "" {
			return "text", ""
		}
		return "text", code(strconv.Quote(x))
	case int, uint64:
		if fmt.Sprint(x) == "0" {
			return "whole number", ""
		}
		return "whole number", code(fmt.Sprint(x))
	case float64:
		return "number", code(fmt.Sprint(x))
	case bool:
		return "true or false", code(fmt.Sprint(x))
	case []string, metricIDs:
		return "list of texts", ""
	case map[string]string:
		return "table of texts", ""
	}
	t.Fatalf("a key of type %s has no name for people", v.Type())
	return "", ""
}

func shortDuration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// fieldComments returns the comments of the struct fields of config.go by Struct.Field.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, f := range fields.Fields.List {
			text := strings.TrimSpace(f.Comment.Text())
			if text == "" {
				text = strings.TrimSpace(f.Doc.Text())
			}
			for _, name := range f.Names {
				comments[spec.Name.Name+"."+name.Name] = strings.ReplaceAll(text, "\n", " ")
			}
		}
		return false
	})
	return comments
}

// formatTable loads the sample of every log format and says which values came out of it.
func formatTable(t *testing.T) string {
	shown := []struct{ title, column string }{
		{"arm", "arm"}, {"conversation", "session_id"}, {"TTFT", "ttft_ms"}, {"caller TTFT", "caller_ttft_ms"}, {"whole request", "total_ms"},
		{"tokens", "output_tokens"}, {"cached", "cached_tokens"}, {"cost", "cost_usd"}, {"attempts", "attempts"}, {"429s", "n_429"}, {"failed time", "failed_ms"},
		{"tool calls", "tool_call_ok"},
	}
	lines := map[string][]string{}
	for format, known := range knownByFormat(t) {
		cells := []string{"`" + format + "`"}
		for _, s := range shown {
			cells = append(cells, map[bool]string{true: "✓"}[known[s.column]])
		}
		lines[format] = cells
	}
	head := []string{"format"}
	for _, s := range shown {
		head = append(head, s.title)
	}
	rows := [][]string{head}
	for _, name := range ingest.Formats() {
		if cells := lines[name]; cells != nil {
			rows = append(rows, cells)
		} else if name != ingest.FormatCanonical {
			t.Errorf("no sample of the format %s was read", name)
		}
	}
	return markdownTable(rows)
}

// formatFieldTables says for every format of a gateway which keys of its records fill which columns.
func formatFieldTables(t *testing.T) string {
	var b strings.Builder
	known := knownByFormat(t)
	for _, format := range ingest.Formats() {
		if format == ingest.FormatCanonical {
			continue
		}
		straight := map[string]bool{}
		rows := [][]string{{"column", "key", "unit"}}
		for _, f := range ingest.FormatFields(format) {
			straight[f.Column] = true
			rows = append(rows, []string{"`" + f.Column + "`", "`" + strings.Join(f.Keys, "`, else `") + "`", f.Unit})
		}
		var derived []string
		for _, column := range documentedColumns(t) {
			switch column {
			case "block_id", "in_burn_in", "source", "source_row_id", "model_raw", "provider_raw", "load_id", "quality", "arm_logged":
			default:
				if known[format][column] && !straight[column] {
					derived = append(derived, "`"+column+"`")
				}
			}
		}
		fmt.Fprintf(&b, "### %s\n\n%s", format, markdownTable(rows))
		if len(derived) > 0 {
			fmt.Fprintf(&b, "\nFrom several keys: %s.\n", strings.Join(derived, ", "))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// documentedColumns are the columns of the table in docs/log-format.md.
func documentedColumns(t *testing.T) []string {
	var names []string
	for line := range strings.Lines(readDocument(t, "docs/log-format.md")) {
		if m := columnRow.FindStringSubmatch(line); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}

var columnRow = regexp.MustCompile("^\\| `([a-z0-9_]+)` \\| [A-Z]")

// knownByFormat loads the samples of all formats and says which columns came out of each.
func knownByFormat(t *testing.T) map[string]map[string]bool {
	t.Helper()
	samples, err := filepath.Glob("../../ingest/testdata/formats/*")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]bool{}
	for _, sample := range samples {
		if format, known := knownColumns(t, sample); format != "" {
			found[format] = known
		}
	}
	return found
}

// knownColumns loads a sample and returns its format, "" when it is none of a gateway, with the columns that some request
// has which an endpoint served.
func knownColumns(t *testing.T, sample string) (format string, known map[string]bool) {
	t.Helper()
	ctx := context.Background()
	store, err := ingest.Open(ctx, ingest.InMemory, ingest.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	o := ingest.DefaultLoadOptions()
	o.Now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	report, err := ingest.LoadFiles(ctx, store, []string{sample}, o)
	if errors.Is(err, ingest.ErrInput) {
		return "", nil // no log, or one without a calendar
	}
	if err != nil {
		t.Fatal(err)
	}
	if report.Files[0].Format == ingest.FormatCanonical { // the right answers, beside the samples
		return "", nil
	}
	rows, err := store.Query(ctx, "SELECT count(COLUMNS(*)) FROM requests WHERE status <> 'ok_gateway_cache'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	known = map[string]bool{}
	for i, name := range rows.Columns {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "count("), ")")
		known[strings.TrimPrefix(name, "requests.")] = rows.Values()[i] != int64(0)
	}
	return report.Files[0].Format, known
}

// TestEveryPolicyIsDocumented compares the list of policies in the configuration's reference with the code.
func TestEveryPolicyIsDocumented(t *testing.T) {
	text := readDocument(t, "docs/configuration.md")
	for _, name := range knownNames().policies {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/configuration.md does not name %s", name)
		}
	}
}

// TestLogFormatNamesEveryColumn compares the page of the log format with the table requests.
func TestLogFormatNamesEveryColumn(t *testing.T) {
	ctx := context.Background()
	store, err := ingest.Open(ctx, ingest.InMemory, ingest.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rows, err := store.Query(ctx, "SELECT column_name, column_type FROM (DESCRIBE requests)")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var columns []string
	for rows.Next() {
		columns = append(columns, fmt.Sprintf("| `%s` | %s |", rows.Values()...))
	}
	if rows.Err() != nil || len(columns) < 30 {
		t.Fatalf("%d columns, %v", len(columns), rows.Err())
	}
	var shown []string
	for line := range strings.Lines(readDocument(t, "docs/log-format.md")) {
		cells := strings.Split(line, " | ")
		if len(cells) == 3 && regexp.MustCompile(`^[A-Z]{5,}`).MatchString(cells[1]) {
			shown = append(shown, cells[0]+" | "+cells[1]+" |")
		}
	}
	if diff := cmp.Diff(columns, shown); diff != "" {
		t.Errorf("columns of requests (-) and of docs/log-format.md (+):\n%s", diff)
	}
}

// TestConfigurationsShownAreValid checks every configuration that a document shows.
func TestConfigurationsShownAreValid(t *testing.T) {
	n := 0
	for _, name := range documents(t) {
		blocks, _ := fences(readDocument(t, name))
		for _, f := range blocks {
			if f.info != "toml" {
				continue
			}
			n++
			c, err := parseConfig(name, strings.Join(f.lines, "\n"))
			if err == nil {
				err = c.check(knownNames(), nil)
			}
			if err != nil {
				t.Errorf("%s:%d: %v", name, f.line, err)
			}
		}
	}
	if n < 4 {
		t.Errorf("%d configurations found", n)
	}
}

// TestReadmeNumbersAreTrue checks the numbers that the README's sentences hold.
func TestReadmeNumbersAreTrue(t *testing.T) {
	text := readDocument(t, "README.md")
	goMod := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readDocument(t, "go.mod"))
	scenario, design := experiment.Scenarios()[0], experiment.DefaultDesign()
	for _, want := range []string{
		"Go " + goMod[1] + " or newer",
		fmt.Sprintf("%d real models", scenario.Models),
		fmt.Sprintf("%.0f million simulated requests", scenario.Workload.RequestsPerWeek/1e6),
		"one week from " + design.Start.Format(time.DateOnly),
		fmt.Sprintf("(%d in a week)", design.Days*design.Slots()/2),
		fmt.Sprintf("%.0f-hour blocks", design.Block.Hours()),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the README does not say %q", want)
		}
	}
}

// TestLogsShownAreReadable loads every log and price list that the page of the log format shows.
func TestLogsShownAreReadable(t *testing.T) {
	blocks, _ := fences(readDocument(t, "docs/log-format.md"))
	n := 0
	for _, f := range blocks {
		if f.info == "csv prices" {
			if _, err := prices.Read(strings.NewReader(strings.Join(f.lines, "\n")), "docs/log-format.md"); err != nil {
				t.Errorf("price list of line %d: %v", f.line, err)
			}
		}
		if f.info != "csv" {
			continue
		}
		n++
		path := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(path, []byte(strings.Join(f.lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		o := ingest.DefaultLoadOptions()
		o.Now, o.DryRun = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), true
		report, err := ingest.LoadFiles(context.Background(), nil, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Files[0]; got.Rows != int64(len(f.lines)-1) || got.Rejects != 0 || len(got.Unknown) > 0 {
			t.Errorf("line %d: %d rows, %d rejects, unknown columns %v", f.line, got.Rows, got.Rejects, got.Unknown)
		}
	}
	if n == 0 {
		t.Error("no log is shown")
	}
}
