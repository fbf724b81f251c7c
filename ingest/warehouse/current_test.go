package warehouse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"switchback/experiment"
	"switchback/ingest"
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
			work := struct {
				Setup []string    `json:"setup"`
				Ask   [][2]string `json:"ask"`
			}{Setup: []string{
				"CREATE DATABASE d", "USE d", c.create, strings.NewReplacer("ROWS", "9000", "RECORDS", "8000").Replace(c.insert), placesSQL(plan), "CREATE TABLE repeated (id_hash UInt64) ENGINE = Memory",
				"CREATE TABLE touched ENGINE = Memory AS SELECT toInt64(0) AS touched_model, toInt64(number) - 50 AS touched_slice, toInt64(500) AS touched_bin FROM numbers(100)",
			}}
			work.Ask = append(work.Ask, [2]string{"types", typesAsk + "1 FROM t"})
			for _, q := range questions {
				work.Ask = append(work.Ask, [2]string{q.Name, q.SQL})
			}
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
	return "CREATE TABLE places ENGINE = Memory AS SELECT * FROM values('place_model String, place_bucket Int64, place_cell Int32, place_block Int32, place_block_id String, " +
		"place_schedule String, place_arm String, place_role Int8, place_starts Int64, place_ends Int64, place_burn_in_ends Int64, place_lo Int32, place_hi Int32', " + strings.Join(values, ", ") + ")"
}
