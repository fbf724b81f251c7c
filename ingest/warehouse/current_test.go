package warehouse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/ingest/warehouse/clustertest"
)

// currentTable is a table of a program that the current ClickHouse holds, with what a row of its kind looks like.
type currentTable struct {
	ready  string
	create string
	types  map[string]string // of the ready mapping's expressions, as the server tells them; others are String
	insert string            // a SELECT of rows, ROWS of them for RECORDS records
}

// The columns that the ready mappings read, as the migrations of Langfuse 3 and Helicone create them (July 2026).
func currentTables() []currentTable {
	return []currentTable{
		{
			ready: "langfuse",
			create: `CREATE TABLE t (id String, trace_id String, project_id String, type LowCardinality(String), start_time DateTime64(3), end_time Nullable(DateTime64(3)),
				metadata Map(LowCardinality(String), String), level LowCardinality(String), provided_model_name Nullable(String),
				usage_details Map(LowCardinality(String), UInt64), total_cost Nullable(Decimal(18, 12)), completion_start_time Nullable(DateTime64(3)),
				event_ts DateTime64(3), is_deleted UInt8) ENGINE = MergeTree PARTITION BY toYYYYMM(start_time) ORDER BY (project_id, type, toDate(start_time), id)`,
			insert: `INSERT INTO t SELECT toString(number % RECORDS), toString(number % 50), 'p', if(number % 10 = 0, 'SPAN', 'GENERATION'),
				toDateTime64('2026-11-02 00:00:00', 3, 'UTC') + (number % RECORDS) * 59 AS began, addMilliseconds(began, 2500), map('arm', 'x'), if(number % 9 = 0, 'ERROR', 'DEFAULT'), 'openai/gpt-' || toString(number % 2) || '-20260101',
				map('input', number, 'input_cached_tokens', 5, 'output', 7, 'total', number + 12), 0.001, if(number % 3 = 0, NULL, addMilliseconds(began, 250)), now64(3), 0
				FROM numbers(ROWS)`,
			types: map[string]string{
				"ts": "DateTime64(3)", "caller_ttft_ms": "Nullable(Float64)", "total_ms": "Nullable(Float64)", "input_tokens": "Nullable(Int64)",
				"cached_tokens": "Nullable(Int64)", "cache_write_tokens": "Nullable(Int64)", "output_tokens": "Nullable(Int64)", "cost_usd": "Nullable(Decimal(18, 12))",
			},
		},
		{
			ready: "helicone",
			create: `CREATE TABLE t (request_id UUID, request_created_at DateTime64(3), latency Nullable(Int64), status Int64, completion_tokens Nullable(Int64), prompt_tokens Nullable(Int64),
				prompt_cache_read_tokens Nullable(Int64), prompt_cache_write_tokens Nullable(Int64), model LowCardinality(String), user_id LowCardinality(String),
				time_to_first_token Nullable(Int64), provider LowCardinality(String), properties Map(LowCardinality(String), String), cost Nullable(UInt64),
				cache_enabled Bool, cache_reference_id Nullable(UUID), updated_at DateTime64(3)) ENGINE = MergeTree PARTITION BY toYYYYMM(request_created_at) ORDER BY request_id`,
			insert: `INSERT INTO t SELECT toUUID(concat('00000000-0000-0000-0000-', leftPad(toString(number % RECORDS), 12, '0'))), toDateTime64('2026-11-02 00:00:00', 3, 'UTC') + (number % RECORDS) * 59,
				2500, if(number % 9 = 0, 500, 200), 7, 100, 5, 0, 'gpt-4o', 'u', if(number % 3 = 0, NULL, 250), 'OpenAI', map('Helicone-Session-Id', toString(number % 50)), 1000000,
				false, '00000000-0000-0000-0000-000000000000', now64(3) FROM numbers(ROWS)`,
			types: map[string]string{
				"ts": "DateTime64(3)", "request_id": "UUID", "caller_ttft_ms": "Nullable(Int64)", "total_ms": "Nullable(Int64)", "input_tokens": "Nullable(Int64)",
				"cached_tokens": "Nullable(Int64)", "cache_write_tokens": "Nullable(Int64)", "output_tokens": "Nullable(Int64)", "cost_usd": "Nullable(Float64)",
			},
		},
	}
}

// The current ClickHouse understands every query over the tables of the ready mappings, whose types the server of the other
// tests does not have. It is asked through chDB; SWITCHBACK_CHDB names a python that has the package.
func TestCurrentClickHouse(t *testing.T) {
	python := os.Getenv("SWITCHBACK_CHDB")
	if python == "" {
		t.Skip("set SWITCHBACK_CHDB to a python with the package chdb to ask the current ClickHouse")
	}
	plan, err := experiment.Draw(experiment.DefaultDesign(), experiment.Arms{Control: "price", Treatment: "routing-cost"})
	if err != nil {
		t.Fatal(err)
	}
	window := ingest.Window{Arms: plan.Arms}
	window.Since, window.Until = plan.Window()
	for _, c := range currentTables() {
		t.Run(c.ready, func(t *testing.T) {
			mapping, err := NewMapping(c.ready, nil)
			if err != nil {
				t.Fatal(err)
			}
			var readings []reading
			typesAsk := "SELECT "
			for _, column := range canonicalColumns() {
				r := reading{column: column, expr: mapping.Columns[column.name], typ: plain("String")}
				if typ := c.types[column.name]; typ != "" {
					r.typ = plain(typ)
				}
				if r.expr != "" {
					typesAsk += fmt.Sprintf("toTypeName(any(%s)), ", r.expr)
				}
				readings = append(readings, r)
			}
			house := &Warehouse{options: DefaultOptions(), table: newTable("t", readings, mapping.Where, "")}
			questions := house.Questions(plan, window, []string{"ttft_p50", "caller_ttft_p50", "cost_per_1k_requests", "error_rate"})
			work := currentWork{Setup: []string{
				"CREATE DATABASE d", "USE d", c.create, strings.NewReplacer("ROWS", "9000", "RECORDS", "8000").Replace(c.insert), placesSQL(plan), "CREATE TABLE repeated (id_hash UInt64) ENGINE = Memory",
				"CREATE TABLE touched ENGINE = Memory AS SELECT toInt64(0) AS touched_model, toInt64(number) - 50 AS touched_slice, toInt64(500) AS touched_bin FROM numbers(100)",
			}}
			work.Ask = append(work.Ask, [2]string{"types", typesAsk + "1 FROM t"})
			for _, q := range questions {
				work.Ask = append(work.Ask, [2]string{q.Name, q.SQL})
			}
			answers := askCurrent(t, python, work)
			t.Log("ClickHouse", answers["version"], "types", answers["types"])
			for _, q := range questions {
				if answer, ok := answers[q.Name]; !ok || strings.HasPrefix(answer, "error: ") {
					t.Errorf("%s: %s", q.Name, answer)
				}
			}
			if n := strings.Count(answers["repeated ids, pass 1 of 1"], "\n"); n == 0 {
				t.Error("no repeated id was found")
			}
		})
	}
}

// currentWork is what testdata/ask.py is to do.
type currentWork struct {
	Setup []string    `json:"setup"`
	Ask   [][2]string `json:"ask"` // name, SQL
}

// askCurrent returns the answers of the current ClickHouse, as lines with tabs between columns, and its version.
func askCurrent(t *testing.T, python string, work currentWork) map[string]string {
	t.Helper()
	input, err := json.Marshal(work)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "testdata/ask.py")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatalf("%v: %.300s", err, out)
	}
	return answers
}

// The server of 2018 and the current ClickHouse give the same answers to every query, about the same rows under the same
// schedule. The rows are made by an expression that both know.
func TestBothReleasesAnswerAlike(t *testing.T) {
	python := os.Getenv("SWITCHBACK_CHDB")
	if python == "" {
		t.Skip("set SWITCHBACK_CHDB to a python with the package chdb to ask the current ClickHouse")
	}
	shards := clustertest.Start(t)
	plan, err := experiment.Draw(experiment.DefaultDesign(), experiment.Arms{Control: "price", Treatment: "routing-cost"})
	if err != nil {
		t.Fatal(err)
	}
	window := ingest.Window{Arms: plan.Arms}
	window.Since, window.Until = plan.Window()
	const rows = 20_000
	random := func(salt int, of string) string { return fmt.Sprintf("(cityHash64(number, %d) %% %s)", salt, of) }
	sometimes := func(salt int, x string) string { return fmt.Sprintf("if(%s = 0, NULL, %s)", random(salt, "6"), x) }
	columns := map[string]string{
		"request_id": "toString(number % 19000)", "session_id": sometimes(1, "toString("+random(2, "5000")+")"), "client_id": "concat('c', toString(" + random(3, "7") + "))",
		"ts_us": fmt.Sprintf("toInt64(%d + number %% 19000 * 31000017)", window.Since.UnixMicro()), "model": "'model'", "provider": sometimes(4, "concat('p', toString("+random(5, "3")+"))"),
		"arm": fmt.Sprintf("if(%s = 0, 'price', '')", random(6, "2")), "attempts": sometimes(7, "toInt32(1 + "+random(8, "3")+")"), "n_429": sometimes(9, "toUInt8("+random(10, "3")+")"),
		"n_retries": sometimes(11, "toInt32("+random(12, "2")+")"), "output_tokens": sometimes(13, "toUInt32("+random(14, "900")+")"),
		"cost_source": "'billed'", "status": "if(" + random(15, "9") + " = 0, 'error', 'ok')", "pinned_from_block": "toString(" + random(16, "9") + ")", "source": "'canonical'", "quality": "toInt64(0)",
	}
	for i, name := range []string{"ttft_us", "caller_ttft_us", "total_us", "failed_us", "input_tokens", "cached_tokens", "cost_nano", "cheapest_nano"} {
		columns[name] = sometimes(20+i, "toInt64("+random(30+i, fmt.Sprint(3_000_000*(i+1)))+")")
	}
	for i, name := range []string{"streamed", "is_byok", "tool_call_ok"} {
		columns[name] = sometimes(40+i, "toUInt8("+random(50+i, "2")+")")
	}
	var selects []string
	for _, c := range clustertest.Columns() {
		selects = append(selects, columns[c[0]]+" AS "+c[0])
	}
	setup := []string{
		"CREATE TABLE gateway.probe ENGINE = MergeTree ORDER BY ts_us AS SELECT " + strings.Join(selects, ", ") + " FROM (SELECT number FROM system.numbers LIMIT " + fmt.Sprint(rows) + ")",
		strings.Replace(placesSQL(plan), "TABLE places", "TABLE gateway.places", 1),
		"CREATE TABLE gateway.repeated ENGINE = Memory AS SELECT cityHash64('canonical', toString(number)) AS id_hash FROM (SELECT number FROM system.numbers LIMIT 1000)",
		"CREATE TABLE gateway.touched ENGINE = Memory AS SELECT toInt64(0) AS touched_model, toInt64(number % 60) - 25 AS touched_slice, toInt64(500 + intDiv(number, 60)) AS touched_bin FROM (SELECT number FROM system.numbers LIMIT 12000)",
	}
	for _, sql := range setup {
		shards.Exec(t, 0, sql)
	}
	o := DefaultOptions()
	if o.Address, err = ParseAddress(shards.Address(0)); err != nil {
		t.Fatal(err)
	}
	if o.Mapping, err = NewMapping("", clustertest.Mapping()); err != nil {
		t.Fatal(err)
	}
	o.User, o.Password, o.Table, o.TSUnit = clustertest.User, clustertest.Password, "gateway.probe", "us"
	house, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer house.Close()
	work := currentWork{Setup: append([]string{"CREATE DATABASE gateway", "USE gateway"}, setup...)}
	then := map[string]string{}
	questions := house.Questions(plan, window, []string{"ttft_p50", "throughput_p50", "caller_ttft_p95", "cost_per_1k_requests", "error_rate"})
	// The bins that a dry run stands in for others are those of next to no row.
	bins := strings.NewReplacer("IN ((0, 1))", "IN ((0, 545), (0, 640), (0, 665), (0, 680))", "IN (('0', 2))", "IN (('4', 545), ('4', 640), ('4', 680))",
		"IN ((0, 2))", "IN ((0, 545), (4, 640))", "'provider', 2)", "'provider', 2), (0, 'p1', 640)")
	for _, q := range questions {
		q.SQL = bins.Replace(q.SQL)
		work.Ask = append(work.Ask, [2]string{q.Name, q.SQL})
		then[q.Name] = answerOf(t, house, q)
	}
	now := askCurrent(t, python, work)
	t.Log("ClickHouse", house.Version(), "and", now["version"])
	var empty []string
	for _, q := range questions {
		want, have := sortedLines(then[q.Name]), sortedLines(now[q.Name])
		if want != have {
			t.Errorf("%s (-%s +%s):\n%.1500s", q.Name, house.Version(), now["version"], cmp.Diff(want, have))
		}
		if want == "" {
			empty = append(empty, q.Name)
		}
	}
	if len(questions) < 30 || len(empty) > 0 {
		t.Errorf("%d questions, without an answer: %q", len(questions), empty)
	}
}

// answerOf returns an answer as lines with tabs between columns.
func answerOf(t *testing.T, house *Warehouse, q Question) string {
	t.Helper()
	rows, err := house.conn.Query(t.Context(), q.SQL)
	if err != nil {
		t.Fatalf("%s: %v", q.Name, err)
	}
	defer rows.Close()
	var lines strings.Builder
	for rows.Next() {
		var values []any
		for _, c := range rows.ColumnTypes() {
			values = append(values, reflect.New(c.ScanType()).Interface())
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, v := range values {
			line = append(line, fmt.Sprint(reflect.ValueOf(v).Elem()))
		}
		fmt.Fprintln(&lines, strings.Join(line, "\t"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines.String()
}

func sortedLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// tableOf is a SELECT of rows, in the SQL of both releases. A column is a name and a type.
func tableOf(columns, rows []string) string {
	var selects []string
	for i, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		selects = append(selects, fmt.Sprintf("CAST(tupleElement(r, %d) AS %s) AS %s", i+1, typ, name))
	}
	return "SELECT " + strings.Join(selects, ", ") + " FROM (SELECT arrayJoin([" + strings.Join(rows, ", ") + "]) AS r)"
}

// placesSQL makes a table of the places of one model that has every name.
func placesSQL(plan experiment.Plan) string {
	s := &survey{warehouse: &Warehouse{}, layout: layout{models: []string{"model"}, index: map[string]int{"model": 0}, raw: []string{"model"}, name: func(raw string) string { return raw }}}
	window := ingest.Window{Arms: plan.Arms}
	window.Since, window.Until = plan.Window()
	var values []string
	for _, p := range s.under(plan, window).layout.places() {
		values = append(values, fmt.Sprintf("('model', %d, %d, %d, '%s', '', '%s', %d, %d, %d, %d, 2, 640)",
			p.bucket, p.cell, p.block, p.blockID, p.arm, p.role, p.starts, p.ends, p.burnInEnds))
	}
	return "CREATE TABLE places ENGINE = Memory AS " + tableOf([]string{
		"place_model String", "place_bucket Int64", "place_cell Int32", "place_block Int32", "place_block_id String", "place_schedule String", "place_arm String", "place_role Int8",
		"place_starts Int64", "place_ends Int64", "place_burn_in_ends Int64", "place_lo Int32", "place_hi Int32",
	}, values)
}
